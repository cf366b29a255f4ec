//! The inodes that the kernel knows, and how many lookups it counts for each.
//!
//! Rule 1: a file has one node, whatever its names: two nodes of one file would have two page caches.
//! Rule 2: a node is identified by device and inode number, not by its names. It is reached by a
//! descriptor (`O_PATH`), or, if that was closed to make room ([`crate::descriptors`]), by its present
//! names: every change of a name is noted here. The file found there must be the same one.
//! Rule 3: a node lives while the kernel counts lookups of it, others are reached through it, or a thread
//! uses it.
//! Rule 4: before a file loses its last known name, a descriptor is kept for it.
//!
//! A file without a name keeps its space until the kernel has forgotten it and we have closed it, which
//! is a moment after the reply to its removal. A request that finds the disk full in that time should
//! wait for it ([`Inodes::is_leaving`]).
//!
//! A node has the file's own inode number, so that a folder's listing, `stat` and the next mount agree.
//! The number is not reused while the file has a name or is held. Files of another file system mounted
//! inside the folder could collide, so they get numbers from 2⁶³ on.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::descriptors::Ring;
use crate::known::{Known, Way};
use crate::node::{Node, ROOT, key_of, node_of};

/// A node, and a descriptor of its file that stays open while this exists.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The file, for everything except its content. Dropped before the node, which may count it.
    pub fd: Arc<OwnedFd>,
    /// The node.
    pub node: Arc<Node>,
}

/// A file and its attributes at the lookup.
#[derive(Debug)]
pub struct Found {
    /// The file; its node counts one more lookup.
    pub file: Reached,
    /// Its attributes.
    pub stat: Stat,
}

/// A file that is about to lose a name.
#[derive(Debug)]
pub struct Parting {
    file: Reached,
    is_last: bool,
}

/// All nodes.
#[derive(Debug)]
pub struct Inodes {
    root: Reached,
    known: RwLock<Known>,
    ring: Ring<Node>,
    idle_max: usize,
    /// Files that nothing leads to and that are not open, oldest first.
    lost: Ring<Node>,
    /// Shared by threads that change names; exclusive for a thread that waits until no name changes.
    naming: RwLock<()>,
    epochs: AtomicU64,
    leaving: Arc<AtomicUsize>,
}

impl Parting {
    /// Return the node.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.file.node
    }
}

impl Inodes {
    /// Return a table that knows only the root, and keeps at most this many descriptors of files that
    /// are not open.
    ///
    /// # Errors
    /// The root cannot be read.
    pub fn new(root: OwnedFd, idle_max: usize) -> Result<Self, Errno> {
        let stat = rustix::fs::fstat(&root)?;
        let (leaving, fd) = (Arc::default(), Arc::new(root));
        let node = Arc::new(node_of(ROOT, 0, &stat, &leaving));
        node.grip.keep(Arc::clone(&fd));
        let (known, naming, epochs) = (RwLock::default(), RwLock::default(), AtomicU64::new(1));
        let (ring, lost) = (Ring::default(), Ring::default());
        let root = Reached { fd, node };
        Ok(Self { root, known, ring, idle_max, lost, naming, epochs, leaving })
    }

    /// Return the node of this number.
    ///
    /// # Errors
    /// `ESTALE`: the kernel has already forgotten it.
    pub fn get(&self, id: u64) -> Result<Arc<Node>, Errno> {
        if id == ROOT {
            return Ok(Arc::clone(&self.root.node));
        }
        self.known().get(id).cloned().ok_or(Errno::STALE)
    }

    /// Return the file of this number.
    ///
    /// # Errors
    /// For the reasons of [`Inodes::get`] and [`Inodes::reached`].
    pub fn reach(&self, id: u64) -> Result<Reached, Errno> {
        self.reached(self.get(id)?)
    }

    /// Return the file of a node.
    ///
    /// # Errors
    /// `ESTALE`: another process moved it in the backing folder; or the system has no descriptor left.
    pub fn reached(&self, node: Arc<Node>) -> Result<Reached, Errno> {
        let held = |node: &Arc<Node>| node.grip.fd();
        let fd = match held(&node).map_or_else(|| self.walk_to(&node), Ok) {
            Ok(fd) => fd,
            // A name on the way may be changing now, so try again while none is.
            Err(_) => {
                let _still = self.naming.write().unwrap_or_else(PoisonError::into_inner);
                held(&node).map_or_else(|| self.walk_to(&node), Ok)?
            }
        };
        Ok(Reached { fd, node })
    }

