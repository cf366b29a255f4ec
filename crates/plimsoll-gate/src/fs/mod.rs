//! The file system: passes a folder through.
//!
//! Rule 1: the kernel checks permissions (`default_permissions`); requests are only carried out here.
//! Rule 2: only the mount changes the backing folder while it is mounted. So the kernel may cache names
//! and attributes for long.
//! Rule 3: reads, writes and flushes go through [`crate::park`]; everything else is answered at once, as
//! by a file system with a warm cache.
//!
//! Locks (`flock`, `fcntl`) are the kernel's own. Extended attributes are refused. A copy within the
//! mount (`copy_file_range`) is refused as well, so that the kernel reads and writes, and the device sees
//! the copy as both.

mod attributes;
mod data;
mod files;
mod folders;
mod holes;
mod names;
mod past;
mod room;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry,
    ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::AtFlags;

use self::attributes::Change;
use self::data::Block;
use self::names::Asker;
pub use self::room::Room;
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::config::Mode;
use crate::counters::Counters;
use crate::handles::{Handles, OpenFile, OpenFolder};
use crate::inodes::Inodes;
use crate::park::Park;
use crate::pruner::Pruner;
use crate::workers::Workers;

/// How long the kernel may cache a name.
const ENTRY_LIFE: Duration = Duration::from_secs(3600);

/// How long it may cache the attributes of a regular file. It keeps length and times itself. Only the
/// number of blocks changes without its knowledge, when pages are written out.
const FILE_LIFE: Duration = Duration::from_secs(1);

/// Largest accepted request.
const REQUEST_BYTES_MAX: u32 = 1024 * 1024;

/// Requests that the kernel may have in flight for readahead and writeback: more than a mount may have dirty
/// pages (1 % of the memory, some thousand), so that reads through the cache never queue behind them in the
/// kernel. Measured with 24 GiB and random writes of 8 KiB that saturated 4,000 operations per second: reads
/// took up to 590 ms with 16, 650 ms with 256, 24 ms with 4,096.
const BACKGROUND_MAX: u16 = 16_384;

/// Features to request if the kernel has them. Without the first one (the writeback cache) every write would
/// be a request, whatever its size; see [`Gate::init`].
const WANTED: [InitFlags; 8] = [
    InitFlags::FUSE_WRITEBACK_CACHE,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_CACHE_SYMLINKS,
    InitFlags::FUSE_EXPLICIT_INVAL_DATA,
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
];

/// The state that all operations share.
#[derive(Debug)]
pub struct Core {
    /// The files that the kernel knows.
    pub inodes: Inodes,
    /// Open files.
    pub files: Handles<OpenFile>,
    /// Open folders.
    pub folders: Handles<OpenFolder>,
    /// Descriptors of open files, and the room for them.
    pub room: Room,
    /// `/proc/self/fd`: the way from a descriptor to an open file.
    pub descriptors: OwnedFd,
    /// Where replies wait.
    pub park: Arc<Park>,
    /// Counts of requests.
    pub counters: Arc<Counters>,
    /// Memory for reads.
    pub buffers: Arc<Buffers>,
    /// The bound on the page cache.
    pub pruner: Arc<Pruner>,
    /// Threads for slow operations.
    pub workers: Workers,
    /// How many threads that take requests now wait for a flush.
    pub waiting: AtomicUsize,
    /// How many of them may wait: all except one.
    pub waiting_max: usize,
    /// Threads for reads that need the disk.
    pub readers: Workers,
    /// Whether the backing folder is in memory, so that no read waits for a disk.
    pub is_in_memory: bool,
    /// The clock.
    pub clock: Clock,
    /// What the gate serves.
    pub mode: Mode,
    /// Whether we may change the owner of files.
    pub is_root: bool,
    /// Bytes of a file on one volume before the next one follows.
    pub chunk_bytes: u64,
    /// Flushes so far.
    pub flushes: AtomicU64,
}

/// The file system that receives the kernel's requests.
#[derive(Debug)]
pub struct Gate {
    core: Arc<Core>,
    ended: Sender<()>,
}

impl Gate {
    /// Return a file system that signals when the kernel has ended it.
    #[must_use]
    pub fn new(core: Arc<Core>, ended: Sender<()>) -> Self {
        Self { core, ended }
    }
}

