//! The thread that drops pages beyond the bound.
//!
//! A page may have to be written out before it is dropped, which takes a request of ours to be
//! answered: so this must be a thread that answers none. For the same reason it ends before the
//! threads that answer: in the middle of a drop it would wait for them for ever, where no signal
//! reaches it, and hold the mount's connection open for all who use it.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use fuser::{INodeNo, Notifier};

use crate::cache_bound::{FileKey, Ledger, Victim};

/// Stretches dropped before the ledger may be written to again.
const BATCH: usize = 32;

/// The ledger, and who acts on it.
#[derive(Debug)]
pub struct Pruner {
    ledger: Option<Mutex<(Ledger, bool)>>,
    woken: Condvar,
    kernel: OnceLock<Notifier>,
    running: Mutex<()>,
}

impl Pruner {
    /// Keep the page cache below so many bytes; `None` keeps no books at all.
    #[must_use]
    pub fn new(most_bytes: Option<u64>) -> Self {
        let ledger = most_bytes.map(|bytes| Mutex::new((Ledger::new(bytes), false)));
        let (woken, kernel, running) = (Condvar::new(), OnceLock::new(), Mutex::default());
        Self { ledger, woken, kernel, running }
    }

    /// From now on the kernel can be told something.
    pub fn connect(&self, kernel: Notifier) {
        let _ = self.kernel.set(kernel);
    }

    /// A stretch of a file is in the kernel's memory.
    pub fn deliver(&self, file: FileKey, offset: u64, bytes: u64) {
        let is_over = self.with(|ledger| {
            ledger.deliver(file, offset, bytes);
            ledger.is_over()
        });
        if is_over == Some(true) {
            self.woken.notify_one();
        }
    }

    /// Note something else in the ledger, if there is one.
    pub fn with<R>(&self, note: impl FnOnce(&mut Ledger) -> R) -> Option<R> {
        let mut guard = self.lock()?;
        Some(note(&mut guard.0))
    }

    /// Have the kernel write out what it holds of a file from this offset on, and drop it.
    pub fn write_out(&self, id: u64, offset: u64) {
        self.drop_pages(&Victim { id, offset, bytes: 0 });
    }

    /// Drop pages until [`Pruner::end`] is called.
    pub fn run(&self) {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut victims = Vec::with_capacity(BATCH);
        let Some(mut guard) = self.lock() else { return };
        while !guard.1 {
            victims.extend(std::iter::from_fn(|| guard.0.next_victim()).take(BATCH));
            if victims.is_empty() {
                guard = self.woken.wait(guard).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(guard);
            victims.drain(..).for_each(|victim| self.drop_pages(&victim));
            guard = match self.lock() {
                Some(guard) => guard,
                None => return,
            };
        }
    }

    /// Let the thread end, and wait until it has. Requests must still be answered meanwhile.
    pub fn end(&self) {
        if let Some(mut guard) = self.lock() {
            guard.1 = true;
        }
        self.woken.notify_all();
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn drop_pages(&self, victim: &Victim) {
        if let Some(kernel) = self.kernel.get() {
            let (offset, bytes) = (victim.offset as i64, victim.bytes as i64);
            // What the kernel has forgotten meanwhile is not there either.
            let _ = kernel.inval_inode(INodeNo(victim.id), offset, bytes);
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, (Ledger, bool)>> {
        let ledger = self.ledger.as_ref()?;
        Some(ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
