//! The inodes that the kernel knows, and how often it was told of each.
//!
//! Rule 1: a file has one node, whatever its names: two nodes of one file would be two page caches.
//! Rule 2: a node holds its file by a descriptor (`O_PATH`), never by a path, so that renames,
//! removals and hard links cannot make it mean another file.
//! Rule 3: a node lives as long as the kernel counts lookups of it, or somebody works with it.
//!
//! A file that lost its last name keeps its space until the kernel has forgotten it and we have
//! closed it, a moment after whoever removed it was answered. Whoever finds the disk full meanwhile
//! is to wait for that moment ([`Inodes::is_leaving`]).
//!
//! A node is called by the file's own inode number, so that a folder's listing, `stat` and the next
//! mount agree. As long as the descriptor is open the number is not used again. Files of another
//! file system mounted inside the folder, whose numbers could collide, get numbers beyond 2⁶³.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::runs::Runs;

/// Number of the root, by the protocol.
pub const ROOT: u64 = 1;

const FOREIGN: u64 = 1 << 63;

/// One file of the backing folder.
#[derive(Debug)]
pub struct Node {
    /// How the kernel calls it.
    pub id: u64,
    /// Tells this node from an earlier one of the same number.
    pub epoch: u64,
    /// The file, for everything but its content.
    pub fd: OwnedFd,
    /// What kind of file it is.
    pub kind: FileType,
    /// Open handles that can write: the kernel may hold data that has not reached us.
    pub writers: AtomicU32,
    /// Where sequential requests have got to.
    pub runs: Mutex<Runs>,
    opens: AtomicU32,
    /// Dropped after the descriptor, so that what it counts is closed.
    leaving: Leaving,
}

/// Whether a file is on its way out, and how many are.
#[derive(Debug)]
struct Leaving {
    is_unnamed: AtomicBool,
    is_counted: AtomicBool,
    count: Arc<AtomicUsize>,
}

/// A node and what it looked like when it was looked up.
#[derive(Debug)]
pub struct Found {
    /// The node, counted once more.
    pub node: Arc<Node>,
    /// Its attributes.
    pub stat: Stat,
}

#[derive(Debug)]
struct Counted {
    node: Arc<Node>,
    lookups: u64,
    key: (u64, u64),
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<u64, Counted>,
    /// Numbers of files of other file systems, by device and inode.
    foreign: HashMap<(u64, u64), u64>,
    foreigners: u64,
}

/// All nodes.
#[derive(Debug)]
pub struct Inodes {
    root: Arc<Node>,
    root_key: (u64, u64),
    known: RwLock<Known>,
    epochs: AtomicU64,
    leaving: Arc<AtomicUsize>,
}

impl Node {
    /// A handle was opened.
    pub fn opened(&self) {
        self.opens.fetch_add(1, Ordering::AcqRel);
    }

    /// The kernel is through with a handle.
    pub fn closed(&self) {
        let before = self.opens.fetch_sub(1, Ordering::AcqRel);
        if before == 1 && self.leaving.is_unnamed.load(Ordering::Acquire) {
            self.leaving.begin();
        }
    }

    /// The file lost its last name.
    pub fn unnamed(&self) {
        self.leaving.is_unnamed.store(true, Ordering::Release);
        if self.opens.load(Ordering::Acquire) == 0 {
            self.leaving.begin();
        }
    }
}

impl Leaving {
    fn begin(&self) {
        if !self.is_counted.swap(true, Ordering::AcqRel) {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if *self.is_counted.get_mut() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Inodes {
    /// A table that knows the root only.
    ///
    /// # Errors
    /// The root cannot be asked.
    pub fn new(root: OwnedFd) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&root)?;
        let leaving = Arc::default();
        let root = Arc::new(node_of(ROOT, 0, root, &stat, &leaving));
        let (known, epochs) = (RwLock::default(), AtomicU64::new(1));
        Ok(Self { root, root_key: key_of(&stat), known, epochs, leaving })
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> &Arc<Node> {
        &self.root
    }

    /// The node of this number.
    ///
    /// # Errors
    /// `ESTALE`: the kernel asks for what it has forgotten.
    pub fn get(&self, id: u64) -> Result<Arc<Node>, Errno> {
        if id == ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_id.get(&id).map(|counted| Arc::clone(&counted.node)).ok_or(Errno::STALE)
    }

    /// Find a name in a folder and count the lookup.
    ///
    /// # Errors
    /// There is no such name, or it cannot be opened.
    pub fn look_up(&self, folder: &Node, name: &std::ffi::OsStr) -> Result<Found, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.adopt(rustix::fs::openat(&folder.fd, name, flags, Mode::empty())?)
    }

    /// Count a lookup of the file behind an `O_PATH` descriptor.
    ///
    /// # Errors
    /// The file cannot be asked.
    pub fn adopt(&self, fd: OwnedFd) -> Result<Found, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        let key = key_of(&stat);
        if key == self.root_key {
            return Ok(Found { node: Arc::clone(&self.root), stat });
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let id = known.id_of(key, self.root_key);
        let counted = known.by_id.entry(id).or_insert_with(|| {
            let epoch = self.epochs.fetch_add(1, Ordering::Relaxed);
            let node = node_of(id, epoch, fd, &stat, &self.leaving);
            Counted { node: Arc::new(node), lookups: 0, key }
        });
        counted.lookups += 1;
        Ok(Found { node: Arc::clone(&counted.node), stat })
    }

    /// The kernel forgets some lookups; the node is returned when these were the last ones.
    pub fn forget(&self, id: u64, lookups: u64) -> Option<Arc<Node>> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let counted = known.by_id.get_mut(&id)?;
        counted.lookups = counted.lookups.saturating_sub(lookups);
        if counted.lookups > 0 {
            return None;
        }
        let gone = known.by_id.remove(&id)?;
        known.foreign.remove(&gone.key);
        Some(gone.node)
    }

