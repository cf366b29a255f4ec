//! Truths that hold for every chain and every demand.

use plimsoll_core::bucket::Bucket;
use plimsoll_core::candidates::replay_candidates;
use plimsoll_core::chain::{Account, Stage};
use plimsoll_core::flow::Backlog;
use plimsoll_core::replay::{Demand, Grant, Replay, replay};
use plimsoll_core::trials::Candidate;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const STEP_S: f64 = 60.0;
/// Room for rounding, relative to the largest number involved.
const ROUNDING: f64 = 1e-9;

/// A chain and what its buckets hold at the start.
type Started = (Vec<Stage>, Vec<f64>);

/// Rates over three decades, so that any stage may be the tight one.
fn rate() -> impl Strategy<Value = f64> {
    (0.0..3.0_f64).prop_map(|exponent| 10.0_f64.powf(exponent))
}

fn account() -> impl Strategy<Value = Account> {
    prop_oneof![
        Just(Account::Bytes),
        Just(Account::REQUESTS),
        (1.0..64.0_f64, prop_oneof![Just(0.0), 0.0..1.0_f64]).prop_map(
            |(unit_bytes, sequential_ratio)| Account::Ops { unit_bytes, sequential_ratio }
        ),
    ]
}

fn stage() -> impl Strategy<Value = (Stage, f64)> {
    any::<bool>().prop_flat_map(stage_with)
}

/// A stage with credits or without, and what its bucket holds at the start.
fn stage_with(credits: bool) -> impl Strategy<Value = (Stage, f64)> {
    // Some buckets fill within a step, some not within a day.
    let seconds = (0.0..4.5_f64).prop_map(|exponent| 10.0_f64.powf(exponent));
    let numbers = (rate(), 1.01..8.0_f64, seconds, 0.0..=1.0_f64, 1..=4_u8);
    (numbers, account(), Just(credits)).prop_map(|(numbers, account, has_credits)| {
        let (baseline, over, seconds, filled, stripes) = numbers;
        // A byte ceiling is as tight as an operations ceiling at 16 bytes per operation.
        let baseline = if account == Account::Bytes { baseline * 16.0 } else { baseline };
        let burst = if has_credits { baseline * over } else { baseline };
        let capacity = if has_credits { baseline * seconds } else { 0.0 };
        let bucket = Bucket { baseline, burst, capacity };
        (Stage { bucket, account, stripes: f64::from(stripes) }, filled * capacity)
    })
}

fn chain() -> impl Strategy<Value = Started> {
    vec(stage(), 1..=4).prop_map(|stages| stages.into_iter().unzip())
}

fn demand() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let step = (prop_oneof![1 => Just(0.0), 4 => rate()], 1.0..64.0_f64);
    vec(step, 1..40).prop_map(|steps| steps.into_iter().unzip())
}

/// Demand with a calm night in it, long enough to be settled at once.
fn day() -> impl Strategy<Value = Vec<f64>> {
    let busy = || vec(prop_oneof![1 => Just(0.0), 4 => rate()], 1..40);
    let night = vec(0.0..0.25_f64, 60..140);
    (busy(), night, busy()).prop_map(|(evening, night, morning)| [evening, night, morning].concat())
}

fn backlog() -> impl Strategy<Value = Backlog> {
    prop_oneof![Just(Backlog::Carry), Just(Backlog::Shed)]
}

fn run((ops, size): &(Vec<f64>, Vec<f64>), (chain, start): &Started, backlog: Backlog) -> Replay {
    replay(steps(ops, size, STEP_S), chain, start.clone(), backlog, &[])
}

fn steps<'a>(ops_per_s: &'a [f64], bytes_per_op: &'a [f64], step_s: f64) -> Demand<'a> {
    Demand { ops_per_s, bytes_per_op, step_s }
}