/// Convert an error of the system to the form of the protocol.
#[must_use]
pub fn refused(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

/// Return how long the kernel may cache these attributes.
fn attribute_life(attr: &FileAttr) -> Duration {
    if attr.kind == FileType::RegularFile { FILE_LIFE } else { ENTRY_LIFE }
}

fn asker(request: &Request) -> Asker {
    Asker { uid: request.uid(), gid: request.gid() }
}

fn answer_entry(found: Result<FileAttr, rustix::io::Errno>, reply: ReplyEntry) {
    match found {
        Ok(attr) => {
            reply.entry_with_ttls(&attribute_life(&attr), &ENTRY_LIFE, &attr, Generation(0));
        }
        Err(error) => reply.error(refused(error)),
    }
}

fn answer_attributes(found: Result<FileAttr, rustix::io::Errno>, reply: ReplyAttr) {
    match found {
        Ok(attr) => reply.attr(&attribute_life(&attr), &attr),
        Err(error) => reply.error(refused(error)),
    }
}

fn answer_empty(done: Result<(), rustix::io::Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(refused(error)),
    }
}

impl Filesystem for Gate {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> std::io::Result<()> {
        for flag in WANTED {
            if kernel.capabilities().contains(flag) {
                let _ = kernel.add_capabilities(flag);
            } else if flag == InitFlags::FUSE_WRITEBACK_CACHE {
                return Err(std::io::ErrorKind::Unsupported.into());
            }
        }
        // Readahead stays as the kernel offers it, which is the most it allows.
        let _ = kernel.set_max_write(REQUEST_BYTES_MAX);
        let _ = kernel.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn destroy(&mut self) {
        // If the gate is ending anyway, nobody receives this.
        let _ = self.ended.send(());
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(self.core.find(parent.0, name), reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        self.core.forget(ino.0, lookups);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(self.core.attributes(ino.0), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (is_own, handle) = (ctime.is_some(), fh.map(|fh| fh.0));
        let change = Change { mode, uid, gid, size, atime, mtime, is_own, handle };
        if size.is_none() {
            answer_attributes(self.core.change(ino.0, &change), reply);
            return;
        }
        // Cutting a large file takes time, so leave it to a worker.
        let core = Arc::clone(&self.core);
        self.core.workers.run(move || answer_attributes(core.change(ino.0, &change), reply));
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.core.target(ino.0) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        answer_entry(self.core.make_node(asker(request), parent.0, name, mode, rdev), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        answer_entry(self.core.make_folder(asker(request), parent.0, name, mode), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.core.remove(parent.0, name, AtFlags::empty()), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer_empty(self.core.remove(parent.0, name, AtFlags::REMOVEDIR), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        answer_entry(self.core.make_symlink(asker(request), parent.0, name, target), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let done = self.core.rename((parent.0, name), (newparent.0, newname), flags);
        answer_empty(done, reply);
    }

    fn link(
        &self,
        _: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        answer_entry(self.core.link(ino.0, newparent.0, newname), reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.core.open(ino.0, flags.0) {
            Ok(opened) => reply.opened(FileHandle(opened.number), opened.flags),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        match self.core.create(asker(request), parent.0, name, mode, flags) {
            Ok((attr, opened)) => {
                let (handle, life) = (FileHandle(opened.number), attribute_life(&attr));
                reply.created(&life, &attr, Generation(0), handle, opened.flags);
            }
            Err(error) => reply.error(refused(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.core.read(fh.0, offset, size as usize, reply);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        how: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let is_writeback = how.contains(WriteFlags::FUSE_WRITE_CACHE);
        let block = Block { offset, data, is_writeback, flags: flags.0 };
        self.core.write(fh.0, block, reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // The kernel writes its cache back before it sends this request.
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.core.close(fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.core.flush_file(fh.0, datasync, reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.core.open_folder(ino.0) {
            Ok(number) => reply.opened(FileHandle(number), FopenFlags::empty()),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.core.list(fh.0, offset, &mut reply) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        match self.core.list_with_attributes(fh.0, offset, &mut reply) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.core.folders.remove(fh.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: bool, reply: ReplyEmpty) {
        self.core.flush_folder(fh.0, reply);
    }

    fn statfs(&self, _: &Request, ino: INodeNo, reply: ReplyStatfs) {
        match self.core.space(ino.0) {
            Ok(space) => reply.statfs(
                space.f_blocks,
                space.f_bfree,
                space.f_bavail,
                space.f_files,
                space.f_ffree,
                space.f_bsize as u32,
                space.f_namemax as u32,
                space.f_frsize as u32,
            ),
            Err(error) => reply.error(refused(error)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.core.reserve(fh.0, offset, length, mode, reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        self.core.seek(fh.0, offset, whence, reply);
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        // With ENOSYS the kernel stops asking, and copies through its cache instead.
        reply.error(Errno::ENOSYS);
    }
}
