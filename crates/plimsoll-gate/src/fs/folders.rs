//! List folders.
//!
//! Positions are those of the backing file system, so a listing can stop and continue anywhere, even
//! after names were removed.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use fuser::{Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RawDirEntry, SeekFrom};
use rustix::io::Errno;

use super::attributes::{attributes_of, kind_of};
use super::{Core, ENTRY_LIFE, attribute_life};
use crate::handles::OpenFolder;
use crate::leases::Lease;

/// Bytes of entries to read from the backing folder at a time.
const ENTRIES_BYTES: usize = 32 * 1024;

impl Core {
    /// Open a folder.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn open_folder(&self, id: u64) -> Result<u64, Errno> {
        let node = self.inodes.get(id)?;
        let lease = Arc::new(Lease::new(&node, false, &self.room.open));
        let folder = OpenFolder { lease, reading: Mutex::default(), node };
        self.with_room(|| self.folder_fd(&folder))?;
        Ok(self.folders.insert(folder))
    }

    /// Return the backing folder of an open one.
    pub(super) fn folder_fd(&self, folder: &OpenFolder) -> Result<Arc<OwnedFd>, Errno> {
        self.leased(&folder.lease, || {
            let found = self.inodes.reached(Arc::clone(&folder.node))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(&found.fd, ".", flags, Mode::empty()).map(Arc::new)
        })
    }

    /// List names from a position on, as far as the reply has room.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn list(&self, number: u64, from: u64, reply: &mut ReplyDirectory) -> Result<(), Errno> {
        let mut visit = |folder: &OwnedFd, entry: &RawDirEntry<'_>| {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = kind_of(kind_in(folder, entry));
            let id = INodeNo(self.inodes.listed(entry.ino()));
            Ok(!reply.add(id, entry.next_entry_cookie(), kind, name))
        };
        self.with_room(|| self.each_entry(number, from, &mut visit))
    }

    /// List names with attributes; this counts a lookup for each of them.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn list_with_attributes(
        self: &Arc<Self>,
        number: u64,
        from: u64,
        reply: &mut ReplyDirectoryPlus,
    ) -> Result<(), Errno> {
        // If it fails, nothing is in the reply yet.
        self.with_room(|| self.list_with_attributes_once(number, from, reply))
    }

    fn list_with_attributes_once(
        self: &Arc<Self>,
        number: u64,
        from: u64,
        reply: &mut ReplyDirectoryPlus,
    ) -> Result<(), Errno> {
        let open = self.folders.get(number)?;
        let folder = self.inodes.reached(Arc::clone(&open.node))?;
        let mut listed = 0;
        self.each_entry(number, from, |_, entry| {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let next = entry.next_entry_cookie();
            let is_dots = matches!(name.as_bytes(), b"." | b"..");
            if is_dots {
                // The kernel counts no lookup for "." and ".."; only their names and kinds matter.
                let attr = attributes_of(&folder.node, &rustix::fs::fstat(&folder.fd)?);
                let id = INodeNo(self.inodes.listed(entry.ino()));
                listed += 1;
                return Ok(!reply.add(id, next, name, &ENTRY_LIFE, &attr, Generation(0)));
            }
            let found = match self.inodes.look_up(&folder, name) {
                Ok(found) => found,
                // It was removed since the entry was read.
                Err(Errno::NOENT) => return Ok(true),
                // Listed names count as looked up, so they must reach the kernel. It continues from
                // there.
                Err(_) if listed > 0 => return Ok(false),
                Err(error) => return Err(error),
            };
            let attr = attributes_of(&found.file.node, &found.stat);
            let life = attribute_life(&attr);
            let is_full = reply.add(attr.ino, next, name, &life, &attr, Generation(0));
            if is_full {
                self.forget(found.file.node.id, 1);
            }
            listed += 1;
            Ok(!is_full)
        })
    }

    /// Visit the entries of an open folder from a position on, until the visitor stops it.
    fn each_entry(
        &self,
        number: u64,
        from: u64,
        mut visit: impl FnMut(&OwnedFd, &RawDirEntry<'_>) -> Result<bool, Errno>,
    ) -> Result<(), Errno> {
        let folder = self.folders.get(number)?;
        let fd = self.folder_fd(&folder)?;
        let _reading = folder.reading.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::fs::seek(&fd, SeekFrom::Start(from))?;
        let mut space = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(fd.as_fd(), space.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            if !visit(&fd, &entry?)? {
                break;
            }
        }
        Ok(())
    }
}

/// Return the kind of an entry; some file systems only report it for the file itself.
fn kind_in(folder: &OwnedFd, entry: &RawDirEntry<'_>) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            stat.map_or(FileType::RegularFile, |stat| FileType::from_raw_mode(stat.st_mode))
        }
        kind => kind,
    }
}
