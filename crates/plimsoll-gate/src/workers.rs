//! Threads for what may take long: flushes, allocations, the end of large files.
//!
//! The threads that take requests from the kernel are few, and must not wait for a disk to flush
//! while reads that need no disk stand behind them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Flushes that run side by side: a log writer, a checkpointer and some sessions.
const WORKERS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// The threads, by the queue they take from; they end when it is dropped.
#[derive(Debug)]
pub struct Workers {
    jobs: Mutex<Sender<Job>>,
}

impl Workers {
    /// Start them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..WORKERS {
            let queue: Arc<Mutex<Receiver<Job>>> = Arc::clone(&queue);
            thread::Builder::new().name(format!("gate-work-{number}")).spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    match next {
                        Ok(job) => job(),
                        Err(_) => break,
                    }
                }
            })?;
        }
        Ok(Self { jobs: Mutex::new(jobs) })
    }

    /// Have something done when a thread is free.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // It fails only when every thread is gone, and then the reply that the job owns is
        // dropped, which answers the kernel with an error.
        let _ = jobs.send(Box::new(job));
    }
}
