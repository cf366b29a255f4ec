//! Open, create and close files.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fuser::{FileAttr, FopenFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::Core;
use super::attributes::attributes_of;
use super::names::Asker;
use crate::bypass::Bypass;
use crate::config;
use crate::handles::OpenFile;
use crate::inodes::Reached;
use crate::leases::Lease;
use crate::node::Node;

/// A handle for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its number.
    pub number: u64,
    /// How the kernel must treat it.
    pub flags: FopenFlags,
}

/// How to open a backing file for an opener's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    access: OFlags,
    is_cached: bool,
    is_synchronous: bool,
    is_writable: bool,
}

impl Way {
    /// Return how to open it. The kernel reads through write handles to fill pages, and appends by
    /// itself. Writes past its cache go through ours, because the memory here is not aligned.
    fn of(flags: i32, mode: config::Mode) -> Self {
        let asked = OFlags::from_bits_retain(flags as u32);
        let is_writable = asked.intersects(OFlags::WRONLY | OFlags::RDWR);
        let is_cached = mode == config::Mode::Fs && !asked.contains(OFlags::DIRECT);
        let is_synchronous = !is_cached && asked.intersects(OFlags::SYNC | OFlags::DSYNC);
        let access = if is_writable { OFlags::RDWR } else { OFlags::RDONLY };
        Self { access, is_cached, is_synchronous, is_writable }
    }

    fn flags(&self) -> OFlags {
        // With the cache the kernel sends a flush itself.
        let sync = if self.is_synchronous { OFlags::DSYNC } else { OFlags::empty() };
        self.access | sync | OFlags::CLOEXEC
    }

    fn answer(&self) -> FopenFlags {
        if self.is_cached {
            FopenFlags::FOPEN_KEEP_CACHE
        } else {
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
        }
    }
}

impl Core {
    /// Open a file.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn open(&self, id: u64, flags: i32) -> Result<Opened, Errno> {
        self.with_room(|| self.open_once(id, flags))
    }

    fn open_once(&self, id: u64, flags: i32) -> Result<Opened, Errno> {
        let file = self.inodes.reach(id)?;
        let mut way = Way::of(flags, self.mode);
        let fd = match self.reopen(&file, way.flags()) {
            // We may write this file but not read it: without cache no read is needed.
            Err(Errno::ACCESS) if way.is_writable => {
                way = Way { access: OFlags::WRONLY, is_cached: false, ..way };
                self.reopen(&file, way.flags())?
            }
            opened => opened?,
        };
        self.hold(Arc::new(fd), file.node, way, false)
    }

    /// Make a file and open it.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn create(
        self: &Arc<Self>,
        asker: Asker,
        folder: u64,
        name: &OsStr,
        mode: u32,
        flags: i32,
    ) -> Result<(FileAttr, Opened), Errno> {
        let asked = OFlags::from_bits_retain(flags as u32);
        let way = Way::of(flags, self.mode);
        let making = OFlags::CREATE | OFlags::NOFOLLOW | (asked & (OFlags::EXCL | OFlags::TRUNC));
        let bits = Mode::from_raw_mode(mode & 0o7777);
        // Without a free descriptor the system creates no file; afterwards none is opened.
        let (folder, fd) = self.with_room(|| {
            let folder = self.inodes.reach(folder)?;
            let fd = rustix::fs::openat(&folder.fd, name, way.flags() | making, bits)?;
            Ok((folder, Arc::new(fd)))
        })?;
        let found = self.hand_over(asker, &folder, name, Arc::clone(&fd), mode)?;
        // The creator may use the file in ways that its permissions forbid from now on (open(2)).
        let is_pinned = !self.is_root && !bits.contains(Mode::RUSR | Mode::WUSR);
        let opened = self.hold(fd, Arc::clone(&found.file.node), way, is_pinned)?;
        Ok((attributes_of(&found.file.node, &found.stat), opened))
    }

    /// Close a handle. The last one of a file without a name deletes the file, which may take long.
    pub fn close(self: &Arc<Self>, number: u64) {
        if let Some(file) = self.files.remove(number) {
            file.node.closed();
            self.end_later(file);
        }
    }

    /// Open a file of which only a path descriptor is known.
    pub(super) fn reopen(&self, file: &Reached, flags: OFlags) -> Result<OwnedFd, Errno> {
        let (number, flags) = (DecInt::from_fd(&file.fd), flags | OFlags::CLOEXEC);
        rustix::fs::openat(&self.descriptors, number.as_c_str(), flags, Mode::empty())
    }

    fn hold(
        &self,
        fd: Arc<OwnedFd>,
        node: Arc<Node>,
        way: Way,
        is_pinned: bool,
    ) -> Result<Opened, Errno> {
        let Way { is_cached, is_synchronous, is_writable, .. } = way;
        let lease = Arc::new(Lease::new(&node, true, &self.room.open));
        if is_pinned {
            lease.pin();
        }
        node.opened();
        node.grip.lend(&fd);
        if is_writable {
            node.writers.fetch_add(1, Ordering::AcqRel);
        }
        let (bypass, flags) = (Bypass::new(&node, &self.room.open), way.flags());
        let file = OpenFile { lease, flags, bypass, node, is_cached, is_synchronous, is_writable };
        self.leased(&file.lease, || Ok(fd))?;
        Ok(Opened { number: self.files.insert(file), flags: way.answer() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(flags: OFlags, mode: config::Mode) -> Way {
        Way::of(flags.bits() as i32, mode)
    }

    /// Who only writes gets a handle that can read, without the flags that the kernel acts on.
    #[test]
    fn a_writer_can_fill_up_pages() {
        let found = way(OFlags::WRONLY | OFlags::APPEND, config::Mode::Fs);

        assert_eq!(OFlags::RDWR | OFlags::CLOEXEC, found.flags());
        assert_eq!(FopenFlags::FOPEN_KEEP_CACHE, found.answer());
    }

    /// Direct I/O is seen request by request, but writes to the backing file go through its cache.
    #[test]
    fn direct_io_bypasses_the_cache_of_the_mount() {
        let found = way(OFlags::RDWR | OFlags::DIRECT | OFlags::DSYNC, config::Mode::Fs);

        assert_eq!(OFlags::RDWR | OFlags::DSYNC | OFlags::CLOEXEC, found.flags());
        assert!(found.answer().contains(FopenFlags::FOPEN_DIRECT_IO));
        assert!(!way(OFlags::RDWR | OFlags::DSYNC, config::Mode::Fs).is_synchronous);
    }

    /// An image is a disk: no request to it is cached.
    #[test]
    fn an_image_is_never_cached() {
        assert!(!way(OFlags::RDWR, config::Mode::BlockImage).is_cached);
    }
}
