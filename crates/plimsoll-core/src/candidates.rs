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

use crate::chain::Stage;
use crate::flow::Backlog;
use crate::group::Group;
use crate::lane::Lanes;
use crate::replay::Demand;
use crate::trials::{Candidate, Counting, Job, STAGES_MAX, STREAMS_MAX, Stretch, Trials};

/// Steps that are settled at once when all is calm. Long enough to make calm days cheap, short
/// enough to find the calm half-hours of a busy one.
const STRETCH: usize = 32;

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
