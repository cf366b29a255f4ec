//! Replay a series of demand through a chain: what was served, what waited, which stage bound.
//!
//! Rule 1: this file divides time into pieces; [`crate::flow`] decides what happens in each.

use crate::chain::Stage;
use crate::flow::{Backlog, Flow, Outcome};

/// Credits that are granted at fixed times, for example once a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Seconds from the start of the replay to the first grant, ≥ 0.
    pub first_s: f64,
    /// Seconds from one grant to the next, > 0; infinite for a single one.
    pub every_s: f64,
    /// Stages whose buckets are filled.
    pub stages: Vec<usize>,
}

/// Demand, step by step.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// Demand in operations per second, one per step, ≥ 0.
    pub ops_per_s: &'a [f64],
    /// Mean bytes per operation, one per step, > 0 in every step with operations.
    pub bytes_per_op: &'a [f64],
    /// Length of every step in seconds, > 0.
    pub step_s: f64,
}

/// What happened in each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Operations served in the step.
    pub served_ops: Vec<f64>,
    /// Bytes served in the step.
    pub served_bytes: Vec<f64>,
    /// Operations waiting at the end of the step.
    pub backlog_ops: Vec<f64>,
    /// Bytes waiting at the end of the step.
    pub backlog_bytes: Vec<f64>,
    /// Operations lost in the step.
    pub shed_ops: Vec<f64>,
    /// Bytes lost in the step.
    pub shed_bytes: Vec<f64>,
    /// Share 0–1 of the step in which requests waited or were lost.
    pub throttled_ratio: Vec<f64>,
    /// Index of the stage that was tight the longest; −1 if none was.
    pub binding: Vec<i16>,
    /// Whether that stage was at its burst rate for longer than at its baseline.
    pub at_burst: Vec<bool>,
    /// Credits at the end of the step, of one stripe: `balance[stage][step]`.
    pub balance: Vec<Vec<f64>>,
}

/// Send a series of demand through a chain that starts with `start` credits and an empty queue.
///
/// # Panics
/// If the series differ in length, or there is not one balance per stage.
#[must_use]
pub fn replay(
    demand: Demand<'_>,
    chain: &[Stage],
    start: Vec<f64>,
    backlog: Backlog,
    grants: &[Grant],
) -> Replay {
    let n = demand.ops_per_s.len();
    assert_eq!(n, demand.bytes_per_op.len(), "one size per step");
    let mut flow = Flow::new(chain, start);
    let mut due: Vec<Due<'_>> = grants.iter().map(Due::new).collect();
    let mut out = Replay::with_capacity(n, chain.len());
    for step in 0..n {
        let (ops_per_s, bytes_per_op) = (demand.ops_per_s[step], demand.bytes_per_op[step]);
        let start_s = step as f64 * demand.step_s;
        let mut outcome = Outcome::default();
        let mut done_s = 0.0;
        while let Some(now_s) = next_grant(&due, start_s + demand.step_s) {
            // At least `done_s`: rounding could put a moment at the end of a step before it.
            let until_s = (now_s - start_s).clamp(done_s, demand.step_s);
            outcome.add(flow.advance(ops_per_s, bytes_per_op, until_s - done_s, backlog));
            done_s = until_s;
            due.iter_mut().for_each(|grant| grant.give(now_s, &mut flow));
        }
        let left_s = demand.step_s - done_s;
        outcome.add(flow.advance(ops_per_s, bytes_per_op, left_s, backlog));
        out.push(&mut flow, outcome, demand.step_s);
    }
    out
}

/// A grant and its next due time.
struct Due<'a> {
    grant: &'a Grant,
    count: f64,
}

impl<'a> Due<'a> {
    fn new(grant: &'a Grant) -> Self {
        Self { grant, count: 0.0 }
    }

    fn at_s(&self) -> f64 {
        // Multiplied and not summed, so that a daily grant does not drift. 0 × infinity would be NaN.
        let later = if self.count > 0.0 { self.count * self.grant.every_s } else { 0.0 };
        self.grant.first_s + later
    }

    fn give(&mut self, now_s: f64, flow: &mut Flow<'_>) {
        while self.at_s() <= now_s {
            self.grant.stages.iter().for_each(|&stage| flow.grant(stage));
            self.count += 1.0;
        }
    }
}

/// Return when the next grant is due, if that is before `end_s`.
fn next_grant(due: &[Due<'_>], end_s: f64) -> Option<f64> {
    let next_s = due.iter().map(Due::at_s).fold(f64::INFINITY, f64::min);
    (next_s < end_s).then_some(next_s)
}

impl Outcome {
    fn add(&mut self, piece: Self) {
        self.served_ops += piece.served_ops;
        self.served_bytes += piece.served_bytes;
        self.shed_ops += piece.shed_ops;
        self.shed_bytes += piece.shed_bytes;
        self.throttled_s += piece.throttled_s;
    }
}

impl Replay {
    fn with_capacity(n: usize, stages: usize) -> Self {
        let column = || Vec::with_capacity(n);
        Self {
            served_ops: column(),
            served_bytes: column(),
            backlog_ops: column(),
            backlog_bytes: column(),
            shed_ops: column(),
            shed_bytes: column(),
            throttled_ratio: column(),
            binding: Vec::with_capacity(n),
            at_burst: Vec::with_capacity(n),
            balance: (0..stages).map(|_| Vec::with_capacity(n)).collect(),
        }
    }

    fn push(&mut self, flow: &mut Flow<'_>, outcome: Outcome, step_s: f64) {
        let binding = flow.take_binding();
        self.served_ops.push(outcome.served_ops);
        self.served_bytes.push(outcome.served_bytes);
        self.backlog_ops.push(flow.backlog_ops());
        self.backlog_bytes.push(flow.backlog_bytes());
        self.shed_ops.push(outcome.shed_ops);
        self.shed_bytes.push(outcome.shed_bytes);
        self.throttled_ratio.push((outcome.throttled_s / step_s).min(1.0));
        self.binding.push(binding.map_or(-1, |binding| binding.stage as i16));
        self.at_burst.push(binding.is_some_and(|binding| binding.is_burst));
        for (column, &balance) in self.balance.iter_mut().zip(flow.balance()) {
            column.push(balance);
        }
    }
}
