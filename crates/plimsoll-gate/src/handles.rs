//! Open files and folders, by the number that the kernel sends with each request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::bypass::Bypass;
use crate::leases::Lease;
use crate::node::Node;

/// An open file.
#[derive(Debug)]
pub struct OpenFile {
    /// The backing file. Only the kernel appends and skips caches; neither flag is set here.
    pub lease: Arc<Lease>,
    /// How the backing file is opened.
    pub flags: OFlags,
    /// The backing file again, for reads past the page cache.
    pub bypass: Bypass,
    /// Its node.
    pub node: Arc<Node>,
    /// Whether its content goes through the page cache.
    pub is_cached: bool,
    /// Whether a write returns only when it is on the disk (`O_SYNC`, `O_DSYNC` without cache).
    pub is_synchronous: bool,
    /// Whether it can be written to.
    pub is_writable: bool,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.is_writable {
            self.node.writers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// An open folder.
#[derive(Debug)]
pub struct OpenFolder {
    /// The backing folder.
    pub lease: Arc<Lease>,
    /// Held while a thread reads from its own position.
    pub reading: Mutex<()>,
    /// Its node.
    pub node: Arc<Node>,
}

/// Numbers for open files and folders.
#[derive(Debug)]
pub struct Handles<T> {
    open: RwLock<HashMap<u64, Arc<T>>>,
    next: AtomicU64,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { open: RwLock::default(), next: AtomicU64::new(1) }
    }
}

impl<T> Handles<T> {
    /// Add it, and return its number.
    pub fn insert(&self, opened: T) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(number, Arc::new(opened));
        number
    }

    /// Return what has this number.
    ///
    /// # Errors
    /// `EBADF`: nothing has this number.
    pub fn get(&self, number: u64) -> Result<Arc<T>, Errno> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&number).cloned().ok_or(Errno::BADF)
    }

    /// Return everything that is open now.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<T>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Return whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Free the number; its file closes when no thread uses it any more.
    pub fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}
