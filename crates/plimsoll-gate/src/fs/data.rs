//! Content: reading, writing, flushing, reserving space, and finding holes.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use fuser::{ReplyData, ReplyEmpty, ReplyLseek, ReplyWrite};
use rustix::fs::{FallocateFlags, OFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags};

use super::holes::{Data, data_within};
use super::past::PAST_FROM_BYTES;
use super::{Core, refused};
use crate::buffers::Buffer;
use crate::config;
use crate::handles::OpenFile;
use crate::park::{Carried, Reply};
use crate::workers::Workers;

const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

/// How long a full disk may take to free the space of removed files, and how often to try again. A large
/// file is gone within some tens of milliseconds. Another process may hold one by a descriptor that we do
/// not know (`O_PATH`); that must not delay all others.
const ROOM_S_MAX: f64 = 0.5;
const ROOM_RETRY: Duration = Duration::from_millis(2);

/// Data to write.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Offset in the file.
    pub offset: u64,
    /// The bytes.
    pub data: &'a [u8],
    /// Whether it is writeback from the kernel's page cache.
    pub is_writeback: bool,
    /// Flags of the opener and of this request: a single write may be synchronous (`RWF_DSYNC`).
    pub flags: i32,
}

/// A request as it arrived.
#[derive(Clone, Copy, Debug)]
struct Asked {
    arrived_s: f64,
    offset: u64,
    /// Whether it continues another request of the file.
    continues: bool,
    /// For a read, the part of it that the disk has.
    data: Option<Data>,
}

/// How much could be read without waiting.
enum Attempt {
    /// All of it.
    Over(Result<usize, Errno>),
    /// This many bytes; the rest needs the disk.
    Begun(usize),
}

/// Flush a file through one of its handles.
fn flush(file: &OpenFile, flush: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    file.node.written.flush(&file.lease.heard, flush)
}

impl Core {
    /// Return an open file, and a descriptor of it that stays open while it is used.
    fn open_file(&self, number: u64) -> Result<(Arc<OpenFile>, Arc<OwnedFd>), Errno> {
        let file = self.files.get(number)?;
        let fd = self.backing(&file)?;
        Ok((file, fd))
    }

    /// Read, and reply when the emulated disk would have.
    ///
    /// Cached data is read at once. For the rest this thread or another one waits. The attempt made here
    /// already starts the transfer, so that a disk gets requests in the order of their arrival and sees a
    /// stream as one. Reads that skip the cache mostly do not try it.
    pub fn read(self: &Arc<Self>, number: u64, offset: u64, bytes: usize, reply: ReplyData) {
        let arrived_s = self.clock.now_s();
        let (file, fd) = match self.open_file(number) {
            Ok(file) => file,
            Err(error) => return reply.error(refused(error)),
        };
        let data = match self.mode {
            config::Mode::Fs => data_within(&fd, offset, bytes as u64),
            config::Mode::BlockImage => Data { offset, bytes: bytes as u64, within: bytes as u64 },
        };
        let mut buffer = self.buffers.take(bytes);
        if data.bytes == 0 {
            return self.answer_hole(&file, offset, data.within as usize, buffer, reply);
        }
        let continues = continues(&file, false, data.offset, data.bytes as usize);
        let asked = Asked { arrived_s, offset, continues, data: Some(data) };
        let is_past = file.bypass.is_next();
        let mut length = 0;
        if !is_past {
            match self.read_at_once(&fd, offset, buffer.first_mut(bytes)) {
                Attempt::Over(read) => return self.answer_read(&file, &asked, read, buffer, reply),
                Attempt::Begun(begun) => length = begun,
            }
            if !file.is_cached {
                file.bypass.missed();
            }
        }
        let core = Arc::clone(self);
        self.here_or_later(&self.readers, move || {
            let whole = buffer.first_mut(bytes);
            if is_past {
                length = core.read_past(&file, offset, whole);
            }
            let rest = read_full(&fd, offset + length as u64, &mut whole[length..]);
            core.answer_read(&file, &asked, rest.map(|more| length + more), buffer, reply);
        });
    }

    /// Answer a read of nothing but a hole: a disk would not be asked for it.
    fn answer_hole(
        &self,
        file: &OpenFile,
        offset: u64,
        length: usize,
        mut buffer: Buffer,
        reply: ReplyData,
    ) {
        buffer.first_mut(length).fill(0);
        reply.data(buffer.first(length));
        self.buffers.give(buffer);
        if file.is_cached {
            let key = (file.node.id, file.node.epoch);
            self.pruner.deliver(key, offset, length as u64, false);
        }
    }

