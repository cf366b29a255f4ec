//! The thread that drops pages beyond the bound.
//!
//! A page may have to be written out before it is dropped, which takes a request of ours to be
//! answered: so this must be a thread that answers none. For the same reason it ends before the
//! threads that answer: in the middle of a drop it would wait for them for ever, where no signal
//! reaches it, and hold the mount's connection open for all who use it.
//!
//! After kill -9 that is just what happens, so a drop must not take long. What is being written out
//! is therefore not dropped, and what is written out by a drop is answered at once; the disk is
//! charged for it all the same, as a debt, and no more is dropped while the debt is large.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fuser::{INodeNo, Notifier};

use crate::cache_bound::{FileKey, Ledger, Victim};

/// Requests that were answered at once and that the disk is still charged for: of the order of what
/// it has in its queue anyway.
const DEBT_MAX: usize = 32;

/// How often a debt is looked at, in place of being told for each request.
const GLANCE: Duration = Duration::from_millis(1);

/// What is known, and what is being done about it; under one lock, so that a request that writes
/// out is seen by whoever drops its page, or sees him.
#[derive(Debug)]
struct Books {
    ledger: Option<Ledger>,
    dropping: Vec<Victim>,
    is_over: bool,
}

/// The books, and who acts on them.
#[derive(Debug)]
pub struct Pruner {
    books: Mutex<Books>,
    woken: Condvar,
    kernel: OnceLock<Notifier>,
    running: Mutex<()>,
    debt: AtomicUsize,
}

impl Pruner {
    /// Keep the page cache below so many bytes; `None` keeps no ledger at all.
    #[must_use]
    pub fn new(most_bytes: Option<u64>) -> Self {
        let ledger = most_bytes.map(Ledger::new);
        let books = Mutex::new(Books { ledger, dropping: Vec::new(), is_over: false });
        let (woken, kernel, running) = (Condvar::new(), OnceLock::new(), Mutex::default());
        Self { books, woken, kernel, running, debt: AtomicUsize::new(0) }
    }

    /// From now on the kernel can be told something.
    pub fn connect(&self, kernel: Notifier) {
        let _ = self.kernel.set(kernel);
    }

    /// A stretch of a file is in the kernel's memory: it was read, or has been written out.
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

    /// A request writes out. Whether it does so because its page is being dropped: then it is to
    /// be answered at once, and [`Pruner::paid`] called when the disk has been charged for it.
    /// Otherwise [`Pruner::deliver`] is called once it has been answered.
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

    /// The disk has been charged for a request that was answered at once.
    pub fn paid(&self) {
        self.debt.fetch_sub(1, Ordering::AcqRel);
    }

    /// Note something else in the ledger, if there is one.
    pub fn with<R>(&self, note: impl FnOnce(&mut Ledger) -> R) -> Option<R> {
        self.lock().ledger.as_mut().map(note)
    }

    /// Have the kernel write out what it holds of a file from this offset on, and drop it.
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

    /// Let the thread end, and wait until it has. Requests must still be answered meanwhile.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Drop what has been noted as being dropped.
    fn drop_pages(&self, victim: &Victim) {
        if let Some(kernel) = self.kernel.get() {
            let (offset, bytes) = (victim.offset as i64, victim.bytes as i64);
            // What the kernel has forgotten meanwhile is not there either.
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
