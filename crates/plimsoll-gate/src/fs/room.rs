//! Make room for descriptors, so that no program gets "too many open files".
//!
//! Rule 1: every operation that opens something is attempted here. If the system has no descriptor left,
//! everything that the attempt had opened is closed, room is made, and it is attempted again. So a waiting
//! operation never keeps descriptors itself.
//! Rule 2: descriptors that can be reopened are closed first: of files that are not open, then of unused
//! handles, then of handles whose file must be flushed first. Descriptors that are being closed or in use
//! are waited for.
//! Rule 3: only open files without a name need a descriptor each. If these alone are more than the process
//! may have, the error is `ENOMEM`: the gate lacks room to remember the file, and the server above could
//! not close anything to help.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::Core;
use crate::descriptors::Ring;
use crate::handles::OpenFile;
use crate::inodes::Reached;
use crate::leases::Lease;
use crate::node::Node;

/// How long nothing at all may be closed before a waiting operation gives up. A busy disk takes seconds to
/// delete a large file; a client whose reply takes longer counts as hung.
const PATIENCE_S: f64 = 10.0;

/// How often to try again: a small part of the time that any disk takes.
const RETRY: Duration = Duration::from_millis(1);

/// The descriptors of open files, and the threads that wait for more.
#[derive(Debug)]
pub struct Room {
    /// Descriptors that may be closed, in this order.
    leases: Ring<Lease>,
    /// How many are open, and may stay open while there is a choice.
    pub open: Arc<AtomicUsize>,
    open_max: usize,
    /// Held by the thread that makes room.
    making: Mutex<()>,
    /// How many are being closed.
    closing: AtomicUsize,
    /// How many were closed so far.
    closings: AtomicU64,
    /// Threads that wait for other threads to close something.
    waiting: AtomicUsize,
}

impl Room {
    /// Return room for this many descriptors of open files.
    #[must_use]
    pub fn new(open_max: usize) -> Self {
        Self {
            leases: Ring::default(),
            open: Arc::default(),
            open_max,
            making: Mutex::default(),
            closing: AtomicUsize::new(0),
            closings: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
        }
    }
}

/// Result of making room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Some,
    /// Other threads will have finished in a moment.
    Soon,
    None,
}

/// Return whether the system had no descriptor left.
pub fn is_no_room(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE)
}

impl Core {
    /// Repeat something that opens descriptors until there is room for them.
    ///
    /// # Errors
    /// The errors of the attempt; `ENOMEM` if no room can be made.
    pub fn with_room<T>(&self, mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        let (mut since_s, mut closings) = (None, 0);
        loop {
            match attempt() {
                Err(error) if is_no_room(error) => {}
                done => return done,
            }
            let made = self.make_room();
            if made == Made::Some {
                since_s = None;
                continue;
            }
            let now_s = self.clock.now_s();
            let closed = self.room.closings.load(Ordering::Acquire);
            if closed != closings {
                (since_s, closings) = (None, closed);
            }
            let is_over = now_s - *since_s.get_or_insert(now_s) > PATIENCE_S;
            if (is_over || !self.wait_for_room(made)) && !self.inodes.abandon() {
                return Err(Errno::NOMEM);
            }
        }
    }

    /// Wait for a moment, if other threads make room or may be asked to; one thread always stays free to
    /// take requests.
    fn wait_for_room(&self, made: Made) -> bool {
        let before = self.room.waiting.fetch_add(1, Ordering::AcqRel);
        let may_wait = made == Made::Soon || before < self.waiting_max;
        if may_wait {
            std::thread::sleep(RETRY);
        }
        self.room.waiting.fetch_sub(1, Ordering::AcqRel);
        may_wait
    }

    /// Close one descriptor that can be reopened.
    fn make_room(&self) -> Made {
        let _alone = self.room.making.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_made, mut is_busy) = self.inodes.make_room();
        if is_made {
            return Made::Some;
        }
        for is_pressed in [false, true] {
            let (closed, others) = self.room.leases.sweep(is_pressed, |closed| closed > 0);
            if closed > 0 {
                return Made::Some;
            }
            is_busy |= others;
        }
        let is_closing = self.room.closing.load(Ordering::Acquire) > 0;
        if is_busy || is_closing { Made::Soon } else { Made::None }
    }

    /// Return a leased descriptor; reopen it if it was closed, and let others close theirs for it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn leased(
        &self,
        lease: &Arc<Lease>,
        open: impl FnOnce() -> Result<Arc<OwnedFd>, Errno>,
    ) -> Result<Arc<OwnedFd>, Errno> {
        let (fd, is_new) = lease.get(open)?;
        if is_new {
            let held = || self.room.open.load(Ordering::Acquire);
            self.room.leases.add(lease, held());
            for is_pressed in [false, true] {
                if held() > self.room.open_max {
                    let _alone = self.room.making.lock().unwrap_or_else(PoisonError::into_inner);
                    self.room.leases.sweep(is_pressed, |_| held() <= self.room.open_max);
                }
            }
        }
        Ok(fd)
    }

    /// Return the backing file of an open one.
    ///
    /// # Errors
    /// It was closed to make room, and cannot be reopened now.
    pub(super) fn fd_of(&self, file: &OpenFile) -> Result<Arc<OwnedFd>, Errno> {
        let fd = self.leased(&file.lease, || {
            let found = self.inodes.reached(Arc::clone(&file.node))?;
            self.reopen(&found, file.flags).map(Arc::new)
        })?;
        file.node.grip.lend(&fd);
        Ok(fd)
    }

    /// Return the same, once there is room for it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn backing(&self, file: &OpenFile) -> Result<Arc<OwnedFd>, Errno> {
        self.with_room(|| self.fd_of(file))
    }

    /// Return an open file, whatever happened to its names.
    pub(super) fn file_of(&self, file: &OpenFile) -> Result<Reached, Errno> {
        Ok(Reached { fd: self.fd_of(file)?, node: Arc::clone(&file.node) })
    }

    /// Close something in another thread, because it may take long.
    pub(super) fn end_later<T: Send + 'static>(self: &Arc<Self>, ended: T) {
        self.room.closing.fetch_add(1, Ordering::AcqRel);
        let core = Arc::clone(self);
        self.workers.run(move || {
            drop(ended);
            core.room.closings.fetch_add(1, Ordering::AcqRel);
            core.room.closing.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Keep the descriptor of an open file whose permissions are about to change: afterwards we might not
    /// be allowed to reopen it. Root always may.
    pub(super) fn pin_before_change(&self, node: &Arc<Node>) -> Result<(), Errno> {
        if self.is_root || !node.grip.is_open() {
            return Ok(());
        }
        for file in self.files.all().iter().filter(|file| Arc::ptr_eq(&file.node, node)) {
            self.fd_of(file)?;
            file.lease.pin();
        }
        Ok(())
    }
}
