//! Decide when each reply may be sent: the law, applied to requests that were already carried out.
//!
//! Rule 1: time is an argument; nothing here reads a clock, waits or does I/O.
//! Rule 2: no limit, balance or cost is computed here: [`Pace`] decides when a request is done,
//! [`FairQueue`] which one is next.
//! Rule 3: everything submitted is returned exactly once.
//!
//! # From a request to its reply
//!
//! A request is split into pieces, one for each operation of a volume that it needs, and these into portions of at
//! most `portion_bytes`. Every volume has a lane: a fair queue, and the moment at which everything admitted to the
//! volume is done. A portion is admitted when that moment is near ([`HORIZON_S`]); until then reads, and the writes of
//! each file, wait in the queue and take turns. A request is done when its last portion is done and its base
//! latency has passed since its arrival. It then stays in the order of its deadline until it is taken.
//!
//! At a scale the rates are divided and the latencies are not. A portion is divided like the rates, so that a
//! turn of somebody else takes as long as it would at the whole rate.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use plimsoll_core::chain::Stage;
use plimsoll_core::fair::{FairQueue, Flow};
use plimsoll_core::pace::{Pace, Request};

/// How far ahead of its turn a piece is admitted. Admitted pieces cannot be overtaken, so this is how long
/// a read may queue behind writes. It is long enough for the admitting thread to sleep in between. A real
/// disk has about as much in flight.
pub const HORIZON_S: f64 = 0.002;

/// Facts about a request, besides its pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// When the request arrived.
    pub arrived_s: f64,
    /// When its I/O ended.
    pub served_s: f64,
    /// Least time from its arrival to its end.
    pub latency_s: f64,
    /// Whether it writes.
    pub is_write: bool,
    /// A number for the file it belongs to.
    pub file: u64,
}

/// A request whose reply may be sent.
#[derive(Debug, PartialEq)]
pub struct Done<T> {
    /// Facts about the request.
    pub facts: Facts,
    /// When it was due.
    pub deadline_s: f64,
    /// Its reply.
    pub payload: T,
}

/// How long a stage has made requests wait, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// At its burst rate.
    pub burst_s: f64,
    /// At its baseline.
    pub baseline_s: f64,
    /// How long it had nothing to serve, beyond the slack.
    pub idle_s: f64,
}

#[derive(Debug)]
struct Job<T> {
    facts: Facts,
    deadline_s: f64,
    portions_left: usize,
    payload: T,
}

/// A part of an operation, 0–1 of it.
#[derive(Clone, Copy, Debug)]
struct Portion {
    job: usize,
    operation: Request,
    share: f64,
}

#[derive(Debug)]
struct Lane {
    waiting: FairQueue<Portion>,
    ready_s: f64,
}

/// A deadline in a heap whose greatest element is the earliest one.
#[derive(Clone, Copy, Debug)]
struct Due {
    at_s: f64,
    order: u64,
    job: usize,
}

/// Requests between their I/O and their reply.
#[derive(Debug)]
pub struct Throttle<T> {
    pace: Pace,
    lanes: Vec<Lane>,
    jobs: Vec<Option<Job<T>>>,
    free: Vec<usize>,
    due: BinaryHeap<Due>,
    bound: Vec<Bound>,
    /// Until when the time has been assigned to a binding stage.
    bound_until_s: f64,
    order: u64,
    portion_bytes: f64,
}

impl<T> Throttle<T> {
    /// Start with these balances, one per stage, of one stripe each.
    ///
    /// Others may have a turn after each `portion_bytes` of an operation, > 0.
    #[must_use]
    pub fn new(chain: Vec<Stage>, balance: Vec<f64>, slack_s: f64, portion_bytes: f64) -> Self {
        let (lanes, bound) =
            (lanes_of(&chain, f64::NEG_INFINITY), vec![Bound::default(); chain.len()]);
        Self {
            pace: Pace::new(chain, balance, slack_s),
            lanes,
            jobs: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            bound,
            bound_until_s: f64::NEG_INFINITY,
            order: 0,
            portion_bytes,
        }
    }

    /// Take a request that was carried out; without pieces it waits only for its base latency.
    pub fn submit(&mut self, now_s: f64, facts: Facts, pieces: &[Request], payload: T) {
        let deadline_s = facts.arrived_s + facts.latency_s;
        let counts: Vec<usize> = pieces.iter().map(|piece| self.portions_of(piece)).collect();
        let portions_left = counts.iter().sum();
        let job = self.keep(Job { facts, deadline_s, portions_left, payload });
        if pieces.is_empty() {
            self.schedule(job, deadline_s);
        }
        let flow = Flow::of(facts.is_write, facts.file);
        for (operation, count) in pieces.iter().zip(counts) {
            let portion = Portion { job, operation: *operation, share: 1.0 / count as f64 };
            for _ in 0..count {
                self.submit_portion(now_s, flow, portion);
            }
        }
    }

    /// Return into how many equal portions an operation is split.
    fn portions_of(&self, operation: &Request) -> usize {
        (operation.bytes / self.portion_bytes).ceil().max(1.0) as usize
    }

    fn submit_portion(&mut self, now_s: f64, flow: Flow, portion: Portion) {
        let lanes = self.lanes.len();
        let lane = &mut self.lanes[portion.operation.volume % lanes];
        if lane.waiting.is_empty() && lane.ready_s <= now_s + HORIZON_S {
            self.admit(portion);
        } else {
            let cost_s = portion.share * self.pace.share_s(&portion.operation);
            lane.waiting.push(now_s, flow, cost_s, portion);
        }
    }

