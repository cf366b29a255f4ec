//! Read and write past the page cache below.
//!
//! Rule 1: a reader past the cache of the mount also reads past the cache below, if that does not have
//! the data: fetching it into the cache may cost more than the disk does.
//! Rule 2: cached data is read from the cache. That needs neither the disk nor another thread, so a limit
//! is met more exactly. Only an attempt to read shows whether data is cached, and it fetches what is
//! missing; so after a miss the cache is skipped for some time.
//! Rule 3: data that was written and is not on the disk yet is read from the cache as well. To read past
//! it the system would first write it out, so it is asked to refuse that (`RWF_NOWAIT`), also if a writer
//! has the file locked. The read itself still waits for the disk.
//! Rule 4: after any other refusal of the backing file system the caller reads through the cache, where
//! a lasting error occurs again.
//!
//! Measured with 8 kB, half reads and half writes, sixteen in flight: 67 % of native without the third
//! rule, 127 % with it.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};

use super::Core;
use super::room::is_no_room;
use crate::handles::OpenFile;
use crate::leases::Lease;

/// The smallest block of disks. Disks with a larger block refuse requests that are not aligned to it.
const BLOCK_BYTES: u64 = 512;

/// Writes of this size or more go past the cache below: caching them page by page costs more than the disk
/// does (128 kB in order, sixteen in flight: 62 and 100 % of native). For smaller ones the cache is
/// cheaper.
pub const PAST_FROM_BYTES: usize = 32 * 1024;

impl Core {
    /// Read past the page cache as far as possible; return how many bytes. Waits for the disk.
    pub(super) fn read_past(&self, file: &OpenFile, offset: u64, buffer: &mut [u8]) -> usize {
        let fd = self.past(file, &file.bypass.read, OFlags::RDONLY | OFlags::DIRECT);
        fd.map_or(0, |fd| read_blocks(&fd, offset, buffer))
    }

    /// Write past the page cache as far as possible; return how many bytes. Waits for the disk.
    ///
    /// The system writes out cached data of the stretch first, and drops it afterwards (open(2), O_DIRECT).
    pub(super) fn write_past(&self, file: &OpenFile, offset: u64, data: &[u8]) -> usize {
        let fd = self.past(file, &file.bypass.written, OFlags::WRONLY | OFlags::DIRECT);
        fd.map_or(0, |fd| write_blocks(&fd, offset, data))
    }

    /// Return a descriptor past the cache. If there is no room for it now, the cache is used once.
    fn past(&self, file: &OpenFile, lease: &Arc<Lease>, flags: OFlags) -> Option<Arc<OwnedFd>> {
        if file.bypass.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let opened = self.leased(lease, || self.reopen(&self.file_of(file)?, flags).map(Arc::new));
        if let Err(error) = &opened {
            file.bypass.is_refused.store(!is_no_room(*error), Ordering::Relaxed);
        }
        opened.ok()
    }
}

fn write_blocks(fd: &OwnedFd, offset: u64, data: &[u8]) -> usize {
    let mut length = 0;
    while length < data.len() {
        let (at, rest) = (offset + length as u64, &data[length..]);
        if !at.is_multiple_of(BLOCK_BYTES) || !(rest.len() as u64).is_multiple_of(BLOCK_BYTES) {
            break;
        }
        match rustix::io::pwrite(fd, rest, at) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    length
}

fn read_blocks(fd: &OwnedFd, offset: u64, buffer: &mut [u8]) -> usize {
    let mut length = 0;
    while length < buffer.len() {
        let (at, rest) = (offset + length as u64, &mut buffer[length..]);
        if !at.is_multiple_of(BLOCK_BYTES) || !(rest.len() as u64).is_multiple_of(BLOCK_BYTES) {
            break;
        }
        let mut rest = [IoSliceMut::new(rest)];
        match rustix::io::preadv2(fd, &mut rest, at, ReadWriteFlags::NOWAIT) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;

    fn read(path: &std::path::Path, offset: u64, bytes: usize) -> (usize, Vec<u8>) {
        let fd = rustix::fs::open(path, OFlags::RDONLY, Mode::empty()).unwrap();
        let mut buffer = vec![0; bytes];
        (read_blocks(&fd, offset, &mut buffer), buffer)
    }

    /// Whole blocks are read up to the end of the file; the rest, and what fails, is left.
    #[test]
    fn blocks_are_read_and_all_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let content: Vec<u8> = (0..3000_u32).map(|number| number as u8).collect();
        std::fs::write(&path, &content).unwrap();

        assert_eq!((1024, content[512..1536].to_vec()), read(&path, 512, 1024));
        assert_eq!(952, read(&path, 2048, 2048).0);
        assert_eq!(
            [0; 3],
            [(4096, 512), (100, 512), (512, 100)].map(|(at, n)| read(&path, at, n).0)
        );
        assert_eq!(0, read(folder.path(), 0, 512).0);
    }
}
