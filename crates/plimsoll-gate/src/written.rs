//! Data that was written to a file and not flushed, and which handles know of a failed flush.
//!
//! Rule 1: the system reports an error of writeback once to each descriptor (fsync(2)). A handle whose
//! descriptor was closed and reopened must get it all the same.
//! Rule 2: before a descriptor is closed to make room its file is flushed, unless nothing was written
//! since the last flush. An error of that flush is kept here, because no handle knows of it yet.
//! Rule 3: a new handle gets an error that was not reported to any other, as the system does it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// The state of one file.
#[derive(Debug, Default)]
pub struct Written {
    changes: AtomicU64,
    flushed: AtomicU64,
    failures: Mutex<Failures>,
}

#[derive(Debug, Default)]
struct Failures {
    count: u64,
    last: Option<Errno>,
    is_told: bool,
}

/// What one handle knows of errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    count: u64,
    /// Whether its descriptor was reopened, so that the system does not report earlier errors to it.
    was_away: bool,
}

impl Heard {
    /// Note that the descriptor is about to be closed.
    pub fn leave(&mut self) {
        self.was_away = true;
    }
}

impl Written {
    /// Note a write.
    pub fn change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Return whether everything that was written has been flushed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.flushed.load(Ordering::Acquire) == self.changes.load(Ordering::Acquire)
    }

    /// Return what a handle that is opened now knows.
    #[must_use]
    pub fn heard(&self) -> Heard {
        let failures = self.lock();
        let is_owed = failures.last.is_some() && !failures.is_told;
        Heard { count: failures.count - u64::from(is_owed), was_away: is_owed }
    }

    /// Flush for a handle.
    ///
    /// # Errors
    /// The flush failed, or an earlier one that the handle does not know of.
    pub fn flush(
        &self,
        heard: &Mutex<Heard>,
        flush: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let changes = self.changes.load(Ordering::Acquire);
        let done = flush();
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failures = self.lock();
        let told = match done {
            Ok(()) => {
                self.flushed.fetch_max(changes, Ordering::AcqRel);
                let is_owed = heard.was_away && heard.count != failures.count;
                failures.last.filter(|_| is_owed).map_or(Ok(()), Err)
            }
            Err(error) => {
                failures.count += 1;
                failures.last = Some(error);
                Err(error)
            }
        };
        failures.is_told |= told.is_err();
        *heard = Heard { count: failures.count, was_away: false };
        told
    }

    /// Flush because a descriptor is about to be closed; keep an error.
    pub fn settle(&self, flush: impl FnOnce() -> Result<(), Errno>) {
        let changes = self.changes.load(Ordering::Acquire);
        match flush() {
            Ok(()) => {
                self.flushed.fetch_max(changes, Ordering::AcqRel);
            }
            Err(error) => {
                let mut failures = self.lock();
                *failures =
                    Failures { count: failures.count + 1, last: Some(error), is_told: false };
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails() -> Result<(), Errno> {
        Err(Errno::IO)
    }

    fn works() -> Result<(), Errno> {
        Ok(())
    }

    /// A file is clean again when what was written before a flush began is on the disk.
    #[test]
    fn a_file_is_clean_when_all_before_the_flush_is_on_the_disk() {
        let (written, heard) = (Written::default(), Mutex::default());
        assert!(written.is_clean());
        written.change();
        assert!(!written.is_clean());

        // Something more is written while the first flush runs.
        let during = || {
            written.change();
            Ok(())
        };
        assert_eq!(Ok(()), written.flush(&heard, during));
        assert!(!written.is_clean());
        assert_eq!(Ok(()), written.flush(&heard, works));
        assert!(written.is_clean());
        written.change();
        assert_eq!(Err(Errno::IO), written.flush(&heard, fails));
        assert!(!written.is_clean());
    }

    /// What was found when a descriptor was closed to make room is told once to its handle.
    #[test]
    fn an_error_found_while_making_room_is_told_to_the_handle_once() {
        let written = Written::default();
        let heard = Mutex::new(written.heard());
        written.change();
        written.settle(fails);
        heard.lock().unwrap().leave();

        assert_eq!(Err(Errno::IO), written.flush(&heard, works));
        assert_eq!(Ok(()), written.flush(&heard, works));
    }

    /// A handle that was away hears of the error that another one heard of meanwhile; one that
    /// was not is told by the system, and not twice.
    #[test]
    fn a_handle_that_was_away_hears_what_others_heard() {
        let written = Written::default();
        let [away, other, third] = [(); 3].map(|()| Mutex::new(written.heard()));
        away.lock().unwrap().leave();

        assert_eq!(Err(Errno::IO), written.flush(&other, fails));

        assert_eq!(Err(Errno::IO), written.flush(&away, works));
        assert_eq!(Ok(()), written.flush(&away, works));
        assert_eq!(Ok(()), written.flush(&third, works));
    }

    /// Who opens a file hears of an error that nobody has heard of, and of no other.
    #[test]
    fn who_opens_a_file_hears_of_an_error_that_nobody_heard_of() {
        let written = Written::default();
        written.settle(fails);
        let first = Mutex::new(written.heard());
        assert_eq!(Err(Errno::IO), written.flush(&first, works));

        let second = Mutex::new(written.heard());
        assert_eq!(Ok(()), written.flush(&second, works));
    }
}
