//! Drop pages beyond the bound, in a thread of its own.
//!
//! A page may have to be written out before it is dropped, and one of our threads must answer that
//! request: so the thread that drops pages must not answer requests. For the same reason it ends before
//! the answering threads. Otherwise it would wait for them for ever in the middle of a drop, without
//! reacting to signals, and keep the mount's connection open for all its users.
//!
//! Exactly this happens after kill -9, so a drop must not take long. Therefore pages that are being
//! written out are not dropped, and a write caused by a drop is answered at once. The disk is still
//! charged for it, as a debt, and nothing more is dropped while the debt is large.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fuser::{INodeNo, Notifier};

use crate::cache_bound::{FileKey, Ledger, Victim};

/// Requests that were answered at once and not yet charged to the disk: about as many as are in its queue
/// anyway.
const DEBT_MAX: usize = 32;

/// How often to check the debt, instead of a signal for each request.
const GLANCE: Duration = Duration::from_millis(1);

/// The ledger and the current drop, under one lock. So a request of writeback is seen by the thread that
/// drops its page, or sees that thread.
#[derive(Debug)]
struct Books {
    ledger: Option<Ledger>,
    dropping: Vec<Victim>,
    is_over: bool,
}

/// The ledger, and the thread that acts on it.
#[derive(Debug)]
pub struct Pruner {
    books: Mutex<Books>,
    woken: Condvar,
    kernel: OnceLock<Notifier>,
    running: Mutex<()>,
    debt: AtomicUsize,
}

impl Pruner {
    /// Return a pruner that keeps the page cache below this size; `None` for no bound and no ledger.
    #[must_use]
    pub fn new(most_bytes: Option<u64>) -> Self {
        let ledger = most_bytes.map(Ledger::new);
        let books = Mutex::new(Books { ledger, dropping: Vec::new(), is_over: false });
        let (woken, kernel, running) = (Condvar::new(), OnceLock::new(), Mutex::default());
        Self { books, woken, kernel, running, debt: AtomicUsize::new(0) }
    }

    /// Set the connection to the kernel.
    pub fn connect(&self, kernel: Notifier) {
        let _ = self.kernel.set(kernel);
    }

    /// Note that a stretch of a file is in the page cache: it was read, or has been written out.
    pub fn deliver(&self, file: FileKey, offset: u64, bytes: u64, is_written: bool) {
        let is_over = self.with(|ledger| {
            if is_written {
                ledger.end_write(file, offset, bytes);
            } else {
                ledger.deliver(file, offset, bytes);
            }
            ledger.is_over()
        });
        if is_over == Some(true) {
            self.woken.notify_one();
        }
    }

    /// Note a request of writeback. Return whether its page is being dropped: then it must be answered at
    /// once, and [`Pruner::paid`] called when the disk has been charged for it. Otherwise
    /// [`Pruner::deliver`] is called once it has been answered.
    pub fn write(&self, file: FileKey, offset: u64, bytes: u64) -> bool {
        let mut books = self.lock();
        let is_dropping = books.dropping.iter().any(|victim| victim.touches(file.0, offset, bytes));
        if is_dropping {
            self.debt.fetch_add(1, Ordering::AcqRel);
        } else if let Some(ledger) = books.ledger.as_mut() {
            ledger.begin_write(file, offset, bytes);
        }
        is_dropping
    }

    /// Note that the disk has been charged for a request that was answered at once.
    pub fn paid(&self) {
        self.debt.fetch_sub(1, Ordering::AcqRel);
    }

    /// Note something else in the ledger, if there is one.
    pub fn with<R>(&self, note: impl FnOnce(&mut Ledger) -> R) -> Option<R> {
        self.lock().ledger.as_mut().map(note)
    }

    /// Make the kernel write out and drop its data of a file from this offset on.
    pub fn write_out(&self, id: u64, offset: u64) {
        let rest = Victim { id, offset, bytes: 0 };
        self.lock().dropping.push(rest);
        self.drop_pages(&rest);
    }

    /// Drop pages until [`Pruner::end`] is called.
    pub fn run(&self) {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut books = self.lock();
        while !books.is_over {
            match books.ledger.as_mut().and_then(Ledger::next_victim) {
                Some(victim) => {
                    books.dropping.push(victim);
                    drop(books);
                    self.drop_pages(&victim);
                    while self.debt.load(Ordering::Acquire) > DEBT_MAX {
                        std::thread::sleep(GLANCE);
                    }
                    books = self.lock();
                }
                None => books = self.woken.wait(books).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// End the thread, and wait for it. Requests must still be answered in this time.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Drop the stretch that is marked as being dropped.
    fn drop_pages(&self, victim: &Victim) {
        if let Some(kernel) = self.kernel.get() {
            let (offset, bytes) = (victim.offset as i64, victim.bytes as i64);
            // An error means that the kernel has already forgotten the file and its pages.
            let _ = kernel.inval_inode(INodeNo(victim.id), offset, bytes);
        }
        let dropping = &mut self.lock().dropping;
        if let Some(at) = dropping.iter().position(|other| other == victim) {
            dropping.swap_remove(at);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
