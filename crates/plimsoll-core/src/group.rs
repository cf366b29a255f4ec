//! Replay a group of candidates in parallel: the step that [`crate::candidates`] repeats.
//!
//! Rule 1: balances change through the primitives of [`crate::bucket`] alone.
//! Rule 2: rates are per step here, so time is counted in steps.

use pulp::Simd;

use crate::bucket::{Bucket, allowance, balance_after};
use crate::lane::{Lane, Lanes};
use crate::trials::{BYTES, Candidate, Job, OPS, STAGES_MAX, Stretch, Trials};

/// Candidates that are replayed in parallel.
pub(crate) struct Group<S: Simd, const N: usize> {
    /// Where the stages of each stream end; they are sorted by stream.
    ends: [usize; N],
    /// For each of the sorted stages its index in the chain.
    index: Vec<usize>,
    /// Credits per step of each stream that every candidate can serve forever.
    calm: [f64; N],
    state: LaneState<S, N>,
}

/// The candidates between two steps.
#[derive(Clone, Copy)]
struct LaneState<S: Simd, const N: usize> {
    /// Credits per step of each stream that ceilings without credits allow.
    caps: [Lanes<S>; N],
    /// Stages with credits, sorted by stream.
    stages: [LaneStage<S>; STAGES_MAX],
    /// Cost of the waiting requests, as each stream counts them.
    waiting: [Lanes<S>; N],
    /// The same for requests that were lost.
    lost: [Lanes<S>; N],
    throttled_steps: Lanes<S>,
}

/// One stage of every candidate.
#[derive(Clone, Copy)]
struct LaneStage<S: Simd> {
    bucket: Bucket<Lanes<S>>,
    balance: Lanes<S>,
    balance_min: Lanes<S>,
}

impl<S: Simd, const N: usize> Group<S, N> {
    #[inline(always)]
    pub fn new(simd: S, few: &[Candidate], job: &Job<'_>) -> Self {
        let of_stage = &job.counting.of_stage;
        let has_credits = |k: usize| few.iter().any(|c| c.chain[k].bucket.has_credits());
        let (mut with, without): (Vec<_>, Vec<_>) =
            (0..of_stage.len()).partition(|&k| has_credits(k));
        with.sort_by_key(|&k| of_stage[k]);
        let ends = core::array::from_fn(|n| with.iter().filter(|&&k| of_stage[k] <= n).count());
        let some = |lane: usize| &few[lane.min(few.len() - 1)];
        let zero = Lanes::all(simd, 0.0);
        let mut caps = [Lanes::all(simd, f64::INFINITY); N];
        for &k in &without {
            let stage = LaneStage::gather(simd, k, job.demand.step_s, some);
            let cap = allowance(&stage.bucket, zero, zero.splat(1.0));
            caps[of_stage[k]] = caps[of_stage[k]].least(cap);
        }
        let mut stages = [LaneStage::empty(simd); STAGES_MAX];
        for (stage, &k) in stages.iter_mut().zip(&with) {
            *stage = LaneStage::gather(simd, k, job.demand.step_s, some);
        }
        let mut calm = caps.map(Lanes::lowest);
        for (stage, &k) in stages.iter().zip(&with) {
            calm[of_stage[k]] = stage.bucket.baseline.lowest().min(calm[of_stage[k]]);
        }
        let (waiting, lost) = ([zero; N], [zero; N]);
        let state = LaneState { caps, stages, waiting, lost, throttled_steps: zero };
        Self { ends, index: with, calm, state }
    }

