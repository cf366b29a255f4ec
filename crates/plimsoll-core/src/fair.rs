//! Who is next: reads and writes share a chain fairly.
//!
//! Rule 1: a class that waits gets its half of the time, however much the other one asks for.
//! Rule 2: nothing is held back for a class that does not ask: while anything waits, there is a
//! next one.
//! Rule 3: the order depends on the order of the calls and on the costs, on nothing else; within a
//! class it is the order of arrival.
//!
//! A chain serves in order of admission, so that a read that is admitted behind 16 MiB of writeback
//! waits for all of it. Under saturation requests therefore wait here, and one is admitted when the
//! chain is about to have nothing left to do.
//!
//! # Start-time fair queueing
//!
//! A request of class `k` and cost `c` that arrives is marked with the time at which it would begin
//! if its class were served at its own rate, and with that at which it would end:
//!
//! ```text
//! start = max( virtual time, end of the class's last request )       end = start + c
//! ```
//!
//! The least start goes first, and the virtual time is the start of the request that went last. For
//! any two classes that both wait throughout a time, what they got differs by at most the largest
//! request of each; a class that was away resumes at the present virtual time and has neither saved
//! anything up nor lost anything. Unlike fair queueing by end times this needs no known rate, so it
//! holds while the rate changes, as when a burst ends. (P. Goyal, H. Vin, H. Cheng, "Start-time Fair
//! Queuing", SIGCOMM 1996, theorem 1; weights are equal here, so they do not appear.)
//!
//! The paper lets the virtual time jump to the largest end when the server falls idle. Here it
//! stays where it is, as an empty queue does not say that the chain is idle; that favours whoever
//! comes first by at most one request, and moves nothing else.

use std::collections::VecDeque;

use crate::lane::Lane;

/// What is treated alike.
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
    /// When it was pushed.
    pub pushed_s: f64,
    /// What was pushed.
    pub payload: T,
}

/// A request that waits, with the virtual time at which it begins, and how many came before it.
#[derive(Clone, Debug)]
struct Waiting<T> {
    start_s: f64,
    arrival: u64,
    turn: Turn<T>,
}

/// Requests that wait, by class.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    waiting: [VecDeque<Waiting<T>>; 2],
    /// Virtual end of the last request of each class.
    end_s: [f64; 2],
    /// Virtual time: the start of the request that went last.
    virtual_s: f64,
    arrivals: u64,
}

impl Class {
    /// The class of a request.
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
    /// Nothing waits.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiting: [VecDeque::new(), VecDeque::new()],
            end_s: [0.0; 2],
            virtual_s: 0.0,
            arrivals: 0,
        }
    }

    /// Let a request wait that costs so many seconds of the chain; below 0 counts as 0.
    ///
    /// The moment is kept for whoever asks how long it waited; the order does not depend on it.
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

    /// The next request in order of start; the one that came first where starts are equal.
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

    /// How many requests wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
