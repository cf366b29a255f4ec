//! Keep fewer descriptors open than the kernel knows files.
//!
//! Rule 1: a file whose descriptor was closed is found again by its names, which [`crate::inodes`] keeps.
//! The found file must be the same one.
//! Rule 2: the number of open descriptors that can be reopened is bounded. Those not used since the last
//! check are closed first.
//! Rule 3: a file without a known name keeps its descriptor until the kernel forgets it.
//! Rule 4: an open file is reached through the descriptor it is open with.
//! Rule 5: descriptors of open files are bounded as well; [`crate::leases`] reopens them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The bounds on open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// For files that are not open.
    pub idle: usize,
    /// For handles.
    pub handles: usize,
}

/// Descriptors of the gate itself: 3 for input and output, 17 to the kernel (one for each thread that
/// takes requests), the record, the socket and a connection to it, 2 folders, 3 for signals, and one for
/// each short access by a thread.
const OWN: u64 = 32;

/// Most descriptors of files that are not open; more are not worth their memory.
const IDLE_MAX: u64 = 16_384;

impl Share {
    /// Divide the descriptors that the process may have. Half of the rest after its own goes to handles, a
    /// quarter to files that are not open; requests in flight and files without a name share the remainder.
    /// A caller without a descriptor has room made for it, so these shares only decide on speed.
    #[must_use]
    pub fn of(most: u64) -> Self {
        let free = most.saturating_sub(OWN);
        let idle = (free / 4).min(IDLE_MAX) as usize;
        Self { idle, handles: usize::try_from(free / 2).unwrap_or(usize::MAX).max(1) }
    }
}

/// Result of closing a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It is closed.
    Closed,
    /// There is none, and its owner leaves the ring.
    Empty,
    /// Another thread uses it for a moment.
    Busy,
    /// It was used since the last check, or cannot be closed yet.
    Stays,
}

/// Something whose descriptor can be reopened.
pub trait LetGo {
    /// Close the descriptor, unless it was used since the last call; with `is_pressed`, also one that
    /// takes time to close.
    fn let_go(&self, is_pressed: bool) -> Lost;
}

/// What keeps a file reachable.
#[derive(Debug, Default)]
struct Hold {
    /// A path descriptor, for everything except content (`O_PATH`).
    path: Option<Arc<OwnedFd>>,
    /// The descriptor it is open with, while it is open.
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

/// Things whose descriptors may be closed, in the order of checking.
#[derive(Debug)]
pub struct Ring<T> {
    things: Mutex<VecDeque<Weak<T>>>,
}

impl Grip {
    /// Return a descriptor of the file, if one is open.
    #[must_use]
    pub fn fd(&self) -> Option<Arc<OwnedFd>> {
        let mut hold = self.lock();
        hold.was_used = true;
        hold.path.clone().or_else(|| hold.lent.as_ref()?.upgrade())
    }

    /// Keep the file reachable by this descriptor until it is forgotten.
    pub fn keep(&self, fd: Arc<OwnedFd>) {
        let mut hold = self.lock();
        hold.is_kept = true;
        hold.path.get_or_insert(fd);
    }

    /// Note that a name leads to it, so that the descriptor may be closed.
    pub fn loosen(&self) {
        self.lock().is_kept = false;
    }

    /// Note that a handle was opened.
    pub fn opened(&self) {
        self.lock().opens += 1;
    }

    /// Note the descriptor that it is open with.
    pub fn lend(&self, fd: &Arc<OwnedFd>) {
        let mut hold = self.lock();
        if hold.lent.as_ref().is_none_or(|lent| lent.strong_count() == 0) {
            hold.lent = Some(Arc::downgrade(fd));
        }
    }

    /// Note that a handle was closed.
    pub fn closed(&self) {
        let mut hold = self.lock();
        hold.opens = hold.opens.saturating_sub(1);
    }

    /// Return whether a handle is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().opens > 0
    }

    /// Keep the file reachable by this descriptor for some time; return whether to add it to the ring.
    pub(crate) fn take(&self, fd: &Arc<OwnedFd>) -> bool {
        let mut hold = self.lock();
        hold.path.get_or_insert_with(|| Arc::clone(fd));
        !std::mem::replace(&mut hold.is_listed, true)
    }

    /// Close the descriptor of a file that nothing leads to any more and that is not open; this ends the
    /// file.
    #[must_use]
    pub fn abandon(&self) -> bool {
        let mut hold = self.lock();
        let given_up = if hold.opens == 0 && hold.is_kept { hold.path.take() } else { None };
        drop(hold);
        given_up.is_some()
    }

    /// Close the descriptor of a file that is not open; see [`LetGo`].
    pub fn let_go(&self, is_pressed: bool) -> Lost {
        let mut hold = self.lock();
        let was_used = std::mem::take(&mut hold.was_used) && !is_pressed;
        if was_used && !hold.is_kept {
            return Lost::Stays;
        }
        // Another thread closes it when it has finished; a caller that needs room must wait for that.
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
    /// Return how many entries there are, including those that no longer exist.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Add an entry. Dead entries are removed when they may be half of all, so that each addition costs
    /// the same.
    pub fn add(&self, thing: &Arc<T>, live: usize) {
        let mut things = self.lock();
        things.push_back(Arc::downgrade(thing));
        if things.len() > 2 * live + 16 {
            things.retain(|thing| thing.strong_count() > 0);
        }
    }

    /// Add an entry that is checked last.
    pub(crate) fn push(&self, thing: &Arc<T>) {
        self.lock().push_back(Arc::downgrade(thing));
    }

    /// Return the entry to check next, if it still exists.
    pub fn pop(&self) -> Option<Option<Arc<T>>> {
        self.lock().pop_front().map(|thing| thing.upgrade())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Weak<T>>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: LetGo> Ring<T> {
    /// Close descriptors until it is enough; return how many, and whether others are in use.
    pub fn sweep(&self, is_pressed: bool, is_enough: impl Fn(usize) -> bool) -> (usize, bool) {
        let (mut closed, mut is_busy) = (0, false);
        // In the second round even the one used last may be closed.
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
