//! Candidates, the demand in each way of counting, and the results.
//!
//! [`crate::candidates`] replays them, [`crate::group`] a few at a time; both use these types.

use crate::chain::{Account, Stage};
use crate::flow::Backlog;
use crate::replay::Demand;

/// Most stages in the chain of a candidate.
pub const STAGES_MAX: usize = 8;

/// Ways of counting: operations, bytes, and at most one more per stage.
pub(crate) const STREAMS_MAX: usize = 2 + STAGES_MAX;
/// Index of the stream of operations.
pub(crate) const OPS: usize = 0;
/// Index of the stream of bytes.
pub(crate) const BYTES: usize = 1;

/// One chain to try, with its credits at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its ceilings; every candidate has the same number, and they count the same way.
    pub chain: Vec<Stage>,
    /// Credits at the start, one per stage, of one stripe.
    pub start: Vec<f64>,
}

/// Results of the candidates, one entry each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trials {
    /// Steps that ended with requests waiting or lost.
    pub throttled_steps: Vec<u32>,
    /// Operations served.
    pub served_ops: Vec<f64>,
    /// Bytes served.
    pub served_bytes: Vec<f64>,
    /// Operations waiting at the end.
    pub backlog_ops: Vec<f64>,
    /// Bytes waiting at the end.
    pub backlog_bytes: Vec<f64>,
    /// Lowest balance at the end of any step, of one stripe: `balance_min[stage][candidate]`.
    pub balance_min: Vec<Vec<f64>>,
}

/// The ways of counting that differ for this demand; each is a stream of costs.
///
/// Most stages count the same: operations below the accounting unit are requests, and bytes are bytes.
pub(crate) struct Counting {
    /// First operations, then bytes, then the other ways of counting.
    pub accounts: Vec<Account>,
    /// For each stage the stream it counts.
    pub of_stage: Vec<usize>,
}

impl Counting {
    pub fn of(demand: Demand<'_>, chain: &[Stage]) -> Self {
        let asked = demand.ops_per_s.iter().zip(demand.bytes_per_op);
        let size_max =
            asked.filter(|(ops, _)| **ops > 0.0).fold(0.0, |most, (_, &size)| size.max(most));
        let mut accounts = vec![Account::REQUESTS, Account::Bytes];
        let mut of_stage = Vec::with_capacity(chain.len());
        for stage in chain {
            let account = match stage.account {
                Account::Ops { unit_bytes, sequential_ratio: 0.0 } if size_max <= unit_bytes => {
                    Account::REQUESTS
                }
                other => other,
            };
            let stream = accounts.iter().position(|&known| known == account);
            of_stage.push(stream.unwrap_or(accounts.len()));
            if stream.is_none() {
                accounts.push(account);
            }
        }
        Self { accounts, of_stage }
    }

    /// Return what each step costs in every stream; zero in streams that no stage counts.
    pub fn steps<const N: usize>(&self, demand: Demand<'_>) -> Vec<[f64; N]> {
        let step = |(&rate, &size): (&f64, &f64)| {
            let mut cost = [0.0; N];
            if rate > 0.0 {
                for (cost, account) in cost.iter_mut().zip(&self.accounts) {
                    *cost = rate * demand.step_s * account.cost_per_op(size);
                }
            }
            cost
        };
        demand.ops_per_s.iter().zip(demand.bytes_per_op).map(step).collect()
    }
}

/// A few steps with their sums and maxima.
pub(crate) struct Stretch<'a, const N: usize> {
    /// What each step costs in every stream.
    pub steps: &'a [[f64; N]],
    /// Their total cost.
    pub total: [f64; N],
    /// Cost of the most expensive step, stream by stream.
    pub most: [f64; N],
}

impl<'a, const N: usize> Stretch<'a, N> {
    pub fn of(steps: &'a [[f64; N]]) -> Self {
        let (mut total, mut most) = ([0.0; N], [0.0_f64; N]);
        for cost in steps {
            for n in 0..N {
                total[n] += cost[n];
                most[n] = most[n].max(cost[n]);
            }
        }
        Self { steps, total, most }
    }
}

/// The input of a replay, before the number of streams is a constant.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub demand: Demand<'a>,
    pub candidates: &'a [Candidate],
    pub backlog: Backlog,
    pub allowed_steps: Option<u32>,
    pub counting: &'a Counting,
}