    /// Read as far as possible without waiting.
    fn read_at_once(&self, fd: &OwnedFd, offset: u64, buffer: &mut [u8]) -> Attempt {
        let mut length = 0;
        while length < buffer.len() && !self.is_in_memory {
            let mut rest = [IoSliceMut::new(&mut buffer[length..])];
            let at = offset + length as u64;
            match rustix::io::preadv2(fd, &mut rest, at, ReadWriteFlags::NOWAIT) {
                // The end of the file, or apparently so: kernels 5.9 and 5.10 also return 0 where they
                // would have to wait. At the real end a second attempt costs nothing.
                Ok(0) => break,
                Ok(more) => length += more,
                Err(Errno::INTR) => {}
                // Other errors occur again for the thread that waits.
                Err(_) => return Attempt::Begun(length),
            }
        }
        let rest = read_full(fd, offset + length as u64, &mut buffer[length..]);
        Attempt::Over(rest.map(|more| length + more))
    }

    fn answer_read(
        &self,
        file: &OpenFile,
        asked: &Asked,
        read: Result<usize, Errno>,
        buffer: Buffer,
        reply: ReplyData,
    ) {
        match read {
            Ok(length) if length > 0 => {
                let carried = self.carried(file, asked, false, length as u64);
                self.park.submit(&carried, Reply::Data(reply, buffer, length));
            }
            // Past the end of a file a disk would not be asked for anything.
            Ok(_) => reply.data(&[]),
            Err(error) => reply.error(refused(error)),
        }
    }

    /// Write, and reply when the emulated disk would have.
    pub fn write(self: &Arc<Self>, number: u64, block: Block<'_>, reply: ReplyWrite) {
        let arrived_s = self.clock.now_s();
        let (file, fd) = match self.open_file(number) {
            Ok(file) => file,
            Err(error) => return reply.error(refused(error)),
        };
        let Block { offset, is_writeback, flags, .. } = block;
        let asked = Asked {
            arrived_s,
            offset,
            continues: continues(&file, true, offset, block.data.len()),
            data: None,
        };
        let is_past = !file.is_cached && !is_writeback && self.mode == config::Mode::Fs;
        if is_past && block.data.len() >= PAST_FROM_BYTES && !is_flushed(&file, flags) {
            return self.write_later(file, fd, asked, &block, reply);
        }
        if !is_flushed(&file, block.flags) {
            let written = write_full(&file, &fd, &block);
            if written != Err(Errno::NOSPC) || !self.inodes.is_leaving() {
                return self.answer_write(&file, &asked, is_writeback, written, reply);
            }
        }
        let (core, data) = (Arc::clone(self), block.data.to_vec());
        self.workers.run(move || {
            let block = Block { offset, data: &data, is_writeback, flags };
            let written =
                core.where_room_is(|| write_full(&file, &fd, &block)).and_then(|length| {
                    if is_flushed(&file, flags) && !file.is_synchronous {
                        flush(&file, || rustix::fs::fdatasync(&fd))?;
                    }
                    Ok(length)
                });
            core.answer_write(&file, &asked, is_writeback, written, reply);
        });
    }

    /// Write past the page cache below, and the rest through it.
    fn write_later(
        self: &Arc<Self>,
        file: Arc<OpenFile>,
        fd: Arc<OwnedFd>,
        asked: Asked,
        block: &Block<'_>,
        reply: ReplyWrite,
    ) {
        let (core, Block { offset, is_writeback, flags, data }) = (Arc::clone(self), *block);
        let bytes = data.len();
        let mut buffer = self.buffers.take(bytes);
        buffer.first_mut(bytes).copy_from_slice(data);
        self.here_or_later(&self.workers, move || {
            let whole = buffer.first(bytes);
            let past = core.write_past(&file, offset, whole);
            file.node.written.change();
            let (at, data) = (offset + past as u64, &whole[past..]);
            let left = Block { offset: at, data, is_writeback, flags };
            let written = match core.where_room_is(|| write_full(&file, &fd, &left)) {
                Err(_) if past > 0 => Ok(past),
                rest => rest.map(|more| past + more),
            };
            core.buffers.give(buffer);
            core.answer_write(&file, &asked, is_writeback, written, reply);
        });
    }

