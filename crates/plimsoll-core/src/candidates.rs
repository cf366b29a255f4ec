//! Replay many chains over one series of demand, in parallel SIMD lanes.
//!
//! Rule 1: a candidate uses the primitives of [`crate::bucket`], the same code that
//! [`crate::replay`] uses; only the number type differs.
//! Rule 2: no result depends on which other candidates are replayed with it, except for rounding.
//!
//! Each step is one uniform piece. Waiting requests are mixed with arriving ones, and the chain serves
//! the share of the mix that its tightest ceiling allows. This equals [`crate::replay::replay`], up to
//! rounding, if the I/O size does not change while requests wait; in particular if it never changes, or
//! if nothing waits. If it does change, requests of different sizes share the chain here, but there the
//! older ones go first; both conserve bytes and operations. Grants exist only in `replay`.
//!
//! Three things make it fast. Several candidates share each vector register. Waiting work is stored
//! once per way of counting, not once per stage. And a stretch of steps without demand above any
//! candidate's baselines is settled at once: all is served and balances only rise, and for such a
//! piece the law is exact however long it is.

use pulp::{Arch, Simd, WithSimd};

use crate::chain::Stage;
use crate::flow::Backlog;
use crate::group::Group;
use crate::lane::Lanes;
use crate::replay::Demand;
use crate::trials::{Candidate, Counting, Job, STAGES_MAX, STREAMS_MAX, Stretch, Trials};

/// Steps that are settled at once if all are calm. Long enough to make calm days cheap, short enough to
/// find the calm half-hours of a busy day.
const STRETCH: usize = 32;

/// Replay every candidate over the demand.
///
/// A candidate with more than `allowed_steps` throttled steps has failed: its `throttled_steps` is
/// `allowed_steps + 1` and its other numbers are NaN, because its replay may have stopped early.
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

/// Hold a job with at most `N` streams; `N` is a constant, so that loops over them unroll.
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