    fn walk_to(&self, node: &Arc<Node>) -> Result<Arc<OwnedFd>, Errno> {
        let mut failed = Errno::STALE;
        for which in 0.. {
            let way = self.known().way_to(node, which);
            let Some(way) = way else { break };
            match self.walk(way) {
                Ok(fd) => return Ok(fd),
                Err(Errno::NOENT | Errno::NOTDIR) => failed = Errno::STALE,
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn walk(&self, way: Way) -> Result<Arc<OwnedFd>, Errno> {
        let mut fd = way.from.unwrap_or_else(|| Arc::clone(&self.root.fd));
        for (node, name) in way.steps {
            fd = Arc::new(open_path(&fd, &name)?);
            if key_of(&rustix::fs::fstat(&fd)?) != node.key {
                return Err(Errno::STALE);
            }
            self.ring.hold(&node, &fd, self.idle_max);
        }
        Ok(fd)
    }

    /// Find a name in a folder and count the lookup.
    ///
    /// # Errors
    /// There is no such name, or it cannot be opened.
    pub fn look_up(&self, folder: &Reached, name: &OsStr) -> Result<Found, Errno> {
        let fd = Arc::new(open_path(&folder.fd, name)?);
        let found = self.adopt(&folder.node, name, fd)?;
        if found.file.node.id != ROOT {
            self.ring.hold(&found.file.node, &found.file.fd, self.idle_max);
        }
        Ok(found)
    }

    /// Count a lookup of the file of a descriptor, which has this name in a folder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn adopt(&self, folder: &Node, name: &OsStr, fd: Arc<OwnedFd>) -> Result<Found, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        let (key, root_key) = (key_of(&stat), self.root.node.key);
        if key == root_key {
            return Ok(Found { file: self.root.clone(), stat });
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let node = known.count(key, root_key, |id| {
            let epoch = self.epochs.fetch_add(1, Ordering::Relaxed);
            node_of(id, epoch, &stat, &self.leaving)
        });
        let is_name = name != "." && name != "..";
        if is_name && known.add_name(node.id, folder.id, name) {
            node.grip.loosen();
        } else {
            node.grip.keep(Arc::clone(&fd));
        }
        drop(known);
        Ok(Found { file: Reached { fd, node }, stat })
    }

    /// Subtract lookups that the kernel forgets; return the node if these were the last ones.
    pub fn forget(&self, id: u64, lookups: u64) -> Option<Arc<Node>> {
        let gone = {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.forget(id, lookups)
        };
        gone.into_iter().next()
    }

    /// Announce changes of names while the returned guard lives. In that time nothing may be reached that
    /// is not held.
    pub fn change_names(&self) -> RwLockReadGuard<'_, ()> {
        self.naming.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the node of a name, if the kernel knows it, with its attributes.
    #[must_use]
    pub fn named(&self, folder: &Reached, name: &OsStr) -> Option<(Arc<Node>, Stat)> {
        let stat = rustix::fs::statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let node = self.known().of_key(key_of(&stat), self.root.node.key).cloned()?;
        Some((node, stat))
    }

    /// Hold a file before it loses a name, if the kernel knows it.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn parting(&self, folder: &Reached, name: &OsStr) -> Result<Option<Parting>, Errno> {
        let Some((node, stat)) = self.named(folder, name) else { return Ok(None) };
        let fd = match node.grip.fd() {
            Some(fd) => fd,
            None => Arc::new(open_path(&folder.fd, name)?),
        };
        let is_file = node.kind == FileType::RegularFile;
        let is_last = is_file && stat.st_nlink == 1 && node.key.0 == self.root.node.key.0;
        Ok(Some(Parting { file: Reached { fd, node }, is_last }))
    }

    /// Note that the file has lost the name.
    pub fn parted(&self, parting: &Parting, folder: &Node, name: &OsStr) {
        let Reached { fd, node } = &parting.file;
        if !self.lose_name(node.id, folder, name) {
            node.grip.keep(Arc::clone(fd));
            self.lost.add(node, self.known().len());
        }
        if parting.is_last {
            node.unnamed();
        }
    }

    /// Note that a node has a new name instead of an old one.
    pub fn moved(&self, node: &Node, from: (&Node, &OsStr), to: (&Node, &OsStr)) {
        let is_reachable = {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.add_name(node.id, to.0.id, to.1)
        };
        if let Some(fd) = node.grip.fd().filter(|_| !is_reachable) {
            node.grip.keep(fd);
        }
        self.lose_name(node.id, from.0, from.1);
    }

    /// Remove a name; return whether other names are known.
    fn lose_name(&self, id: u64, folder: &Node, name: &OsStr) -> bool {
        let (is_named, gone) = {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.lose_name(id, folder.id, name)
        };
        drop(gone);
        is_named
    }

    /// Close a descriptor of a file that is not open; return whether there was one, and whether other
    /// ones are in use.
    pub fn make_room(&self) -> (bool, bool) {
        let (closed, is_busy) = self.ring.sweep(true, |closed| closed > 0);
        (closed > 0, is_busy)
    }

    /// Close a file that nothing leads to and that is not open, before the kernel has forgotten it; return
    /// whether there was one. Later accesses to it get `ESTALE`.
    pub fn abandon(&self) -> bool {
        for _ in 0..self.lost.len() {
            let Some(first) = self.lost.pop() else { break };
            let Some(node) = first else { continue };
            if node.grip.abandon() {
                return true;
            }
            if node.grip.is_open() {
                self.lost.add(&node, usize::MAX / 4);
            }
        }
        false
    }

    /// Return whether files without a name are about to be closed, which then frees their space.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire) > 0
    }

    /// Return the number that a listing shows for an entry with this inode number.
    #[must_use]
    pub fn listed(&self, inode: u64) -> u64 {
        if inode == self.root.node.key.1 { ROOT } else { inode }
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_path(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

#[cfg(test)]
#[path = "inodes_tests.rs"]
mod tests;