    /// Repeat an attempt on a full disk while removed files are about to free space.
    fn where_room_is<T>(&self, attempt: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        let begun_s = self.clock.now_s();
        loop {
            let is_leaving = self.inodes.is_leaving();
            let done = attempt();
            let is_full = matches!(done, Err(Errno::NOSPC));
            if !is_full || !is_leaving || self.clock.now_s() - begun_s > ROOM_S_MAX {
                return done;
            }
            std::thread::sleep(ROOM_RETRY);
        }
    }

    fn answer_write(
        &self,
        file: &OpenFile,
        asked: &Asked,
        is_writeback: bool,
        written: Result<usize, Errno>,
        reply: ReplyWrite,
    ) {
        let length = match written {
            Ok(length) => length,
            Err(error) => return reply.error(refused(error)),
        };
        let key = (file.node.id, file.node.epoch);
        let carried = self.carried(file, asked, true, length as u64);
        // The kernel writes its page cache out through any handle, even one without cache.
        let kept =
            if is_writeback { Some((key, asked.offset, length as u64)) } else { carried.kept };
        let carried = Carried { is_writeback, kept, ..carried };
        if is_writeback && self.pruner.write(key, asked.offset, length as u64) {
            reply.written(length as u32);
            self.park.submit(&Carried { kept: None, ..carried }, Reply::Told);
        } else {
            self.park.submit(&carried, Reply::Written(reply, length as u32));
        }
    }

    /// Flush a file to the disk, and reply when the emulated disk would have, too.
    pub fn flush_file(self: &Arc<Self>, number: u64, is_data_only: bool, reply: ReplyEmpty) {
        let arrived_s = self.clock.now_s();
        let core = Arc::clone(self);
        self.here_or_later(&self.workers, move || {
            let opened = core.open_file(number);
            let number = opened.as_ref().map_or(0, |(file, _)| file.node.id);
            let flushed = opened.and_then(|(file, fd)| {
                if is_data_only {
                    flush(&file, || rustix::fs::fdatasync(&fd))?;
                } else {
                    flush(&file, || rustix::fs::fsync(&fd))?;
                }
                file.node.runs.lock().unwrap_or_else(PoisonError::into_inner).flush();
                Ok(())
            });
            core.answer_flush(flushed, number, arrived_s, reply);
        });
    }

