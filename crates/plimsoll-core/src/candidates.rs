//! Many chains over one series of demand, side by side.
//!
//! Rule 1: a candidate obeys the primitives of [`crate::bucket`], the same lines of code that
//! [`crate::replay`] obeys; only the number type differs.
//! Rule 2: no result depends on which other candidates were replayed beside it.
//!
//! Each step is one uniform piece. What waits is mixed with what arrives, and of the mix the chain
//! serves the share that its tightest ceiling allows. This equals [`crate::replay::replay`], up to
//! rounding, whenever the I/O size does not change while requests wait; in particular when it never
//! changes, or while nothing waits. When it does change, requests of different sizes share the
//! chain here, whereas there the older ones go first; bytes and operations are conserved in both.
//! Grants are given at the first step that starts at or after their moment, so they equal those of
//! `replay` when they fall on the start of a step.

use pulp::{Arch, Simd, WithSimd};

use crate::bucket::{Bucket, allowance, balance_after};
use crate::chain::Stage;
use crate::flow::Backlog;
use crate::lane::{Lane, Lanes};
use crate::replay::Demand;

/// Most stages of a chain that candidates may have.
pub const STAGES_MAX: usize = 8;

/// Vector registers that are worked on side by side, so that one waits for no other's division.
const REGISTERS: usize = 2;

/// Steps between two looks at whether every candidate of a group has failed already.
const STEPS_BETWEEN_LOOKS: usize = 512;

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
    let job = Job { demand, candidates, backlog, allowed_steps };
    match stages {
        0 => Arch::new().dispatch(Sized::<0>(job)),
        1 => Arch::new().dispatch(Sized::<1>(job)),
        2 => Arch::new().dispatch(Sized::<2>(job)),
        3 => Arch::new().dispatch(Sized::<3>(job)),
        4 => Arch::new().dispatch(Sized::<4>(job)),
        5 => Arch::new().dispatch(Sized::<5>(job)),
        6 => Arch::new().dispatch(Sized::<6>(job)),
        7 => Arch::new().dispatch(Sized::<7>(job)),
        _ => Arch::new().dispatch(Sized::<STAGES_MAX>(job)),
    }
}

#[derive(Clone, Copy)]
struct Job<'a> {
    demand: Demand<'a>,
    candidates: &'a [Candidate],
    backlog: Backlog,
    allowed_steps: Option<u32>,
}

/// A job whose chains have `K` stages; a constant, so that the loops over them unroll.
struct Sized<'a, const K: usize>(Job<'a>);

/// What one step asks of every stage and of the two totals, in credits.
#[derive(Clone, Copy)]
struct Asked<const K: usize> {
    cost: [f64; K],
    ops: f64,
    bytes: f64,
}

impl<const K: usize> WithSimd for Sized<'_, K> {
    type Output = Trials;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Trials {
        let job = self.0;
        let asked = asked::<K>(&job);
        let mut trials = Trials::with_capacity(job.candidates.len(), K);
        for few in job.candidates.chunks(REGISTERS * S::F64_LANES) {
            let mut group = Group::<S, K>::new(simd, few, job.demand.step_s);
            match job.backlog {
                Backlog::Carry => group.run::<true>(&asked, job.allowed_steps),
                Backlog::Shed => group.run::<false>(&asked, job.allowed_steps),
            }
            let carry = job.backlog == Backlog::Carry;
            group.report(few, &asked, job.allowed_steps, carry, &mut trials);
        }
        trials
    }
}

fn asked<const K: usize>(job: &Job<'_>) -> Vec<Asked<K>> {
    let Demand { ops_per_s, bytes_per_op, step_s } = job.demand;
    let accounts: [_; K] = core::array::from_fn(|k| job.candidates[0].chain[k].account);
    let step = |(&ops_per_s, &size): (&f64, &f64)| {
        let ops = ops_per_s * step_s;
        let size = if ops > 0.0 { size } else { 1.0 };
        Asked { cost: accounts.map(|a| ops * a.cost_per_op(size)), ops, bytes: ops * size }
    };
    ops_per_s.iter().zip(bytes_per_op).map(step).collect()
}

/// One stage of as many candidates as a register holds.
#[derive(Clone, Copy)]
struct LaneStage<S: Simd> {
    bucket: Bucket<Lanes<S>>,
    balance: Lanes<S>,
    balance_min: Lanes<S>,
    /// Credits' worth of requests that wait, as this stage counts them.
    waiting: Lanes<S>,
}

/// As many candidates as a register holds, between two steps.
#[derive(Clone, Copy)]
struct LaneState<S: Simd, const K: usize> {
    stages: [LaneStage<S>; K],
    throttled_steps: Lanes<S>,
    /// Operations and bytes that wait, or that have been lost.
    unserved_ops: Lanes<S>,
    unserved_bytes: Lanes<S>,
}

struct Group<S: Simd, const K: usize> {
    step_s: Lanes<S>,
    registers: [LaneState<S, K>; REGISTERS],
}

