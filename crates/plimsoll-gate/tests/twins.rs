//! What is done to a folder behind the gate has the same outcome as in a plain folder.
//!
//! Every act is carried out twice, in the mount and in a twin of the backing folder; what it gives
//! back, down to the error number, and what both trees look like afterwards have to agree.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Error, Result, Write};
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use common::twin::{Act, compare, fine, open, sum};
use common::{Setup, is_root, noise};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps,
    UTIME_OMIT, Uid, XattrFlags,
};

/// Making, linking and pointing, with the refusals that belong to them.
const MAKING: &[(&str, Act)] = &[
    ("write", |d| fs::write(d.join("a"), noise(70_000, 1)).map(fine)),
    ("make what is there", |d| {
        OpenOptions::new().write(true).create_new(true).open(d.join("a")).map(fine)
    }),
    ("open what is not there", |d| File::open(d.join("none")).map(fine)),
    ("make folders", |d| fs::create_dir_all(d.join("x/y/z")).map(fine)),
    ("make a folder that is there", |d| fs::create_dir(d.join("x")).map(fine)),
    ("remove a full folder", |d| fs::remove_dir(d.join("x")).map(fine)),
    ("link", |d| fs::hard_link(d.join("a"), d.join("x/b")).map(fine)),
    ("write by the other name", |d| fs::write(d.join("x/b"), "short").map(fine)),
    ("link what is there", |d| fs::hard_link(d.join("a"), d.join("x/b")).map(fine)),
    ("point to it", |d| std::os::unix::fs::symlink("../a", d.join("x/s")).map(fine)),
    ("read by the pointer", |d| fs::read_to_string(d.join("x/s"))),
    ("point to nothing", |d| std::os::unix::fs::symlink("/none", d.join("dangling")).map(fine)),
    ("read by that", |d| fs::read_to_string(d.join("dangling"))),
];

/// Moving, exchanging and removing.
const MOVING: &[(&str, Act)] = &[
    ("link a pointer", |d| {
        rustix::fs::linkat(CWD, d.join("dangling"), CWD, d.join("x/t"), AtFlags::empty())
            .map(fine)
            .map_err(Error::from)
    }),
    ("move over", |d| {
        fs::write(d.join("n"), "new")?;
        fs::rename(d.join("n"), d.join("a")).map(fine)
    }),
    ("move over a folder", |d| fs::rename(d.join("a"), d.join("x")).map(fine)),
    ("move a folder into itself", |d| fs::rename(d.join("x"), d.join("x/y/x")).map(fine)),
    ("move without replacing", |d| {
        rustix::fs::renameat_with(CWD, d.join("a"), CWD, d.join("x/b"), RenameFlags::NOREPLACE)
            .map(fine)
            .map_err(Error::from)
    }),
    ("exchange", |d| {
        rustix::fs::renameat_with(CWD, d.join("a"), CWD, d.join("x/y"), RenameFlags::EXCHANGE)
            .map(fine)
            .map_err(Error::from)
    }),
    ("read what was exchanged", |d| fs::read_to_string(d.join("x/y"))),
    ("move a folder", |d| fs::rename(d.join("a"), d.join("q")).map(fine)),
    ("make a pipe", |d| {
        rustix::fs::mknodat(CWD, d.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o640), 0)
            .map(fine)
            .map_err(Error::from)
    }),
    ("listen", |d| UnixListener::bind(d.join("socket")).map(fine)),
    ("a name of 255 bytes", |d| fs::write(d.join("n".repeat(255)), "x").map(fine)),
    ("a name of 256 bytes", |d| fs::write(d.join("n".repeat(256)), "x").map(fine)),
    ("remove a folder as a file", |d| fs::remove_file(d.join("q")).map(fine)),
    ("remove a file as a folder", |d| fs::remove_dir(d.join("pipe")).map(fine)),
    ("remove", |d| fs::remove_dir_all(d.join("x")).map(fine)),
    ("a path through a file", |d| File::open(d.join("pipe/x")).map(fine)),
];

/// Names: made, linked, moved, exchanged and removed, with every refusal that belongs to them.
#[test]
fn names_behave_as_in_a_plain_folder() {
    let Some(gate) = Setup::new().mount() else { return };
    compare(&gate, &[MAKING, MOVING].concat());
}