    /// Replay all stretches, or stop as soon as every candidate has failed.
    #[inline(always)]
    pub fn run<const CARRY: bool>(
        &mut self,
        stretches: &[Stretch<'_, N>],
        allowed_steps: Option<u32>,
    ) {
        for stretch in stretches {
            if self.is_calm(stretch) {
                self.state.rest(stretch, &self.ends);
                continue;
            }
            for asked in stretch.steps {
                self.state.advance::<CARRY>(asked, &self.ends);
            }
            if allowed_steps.is_some_and(|allowed| self.has_failed(allowed)) {
                break;
            }
        }
    }

    /// Return whether nothing waits, and no step demands more than the baselines of any candidate.
    #[inline(always)]
    fn is_calm(&self, stretch: &Stretch<'_, N>) -> bool {
        let waiting = self.state.waiting[OPS];
        (0..N).all(|n| stretch.most[n] <= self.calm[n]) && !waiting.splat(0.0).is_any_less(waiting)
    }

    /// Return whether every candidate has more throttled steps than allowed.
    #[inline(always)]
    fn has_failed(&self, allowed_steps: u32) -> bool {
        self.state.throttled_steps.lowest() > f64::from(allowed_steps)
    }

    /// Append the results of the candidates, given the total demand.
    #[inline(always)]
    pub fn report(
        &self,
        few: &[Candidate],
        total: &[f64; N],
        allowed_steps: Option<u32>,
        trials: &mut Trials,
    ) {
        let state = &self.state;
        for (position, candidate) in few.iter().enumerate() {
            let lane = |lanes: Lanes<S>| lanes.at(position);
            let steps = lane(state.throttled_steps) as u32;
            let failed = allowed_steps.filter(|&allowed| steps > allowed);
            // Whether a failed candidate stopped early depends on its neighbours, so report no numbers.
            let known = |number: f64| if failed.is_some() { f64::NAN } else { number };
            let (ops, bytes) = (lane(state.waiting[OPS]), lane(state.waiting[BYTES]));
            let (lost_ops, lost_bytes) = (lane(state.lost[OPS]), lane(state.lost[BYTES]));
            trials.throttled_steps.push(failed.map_or(steps, |allowed| allowed + 1));
            trials.served_ops.push(known(total[OPS] - ops - lost_ops));
            trials.served_bytes.push(known(total[BYTES] - bytes - lost_bytes));
            trials.backlog_ops.push(known(ops));
            trials.backlog_bytes.push(known(bytes));
            for (k, column) in trials.balance_min.iter_mut().enumerate() {
                // Without credits the balance never falls: it is least at the start.
                let least = match self.index.iter().position(|&index| index == k) {
                    Some(at) => lane(state.stages[at].balance_min) / candidate.chain[k].stripes,
                    None => candidate.start[k],
                };
                column.push(known(least));
            }
        }
    }
}

impl<S: Simd, const N: usize> LaneState<S, N> {
    /// Replay a calm stretch: all is served, and balances only rise.
    #[inline(always)]
    fn rest(&mut self, stretch: &Stretch<'_, N>, ends: &[usize; N]) {
        let steps = self.throttled_steps.splat(stretch.steps.len() as f64);
        let mut from = 0;
        for (&total, &end) in stretch.total.iter().zip(ends) {
            let served = steps.splat(total);
            for stage in &mut self.stages[from..end] {
                stage.balance = balance_after(&stage.bucket, stage.balance, steps, served);
            }
            from = end;
        }
    }

    /// Replay one step.
    #[inline(always)]
    fn advance<const CARRY: bool>(&mut self, asked: &[f64; N], ends: &[usize; N]) {
        // Rates are per step here, so time is counted in steps, and one step passes.
        let one = self.throttled_steps.splat(1.0);
        let mut shares = [Share { allowed: one, wanted: one }; N];
        let mut from = 0;
        for n in 0..N {
            shares[n].allowed = self.caps[n];
            for stage in &self.stages[from..ends[n]] {
                let allowed = allowance(&stage.bucket, stage.balance, one);
                shares[n].allowed = shares[n].allowed.least(allowed);
            }
            shares[n].wanted = self.waiting[n] + one.splat(asked[n]);
            from = ends[n];
        }
        let all = Share { allowed: one, wanted: one };
        let least = shares.iter().fold(all, |least, &share| least.lesser(share));
        let share = least.allowed / least.wanted;
        self.throttled_steps = self.throttled_steps + one.where_less(share, one, one.splat(0.0));
        let mut from = 0;
        for n in 0..N {
            let served = shares[n].wanted * share;
            for stage in &mut self.stages[from..ends[n]] {
                stage.balance = balance_after(&stage.bucket, stage.balance, one, served);
                stage.balance_min = stage.balance_min.least(stage.balance);
            }
            let unserved = shares[n].wanted - served;
            if CARRY {
                self.waiting[n] = unserved;
            } else {
                self.lost[n] = self.lost[n] + unserved;
            }
            from = ends[n];
        }
    }
}

impl<S: Simd> LaneStage<S> {
    /// Return stage `k` of every candidate; all its stripes together are one bucket here.
    #[inline(always)]
    fn gather<'a>(simd: S, k: usize, step_s: f64, of: impl Fn(usize) -> &'a Candidate) -> Self {
        let all = |number: fn(&Candidate, usize) -> f64| {
            Lanes::gather(simd, |lane| number(of(lane), k) * of(lane).chain[k].stripes)
        };
        let dt_s = Lanes::all(simd, step_s);
        let bucket = Bucket {
            baseline: all(|c, k| c.chain[k].bucket.baseline) * dt_s,
            burst: all(|c, k| c.chain[k].bucket.burst) * dt_s,
            capacity: all(|c, k| c.chain[k].bucket.capacity),
        };
        let balance = all(|c, k| c.start[k]);
        Self { bucket, balance, balance_min: balance }
    }

    /// Return a placeholder for a stage that does not exist; it is never read.
    #[inline(always)]
    fn empty(simd: S) -> Self {
        let zero = Lanes::all(simd, 0.0);
        let bucket = Bucket { baseline: zero, burst: zero, capacity: zero };
        Self { bucket, balance: zero, balance_min: zero }
    }
}

/// The fraction `allowed / wanted`, without the division: compare a/b with c/d by a·d and c·b.
#[derive(Clone, Copy)]
struct Share<S: Simd> {
    allowed: Lanes<S>,
    wanted: Lanes<S>,
}

impl<S: Simd> Share<S> {
    /// Return `other` if it is less than `self`; it never is if nothing is wanted of it.
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        let (mine, its) = (self.allowed * other.wanted, other.allowed * self.wanted);
        Self {
            allowed: other.allowed.where_less(its, mine, self.allowed),
            wanted: other.wanted.where_less(its, mine, self.wanted),
        }
    }
}
