//! Share a chain fairly between reads and writes, and between the files that are written.
//!
//! Rule 1: a class that waits gets half of the time, however much the other class demands.
//! Rule 2: within the writes each file that waits gets the same, however much another file has to write.
//! Rule 3: the queue is work-conserving: while anything waits, there is a next request.
//! Rule 4: the order depends only on the order of the calls and on the costs; reads, and the writes of one file,
//! are in order of arrival.
//!
//! A chain serves in order of admission, so a read that is admitted behind 16 MiB of writeback waits
//! for all of it, and so does the log of a commit. Under saturation requests therefore wait here, and one is
//! admitted when the chain is about to run out of work.
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
//! theorem 1; the weights are equal here, so they do not appear.) The files share in the same way what the writes get,
//! as the paper proposes for a tree of classes.
//!
//! In the paper the virtual time jumps to the largest end when the server falls idle. Here it stays,
//! because an empty queue does not mean that the chain is idle. That favours the first request by at
//! most one request, and changes nothing else.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use crate::lane::Lane;

/// Ends of files that are remembered before those that no longer matter are forgotten.
const ENDS_KEPT: usize = 1_024;

/// Requests that are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Requests that read.
    Read,
    /// Requests that write.
    Write,
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Its class.
    pub class: Class,
    /// A number for each file that is written; the same one for all reads.
    pub file: u64,
}

/// A request whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn<T> {
    /// Whose it is.
    pub flow: Flow,
    /// What it costs, in seconds of the chain.
    pub cost_s: f64,
    /// When it was added.
    pub pushed_s: f64,
    /// What the caller added.
    pub payload: T,
}

/// A waiting request, with its virtual start within its class and the number of earlier ones. The greatest one
/// is the next.
#[derive(Clone, Debug)]
struct Waiting<T> {
    start_s: f64,
    arrival: u64,
    turn: Turn<T>,
}

/// The requests of one class.
#[derive(Clone, Debug)]
struct Side<T> {
    waiting: BinaryHeap<Waiting<T>>,
    /// Virtual start of its next request among the classes; it counts while something waits.
    start_s: f64,
    /// Virtual time within the class: the start of the last request that went.
    virtual_s: f64,
    /// Virtual end of the last request of each file, within the class.
    end_s: HashMap<u64, f64>,
}

/// Waiting requests, by class and file.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    sides: [Side<T>; 2],
    /// Virtual time: the start of the last request that went.
    virtual_s: f64,
    arrivals: u64,
}

impl Flow {
    /// Return the flow of a request to this file.
    #[must_use]
    pub fn of(is_write: bool, file: u64) -> Self {
        if is_write {
            Self { class: Class::Write, file }
        } else {
            Self { class: Class::Read, file: 0 }
        }
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
        Self { sides: [Side::new(), Side::new()], virtual_s: 0.0, arrivals: 0 }
    }

    /// Add a request that costs this many seconds of the chain; below 0 counts as 0.
    ///
    /// `now_s` is returned with the turn, for measuring the wait; the order does not depend on it.
    pub fn push(&mut self, now_s: f64, flow: Flow, cost_s: f64, payload: T) {
        let side = &mut self.sides[flow.class as usize];
        if side.waiting.is_empty() {
            // A class that was idle has saved nothing; one that has just been served has not forgotten it.
            side.start_s = side.start_s.most(self.virtual_s);
        }
        let turn = Turn { flow, cost_s: cost_s.most(0.0), pushed_s: now_s, payload };
        side.push(self.arrivals, turn);
        self.arrivals += 1;
    }

    /// Return the next request in order of start; of equal starts the one that came first.
    pub fn pop(&mut self) -> Option<Turn<T>> {
        let next = self.sides.iter_mut().filter(|side| !side.waiting.is_empty());
        let side = next.min_by(|one, other| {
            one.head().partial_cmp(&other.head()).unwrap_or(Ordering::Equal)
        })?;
        self.virtual_s = side.start_s;
        side.pop()
    }

    /// Return how many requests wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sides.iter().map(|side| side.waiting.len()).sum()
    }

    /// Return whether no request waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Side<T> {
    fn new() -> Self {
        Self { waiting: BinaryHeap::new(), start_s: 0.0, virtual_s: 0.0, end_s: HashMap::new() }
    }

    /// Return the start and the arrival of the next request, among the classes.
    fn head(&self) -> (f64, Option<u64>) {
        (self.start_s, self.waiting.peek().map(|next| next.arrival))
    }

    fn push(&mut self, arrival: u64, turn: Turn<T>) {
        let ended_s = self.end_s.get(&turn.flow.file).copied();
        let start_s = ended_s.map_or(self.virtual_s, |ended_s| ended_s.most(self.virtual_s));
        self.end_s.insert(turn.flow.file, start_s + turn.cost_s);
        self.waiting.push(Waiting { start_s, arrival, turn });
    }

    fn pop(&mut self) -> Option<Turn<T>> {
        let Waiting { start_s, turn, .. } = self.waiting.pop()?;
        self.start_s += turn.cost_s;
        self.virtual_s = start_s;
        if self.end_s.len() > ENDS_KEPT {
            // A file whose last request has ended starts at the present time anyway.
            self.end_s.retain(|_, end_s| *end_s > start_s);
        }
        Some(turn)
    }
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_s.total_cmp(&self.start_s).then(other.arrival.cmp(&self.arrival))
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Waiting<T> {}
