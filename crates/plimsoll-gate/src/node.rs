//! One file of the backing folder, as the kernel knows it.
//!
//! [`crate::inodes`] has the list of nodes, and finds a file again.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::fs::{FileType, Stat};

use crate::descriptors::{Grip, LetGo, Lost, Ring};
use crate::runs::Runs;
use crate::written::Written;

/// Number of the root in the FUSE protocol.
pub const ROOT: u64 = 1;

/// Numbers from here on are ours, for files of other file systems.
pub const FOREIGN: u64 = 1 << 63;

/// Device and inode number.
pub type Key = (u64, u64);

/// One file of the backing folder.
#[derive(Debug)]
pub struct Node {
    /// Its number for the kernel.
    pub id: u64,
    /// Distinguishes this node from an earlier one with the same number.
    pub epoch: u64,
    /// What keeps the file reachable.
    pub grip: Grip,
    /// Kind of the file.
    pub kind: FileType,
    /// Open handles that can write: the kernel may have data that has not reached us.
    pub writers: AtomicU32,
    /// Where sequential requests have ended.
    pub runs: Mutex<Runs>,
    /// Data that was written and not flushed.
    pub written: Written,
    /// Device and inode number.
    pub(crate) key: Key,
    /// Dropped after the descriptor, so that the count is right when it is closed.
    leaving: Leaving,
}

/// Whether a file is about to be deleted, and how many are.
#[derive(Debug)]
struct Leaving {
    is_unnamed: AtomicBool,
    is_counted: AtomicBool,
    count: Arc<AtomicUsize>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Node {
    /// Note that a handle was opened.
    pub fn opened(&self) {
        self.grip.opened();
    }

    /// Note that the kernel has released a handle.
    pub fn closed(&self) {
        self.grip.closed();
        if self.leaving.is_unnamed.load(Ordering::Acquire) && !self.grip.is_open() {
            self.leaving.begin();
        }
    }

    /// Note that the file has lost its last name.
    pub fn unnamed(&self) {
        self.leaving.is_unnamed.store(true, Ordering::Release);
        if !self.grip.is_open() {
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

impl LetGo for Node {
    fn let_go(&self, is_pressed: bool) -> Lost {
        self.grip.let_go(is_pressed)
    }
}

impl Ring<Node> {
    /// Hold a file, whose name is known, by this descriptor, and let others go for it.
    pub fn hold(&self, node: &Arc<Node>, fd: &Arc<OwnedFd>, most: usize) {
        if node.grip.take(fd) {
            self.push(node);
            self.sweep(false, |_| self.len() <= most);
        }
    }
}

/// Return device and inode number of what was asked.
pub(crate) fn key_of(stat: &Stat) -> Key {
    (stat.st_dev, stat.st_ino)
}

/// Return the node of a file that was just found.
pub(crate) fn node_of(id: u64, epoch: u64, stat: &Stat, leaving: &Arc<AtomicUsize>) -> Node {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (is_unnamed, is_counted) = (AtomicBool::new(false), AtomicBool::new(false));
    let leaving = Leaving { is_unnamed, is_counted, count: Arc::clone(leaving) };
    let (grip, key) = (Grip::default(), key_of(stat));
    let (writers, runs, written) = (AtomicU32::new(0), Mutex::default(), Written::default());
    Node { id, epoch, grip, kind, writers, runs, written, key, leaving }
}
