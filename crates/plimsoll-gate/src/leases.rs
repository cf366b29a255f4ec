//! Keep fewer descriptors of open files than there are handles.
//!
//! Rule 1: a handle's descriptor may be closed while no thread uses it. The next request reopens the same
//! file ([`crate::inodes`] reaches it, even without a name).
//! Rule 2: that loses nothing: no lock, position or flag belongs to a descriptor here, and
//! [`crate::written`] keeps errors of writeback.
//! Rule 3: a descriptor that could not be reopened is pinned, and never closed.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::descriptors::{LetGo, Lost};
use crate::node::Node;
use crate::written::Heard;

#[derive(Debug, Default)]
struct Held {
    fd: Option<Arc<OwnedFd>>,
    was_used: bool,
    is_pinned: bool,
    is_listed: bool,
}

/// One descriptor of something open, which may be closed for some time.
#[derive(Debug)]
pub struct Lease {
    node: Arc<Node>,
    /// Whether data may still have to be written back through it.
    is_written: bool,
    held: Mutex<Held>,
    /// How many descriptors are open.
    count: Arc<AtomicUsize>,
    /// Which failed flushes its handle knows of.
    pub heard: Mutex<Heard>,
}

impl Lease {
    /// Return a lease without a descriptor yet; `is_written` if data may have to be written back.
    #[must_use]
    pub fn new(node: &Arc<Node>, is_written: bool, count: &Arc<AtomicUsize>) -> Self {
        let heard = Mutex::new(node.written.heard());
        let (node, count) = (Arc::clone(node), Arc::clone(count));
        Self { node, is_written, held: Mutex::default(), count, heard }
    }

    /// Return the descriptor, reopened if it was closed, and whether to list it among those that may be
    /// closed.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn get(
        &self,
        open: impl FnOnce() -> Result<Arc<OwnedFd>, Errno>,
    ) -> Result<(Arc<OwnedFd>, bool), Errno> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.was_used = true;
        if let Some(fd) = &held.fd {
            return Ok((Arc::clone(fd), false));
        }
        let fd = held.fd.insert(open()?).clone();
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok((fd, !std::mem::replace(&mut held.is_listed, true)))
    }

    /// Keep the descriptor from now on, because it could not be reopened.
    pub fn pin(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).is_pinned = true;
    }

    fn close(&self, held: &mut MutexGuard<'_, Held>) {
        let Some(fd) = held.fd.take() else { return };
        if self.is_written && !self.node.written.is_clean() {
            self.node.written.settle(|| rustix::fs::fsync(&fd));
        }
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).leave();
        drop(fd);
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

impl LetGo for Lease {
    fn let_go(&self, is_dirty_too: bool) -> Lost {
        // The thread that has the lock is opening it now.
        let Ok(mut held) = self.held.try_lock() else { return Lost::Busy };
        let Some(fd) = &held.fd else {
            held.is_listed = false;
            return Lost::Empty;
        };
        if Arc::strong_count(fd) > 1 {
            return Lost::Busy;
        }
        let is_dirty = self.is_written && !self.node.written.is_clean();
        if held.is_pinned || std::mem::take(&mut held.was_used) || (is_dirty && !is_dirty_too) {
            return Lost::Stays;
        }
        self.close(&mut held);
        held.is_listed = false;
        Lost::Closed
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        if held.fd.take().is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::Ring;
    use crate::inodes::Inodes;
    use crate::node::ROOT;
    use rustix::fs::{Mode, OFlags};
    use std::ffi::OsStr;

    /// A file of a folder of its own, and its node.
    fn file() -> (tempfile::TempDir, Arc<Node>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"x").unwrap();
        let root = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        let inodes = Inodes::new(root, 1).unwrap();
        let node = inodes.look_up(&inodes.reach(ROOT).unwrap(), OsStr::new("a")).unwrap().file.node;
        (folder, node)
    }

    fn get(lease: &Lease, folder: &tempfile::TempDir) -> (Arc<OwnedFd>, bool) {
        let open = || rustix::fs::open(folder.path().join("a"), OFlags::RDWR, Mode::empty());
        lease.get(|| open().map(Arc::new)).unwrap()
    }

    /// A descriptor is closed when nobody works with it, not sooner, and can be had again.
    #[test]
    fn an_idle_descriptor_is_closed_and_had_again() {
        let ((folder, node), count) = (file(), Arc::default());
        let lease = Lease::new(&node, true, &count);

        let (fd, is_new) = get(&lease, &folder);
        assert_eq!((true, Lost::Busy), (is_new, lease.let_go(false)));
        drop(fd);
        // Used since it was last looked at, then not.
        assert_eq!([Lost::Stays, Lost::Closed], [lease.let_go(false), lease.let_go(false)]);
        assert_eq!((0, Lost::Empty), (count.load(Ordering::Acquire), lease.let_go(false)));

        assert!(get(&lease, &folder).1);
        assert!(!get(&lease, &folder).1);
        assert_eq!(1, count.load(Ordering::Acquire));
        drop(lease);
        assert_eq!(0, count.load(Ordering::Acquire));
    }

    /// A file that was written to is flushed before its descriptor is closed, and only where no
    /// other one can be.
    #[test]
    fn what_was_written_is_flushed_before_its_descriptor_is_closed() {
        let ((folder, node), count) = (file(), Arc::default());
        let lease = Lease::new(&node, true, &count);
        drop(get(&lease, &folder));
        node.written.change();

        assert_eq!([Lost::Stays; 2], [lease.let_go(false), lease.let_go(false)]);
        assert!(!node.written.is_clean());
        assert_eq!(Lost::Closed, lease.let_go(true));
        assert!(node.written.is_clean());
    }

    /// What could not be opened again is never closed.
    #[test]
    fn a_pinned_descriptor_stays() {
        let ((folder, node), count) = (file(), Arc::default());
        let lease = Lease::new(&node, false, &count);
        drop(get(&lease, &folder));
        lease.pin();

        assert_eq!([Lost::Stays; 3], [(); 3].map(|()| lease.let_go(true)));
    }

    /// Sweeping closes as many as asked, those first that were not used since the last time, and
    /// leaves those alone that somebody works with.
    #[test]
    fn sweeping_closes_the_least_used_first() {
        let ((folder, node), count) = (file(), Arc::default());
        let leases = [(); 4].map(|()| Arc::new(Lease::new(&node, true, &count)));
        let ring = Ring::default();
        let in_use = get(&leases[0], &folder);
        leases[1..].iter().for_each(|lease| drop(get(lease, &folder)));
        leases.iter().for_each(|lease| ring.add(lease, 4));
        assert_eq!((1, true), ring.sweep(false, |closed| closed > 0));
        drop(get(&leases[2], &folder));

        assert_eq!((1, false), ring.sweep(false, |closed| closed > 0));

        let is_open = |lease: &Arc<Lease>| lease.held.lock().unwrap().fd.is_some();
        assert_eq!([true, false, true, false], [0, 1, 2, 3].map(|at| is_open(&leases[at])));
        drop(in_use);
        assert_eq!((2, false), ring.sweep(false, |_| false));
    }
}
