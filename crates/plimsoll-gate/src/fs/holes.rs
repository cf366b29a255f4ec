//! Holes: no disk is asked for the parts of a file without data.
//!
//! Rule 1: a read of only a hole is answered with zeros at once, and is no operation.
//! Rule 2: for a read that reaches into a hole the disk is charged from the first to the last byte of
//! data.
//! Rule 3: an image is a disk and has no holes: the file system on it asks only for what it needs.
//! Rule 4: if the system cannot tell, it counts as data.
//!
//! Only files with fewer blocks than their size needs are checked, because the check waits for writers of
//! the file. Space that was reserved and never written is a hole for the system; in a file without other
//! holes it is charged as data.

use std::os::fd::OwnedFd;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// Bytes of a block, as `stat` counts them (stat(2), st_blocks).
const STAT_BLOCK_BYTES: u64 = 512;

/// The data in a stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Where its data starts.
    pub offset: u64,
    /// Bytes from there to the end of its data; 0 if it is all hole.
    pub bytes: u64,
    /// Bytes from the start of the stretch that are within the file.
    pub within: u64,
}

/// Return the data in a stretch. For a file without holes its size is enough.
pub fn data_within(fd: &OwnedFd, offset: u64, bytes: u64) -> Data {
    let whole = Data { offset, bytes, within: bytes };
    let Ok(stat) = rustix::fs::fstat(fd) else { return whole };
    let size = stat.st_size as u64;
    let end = size.min(offset.saturating_add(bytes));
    if stat.st_blocks as u64 * STAT_BLOCK_BYTES >= size || end <= offset {
        return whole;
    }
    let none = Data { offset, bytes: 0, within: end - offset };
    let first = match rustix::fs::seek(fd, SeekFrom::Data(offset)) {
        Ok(first) if first >= end => return none,
        Err(Errno::NXIO) => return none,
        Ok(first) => first,
        Err(_) => return whole,
    };
    Data { offset: first, bytes: last_data(fd, first, end) - first, ..none }
}

/// Return where the last data before `end` ends, in a stretch that starts with data.
fn last_data(fd: &OwnedFd, first: u64, end: u64) -> u64 {
    let mut from = first;
    loop {
        let hole = rustix::fs::seek(fd, SeekFrom::Hole(from)).unwrap_or(end);
        match rustix::fs::seek(fd, SeekFrom::Data(hole)) {
            Ok(next) if hole < end && next < end && next > from => from = next,
            _ => return hole.min(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const PAGE: u64 = 4096;

    /// Holes before, between and behind data; only those at the edges cost nothing.
    #[test]
    fn the_data_of_a_stretch_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        file.set_len(100 * PAGE).unwrap();
        for page in [10, 12, 50] {
            file.write_all_at(&[1; PAGE as usize], page * PAGE).unwrap();
        }
        let fd = OwnedFd::from(file);
        let found = |from: u64, pages: u64| {
            let data = data_within(&fd, from * PAGE, pages * PAGE);
            (data.offset / PAGE, data.bytes / PAGE, data.within / PAGE)
        };

        assert_eq!((0, 0, 10), found(0, 10));
        assert_eq!((10, 1, 1), found(10, 1));
        assert_eq!((10, 3, 20), found(0, 20));
        assert_eq!((12, 39, 60), found(11, 60));
        assert_eq!((60, 0, 40), found(60, 100));
    }

    /// A file without holes is all data, as is what lies behind its end.
    #[test]
    fn a_whole_file_is_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, [1; 3 * PAGE as usize]).unwrap();
        let fd = OwnedFd::from(File::open(path).unwrap());

        for (from, bytes) in [(0, 100), (PAGE, 10 * PAGE), (9 * PAGE, PAGE)] {
            let all = Data { offset: from, bytes, within: bytes };
            assert_eq!(all, data_within(&fd, from, bytes));
        }
    }
}