/// Modes, owners, times and lengths.
#[test]
fn attributes_behave_as_in_a_plain_folder() {
    let Some(gate) = Setup::new().mount() else { return };
    compare(
        &gate,
        &[
            ("write", |d| fs::write(d.join("a"), noise(70_000, 2)).map(fine)),
            ("take permissions", |d| {
                fs::set_permissions(d.join("a"), fs::Permissions::from_mode(0o4751)).map(fine)
            }),
            ("give away", |d| {
                if is_root() { chown(&d.join("a"), 1234, 2345) } else { Ok(String::new()) }
            }),
            ("set user id again", |d| {
                fs::set_permissions(d.join("a"), fs::Permissions::from_mode(0o6755)).map(fine)
            }),
            ("write takes the bits", |d| {
                OpenOptions::new().append(true).open(d.join("a"))?.write_all(b"x").map(fine)
            }),
            ("a folder that hands its group down", |d| {
                fs::create_dir(d.join("g"))?;
                if is_root() {
                    chown(&d.join("g"), 0, 77)?;
                }
                fs::set_permissions(d.join("g"), fs::Permissions::from_mode(0o2775)).map(fine)
            }),
            ("make in it", |d| fs::write(d.join("g/f"), "x").map(fine)),
            ("make a folder in it", |d| fs::create_dir(d.join("g/h")).map(fine)),
            ("times", |d| times(&d.join("a"), 1000, 123_456_789)),
            ("one time alone", |d| {
                times(&d.join("a"), 1000, 123_456_789)?;
                let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
                let changed = Timespec { tv_sec: 5000, tv_nsec: 9 };
                let only = Timestamps { last_access: omitted, last_modification: changed };
                rustix::fs::utimensat(CWD, d.join("a"), &only, AtFlags::empty())?;
                let found = fs::metadata(d.join("a"))?;
                Ok(format!("{} {} {}", found.atime(), found.atime_nsec(), found.mtime()))
            }),
            ("times before 1970", |d| times(&d.join("g"), -1000, 5)),
            ("times of a pointer", |d| {
                std::os::unix::fs::symlink("a", d.join("s"))?;
                times(&d.join("s"), 77, 7)
            }),
            ("cut", |d| OpenOptions::new().write(true).open(d.join("a"))?.set_len(1000).map(fine)),
            ("stretch", |d| {
                OpenOptions::new().write(true).open(d.join("a"))?.set_len(300_000).map(fine)
            }),
            ("read the stretch", |d| Ok(format!("{:x}", sum(&fs::read(d.join("a"))?)))),
            ("empty", |d| File::create(d.join("a")).map(fine)),
            ("cut without a handle", |d| {
                fs::write(d.join("a"), noise(9000, 3))?;
                File::options().write(true).truncate(true).open(d.join("a")).map(fine)
            }),
            ("made unwritable but open", |d| {
                let mut f = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o444)
                    .open(d.join("ro"))?;
                f.write_all(b"still")?;
                f.set_len(3).map(fine)
            }),
        ],
    );
}

/// What somebody else makes belongs to him, in the group that the folder hands down if it does.
#[test]
fn files_belong_to_who_made_them() {
    if !is_root() {
        // Only root can become somebody else.
        return;
    }
    let Some(gate) = Setup::new().mount() else { return };
    fs::set_permissions(gate.beside(""), fs::Permissions::from_mode(0o755)).unwrap();
    compare(
        &gate,
        &[
            ("a folder for all", |d| {
                fs::set_permissions(d, fs::Permissions::from_mode(0o1777)).map(fine)
            }),
            ("a folder of a group", |d| {
                fs::create_dir(d.join("g"))?;
                chown(&d.join("g"), 0, 77)?;
                fs::set_permissions(d.join("g"), fs::Permissions::from_mode(0o2777)).map(fine)
            }),
            ("a folder of root", |d| fs::create_dir(d.join("r")).map(fine)),
            ("somebody makes things", somebody),
        ],
    );
}

/// As user 1234: make things of every kind, and try what is not allowed.
fn somebody(folder: &Path) -> Result<String> {
    let program = "import os, sys\n\
        os.chdir(sys.argv[1]); os.setgroups([]); os.setgid(2345); os.setuid(1234); os.umask(0o027)\n\
        def attempt(act, *arguments):\n\
        \x20   try: act(*arguments); print('fine')\n\
        \x20   except OSError as error: print(error.errno)\n\
        for at in ('', 'g/', 'r/'):\n\
        \x20   attempt(lambda: open(at + 'file', 'w').write('mine'))\n\
        \x20   attempt(os.mkdir, at + 'folder')\n\
        \x20   attempt(os.symlink, 'file', at + 'pointer')\n\
        \x20   attempt(os.mkfifo, at + 'pipe')\n\
        \x20   attempt(os.close, os.open(at + 'set', os.O_CREAT | os.O_WRONLY, 0o4755) if at != 'r/' else -1)\n\
        attempt(os.chown, 'file', 0, 0)\n\
        attempt(os.unlink, 'r')\n\
        attempt(os.rename, 'file', 'r/file')\n\
        attempt(os.chmod, 'g', 0o777)\n";
    let done = Command::new("python3").args(["-c", program]).arg(folder).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr))
}

