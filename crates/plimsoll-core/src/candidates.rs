//! Many chains over one series of demand, side by side.
//!
//! Rule 1: a candidate obeys the primitives of [`crate::bucket`], the same lines of code that
//! [`crate::replay`] obeys; only the number type differs.
//! Rule 2: no result depends on which other candidates were replayed beside it, but for rounding.
//!
//! Each step is one uniform piece. What waits is mixed with what arrives, and of the mix the chain
//! serves the share that its tightest ceiling allows. This equals [`crate::replay::replay`], up to
//! rounding, whenever the I/O size does not change while requests wait; in particular when it never
//! changes, or while nothing waits. When it does change, requests of different sizes share the
//! chain here, whereas there the older ones go first; bytes and operations are conserved in both.
//! It knows no grants; `replay` does.
//!
//! Three things make it fast. Candidates lie side by side in vector registers. What waits is kept
//! once per way of counting, not once per stage. And a stretch of steps in which no candidate is
//! asked for more than its baselines is settled at once: all is served, balances only rise, and
//! that is a piece for which the law is exact however long it is.

use pulp::{Arch, Simd, WithSimd};

use crate::chain::{Account, Stage};
use crate::flow::Backlog;
use crate::group::Group;
use crate::lane::Lanes;
use crate::replay::Demand;

/// Most stages of a chain that candidates may have.
pub const STAGES_MAX: usize = 8;

/// Ways of counting: operations, bytes, and at most one more per stage.
const STREAMS_MAX: usize = 2 + STAGES_MAX;
/// Index of the stream of operations.
pub(crate) const OPS: usize = 0;
/// Index of the stream of bytes.
pub(crate) const BYTES: usize = 1;

/// Steps that are settled at once when all is calm. Long enough to make calm days cheap, short
/// enough to find the calm half-hours of a busy one.
const STRETCH: usize = 32;

/// One chain to try, with the credits it begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its ceilings; every candidate has the same number, and they count the same way.
    pub chain: Vec<Stage>,
    /// Credits at the start, one per stage, of one stripe.
    pub start: Vec<f64>,
}

/// How the candidates did, one entry each.
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

/// Replay every candidate over the demand.
///
/// A candidate with more than `allowed_steps` throttled steps has failed: its `throttled_steps` is
/// `allowed_steps + 1` and its other numbers are NaN, because it may not have been followed to the
/// end.
///
/// # Panics
/// If the candidates differ in their number of stages, or in what a stage counts, or have more
/// than [`STAGES_MAX`] stages.
#[must_use]
pub fn replay_candidates(
    demand: Demand<'_>,
    candidates: &[Candidate],
    backlog: Backlog,
    allowed_steps: Option<u32>,
) -> Trials {
    let Some(first) = candidates.first() else { return Trials::default() };
    let stages = first.chain.len();
    assert!(stages <= STAGES_MAX, "at most {STAGES_MAX} stages");
    for candidate in candidates {
        assert_eq!(stages, candidate.chain.len(), "one number of stages");
        let alike = |(a, b): (&Stage, &Stage)| a.account == b.account;
        assert!(first.chain.iter().zip(&candidate.chain).all(alike), "one way of counting");
    }
    let counting = Counting::of(demand, &first.chain);
    let job = Job { demand, candidates, backlog, allowed_steps, counting: &counting };
    match counting.accounts.len() {
        2 => Arch::new().dispatch(Sized::<2>(job)),
        3 => Arch::new().dispatch(Sized::<3>(job)),
        _ => Arch::new().dispatch(Sized::<STREAMS_MAX>(job)),
    }
}

/// The ways of counting that make a difference for this demand; each is a stream of costs.
///
/// Most stages count alike: operations below the accounting unit are requests, and bytes are bytes.
pub(crate) struct Counting {
    /// First operations, then bytes, then what else is counted.
    accounts: Vec<Account>,
    /// For each stage the stream it counts.
    pub of_stage: Vec<usize>,
}

impl Counting {
    fn of(demand: Demand<'_>, chain: &[Stage]) -> Self {
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

    /// What each step costs in every stream; nothing in streams that nobody counts.
    fn steps<const N: usize>(&self, demand: Demand<'_>) -> Vec<[f64; N]> {
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

/// A few steps, and what can be said of them together.
pub(crate) struct Stretch<'a, const N: usize> {
    /// What each step costs in every stream.
    pub steps: &'a [[f64; N]],
    /// What they cost together.
    pub total: [f64; N],
    /// What the most expensive of them costs, stream by stream.
    pub most: [f64; N],
}

impl<'a, const N: usize> Stretch<'a, N> {
    fn of(steps: &'a [[f64; N]]) -> Self {
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

/// What is to be done, before the number of streams is a constant.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub demand: Demand<'a>,
    pub candidates: &'a [Candidate],
    pub backlog: Backlog,
    pub allowed_steps: Option<u32>,
    pub counting: &'a Counting,
}

/// A job with at most `N` streams; a constant, so that loops over them unroll.
struct Sized<'a, const N: usize>(Job<'a>);

impl<const N: usize> WithSimd for Sized<'_, N> {
    type Output = Trials;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Trials {
        let job = self.0;
        let steps = job.counting.steps::<N>(job.demand);
        let stretches: Vec<_> = steps.chunks(STRETCH).map(Stretch::of).collect();
        let mut total = [0.0; N];
        for stretch in &stretches {
            total.iter_mut().zip(stretch.total).for_each(|(sum, cost)| *sum += cost);
        }
        let mut trials = Trials::default();
        trials.balance_min.resize(job.counting.of_stage.len(), Vec::new());
        for few in job.candidates.chunks(Lanes::<S>::COUNT) {
            let mut group = Group::<S, N>::new(simd, few, &job);
            match job.backlog {
                Backlog::Carry => group.run::<true>(&stretches, job.allowed_steps),
                Backlog::Shed => group.run::<false>(&stretches, job.allowed_steps),
            }
            group.report(few, &total, job.allowed_steps, &mut trials);
        }
        trials
    }
}
