//! The second descriptors of an open file, past the page cache, and when to use them.
//!
//! [`crate::fs`] explains what is read and written through them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::leases::Lease;
use crate::node::Node;

/// Reads after a miss that skip the cache. Many enough that the cost of cache lookups does not matter, few
/// enough that a file which has got into memory is soon found there.
const PAST_A_MISS: u32 = 63;

/// The path past the cache of one open file.
#[derive(Debug)]
pub struct Bypass {
    /// A second descriptor, opened at its first use.
    pub(crate) read: Arc<Lease>,
    /// The same for writing.
    pub(crate) written: Arc<Lease>,
    /// Whether the backing file system refuses it.
    pub(crate) is_refused: AtomicBool,
    /// How many more reads skip the cache.
    left: AtomicU32,
}

impl Bypass {
    /// Return the path past the cache of this file.
    pub fn new(node: &Arc<Node>, count: &Arc<AtomicUsize>) -> Self {
        let lease = || Arc::new(Lease::new(node, false, count));
        let (is_refused, left) = (AtomicBool::new(false), AtomicU32::new(0));
        Self { read: lease(), written: lease(), is_refused, left }
    }

    /// Return whether this read skips the cache.
    pub fn is_next(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Note that the cache did not have all requested data.
    pub fn missed(&self) {
        self.left.store(PAST_A_MISS, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::ROOT;
    use rustix::fs::{Mode, OFlags};

    /// After a miss some reads pass by, then the cache is looked into again.
    #[test]
    fn a_miss_is_followed_by_reads_that_pass_by() {
        let folder = tempfile::tempdir().unwrap();
        let root = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        let inodes = crate::inodes::Inodes::new(root, 0).unwrap();
        let bypass = Bypass::new(&inodes.get(ROOT).unwrap(), &Arc::default());
        assert!(!bypass.is_next());

        for _ in 0..2 {
            bypass.missed();
            assert!((0..PAST_A_MISS).all(|_| bypass.is_next()));
            assert!(!bypass.is_next());
        }
    }
}