    /// Admit all portions whose turn has come.
    pub fn advance(&mut self, now_s: f64) {
        for index in 0..self.lanes.len() {
            while self.lanes[index].ready_s <= now_s + HORIZON_S {
                match self.lanes[index].waiting.pop() {
                    Some(turn) => self.admit(turn.payload),
                    None => break,
                }
            }
        }
    }

    /// Return the next request that was due by `until_s`, in order of the deadlines.
    pub fn take_due(&mut self, until_s: f64) -> Option<Done<T>> {
        let due = *self.due.peek().filter(|due| due.at_s <= until_s)?;
        self.due.pop();
        self.free.push(due.job);
        let job = self.jobs[due.job].take()?;
        Some(Done { facts: job.facts, deadline_s: due.at_s, payload: job.payload })
    }

    /// Return when [`Throttle::take_due`] or [`Throttle::advance`] has work next.
    #[must_use]
    pub fn next_s(&self) -> Option<f64> {
        let waiting = self.lanes.iter().filter(|lane| !lane.waiting.is_empty());
        let turns = waiting.map(|lane| lane.ready_s - HORIZON_S);
        turns.chain(self.due.peek().map(|due| due.at_s)).min_by(f64::total_cmp)
    }

    /// Return everything that is left at once: the end of all limits.
    pub fn drain(&mut self) -> Vec<Done<T>> {
        self.due.clear();
        self.free.clear();
        self.lanes.iter_mut().for_each(|lane| lane.waiting = FairQueue::new());
        let done = |job: Job<T>| Done {
            facts: job.facts,
            deadline_s: job.facts.served_s,
            payload: job.payload,
        };
        self.jobs.drain(..).flatten().map(done).collect()
    }

    /// Return how full the bucket of a stage is, 0–1; `None` if it has none.
    pub fn balance_ratio(&mut self, now_s: f64, stage: usize) -> Option<f64> {
        self.pace.balance_ratio(now_s, stage)
    }

    /// Fill or drain the bucket of a stage.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn set_balance_ratio(&mut self, now_s: f64, stage: usize, ratio: f64) {
        self.pace.set_balance_ratio(now_s, stage, ratio);
    }

    /// Replace the chain. Waiting requests go on waiting, under the new one.
    pub fn replace(&mut self, now_s: f64, chain: Vec<Stage>, balance: Vec<f64>) {
        let mut lanes = lanes_of(&chain, self.pace.ready_s());
        let count = lanes.len();
        self.bound = vec![Bound::default(); chain.len()];
        self.pace.replace(now_s, chain, balance);
        for lane in &mut self.lanes {
            while let Some(turn) = lane.waiting.pop() {
                let Portion { operation, share, .. } = turn.payload;
                let cost_s = share * self.pace.share_s(&operation);
                let queue = &mut lanes[operation.volume % count].waiting;
                queue.push(turn.pushed_s, turn.flow, cost_s, turn.payload);
            }
        }
        self.lanes = lanes;
    }

    /// Return how long each stage has made requests wait since the last call.
    pub fn take_bound(&mut self) -> Vec<Bound> {
        let none = vec![Bound::default(); self.bound.len()];
        let mut bound = std::mem::replace(&mut self.bound, none);
        for (bound, idle_s) in bound.iter_mut().zip(self.pace.take_idle_s()) {
            bound.idle_s = idle_s;
        }
        bound
    }

    fn keep(&mut self, job: Job<T>) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.jobs[index] = Some(job);
                index
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() - 1
            }
        }
    }

    fn schedule(&mut self, job: usize, at_s: f64) {
        self.order += 1;
        self.due.push(Due { at_s, order: self.order, job });
    }

    fn admit(&mut self, portion: Portion) {
        let Portion { operation, share, .. } = portion;
        let Some(job) = self.jobs[portion.job].as_mut() else { return };
        // From its arrival: the time its I/O took must not make it wait longer.
        let arrived_s = job.facts.arrived_s;
        let admission = self.pace.admit_portion(arrived_s, &operation, share);
        let lanes = self.lanes.len();
        let lane = &mut self.lanes[operation.volume % lanes];
        lane.ready_s = lane.ready_s.max(admission.done_s);
        if let Some(binding) = admission.binding.filter(|_| {
            // If the base latency is longer, the limit delayed nothing.
            admission.done_s > arrived_s + job.facts.latency_s
        }) {
            // Each moment is assigned to one stage only, although volumes work in parallel.
            let bound_s = admission.done_s - self.bound_until_s.max(arrived_s);
            let bound = &mut self.bound[binding.stage];
            let of_phase =
                if binding.is_burst { &mut bound.burst_s } else { &mut bound.baseline_s };
            *of_phase += bound_s.max(0.0);
            self.bound_until_s = self.bound_until_s.max(admission.done_s);
        }
        job.deadline_s = job.deadline_s.max(admission.done_s);
        job.portions_left -= 1;
        if job.portions_left == 0 {
            let deadline_s = job.deadline_s;
            self.schedule(portion.job, deadline_s);
        }
    }
}

fn lanes_of(chain: &[Stage], ready_s: f64) -> Vec<Lane> {
    let volumes = chain.iter().map(|stage| stage.stripes as usize).max().unwrap_or(1).max(1);
    (0..volumes).map(|_| Lane { waiting: FairQueue::new(), ready_s }).collect()
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_s.total_cmp(&self.at_s).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
