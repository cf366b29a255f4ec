//! What a node is, and how it is reached.

use super::*;
use std::ffi::OsStr;

fn table(folder: &std::path::Path) -> Inodes {
    table_of(folder, 100)
}

fn table_of(folder: &std::path::Path, descriptors_max: usize) -> Inodes {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(folder, flags, Mode::empty()).unwrap();
    Inodes::new(root, descriptors_max).unwrap()
}

fn look_up(inodes: &Inodes, folder: &Reached, name: &str) -> Arc<Node> {
    inodes.look_up(folder, OsStr::new(name)).unwrap().file.node
}

fn length_of(inodes: &Inodes, node: &Node) -> i64 {
    rustix::fs::fstat(&inodes.reach(node.id).unwrap().fd).unwrap().st_size
}

/// Two names of one file are one node, which lives until both lookups are forgotten.
#[test]
fn hard_links_share_a_node_until_it_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), b"x").unwrap();
    std::fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
    let inodes = table(folder.path());

    let a = inodes.look_up(&inodes.root, OsStr::new("a")).unwrap();
    let b = inodes.look_up(&inodes.root, OsStr::new("b")).unwrap();

    assert_eq!(a.stat.st_ino, a.file.node.id);
    assert_eq!((a.file.node.id, 1), (b.file.node.id, inodes.known().len()));
    assert!(inodes.forget(a.file.node.id, 1).is_none());
    assert_eq!(a.file.node.id, inodes.forget(a.file.node.id, 1).unwrap().id);
    assert_eq!(Errno::STALE, inodes.get(a.file.node.id).unwrap_err());
    assert_eq!(0, inodes.known().len());
}

/// A name that was taken over by another file does not change what a node is.
#[test]
fn a_node_stays_its_file_when_the_name_is_given_away() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), b"old").unwrap();
    let inodes = table(folder.path());
    let old = look_up(&inodes, &inodes.root, "a");

    std::fs::write(folder.path().join("new"), b"newer").unwrap();
    std::fs::rename(folder.path().join("new"), folder.path().join("a")).unwrap();

    assert_ne!(old.id, look_up(&inodes, &inodes.root, "a").id);
    assert_eq!(3, length_of(&inodes, &old));
}

/// A file that is open nowhere leaves from when its last name goes until it is closed; one that
/// is open leaves from its last handle on.
#[test]
fn a_file_leaves_when_neither_name_nor_handle_is_left() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), b"x").unwrap();
    std::fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
    let inodes = table(folder.path());
    let node = look_up(&inodes, &inodes.root, "a");
    remove(&inodes, "b");
    assert!(!inodes.is_leaving());

    node.opened();
    remove(&inodes, "a");
    assert!(!inodes.is_leaving());
    node.closed();
    assert!(inodes.is_leaving());
    let id = node.id;
    drop(node);
    assert!(inodes.is_leaving());

    drop(inodes.forget(id, 1));
    assert!(!inodes.is_leaving());
}

fn remove(inodes: &Inodes, name: &str) {
    let (root, name) = (&inodes.root, OsStr::new(name));
    let parting = inodes.parting(root, name).unwrap();
    rustix::fs::unlinkat(&root.fd, name, AtFlags::empty()).unwrap();
    parting.iter().for_each(|file| inodes.parted(file, &root.node, name));
}

/// The root is never counted, so it is never forgotten, whatever the kernel says.
#[test]
fn the_root_stays() {
    let folder = tempfile::tempdir().unwrap();
    let inodes = table(folder.path());

    assert!(inodes.forget(ROOT, 5).is_none());
    assert_eq!(ROOT, inodes.get(ROOT).unwrap().id);
    assert_eq!(ROOT, look_up(&inodes, &inodes.root, ".").id);
}

/// However many files are known, no more descriptors are kept than told, and each file is reached.
#[test]
fn files_are_reached_with_fewer_descriptors_than_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("x/y")).unwrap();
    let inodes = table_of(folder.path(), 3);
    look_up(&inodes, &inodes.root, "x");
    let x = inodes.reach(look_up(&inodes, &inodes.root, "x").id).unwrap();
    let y = inodes.reach(look_up(&inodes, &x, "y").id).unwrap();
    let files: Vec<Arc<Node>> = (0..20)
        .map(|number| {
            let name = format!("{number}");
            std::fs::write(folder.path().join("x/y").join(&name), vec![0; number]).unwrap();
            look_up(&inodes, &y, &name)
        })
        .collect();
    drop((x, y));

    for _ in 0..2 {
        let lengths: Vec<i64> = files.iter().map(|node| length_of(&inodes, node)).collect();
        assert_eq!((0..20).collect::<Vec<i64>>(), lengths);
        assert!(files.iter().filter(|node| node.grip.fd().is_some()).count() <= 3);
    }
}

/// Without any descriptor a file is found by the names that it has now, as long as it has one; then
/// it is held.
#[test]
fn a_file_is_reached_by_the_names_that_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a"), b"abc").unwrap();
    std::fs::hard_link(at("a"), at("b")).unwrap();
    let inodes = table_of(folder.path(), 0);
    let root = &inodes.root;
    let node = look_up(&inodes, root, "a");
    look_up(&inodes, root, "b");
    assert!(node.grip.fd().is_none());

    remove(&inodes, "a");
    assert_eq!(3, length_of(&inodes, &node));
    std::fs::rename(at("b"), at("c")).unwrap();
    assert_eq!(Errno::STALE, inodes.reach(node.id).unwrap_err());
    let names = [OsStr::new("b"), OsStr::new("c")];
    inodes.moved(&node, (&root.node, names[0]), (&root.node, names[1]));
    assert_eq!(3, length_of(&inodes, &node));
    std::fs::write(at("b"), b"other").unwrap();
    assert_eq!(3, length_of(&inodes, &node));

    remove(&inodes, "c");
    assert!(node.grip.fd().is_some());
    assert_eq!(3, length_of(&inodes, &node));
}

/// Where another file lies in the place of the one that was meant it is not taken for it.
#[test]
fn another_file_of_the_same_name_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), b"old").unwrap();
    let inodes = table_of(folder.path(), 0);
    let old = look_up(&inodes, &inodes.root, "a");

    std::fs::write(folder.path().join("new"), b"newer").unwrap();
    std::fs::rename(folder.path().join("new"), folder.path().join("a")).unwrap();

    assert_eq!(Errno::STALE, inodes.reach(old.id).unwrap_err());
}

/// A folder that the kernel has forgotten stays as long as a file below it is known.
#[test]
fn the_way_to_a_file_stays_known() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("x/y")).unwrap();
    std::fs::write(folder.path().join("x/y/a"), b"abc").unwrap();
    let inodes = table_of(folder.path(), 0);
    let x = inodes.look_up(&inodes.root, OsStr::new("x")).unwrap().file;
    let y = inodes.look_up(&x, OsStr::new("y")).unwrap().file;
    let a = look_up(&inodes, &y, "a");
    for folder in [x, y] {
        assert!(inodes.forget(folder.node.id, 1).is_none());
    }

    assert_eq!((3, 3), (length_of(&inodes, &a), inodes.known().len() as i64));
    drop(inodes.forget(a.id, 1));
    assert_eq!(0, inodes.known().len());
}
