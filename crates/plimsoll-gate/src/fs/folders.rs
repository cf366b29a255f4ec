//! Listing folders.
//!
//! Positions are those of the backing file system, so a listing can be left and taken up again
//! anywhere, also after names were removed.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use fuser::{Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RawDirEntry, SeekFrom};
use rustix::io::Errno;

use super::attributes::{attributes_of, kind_of};
use super::{Core, ENTRY_LIFE, attribute_life};
use crate::handles::OpenFolder;
use crate::inodes::Reached;

/// Bytes of entries taken from the backing folder at a time.
const ENTRIES_BYTES: usize = 32 * 1024;

impl Core {
    /// Open a folder.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn open_folder(&self, id: u64) -> Result<u64, Errno> {
        let Reached { fd, node } = self.inodes.reach(id)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&fd, ".", flags, Mode::empty())?;
        Ok(self.folders.insert(OpenFolder { fd: Mutex::new(fd), node }))
    }

    /// List names from a position on, as far as the reply has room.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn list(&self, number: u64, from: u64, reply: &mut ReplyDirectory) -> Result<(), Errno> {
        self.each_entry(number, from, |folder, entry| {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = kind_of(kind_in(folder, entry));
            let id = INodeNo(self.inodes.listed(entry.ino()));
            Ok(!reply.add(id, entry.next_entry_cookie(), kind, name))
        })
    }

    /// List names with attributes; counts a lookup for each of them.
    ///
    /// # Errors
    /// Whatever the backing file system refuses.
    pub fn list_with_attributes(
        &self,
        number: u64,
        from: u64,
        reply: &mut ReplyDirectoryPlus,
    ) -> Result<(), Errno> {
        let folder = self.inodes.reached(self.folders.get(number)?.node.clone())?;
        let mut listed = 0;
        self.each_entry(number, from, |_, entry| {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let next = entry.next_entry_cookie();
            let is_dots = matches!(name.as_bytes(), b"." | b"..");
            if is_dots {
                // The kernel counts no lookup of these two; only their names and kinds matter.
                let attr = attributes_of(&folder.node, &rustix::fs::fstat(&folder.fd)?);
                let id = INodeNo(self.inodes.listed(entry.ino()));
                return Ok(!reply.add(id, next, name, &ENTRY_LIFE, &attr, Generation(0)));
            }
            let found = match self.inodes.look_up(&folder, name) {
                Ok(found) => found,
                // Removed meanwhile.
                Err(Errno::NOENT) => return Ok(true),
                // What was listed counts as looked up, so it must reach the kernel.
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

    /// Go through the entries of an open folder from a position on, while the visitor says so.
    fn each_entry(
        &self,
        number: u64,
        from: u64,
        mut visit: impl FnMut(&rustix::fd::OwnedFd, &RawDirEntry<'_>) -> Result<bool, Errno>,
    ) -> Result<(), Errno> {
        let folder = self.folders.get(number)?;
        let fd = folder.fd.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::fs::seek(&*fd, SeekFrom::Start(from))?;
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

/// The kind of an entry; some file systems say it only when the file itself is asked.
fn kind_in(folder: &rustix::fd::OwnedFd, entry: &RawDirEntry<'_>) -> FileType {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            stat.map_or(FileType::RegularFile, |stat| FileType::from_raw_mode(stat.st_mode))
        }
        kind => kind,
    }
}