fn chown(path: &Path, uid: u32, gid: u32) -> Result<String> {
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::chownat(CWD, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok("given".to_owned())
}

fn times(path: &Path, tv_sec: i64, tv_nsec: i64) -> Result<String> {
    let time = Timespec { tv_sec, tv_nsec };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    let found = fs::symlink_metadata(path)?;
    Ok(format!("{} {} {}", found.mtime(), found.mtime_nsec(), found.atime()))
}

/// What is removed while it is open stays readable and writable, and is gone afterwards.
#[test]
fn files_live_on_without_a_name() {
    let Some(gate) = Setup::new().mount() else { return };
    compare(
        &gate,
        &[
            ("remove an open file", |d| {
                let f = open(&d.join("a"), 0)?;
                f.write_all_at(&noise(50_000, 1), 0)?;
                fs::remove_file(d.join("a"))?;
                f.write_all_at(b"more", 60_000)?;
                f.set_len(60_002)?;
                f.sync_all()?;
                let mut b = vec![0; 60_002];
                f.read_exact_at(&mut b, 0)?;
                Ok(format!("{:x} {} {}", sum(&b), f.metadata()?.len(), f.metadata()?.nlink()))
            }),
            ("replace an open file", |d| {
                fs::write(d.join("b"), "old")?;
                let f = open(&d.join("b"), 0)?;
                fs::write(d.join("n"), "newer")?;
                fs::rename(d.join("n"), d.join("b"))?;
                let mut b = [0; 3];
                f.read_exact_at(&mut b, 0)?;
                Ok(format!("{b:?} {}", fs::read_to_string(d.join("b"))?))
            }),
            ("remove a folder one is in", |d| {
                fs::create_dir(d.join("f"))?;
                let f = File::open(d.join("f"))?;
                fs::remove_dir(d.join("f"))?;
                Ok(format!(
                    "{:?}",
                    rustix::fs::openat(
                        &f,
                        "x",
                        OFlags::CREATE | OFlags::RDWR,
                        Mode::from_raw_mode(0o600)
                    )
                    .err()
                ))
            }),
            ("make it again", |d| fs::create_dir(d.join("f")).map(fine)),
        ],
    );
}

/// Locks hold between handles; extended attributes are refused, and nothing else with them.
#[test]
fn locks_hold_and_extended_attributes_are_refused() {
    let Some(gate) = Setup::new().mount() else { return };
    let path = gate.mount().join("a");
    let (first, second) = (open(&path, 0).unwrap(), open(&path, 0).unwrap());

    rustix::fs::flock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
    let busy = rustix::fs::flock(&second, FlockOperation::NonBlockingLockExclusive);
    assert_eq!(Err(rustix::io::Errno::AGAIN), busy);
    drop(first);
    rustix::fs::flock(&second, FlockOperation::NonBlockingLockExclusive).unwrap();

    let refused = rustix::fs::setxattr(&path, "user.x", b"1", XattrFlags::empty());
    assert_eq!(Err(rustix::io::Errno::OPNOTSUPP), refused);
    second.write_all_at(b"still", 0).unwrap();
}

/// Two thousand names are listed once each, while some of them are removed during the listing.
#[test]
fn a_large_folder_is_listed_whole() {
    let Some(gate) = Setup::new().mount() else { return };
    let folder = gate.mount().join("many");
    fs::create_dir(&folder).unwrap();
    let names: Vec<String> = (0..2000).map(|number| format!("file-{number:05}")).collect();
    for name in &names {
        File::create(folder.join(name)).unwrap();
    }

    let listed = |folder: &Path| {
        let mut found: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                assert_eq!(entry.ino(), entry.metadata().unwrap().ino());
                entry.file_name().into_string().unwrap()
            })
            .collect();
        found.sort();
        found
    };
    assert_eq!(names, listed(&folder));

    let mut seen = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
        seen += 1;
    }
    assert_eq!((2000, 0), (seen, listed(&folder).len()));
    fs::remove_dir(&folder).unwrap();
}
