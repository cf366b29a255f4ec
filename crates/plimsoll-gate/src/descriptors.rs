//! Descriptors of the files that the kernel knows: fewer than there are files.
//!
//! Rule 1: a file whose descriptor was closed is reached by its names again; [`crate::inodes`] keeps
//! them. What is found there must be the file that was meant.
//! Rule 2: of descriptors that can be had again so, at most a given number is open. Those go first
//! that were not used since they were last looked at.
//! Rule 3: a file without a name that is known is held until the kernel forgets it.
//! Rule 4: a file that somebody has open is reached by what he has it open with.
//! Rule 5: descriptors of what is open are bounded as well; [`crate::leases`] has them again.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// How many descriptors may be open for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// For files that are not open.
    pub idle: usize,
    /// For handles.
    pub handles: usize,
}

/// Descriptors that are the gate's own: 3 for input and output, 17 to the kernel (one for each
/// thread that takes requests), the record, the socket and a conversation there, 2 folders, 3 for
/// signals, and one for each thing that a thread just looks at.
const OWN: u64 = 32;

/// Most descriptors of files that are not open: more are not worth their memory.
const IDLE_MAX: u64 = 16_384;

impl Share {
    /// Of so many that the process may have. Half of what is not its own goes to handles, a quarter
    /// to files that are not open; requests in flight, and files without a name, have the rest. Whoever
    /// finds none has room made, so that these shares decide on speed only.
    #[must_use]
    pub fn of(most: u64) -> Self {
        let free = most.saturating_sub(OWN);
        let idle = (free / 4).min(IDLE_MAX) as usize;
        Self { idle, handles: usize::try_from(free / 2).unwrap_or(usize::MAX).max(1) }
    }
}

/// What came of closing a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It is closed.
    Closed,
    /// There is none, and what would have it leaves the ring.
    Empty,
    /// Somebody works with it, for a moment.
    Busy,
    /// It was used since it was last looked at, or cannot be closed yet.
    Stays,
}

/// Something whose descriptor can be had again.
pub trait LetGo {
    /// Close the descriptor, unless it was used since the last call; also one that takes time to
    /// close where `is_pressed`.
    fn let_go(&self, is_pressed: bool) -> Lost;
}

/// What a file is held by.
#[derive(Debug, Default)]
struct Hold {
    /// A descriptor for everything but content.
    path: Option<Arc<OwnedFd>>,
    /// One that it was opened with, as long as it is open.
    lent: Option<Weak<OwnedFd>>,
    opens: u32,
    is_kept: bool,
    is_listed: bool,
    was_used: bool,
}

/// The hold on one file.
#[derive(Debug, Default)]
pub struct Grip {
    hold: Mutex<Hold>,
}

/// Things whose descriptors may be closed, in the order in which they are looked at.
#[derive(Debug)]
pub struct Ring<T> {
    things: Mutex<VecDeque<Weak<T>>>,
}

impl Grip {
    /// A descriptor of the file, if one is open.
    #[must_use]
    pub fn fd(&self) -> Option<Arc<OwnedFd>> {
        let mut hold = self.lock();
        hold.was_used = true;
        hold.path.clone().or_else(|| hold.lent.as_ref()?.upgrade())
    }

    /// Hold the file by this one until it is forgotten.
    pub fn keep(&self, fd: Arc<OwnedFd>) {
        let mut hold = self.lock();
        hold.is_kept = true;
        hold.path.get_or_insert(fd);
    }

    /// It can be reached by a name and need not be kept.
    pub fn loosen(&self) {
        self.lock().is_kept = false;
    }

    /// Somebody has opened the file.
    pub fn opened(&self) {
        self.lock().opens += 1;
    }

    /// It is open with this descriptor.
    pub fn lend(&self, fd: &Arc<OwnedFd>) {
        let mut hold = self.lock();
        if hold.lent.as_ref().is_none_or(|lent| lent.strong_count() == 0) {
            hold.lent = Some(Arc::downgrade(fd));
        }
    }

    /// Somebody has closed it.
    pub fn closed(&self) {
        let mut hold = self.lock();
        hold.opens = hold.opens.saturating_sub(1);
    }

    /// Whether somebody has it open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().opens > 0
    }

    /// Hold the file by this one for some time; whether the ring is to be told.
    pub(crate) fn take(&self, fd: &Arc<OwnedFd>) -> bool {
        let mut hold = self.lock();
        hold.path.get_or_insert_with(|| Arc::clone(fd));
        !std::mem::replace(&mut hold.is_listed, true)
    }

    /// Close a descriptor that is held though nothing leads to the file any more, if nobody has it
    /// open: it ends the file.
    #[must_use]
    pub fn abandon(&self) -> bool {
        let mut hold = self.lock();
        let given_up = if hold.opens == 0 && hold.is_kept { hold.path.take() } else { None };
        drop(hold);
        given_up.is_some()
    }

    /// Close the descriptor that a file which is not open is held by; see [`LetGo`].
    pub fn let_go(&self, is_pressed: bool) -> Lost {
        let mut hold = self.lock();
        let was_used = std::mem::take(&mut hold.was_used) && !is_pressed;
        if was_used && !hold.is_kept {
            return Lost::Stays;
        }
        // Others close it when they are through; who needs room now has to wait for that.
        if is_pressed && hold.path.as_ref().is_some_and(|fd| Arc::strong_count(fd) > 1) {
            return Lost::Busy;
        }
        hold.is_listed = false;
        let closed = if hold.is_kept { None } else { hold.path.take() };
        drop(hold);
        if closed.is_some() { Lost::Closed } else { Lost::Empty }
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { things: Mutex::default() }
    }
}

impl<T> Ring<T> {
    /// How many there are, also of those that are gone.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Add one. Those that are gone leave when they may be half of all, so that each addition
    /// costs the same.
    pub fn add(&self, thing: &Arc<T>, live: usize) {
        let mut things = self.lock();
        things.push_back(Arc::downgrade(thing));
        if things.len() > 2 * live + 16 {
            things.retain(|thing| thing.strong_count() > 0);
        }
    }

    /// Add one that is looked at last.
    pub(crate) fn push(&self, thing: &Arc<T>) {
        self.lock().push_back(Arc::downgrade(thing));
    }

    /// The one that is looked at next, if it still exists.
    pub fn pop(&self) -> Option<Option<Arc<T>>> {
        self.lock().pop_front().map(|thing| thing.upgrade())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Weak<T>>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: LetGo> Ring<T> {
    /// Close descriptors until it is enough; how many, and whether somebody works with others.
    pub fn sweep(&self, is_pressed: bool, is_enough: impl Fn(usize) -> bool) -> (usize, bool) {
        let (mut closed, mut is_busy) = (0, false);
        // Twice around even the last one that was used goes.
        for _ in 0..2 * self.len() {
            if is_enough(closed) {
                break;
            }
            let Some(first) = self.pop() else { break };
            let Some(thing) = first else { continue };
            match thing.let_go(is_pressed) {
                Lost::Closed => closed += 1,
                Lost::Empty => {}
                Lost::Busy => {
                    is_busy = true;
                    self.push(&thing);
                }
                Lost::Stays => self.push(&thing),
            }
        }
        (closed, is_busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles get twice what files that are not open get, and never nothing.
    #[test]
    fn descriptors_are_shared_out() {
        assert_eq!(Share { idle: 248, handles: 496 }, Share::of(1024));
        assert_eq!(Share { idle: 0, handles: 1 }, Share::of(20));
        assert_eq!(IDLE_MAX as usize, Share::of(u64::MAX).idle);
    }
}