impl<S: Simd, const K: usize> Group<S, K> {
    #[inline(always)]
    fn new(simd: S, few: &[Candidate], step_s: f64) -> Self {
        let zero = Lanes::all(simd, 0.0);
        let registers = core::array::from_fn(|r| {
            let stages = core::array::from_fn(|k| {
                // The whole array of stripes is one bucket here: limits and credits × stripes.
                let gather = |number: &dyn Fn(&Candidate) -> f64| {
                    Lanes::gather(simd, |lane| {
                        let candidate = &few[(r * S::F64_LANES + lane).min(few.len() - 1)];
                        number(candidate) * candidate.chain[k].stripes
                    })
                };
                let bucket = Bucket {
                    baseline: gather(&|c| c.chain[k].bucket.baseline),
                    burst: gather(&|c| c.chain[k].bucket.burst),
                    capacity: gather(&|c| c.chain[k].bucket.capacity),
                };
                let balance = gather(&|c| c.start[k]);
                LaneStage { bucket, balance, balance_min: balance, waiting: zero }
            });
            LaneState { stages, throttled_steps: zero, unserved_ops: zero, unserved_bytes: zero }
        });
        Self { step_s: Lanes::all(simd, step_s), registers }
    }

    #[inline(always)]
    fn run<const CARRY: bool>(&mut self, asked: &[Asked<K>], allowed_steps: Option<u32>) {
        let mut registers = self.registers;
        for some in asked.chunks(STEPS_BETWEEN_LOOKS) {
            for step in some {
                for state in &mut registers {
                    state.advance::<CARRY>(step, self.step_s);
                }
            }
            if allowed_steps.is_some_and(|allowed| {
                registers.iter().all(|state| state.throttled_steps.lowest() > f64::from(allowed))
            }) {
                break;
            }
        }
        self.registers = registers;
    }

    #[inline(always)]
    fn report(
        &self,
        few: &[Candidate],
        asked: &[Asked<K>],
        allowed_steps: Option<u32>,
        carry: bool,
        trials: &mut Trials,
    ) {
        let total_ops: f64 = asked.iter().map(|step| step.ops).sum();
        let total_bytes: f64 = asked.iter().map(|step| step.bytes).sum();
        for (index, candidate) in few.iter().enumerate() {
            let state = &self.registers[index / S::F64_LANES];
            let lane = |lanes: Lanes<S>| lanes.scatter()[index % S::F64_LANES];
            let steps = lane(state.throttled_steps) as u32;
            let failed = allowed_steps.filter(|&allowed| steps > allowed);
            // A failed candidate may have been left early, or not, as its neighbours happened to do.
            let known = |number: f64| if failed.is_some() { f64::NAN } else { number };
            let (ops, bytes) = (lane(state.unserved_ops), lane(state.unserved_bytes));
            let waits = if carry { 1.0 } else { 0.0 };
            trials.throttled_steps.push(failed.map_or(steps, |allowed| allowed + 1));
            trials.served_ops.push(known(total_ops - ops));
            trials.served_bytes.push(known(total_bytes - bytes));
            trials.backlog_ops.push(known(ops * waits));
            trials.backlog_bytes.push(known(bytes * waits));
            for (k, column) in trials.balance_min.iter_mut().enumerate() {
                let least = lane(state.stages[k].balance_min) / candidate.chain[k].stripes;
                column.push(known(least));
            }
        }
    }
}

impl Trials {
    fn with_capacity(n: usize, stages: usize) -> Self {
        let column = || Vec::with_capacity(n);
        Self {
            throttled_steps: Vec::with_capacity(n),
            served_ops: column(),
            served_bytes: column(),
            backlog_ops: column(),
            backlog_bytes: column(),
            balance_min: (0..stages).map(|_| column()).collect(),
        }
    }
}

impl<S: Simd, const K: usize> LaneState<S, K> {
    /// Let one step pass.
    #[inline(always)]
    fn advance<const CARRY: bool>(&mut self, asked: &Asked<K>, dt_s: Lanes<S>) {
        let one = dt_s.splat(1.0);
        let mut wanted = [one; K];
        // The served share is the least of 1 and allowed / wanted over the stages, kept as a
        // fraction: comparing a/b with c/d by a·d and c·b needs one division instead of K.
        let (mut allowed, mut of) = (one, one);
        for (k, stage) in self.stages.iter().enumerate() {
            wanted[k] = stage.waiting + dt_s.splat(asked.cost[k]);
            let most = allowance(&stage.bucket, stage.balance, dt_s);
            let (a, b) = (most * of, allowed * wanted[k]);
            (allowed, of) = (most.where_less(a, b, allowed), wanted[k].where_less(a, b, of));
        }
        let share = allowed / of;
        for (k, stage) in self.stages.iter_mut().enumerate() {
            let served = wanted[k] * share;
            stage.balance = balance_after(&stage.bucket, stage.balance, dt_s, served);
            stage.balance_min = stage.balance_min.least(stage.balance);
            if CARRY {
                stage.waiting = wanted[k] - served;
            }
        }
        let zero = dt_s.splat(0.0);
        self.throttled_steps = self.throttled_steps + one.where_less(share, one, zero);
        let (ops, bytes) = (dt_s.splat(asked.ops), dt_s.splat(asked.bytes));
        if CARRY {
            let (ops, bytes) = (self.unserved_ops + ops, self.unserved_bytes + bytes);
            self.unserved_ops = ops - ops * share;
            self.unserved_bytes = bytes - bytes * share;
        } else {
            self.unserved_ops = self.unserved_ops + (ops - ops * share);
            self.unserved_bytes = self.unserved_bytes + (bytes - bytes * share);
        }
    }
}
