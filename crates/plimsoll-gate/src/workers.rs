//! Threads for operations that may take long: reads that need the disk, flushes, allocations, the
//! deletion of large files.
//!
//! The threads that take requests from the kernel wait for a disk themselves while one of them is left to
//! take the next request; further work goes to these threads.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: Mutex<(VecDeque<Job>, bool)>,
    filled: Condvar,
}

/// The threads, with the queue they take from; they end when it is dropped.
pub struct Workers {
    queue: Arc<Queue>,
}

impl Workers {
    /// Start this many threads.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(name: &str, count: usize) -> std::io::Result<Self> {
        let workers = Self { queue: Arc::default() };
        for number in 0..count {
            let queue = Arc::clone(&workers.queue);
            thread::Builder::new().name(format!("gate-{name}-{number}")).spawn(move || {
                while let Some(job) = queue.next() {
                    job();
                }
            })?;
        }
        Ok(workers)
    }

    /// Run something when a thread is free, in the order of the calls.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.queue.lock().0.push_back(Box::new(job));
        self.queue.filled.notify_one();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.lock().1 = true;
        self.queue.filled.notify_all();
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Workers").field("waiting", &self.queue.lock().0.len()).finish()
    }
}

impl Queue {
    /// Return the next job; `None` when all are done and none will follow.
    fn next(&self) -> Option<Job> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.0.pop_front() {
                return Some(job);
            }
            if jobs.1 {
                return None;
            }
            jobs = self.filled.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, (VecDeque<Job>, bool)> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Whoever waits for a disk does not hold up the others, and all that was begun is done.
    #[test]
    fn a_job_that_waits_holds_up_nobody() {
        let workers = Workers::start("test", 2).unwrap();
        let (let_go, held) = channel::<()>();
        let (tell, told) = channel();
        let tell_last = tell.clone();
        workers.run(move || {
            let _ = held.recv();
            tell_last.send(0).unwrap();
        });
        for number in 1..=3 {
            let tell = tell.clone();
            workers.run(move || tell.send(number).unwrap());
        }

        let next = || told.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!([1, 2, 3], [next(), next(), next()]);
        drop(workers);
        let_go.send(()).unwrap();
        assert_eq!(0, next());
    }
}
