//! Send demand through a chain, one step at a time, with a queue in order of arrival.
//!
//! Rule 1: a step is cut into uniform pieces, and [`crate::bucket`] settles each of them exactly.
//! Rule 2: requests are served in the order in which they arrived; none overtakes another.
//!
//! Waiting requests form parcels, one for each step in which they arrived, because requests of different
//! steps may differ in size and so in cost. Within a step the waiting parcels are served one after the
//! other, each as fast as the chain allows. Requests that arrived in this time have waited too. They and
//! the rest of the step's demand have one size, so they form one last uniform piece. Every parcel is
//! queued once and finished once: a replay of n steps costs O(n) however long the queue grows.

use std::collections::VecDeque;

use crate::bucket::{Bucket, allowance, balance_after, balance_granted, time_to_serve};
use crate::chain::Stage;
use crate::envelope::{Line, Tight, add_tight, met};
use crate::lane::Lane;

/// What happens to requests that cannot be served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// They wait: the client insists (closed loop).
    Carry,
    /// They are lost: the client gives up.
    Shed,
}

/// Requests of one size that arrived together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parcel {
    ops: f64,
    bytes_per_op: f64,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Operations served.
    pub served_ops: f64,
    /// Bytes served.
    pub served_bytes: f64,
    /// Operations lost.
    pub shed_ops: f64,
    /// Bytes lost.
    pub shed_bytes: f64,
    /// Seconds in which requests waited or were lost because a ceiling was tight.
    pub throttled_s: f64,
}

/// The stage that was tight for the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Index in the chain.
    pub stage: usize,
    /// Whether it was at its burst rate for longer than at its baseline.
    pub is_burst: bool,
}

/// The state of a chain: balances and queue.
#[derive(Clone, Debug)]
pub struct Flow<'a> {
    chain: &'a [Stage],
    balance: Vec<f64>,
    /// Credits per operation of the size that was served last, and that size.
    cost: Vec<f64>,
    priced_bytes: f64,
    waiting: VecDeque<Parcel>,
    backlog_ops: f64,
    backlog_bytes: f64,
    tight: Vec<Tight>,
    lines: Vec<Line>,
}

impl<'a> Flow<'a> {
    /// Begin with these balances, one per stage, of one stripe each, and with an empty queue.
    ///
    /// # Panics
    /// If there is not one balance per stage.
    #[must_use]
    pub fn new(chain: &'a [Stage], balance: Vec<f64>) -> Self {
        assert_eq!(chain.len(), balance.len(), "one balance per stage");
        Self {
            chain,
            balance,
            cost: vec![0.0; chain.len()],
            priced_bytes: f64::NAN,
            waiting: VecDeque::new(),
            backlog_ops: 0.0,
            backlog_bytes: 0.0,
            tight: vec![Tight::default(); chain.len()],
            lines: Vec::with_capacity(2 * chain.len()),
        }
    }

    /// Return the credits in each stage, of one stripe.
    #[must_use]
    pub fn balance(&self) -> &[f64] {
        &self.balance
    }

    /// Return the waiting operations.
    #[must_use]
    pub fn backlog_ops(&self) -> f64 {
        self.backlog_ops
    }

    /// Return the waiting bytes.
    #[must_use]
    pub fn backlog_bytes(&self) -> f64 {
        self.backlog_bytes
    }

    /// Fill the bucket of a stage.
    pub fn grant(&mut self, stage: usize) {
        self.balance[stage] = balance_granted(&self.chain[stage].bucket);
    }

    /// Return the stage that was tight for the longest time since the last call; `None` if none was.
    pub fn take_binding(&mut self) -> Option<Binding> {
        let mut longest: Option<(f64, Binding)> = None;
        for (stage, tight) in self.tight.iter_mut().enumerate() {
            let seconds = tight.burst_s + tight.baseline_s;
            if seconds > longest.map_or(0.0, |(most, _)| most) {
                let is_burst = tight.burst_s > tight.baseline_s;
                longest = Some((seconds, Binding { stage, is_burst }));
            }
            *tight = Tight::default();
        }
        longest.map(|(_, binding)| binding)
    }

    /// Let `dt_s` seconds pass in which operations of one size arrive at one rate.
    /// If nothing arrives, the size is ignored.
    /// Where nothing arrives the size is not looked at.
    pub fn advance(
        &mut self,
        ops_per_s: f64,
        bytes_per_op: f64,
        dt_s: f64,
        backlog: Backlog,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let bytes_per_op = if ops_per_s > 0.0 { bytes_per_op } else { 1.0 };
        let demand = Parcel { ops: ops_per_s * dt_s, bytes_per_op };
        self.backlog_ops += demand.ops;
        self.backlog_bytes += demand.ops * bytes_per_op;
        let left_s = self.serve_waiting(dt_s, &mut outcome);
        let unserved = if self.waiting.is_empty() {
            self.serve_arriving(demand, ops_per_s, dt_s - left_s, left_s, &mut outcome)
        } else {
            demand
        };
        match backlog {
            Backlog::Carry => self.enqueue(unserved),
            Backlog::Shed => self.shed(unserved, &mut outcome),
        }
        outcome
    }