    /// Wait for the disk in this thread if another one can take requests; else in a worker. This saves
    /// handing over a small flush.
    fn here_or_later(&self, others: &Workers, job: impl FnOnce() + Send + 'static) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) < self.waiting_max {
            job();
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        } else {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            others.run(job);
        }
    }

    /// Flush a folder to the disk.
    pub fn flush_folder(self: &Arc<Self>, number: u64, reply: ReplyEmpty) {
        let arrived_s = self.clock.now_s();
        let core = Arc::clone(self);
        self.workers.run(move || {
            let flushed = core
                .folders
                .get(number)
                .and_then(|folder| rustix::fs::fsync(core.with_room(|| core.folder_fd(&folder))?));
            core.answer_flush(flushed, 0, arrived_s, reply);
        });
    }

    fn answer_flush(
        &self,
        flushed: Result<(), Errno>,
        file: u64,
        arrived_s: f64,
        reply: ReplyEmpty,
    ) {
        if let Err(error) = flushed {
            reply.error(refused(error));
            return;
        }
        self.counters.flushed(self.clock.now_s());
        // A file system on an image writes its journal itself, so its flush is no operation of a volume.
        // A folder's journal is below us: one operation stands for its block, on each volume in turn.
        let turn = self.flushes.fetch_add(1, Ordering::Relaxed);
        let carried = Carried {
            arrived_s,
            is_write: true,
            file,
            offset: turn.wrapping_mul(self.chunk_bytes),
            bytes: 0,
            continues: false,
            is_charged: self.mode == config::Mode::Fs,
            is_writeback: false,
            kept: None,
        };
        self.park.submit(&carried, Reply::Empty(reply));
    }

    /// Reserve space, or punch a hole.
    pub fn reserve(
        self: &Arc<Self>,
        number: u64,
        offset: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let core = Arc::clone(self);
        self.workers.run(move || {
            let flags = FallocateFlags::from_bits_retain(mode as u32);
            let done = core.open_file(number).and_then(|(file, fd)| {
                core.where_room_is(|| rustix::fs::fallocate(&fd, flags, offset, bytes))?;
                file.node.written.change();
                let key = (file.node.id, file.node.epoch);
                if flags.contains(FallocateFlags::PUNCH_HOLE) {
                    core.pruner.with(|ledger| ledger.lose(key, offset, bytes));
                }
                Ok(())
            });
            match done {
                Ok(()) => reply.ok(),
                Err(error) => reply.error(refused(error)),
            }
        });
    }

    /// Find where data or a hole starts next (lseek(2), SEEK_DATA).
    ///
    /// Data that the kernel has not written out yet would look like a hole here, and a program that copies
    /// by holes would lose it. So it is written out first if a writer exists.
    pub fn seek(self: &Arc<Self>, number: u64, offset: i64, whence: i32, reply: ReplyLseek) {
        let core = Arc::clone(self);
        self.workers.run(move || {
            let found = core.open_file(number).and_then(|(file, fd)| {
                let from = u64::try_from(offset).map_err(|_| Errno::NXIO)?;
                let node = &file.node;
                if node.writers.load(Ordering::Acquire) > 0 {
                    core.pruner.write_out(node.id, from);
                    core.pruner.with(|ledger| ledger.cut((node.id, node.epoch), from));
                }
                match whence {
                    SEEK_DATA => rustix::fs::seek(&fd, SeekFrom::Data(from)),
                    SEEK_HOLE => rustix::fs::seek(&fd, SeekFrom::Hole(from)),
                    _ => Err(Errno::INVAL),
                }
            });
            match found {
                Ok(at) => reply.offset(at as i64),
                Err(error) => reply.error(refused(error)),
            }
        });
    }

    /// Note where a request ended, and what the disk is charged for.
    fn carried(&self, file: &OpenFile, asked: &Asked, is_write: bool, bytes: u64) -> Carried {
        let &Asked { arrived_s, offset, continues, data } = asked;
        let key = (file.node.id, file.node.epoch);
        if is_write && !file.is_cached {
            self.pruner.with(|ledger| ledger.lose(key, offset, bytes));
        }
        let kept = file.is_cached.then_some((key, offset, bytes));
        let (is_charged, is_writeback) = (true, false);
        let end = offset + bytes;
        let (offset, bytes) = match data {
            // The file may have become shorter since its data was located.
            Some(data) => {
                (data.offset, end.min(data.offset + data.bytes).saturating_sub(data.offset))
            }
            None => (offset, bytes),
        };
        let file = file.node.id;
        Carried {
            arrived_s,
            is_write,
            file,
            offset,
            bytes,
            continues,
            is_charged,
            is_writeback,
            kept,
        }
    }
}

/// Return whether a request continues another one. This is decided at arrival, because threads that wait
/// for a disk finish in any order.
fn continues(file: &OpenFile, is_write: bool, offset: u64, bytes: usize) -> bool {
    let mut runs = file.node.runs.lock().unwrap_or_else(PoisonError::into_inner);
    runs.continues(is_write, offset, bytes as u64)
}

/// Return whether a write must be on the disk before its reply. With the cache the kernel sends a flush
/// itself.
fn is_flushed(file: &OpenFile, flags: i32) -> bool {
    let asked = OFlags::from_bits_retain(flags as u32).intersects(OFlags::SYNC | OFlags::DSYNC);
    file.is_synchronous || (!file.is_cached && asked)
}

/// Read until the buffer is full or the file ends: the kernel treats missing bytes as zeros.
fn read_full(fd: &OwnedFd, offset: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut length = 0;
    while length < buffer.len() {
        match rustix::io::pread(fd, &mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Write everything. On an error half-way, writeback from the page cache has failed; a writer without
/// cache gets the number of written bytes, as from any disk.
fn write_full(file: &OpenFile, fd: &OwnedFd, block: &Block<'_>) -> Result<usize, Errno> {
    let written = write_all(file, fd, block);
    file.node.written.change();
    written
}

fn write_all(file: &OpenFile, fd: &OwnedFd, block: &Block<'_>) -> Result<usize, Errno> {
    let mut length = 0;
    while length < block.data.len() {
        let at = block.offset + length as u64;
        match rustix::io::pwrite(fd, &block.data[length..], at) {
            Ok(more) => length += more,
            Err(Errno::INTR) => {}
            Err(_) if length > 0 && !file.is_cached => break,
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