    /// The node of a file that this is the last name of, if the kernel knows it.
    #[must_use]
    pub fn last_named(&self, folder: &Node, name: &std::ffi::OsStr) -> Option<Arc<Node>> {
        let stat = rustix::fs::statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_nlink > 1 || stat.st_dev != self.root_key.0 {
            return None;
        }
        self.get(stat.st_ino).ok()
    }

    /// Whether files without a name are still to be closed, whose space then comes free.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire) > 0
    }

    /// The number that a listing shows for an entry with this inode number.
    #[must_use]
    pub fn listed(&self, inode: u64) -> u64 {
        if inode == self.root_key.1 { ROOT } else { inode }
    }

    /// How many nodes there are besides the root.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_id.len()
    }

    /// Whether the kernel knows nothing but the root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Known {
    fn id_of(&mut self, key: (u64, u64), root_key: (u64, u64)) -> u64 {
        let (device, inode) = key;
        if device == root_key.0 && inode > ROOT && inode < FOREIGN {
            return inode;
        }
        let next = FOREIGN | (self.foreigners + 1);
        let id = *self.foreign.entry(key).or_insert(next);
        if id == next {
            self.foreigners += 1;
        }
        id
    }
}

fn key_of(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn node_of(id: u64, epoch: u64, fd: OwnedFd, stat: &Stat, leaving: &Arc<AtomicUsize>) -> Node {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (is_unnamed, is_counted) = (AtomicBool::new(false), AtomicBool::new(false));
    let leaving = Leaving { is_unnamed, is_counted, count: Arc::clone(leaving) };
    let (writers, opens, runs) = (AtomicU32::new(0), AtomicU32::new(0), Mutex::default());
    Node { id, epoch, fd, kind, writers, runs, opens, leaving }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn table(folder: &std::path::Path) -> Inodes {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Inodes::new(rustix::fs::open(folder, flags, Mode::empty()).unwrap()).unwrap()
    }

    /// Two names of one file are one node, which lives until both lookups are forgotten.
    #[test]
    fn hard_links_share_a_node_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"x").unwrap();
        std::fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let inodes = table(folder.path());

        let a = inodes.look_up(inodes.root(), OsStr::new("a")).unwrap();
        let b = inodes.look_up(inodes.root(), OsStr::new("b")).unwrap();

        assert_eq!(a.stat.st_ino, a.node.id);
        assert_eq!((a.node.id, 1), (b.node.id, inodes.len()));
        assert!(inodes.forget(a.node.id, 1).is_none());
        assert_eq!(a.node.id, inodes.forget(a.node.id, 1).unwrap().id);
        assert_eq!(Errno::STALE, inodes.get(a.node.id).unwrap_err());
        assert!(inodes.is_empty());
    }

    /// A name that was taken over by another file does not change what a node is.
    #[test]
    fn a_node_stays_its_file_when_the_name_is_given_away() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"old").unwrap();
        let inodes = table(folder.path());
        let old = inodes.look_up(inodes.root(), OsStr::new("a")).unwrap().node;

        std::fs::write(folder.path().join("new"), b"newer").unwrap();
        std::fs::rename(folder.path().join("new"), folder.path().join("a")).unwrap();

        assert_ne!(old.id, inodes.look_up(inodes.root(), OsStr::new("a")).unwrap().node.id);
        assert_eq!(3, rustix::fs::fstat(&inodes.get(old.id).unwrap().fd).unwrap().st_size);
    }

    /// A file that is open nowhere leaves from when its last name goes until it is closed; one that
    /// is open leaves from its last handle on.
    #[test]
    fn a_file_leaves_when_neither_name_nor_handle_is_left() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"x").unwrap();
        std::fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let inodes = table(folder.path());
        let node = inodes.look_up(inodes.root(), OsStr::new("a")).unwrap().node;
        assert!(inodes.last_named(inodes.root(), OsStr::new("a")).is_none());

        std::fs::remove_file(folder.path().join("b")).unwrap();
        node.opened();
        inodes.last_named(inodes.root(), OsStr::new("a")).unwrap().unnamed();
        assert!(!inodes.is_leaving());
        node.closed();
        assert!(inodes.is_leaving());
        drop(node);
        assert!(inodes.is_leaving());

        drop(inodes.forget(inodes.get(inode(&folder)).unwrap().id, 1));
        assert!(!inodes.is_leaving());
    }

    fn inode(folder: &tempfile::TempDir) -> u64 {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(folder.path().join("a")).unwrap().ino()
    }

    /// The root is never counted, so it is never forgotten, whatever the kernel says.
    #[test]
    fn the_root_stays() {
        let folder = tempfile::tempdir().unwrap();
        let inodes = table(folder.path());

        assert!(inodes.forget(ROOT, 5).is_none());
        assert_eq!(ROOT, inodes.get(ROOT).unwrap().id);
        assert_eq!(ROOT, inodes.look_up(inodes.root(), OsStr::new(".")).unwrap().node.id);
    }
}
