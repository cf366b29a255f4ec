//! Room for descriptors: nobody is told that there are too many open files.
//!
//! Rule 1: whatever opens something is attempted here. Where the system gives no descriptor,
//! everything that the attempt had opened is closed again, room is made, and it is attempted anew. So
//! nobody waits for room who takes some up.
//! Rule 2: what can be had again is closed first: files that are not open, then handles that nobody
//! works with, then those whose file has to be flushed before. What is being closed anyway, or in
//! use, is waited for.
//! Rule 3: only files without a name that are open need a descriptor each. Where these alone are more
//! than the process may have, no memory is said to be left (`ENOMEM`): it is the gate's
//! memory of the file that is missing, and nothing that the server above could close.

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

/// How long nothing at all may be closed before somebody who waits for room gives up. A busy disk
/// takes seconds to end a large file; a client whose reply takes longer is taken for hung.
const PATIENCE_S: f64 = 10.0;

/// How often it is tried again: a small part of the time that any disk takes.
const RETRY: Duration = Duration::from_millis(1);

/// The descriptors of what is open, and who waits for more.
#[derive(Debug)]
pub struct Room {
    /// Those that may be closed, in the order in which they are.
    leases: Ring<Lease>,
    /// How many are open, and may be as long as there is a choice.
    pub open: Arc<AtomicUsize>,
    open_max: usize,
    /// Held by who makes room.
    making: Mutex<()>,
    /// What is being closed.
    closing: AtomicUsize,
    /// How much was closed so far.
    closings: AtomicU64,
    /// Threads that wait for what other threads may be asked to close.
    waiting: AtomicUsize,
}

impl Room {
    /// Room for so many descriptors of what is open.
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

/// How far making room came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Some,
    /// Others will be through in a moment.
    Soon,
    None,
}

/// Whether the system gave no descriptor.
pub fn is_no_room(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE)
}

impl Core {
    /// Attempt something that opens descriptors until there is room for them.
    ///
    /// # Errors
    /// Those of the attempt; `ENOMEM` where no room can be made.
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

    /// Wait for a moment, where others make room or may be asked to: one thread is left to take
    /// requests.
    fn wait_for_room(&self, made: Made) -> bool {
        let before = self.room.waiting.fetch_add(1, Ordering::AcqRel);
        let may_wait = made == Made::Soon || before < self.waiting_max;
        if may_wait {
            std::thread::sleep(RETRY);
        }
        self.room.waiting.fetch_sub(1, Ordering::AcqRel);
        may_wait
    }

    /// Close one descriptor that can be had again.
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

    /// A leased descriptor, opened again where it was closed; others go for it.
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

    /// The backing file of an open one.
    ///
    /// # Errors
    /// It was closed to make room, and cannot be opened now.
    pub(super) fn fd_of(&self, file: &OpenFile) -> Result<Arc<OwnedFd>, Errno> {
        let fd = self.leased(&file.lease, || {
            let found = self.inodes.reached(Arc::clone(&file.node))?;
            self.reopen(&found, file.flags).map(Arc::new)
        })?;
        file.node.grip.lend(&fd);
        Ok(fd)
    }

    /// The same, once there is room for it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn backing(&self, file: &OpenFile) -> Result<Arc<OwnedFd>, Errno> {
        self.with_room(|| self.fd_of(file))
    }

    /// An open file, whatever has become of its names.
    pub(super) fn file_of(&self, file: &OpenFile) -> Result<Reached, Errno> {
        Ok(Reached { fd: self.fd_of(file)?, node: Arc::clone(&file.node) })
    }

    /// Have something closed that may take long.
    pub(super) fn end_later<T: Send + 'static>(self: &Arc<Self>, ended: T) {
        self.room.closing.fetch_add(1, Ordering::AcqRel);
        let core = Arc::clone(self);
        self.workers.run(move || {
            drop(ended);
            core.room.closings.fetch_add(1, Ordering::AcqRel);
            core.room.closing.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Permissions are about to change, which may forbid us to open a file again that is open: hold
    /// on to it. Root may always.
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