    /// Serve waiting parcels, oldest first; return the seconds left when none waits any more.
    fn serve_waiting(&mut self, dt_s: f64, outcome: &mut Outcome) -> f64 {
        let mut left_s = dt_s;
        while let Some(&parcel) = self.waiting.front() {
            self.price(parcel.bytes_per_op);
            let needed_s = self.time_to_serve_s(parcel.ops);
            self.fill_lines();
            if needed_s > left_s {
                let ops = self.allowed_ops(left_s).least(parcel.ops);
                self.throttle(0.0, left_s, outcome);
                self.serve(Parcel { ops, ..parcel }, left_s, outcome);
                self.waiting[0].ops = parcel.ops - ops;
                return 0.0;
            }
            self.throttle(0.0, needed_s, outcome);
            self.serve(parcel, needed_s, outcome);
            self.waiting.pop_front();
            left_s -= needed_s;
        }
        left_s
    }

    /// Serve this step's own demand in the seconds left; return what could not be served.
    ///
    /// `waited_s` is how long it has been arriving already.
    fn serve_arriving(
        &mut self,
        demand: Parcel,
        ops_per_s: f64,
        waited_s: f64,
        left_s: f64,
        outcome: &mut Outcome,
    ) -> Parcel {
        self.price(demand.bytes_per_op);
        let ops = demand.ops.least(self.allowed_ops(left_s));
        let waiting = ops_per_s * waited_s;
        if waiting > 0.0 || ops < demand.ops {
            self.fill_lines();
            let (from, to) = met(&self.lines, waiting, ops_per_s, left_s);
            if from < to {
                self.throttle(0.0, from, outcome);
                self.throttle(to, left_s, outcome);
            } else {
                self.throttle(0.0, left_s, outcome);
            }
        }
        self.serve(Parcel { ops, ..demand }, left_s, outcome);
        Parcel { ops: demand.ops - ops, ..demand }
    }

    /// Set the size of operations from here on.
    fn price(&mut self, bytes_per_op: f64) {
        if bytes_per_op != self.priced_bytes {
            for (cost, stage) in self.cost.iter_mut().zip(self.chain) {
                *cost = stage.cost_per_op(bytes_per_op);
            }
            self.priced_bytes = bytes_per_op;
        }
    }

    /// Return each stage with its balance and its cost per operation.
    fn priced(&self) -> impl Iterator<Item = (&Stage, f64, f64)> {
        let numbers = self.balance.iter().zip(&self.cost);
        self.chain.iter().zip(numbers).map(|(stage, (&balance, &cost))| (stage, balance, cost))
    }

    /// Return the most operations that the chain allows in `dt_s` seconds.
    fn allowed_ops(&self, dt_s: f64) -> f64 {
        self.priced().fold(f64::INFINITY, |least, (stage, balance, cost)| {
            least.least(allowance(&stage.bucket, balance, dt_s) / cost)
        })
    }

    /// Return the shortest time in which the chain allows so many operations.
    fn time_to_serve_s(&self, ops: f64) -> f64 {
        self.priced().fold(0.0, |most: f64, (stage, balance, cost)| {
            most.most(time_to_serve(&stage.bucket, balance, ops * cost))
        })
    }

    /// Account for a parcel served over a piece of time.
    fn serve(&mut self, parcel: Parcel, dt_s: f64, outcome: &mut Outcome) {
        for ((stage, balance), cost) in self.chain.iter().zip(&mut self.balance).zip(&self.cost) {
            *balance = balance_after(&stage.bucket, *balance, dt_s, parcel.ops * cost);
        }
        let bytes = parcel.ops * parcel.bytes_per_op;
        outcome.served_ops += parcel.ops;
        outcome.served_bytes += bytes;
        self.backlog_ops -= parcel.ops;
        self.backlog_bytes -= bytes;
    }

    /// Account for a ceiling that is tight over `[from, to]` of a piece that begins now.
    fn throttle(&mut self, from: f64, to: f64, outcome: &mut Outcome) {
        if to > from {
            add_tight(&self.lines, from, to, &mut self.tight);
            outcome.throttled_s += to - from;
        }
    }

    /// Fill the lines of what each stage allows from now on.
    fn fill_lines(&mut self) {
        self.lines.clear();
        for (index, (stage, (&balance, &cost))) in
            self.chain.iter().zip(self.balance.iter().zip(&self.cost)).enumerate()
        {
            let Bucket { baseline, burst, .. } = stage.bucket;
            let line = |start: f64, rate: f64, is_burst| Line {
                start: start / cost,
                rate: rate / cost,
                stage: index,
                is_burst,
            };
            if stage.bucket.has_credits() {
                self.lines.push(line(0.0, burst, true));
                self.lines.push(line(balance, baseline, false));
            } else {
                self.lines.push(line(0.0, baseline, false));
            }
        }
    }

    fn enqueue(&mut self, parcel: Parcel) {
        if parcel.ops > 0.0 {
            match self.waiting.back_mut() {
                Some(last) if last.bytes_per_op == parcel.bytes_per_op => last.ops += parcel.ops,
                _ => self.waiting.push_back(parcel),
            }
        } else if self.waiting.is_empty() {
            // Nothing waits, so remove the rounding errors that sums of small differences leave.
            (self.backlog_ops, self.backlog_bytes) = (0.0, 0.0);
        }
    }

    fn shed(&mut self, parcel: Parcel, outcome: &mut Outcome) {
        outcome.shed_ops = parcel.ops;
        outcome.shed_bytes = parcel.ops * parcel.bytes_per_op;
        (self.backlog_ops, self.backlog_bytes) = (0.0, 0.0);
    }
}
