//! Everything about a file except its content.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, INodeNo, TimeOrNow};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, StatVfs, Timespec, Timestamps, UTIME_NOW,
    UTIME_OMIT, Uid,
};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::Core;
use crate::inodes::Reached;
use crate::node::Node;

/// Least blocks of 512 bytes to report for a file that is open for writing. Its data may still be in the
/// page cache, and programs treat a file without blocks as one large hole.
const BLOCKS_OF_WRITTEN_MIN: u64 = 8;

/// The attributes to change; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length in bytes.
    pub size: Option<u64>,
    /// Time of the last access.
    pub atime: Option<TimeOrNow>,
    /// Time of the last change of the content.
    pub mtime: Option<TimeOrNow>,
    /// Whether the kernel sends times that it kept itself, for no particular user.
    pub is_own: bool,
    /// Handle through which it is changed.
    pub handle: Option<u64>,
}

impl Core {
    /// Return the attributes of a file.
    ///
    /// # Errors
    /// It is unknown, or cannot be read.
    pub fn attributes(&self, id: u64) -> Result<FileAttr, Errno> {
        let Reached { fd, node } = self.with_room(|| self.inodes.reach(id))?;
        Ok(attributes_of(&node, &rustix::fs::fstat(&fd)?))
    }

    /// Change attributes, and return all of them.
    ///
    /// # Errors
    /// The backing file system refuses.
    pub fn change(&self, id: u64, change: &Change) -> Result<FileAttr, Errno> {
        // A second attempt is safe: it has the same result.
        self.with_room(|| self.change_once(id, change))
    }

    fn change_once(&self, id: u64, change: &Change) -> Result<FileAttr, Errno> {
        let file = self.inodes.reach(id)?;
        if change.mode.is_some() || change.uid.is_some() || change.gid.is_some() {
            self.pin_before_change(&file.node)?;
        }
        // Owner first: chown(2) clears the set-user-id bits, which the mode then restores.
        if change.uid.is_some() || change.gid.is_some() {
            let (uid, gid) = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
            rustix::fs::chownat(&file.fd, "", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = change.mode {
            self.change_mode(&file.fd, mode)?;
        }
        if let Some(bytes) = change.size {
            self.truncate(&file, change.handle, bytes)?;
        }
        if change.atime.is_some() || change.mtime.is_some() {
            let times = Timestamps {
                last_access: timespec_of(change.atime),
                last_modification: timespec_of(change.mtime),
            };
            match rustix::fs::utimensat(&file.fd, "", &times, AtFlags::EMPTY_PATH) {
                // The kernel also flushes times of files that we may write but do not own. They are
                // slightly off then, which must not fail a flush.
                Err(Errno::PERM | Errno::ACCESS) if change.is_own => {}
                done => done?,
            }
        }
        Ok(attributes_of(&file.node, &rustix::fs::fstat(&file.fd)?))
    }

    /// Set permissions through /proc, because an `O_PATH` descriptor cannot do it itself (fchmod(2)).
    pub(super) fn change_mode(&self, fd: &OwnedFd, mode: u32) -> Result<(), Errno> {
        let (name, mode) = (DecInt::from_fd(fd), Mode::from_raw_mode(mode & 0o7777));
        rustix::fs::chmodat(&self.descriptors, name.as_c_str(), mode, AtFlags::empty())
    }

    fn truncate(&self, known: &Reached, handle: Option<u64>, bytes: u64) -> Result<(), Errno> {
        let open = handle.and_then(|number| self.files.get(number).ok());
        match open.filter(|file| file.is_writable) {
            Some(file) => rustix::fs::ftruncate(&self.fd_of(&file)?, bytes)?,
            None => rustix::fs::ftruncate(self.reopen(known, OFlags::WRONLY)?, bytes)?,
        }
        known.node.written.change();
        self.pruner.with(|ledger| ledger.cut((known.node.id, known.node.epoch), bytes));
        Ok(())
    }

    /// Return space and inodes of the file system of a file.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn space(&self, id: u64) -> Result<StatVfs, Errno> {
        rustix::fs::fstatvfs(&self.with_room(|| self.inodes.reach(id))?.fd)
    }
}

/// Convert attributes to the form of the protocol.
#[must_use]
pub fn attributes_of(node: &Node, stat: &Stat) -> FileAttr {
    let is_written = node.writers.load(Ordering::Acquire) > 0;
    let blocks = stat.st_blocks as u64;
    FileAttr {
        ino: INodeNo(node.id),
        size: stat.st_size as u64,
        blocks: if is_written { blocks.max(BLOCKS_OF_WRITTEN_MIN) } else { blocks },
        atime: time_of(stat.st_atime, stat.st_atime_nsec),
        mtime: time_of(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time_of(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: packed_device(stat.st_rdev),
        blksize: u32::try_from(stat.st_blksize).unwrap_or(4096),
        flags: 0,
    }
}

/// Convert the kind of a file to the form of the protocol.
#[must_use]
pub fn kind_of(kind: FileType) -> fuser::FileType {
    match kind {
        FileType::Directory => fuser::FileType::Directory,
        FileType::Symlink => fuser::FileType::Symlink,
        FileType::Fifo => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
        FileType::CharacterDevice => fuser::FileType::CharDevice,
        FileType::BlockDevice => fuser::FileType::BlockDevice,
        _ => fuser::FileType::RegularFile,
    }
}

/// Pack a device number into 32 bits as the protocol does: minor, major, rest of the minor.
fn packed_device(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Unpack a device number.
#[must_use]
pub fn unpacked_device(packed: u32) -> u64 {
    let minor = (packed & 0xff) | ((packed >> 12) & 0xfff00);
    rustix::fs::makedev((packed >> 8) & 0xfff, minor)
}

fn time_of<N: TryInto<u64>>(seconds: i64, nanoseconds: N) -> SystemTime {
    let fraction = Duration::from_nanos(nanoseconds.try_into().unwrap_or(0));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - whole + fraction } else { UNIX_EPOCH + whole + fraction }
}

fn timespec_of(time: Option<TimeOrNow>) -> Timespec {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let at = match time {
        None => return special(UTIME_OMIT),
        Some(TimeOrNow::Now) => return special(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(at)) => at,
    };
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => {
            Timespec { tv_sec: after.as_secs() as i64, tv_nsec: after.subsec_nanos().into() }
        }
        // Before 1970 the fraction also counts forward, but fuser 0.18 subtracts it with the seconds
        // when it reads a request. So take the fraction unchanged.
        Err(error) => {
            let before = error.duration();
            Timespec { tv_sec: -(before.as_secs() as i64), tv_nsec: before.subsec_nanos().into() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments from 1970 on survive the way in and out, to the nanosecond.
    #[test]
    fn times_survive_both_ways() {
        for (seconds, nanoseconds) in [(0, 0), (1_700_000_000, 999_999_999), (-1, 0)] {
            let time = time_of(seconds, nanoseconds);

            let back = timespec_of(Some(TimeOrNow::SpecificTime(time)));

            assert_eq!((seconds, nanoseconds), (back.tv_sec, back.tv_nsec));
        }
    }

    /// Device numbers survive being packed.
    #[test]
    fn devices_survive_being_packed() {
        for (major, minor) in [(1, 3), (259, 0), (4095, 1_048_575), (8, 511)] {
            let device = rustix::fs::makedev(major, minor);

            assert_eq!(device, unpacked_device(packed_device(device)));
        }
    }
}
