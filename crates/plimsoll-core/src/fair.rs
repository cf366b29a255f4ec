//! Share a chain fairly between reads and writes.
//!
//! Rule 1: a class that waits gets half of the time, however much the other class demands.
//! Rule 2: the queue is work-conserving: while anything waits, there is a next request.
//! Rule 3: the order depends only on the order of the calls and on the costs; within a class it is the
//! order of arrival.
//!
//! A chain serves in order of admission, so a read that is admitted behind 16 MiB of writeback waits
//! for all of it. Under saturation requests therefore wait here, and one is admitted when the chain is
//! about to run out of work.
//!
//! # Start-time fair queueing
//!
//! An arriving request of class `k` and cost `c` is marked with the time at which it would start if its
//! class were served at its own rate, and with the time at which it would end:
//!
//! ```text
//! start = max( virtual time, end of the class's last request )       end = start + c
//! ```
//!
//! The least start goes first, and the virtual time is the start of the last request that went. While
//! two classes both wait, the service they get differs by at most the largest request of each. A class
//! that was idle resumes at the present virtual time, so it has neither saved nor lost anything. Unlike
//! fair queueing by end times this needs no known rate, so it also works while the rate changes, for
//! example when a burst ends. (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queuing", SIGCOMM 1996,
//! theorem 1; the weights are equal here, so they do not appear.)
//!
//! In the paper the virtual time jumps to the largest end when the server falls idle. Here it stays,
//! because an empty queue does not mean that the chain is idle. That favours the first request by at
//! most one request, and changes nothing else.

use std::collections::VecDeque;

use crate::lane::Lane;

/// Requests that are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Requests that read.
    Read,
    /// Requests that write.
    Write,
}

/// A request whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn<T> {
    /// Its class.
    pub class: Class,
    /// What it costs, in seconds of the chain.
    pub cost_s: f64,
    /// When it was added.
    pub pushed_s: f64,
    /// What the caller added.
    pub payload: T,
}

/// A waiting request, with its virtual start and the number of earlier ones.
#[derive(Clone, Debug)]
struct Waiting<T> {
    start_s: f64,
    arrival: u64,
    turn: Turn<T>,
}

/// Waiting requests, by class.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    waiting: [VecDeque<Waiting<T>>; 2],
    /// Virtual end of the last request of each class.
    end_s: [f64; 2],
    /// Virtual time: the start of the last request that went.
    virtual_s: f64,
    arrivals: u64,
}

impl Class {
    /// Return the class of a request.
    #[must_use]
    pub fn of(is_write: bool) -> Self {
        if is_write { Self::Write } else { Self::Read }
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> FairQueue<T> {
    /// Return an empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiting: [VecDeque::new(), VecDeque::new()],
            end_s: [0.0; 2],
            virtual_s: 0.0,
            arrivals: 0,
        }
    }

    /// Add a request that costs this many seconds of the chain; below 0 counts as 0.
    ///
    /// `now_s` is returned with the turn, for measuring the wait; the order does not depend on it.
    pub fn push(&mut self, now_s: f64, class: Class, cost_s: f64, payload: T) {
        let cost_s = cost_s.most(0.0);
        let end_s = &mut self.end_s[class as usize];
        let start_s = self.virtual_s.most(*end_s);
        *end_s = start_s + cost_s;
        let turn = Turn { class, cost_s, pushed_s: now_s, payload };
        let waiting = Waiting { start_s, arrival: self.arrivals, turn };
        self.waiting[class as usize].push_back(waiting);
        self.arrivals += 1;
    }

    /// Return the next request in order of start; of equal starts the one that came first.
    pub fn pop(&mut self) -> Option<Turn<T>> {
        let first = |class: Class| {
            self.waiting[class as usize].front().map(|head| (head.start_s, head.arrival))
        };
        let class = match (first(Class::Read), first(Class::Write)) {
            (Some(read), Some(write)) if write < read => Class::Write,
            (None, _) => Class::Write,
            _ => Class::Read,
        };
        let Waiting { start_s, turn, .. } = self.waiting[class as usize].pop_front()?;
        self.virtual_s = start_s;
        Some(turn)
    }

    /// Return how many requests wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Return whether no request waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