fn running_sum(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        })
        .collect()
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= ROUNDING * scale.max(1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Cases that were found stay here, to be tried first ever after.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// What was asked for was served, waits, or was lost: in operations and in bytes, at all times.
    #[test]
    fn nothing_is_made_or_lost(asked in demand(), started in chain(), backlog in backlog()) {
        let done = run(&asked, &started, backlog);
        let ops: Vec<f64> = asked.0.iter().map(|rate| rate * STEP_S).collect();
        let bytes: Vec<f64> = ops.iter().zip(&asked.1).map(|(ops, size)| ops * size).collect();
        let books = [
            (running_sum(&ops), running_sum(&done.served_ops), running_sum(&done.shed_ops),
                &done.backlog_ops),
            (running_sum(&bytes), running_sum(&done.served_bytes), running_sum(&done.shed_bytes),
                &done.backlog_bytes),
        ];
        for (asked, served, shed, waiting) in books {
            for i in 0..asked.len() {
                let found = served[i] + shed[i] + waiting[i];
                prop_assert!(close(asked[i], found, asked[i]), "{} became {found}", asked[i]);
                prop_assert!(waiting[i] >= 0.0);
            }
        }
    }

    /// A balance is never below zero and never above the capacity.
    #[test]
    fn balances_stay_in_their_bucket(asked in demand(), started in chain(), backlog in backlog()) {
        let done = run(&asked, &started, backlog);
        for (stage, balance) in started.0.iter().zip(&done.balance) {
            let range = 0.0..=stage.bucket.capacity;
            prop_assert!(balance.iter().all(|balance| range.contains(balance)));
        }
    }

    /// In no step does a stage let more through than its burst, or than it has and earns.
    #[test]
    fn no_ceiling_is_exceeded(asked in demand(), started in chain(), backlog in backlog()) {
        let done = run(&asked, &started, backlog);
        for (k, stage) in started.0.iter().enumerate() {
            let served = match stage.account {
                Account::Bytes => &done.served_bytes,
                Account::REQUESTS => &done.served_ops,
                Account::Ops { .. } => continue,
            };
            let Bucket { baseline, burst, .. } = stage.bucket;
            let mut before = started.1[k];
            for (served, &after) in served.iter().zip(&done.balance[k]) {
                let each = served / stage.stripes;
                let most = (burst * STEP_S).min(before + baseline * STEP_S);
                prop_assert!(each <= most * (1.0 + ROUNDING), "{each} of {most}");
                before = after;
            }
        }
    }

    /// Raising a ceiling never lowers what has been served by any moment, if requests wait.
    #[test]
    fn more_never_serves_less(
        asked in demand(), started in chain(), which in 0..4_usize, number in 0..4, by in 1.0..3.0_f64,
    ) {
        let mut raised = started.clone();
        let k = which % raised.0.len();
        let bucket = &mut raised.0[k].bucket;
        match number {
            0 => bucket.baseline *= by,
            1 => bucket.burst *= by,
            2 => bucket.capacity *= by,
            _ => raised.1[k] = (raised.1[k] * by).min(bucket.capacity),
        }
        bucket.burst = bucket.burst.max(bucket.baseline);
        let (less, more) = (run(&asked, &started, Backlog::Carry), run(&asked, &raised, Backlog::Carry));
        let pairs = [(less.served_ops, more.served_ops), (less.served_bytes, more.served_bytes)];
        for (less, more) in pairs {
            for (less, more) in running_sum(&less).into_iter().zip(running_sum(&more)) {
                prop_assert!(more >= less * (1.0 - ROUNDING), "{less} became {more}");
            }
        }
    }

    /// Cutting every step into pieces changes nothing but the resolution.
    #[test]
    fn a_step_may_be_cut(
        asked in demand(), started in chain(), backlog in backlog(), pieces in 2..7_usize,
    ) {
        let whole = run(&asked, &started, backlog);
        let cut = |values: &[f64]| -> Vec<f64> {
            values.iter().flat_map(|&value| std::iter::repeat_n(value, pieces)).collect()
        };
        let (ops, size) = (cut(&asked.0), cut(&asked.1));
        let step_s = STEP_S / pieces as f64;
        let fine = replay(steps(&ops, &size, step_s), &started.0, started.1.clone(), backlog, &[]);
        let total: f64 = asked.0.iter().sum::<f64>() * STEP_S * 64.0;
        let sums = |values: &[f64]| -> Vec<f64> {
            values.chunks(pieces).map(|some| some.iter().sum()).collect()
        };
        let last = |values: &[f64]| -> Vec<f64> {
            values.chunks(pieces).map(|some| some[pieces - 1]).collect()
        };
        let share = sums(&fine.throttled_ratio).into_iter().map(|sum| sum / pieces as f64);
        for (coarse, fine) in whole.throttled_ratio.iter().zip(share) {
            prop_assert!((coarse - fine).abs() < 1e-6, "throttled {coarse} {fine}");
        }
        let same = [
            (&whole.served_ops, sums(&fine.served_ops)),
            (&whole.served_bytes, sums(&fine.served_bytes)),
            (&whole.shed_bytes, sums(&fine.shed_bytes)),
            (&whole.backlog_ops, last(&fine.backlog_ops)),
            (&whole.backlog_bytes, last(&fine.backlog_bytes)),
        ];
        for (coarse, fine) in same {
            for (&coarse, fine) in coarse.iter().zip(fine) {
                prop_assert!(close(coarse, fine, total), "{coarse} {fine}");
            }
        }
        for (k, stage) in started.0.iter().enumerate() {
            for (&coarse, fine) in whole.balance[k].iter().zip(last(&fine.balance[k])) {
                prop_assert!(close(coarse, fine, total + stage.bucket.capacity), "{coarse} {fine}");
            }
        }
    }

    /// A full burst is spent exactly when it was promised to be, and not a moment later.
    #[test]
    fn a_burst_is_spent_on_time((stage, _) in stage_with(true)) {
        let full = stage.bucket.capacity;
        let lasts_s = stage.bucket.time_to_empty_s(full, stage.bucket.burst);
        let rate = stage.bucket.burst / stage.cost_per_op(16.0);
        let after = |step_s: f64| {
            let (ops, size) = ([rate], [16.0]);
            replay(steps(&ops, &size, step_s), &[stage], vec![full], Backlog::Carry, &[])
        };
        let (in_time, too_late) = (after(lasts_s * (1.0 - ROUNDING)), after(lasts_s * 1.001));
        prop_assert_eq!(-1, in_time.binding[0]);
        prop_assert!(in_time.balance[0][0] <= 1e-6 * full);
        prop_assert_eq!(0, too_late.binding[0]);
        prop_assert!(too_late.throttled_ratio[0] > 0.0);
        prop_assert!(!too_late.at_burst[0]);
    }

    /// A step is throttled exactly if some stage is named as the one that bound.
    #[test]
    fn a_throttled_step_has_a_binding_stage(
        asked in demand(), started in chain(), backlog in backlog(),
    ) {
        let done = run(&asked, &started, backlog);
        for (ratio, &binding) in done.throttled_ratio.iter().zip(&done.binding) {
            prop_assert_eq!(*ratio > 0.0, binding >= 0);
            prop_assert!((0.0..=1.0).contains(ratio));
        }
    }

    /// A grant in the middle of a step is a replay that stops there and goes on with full buckets.
    #[test]
    fn a_grant_fills_the_bucket_at_its_moment(
        started in chain(), rates in (rate(), rate()), at in 0.0..1.0_f64,
    ) {
        let (ops, size) = ([rates.0, rates.1], [16.0, 16.0]);
        let granted = Grant { first_s: at * STEP_S, every_s: f64::INFINITY, stages: vec![0] };
        let once = replay(
            steps(&ops, &size, STEP_S), &started.0, started.1.clone(), Backlog::Carry, &[granted],
        );
        let parts = [(ops[0], at), (ops[0], 1.0 - at), (ops[1], 1.0)];
        let mut flow = plimsoll_core::flow::Flow::new(&started.0, started.1.clone());
        let mut served = 0.0;
        for (index, (rate, share)) in parts.into_iter().enumerate() {
            served += flow.advance(rate, 16.0, share * STEP_S, Backlog::Carry).served_ops;
            if index == 0 {
                flow.grant(0);
            }
        }
        prop_assert!(close(once.served_ops.iter().sum(), served, served));
        prop_assert!(close(once.balance[0][1], flow.balance()[0], started.0[0].bucket.capacity));
    }

    /// While the I/O size does not change, candidates in lanes do what a replay does.
    #[test]
    fn lanes_obey_the_same_law(
        ops in day(), size in 1.0..64.0_f64, backlog in backlog(),
        starts in vec(chain(), 1..40), account in vec(account(), 4),
    ) {
        let candidates: Vec<Candidate> = starts.into_iter().map(|s| alike(s, &account)).collect();
        let sizes = vec![size; ops.len()];
        let trials = replay_candidates(steps(&ops, &sizes, STEP_S), &candidates, backlog, None);
        let total: f64 = ops.iter().sum::<f64>() * STEP_S;
        for (i, Candidate { chain, start }) in candidates.iter().enumerate() {
            let one = replay(steps(&ops, &sizes, STEP_S), chain, start.clone(), backlog, &[]);
            prop_assert!(close(one.served_ops.iter().sum(), trials.served_ops[i], total));
            prop_assert!(close(one.served_bytes.iter().sum(), trials.served_bytes[i], total * size));
            prop_assert!(close(one.backlog_ops[ops.len() - 1], trials.backlog_ops[i], total));
            for (k, stage) in chain.iter().enumerate() {
                let least = one.balance[k].iter().copied().fold(start[k], f64::min);
                let scale = stage.bucket.capacity + total * stage.cost_per_op(size);
                prop_assert!(close(least, trials.balance_min[k][i], scale));
            }
            // A difference of rounding may or may not count as waiting.
            let unserved = |i: usize| one.backlog_ops[i] + one.shed_ops[i];
            let surely = (0..ops.len()).filter(|&i| unserved(i) > ROUNDING * total).count();
            let perhaps = (0..ops.len()).filter(|&i| unserved(i) > 0.0).count();
            let counted = trials.throttled_steps[i] as usize;
            prop_assert!(surely <= counted && counted <= perhaps.max(surely), "{counted}");
        }
    }

    /// Sizes that change while requests wait are mixed in lanes, but nothing is made or lost.
    #[test]
    fn lanes_conserve_what_they_mix(
        asked in demand(), starts in vec(chain(), 1..9), account in vec(account(), 4),
        backlog in backlog(),
    ) {
        let candidates: Vec<Candidate> = starts.into_iter().map(|s| alike(s, &account)).collect();
        let trials = replay_candidates(steps(&asked.0, &asked.1, STEP_S), &candidates, backlog, None);
        let ops: f64 = asked.0.iter().sum::<f64>() * STEP_S;
        for i in 0..candidates.len() {
            let found = trials.served_ops[i] + trials.backlog_ops[i];
            match backlog {
                Backlog::Carry => prop_assert!(close(ops, found, ops)),
                Backlog::Shed => prop_assert!(found <= ops * (1.0 + ROUNDING)),
            }
            prop_assert!(trials.balance_min.iter().all(|column| column[i] >= 0.0));
        }
    }

    /// A candidate's result does not depend on its neighbours, nor on leaving early.
    #[test]
    fn lanes_do_not_touch(
        asked in demand(), starts in vec(chain(), 2..70), account in vec(account(), 4),
        allowed in 0..10_u32,
    ) {
        let candidates: Vec<Candidate> = starts.into_iter().map(|s| alike(s, &account)).collect();
        let demand = steps(&asked.0, &asked.1, STEP_S);
        let all = replay_candidates(demand, &candidates, Backlog::Carry, None);
        let early = replay_candidates(demand, &candidates, Backlog::Carry, Some(allowed));
        for (i, candidate) in candidates.iter().enumerate() {
            let alone = replay_candidates(demand, std::slice::from_ref(candidate), Backlog::Carry, None);
            prop_assert_eq!(alone.throttled_steps[0], all.throttled_steps[i]);
            prop_assert!(close(alone.served_bytes[0], all.served_bytes[i], alone.served_bytes[0]));
            prop_assert_eq!(alone.throttled_steps[0].min(allowed + 1), early.throttled_steps[i]);
            let has_failed = alone.throttled_steps[0] > allowed;
            prop_assert_eq!(has_failed, early.served_ops[i].is_nan());
        }
    }
}

/// The chain with these accounts, cut or filled up to four stages, so that candidates count alike.
fn alike((mut chain, mut start): Started, accounts: &[Account]) -> Candidate {
    while chain.len() < accounts.len() {
        chain.push(Stage { stripes: 2.0, ..chain[0] });
        start.push(start[0]);
    }
    for (stage, &account) in chain.iter_mut().zip(accounts) {
        stage.account = account;
    }
    Candidate { chain, start }
}
