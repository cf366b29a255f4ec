//! Closed forms: what can be worked out by hand, and what the documents say.

mod common;

use common::without_credits;
use plimsoll_core::bucket::{Bucket, balance_after};
use plimsoll_core::candidates::replay_candidates;
use plimsoll_core::chain::{Account, Phase, Stage, ceiling_at, curve, knee, next_binding};
use plimsoll_core::flow::{Backlog, Flow};
use plimsoll_core::replay::{Demand, Grant, Replay, replay};
use plimsoll_core::trials::Candidate;
use plimsoll_core::units::{BytesPerS, IoSize, OpsPerS};

const KIB: f64 = 1024.0;
const SSD_UNIT: Account = Account::Ops { unit_bytes: 256.0 * KIB, sequential_ratio: 0.0 };

fn gp2(gib: f64) -> Bucket {
    Bucket { baseline: (3.0 * gib).max(100.0), burst: 3_000.0, capacity: 5.4e6 }
}

fn one(bucket: Bucket, account: Account) -> Stage {
    Stage { bucket, account, stripes: 1.0 }
}

fn run(rate: &[f64], size: f64, step_s: f64, chain: &[Stage], start: Vec<f64>) -> Replay {
    let sizes = vec![size; rate.len()];
    let demand = Demand { ops_per_s: rate, bytes_per_op: &sizes, step_s };
    replay(demand, chain, start, Backlog::Carry, &[])
}

fn assert_close(expected: f64, found: f64) {
    assert!((expected - found).abs() <= 1e-9 * expected.abs().max(1.0), "{expected} ≠ {found}");
}

/// The gp2 table of the EBS user guide: size, seconds at 3,000 from full, seconds to refill.
#[test]
fn gp2_bursts_as_long_as_the_guide_says() {
    let table = [
        (33.0, 1_862.0, 54_000.0),
        (100.0, 2_000.0, 18_000.0),
        (334.0, 2_703.0, 5_389.0),
        (750.0, 7_200.0, 2_400.0),
    ];
    for (gib, burst_s, refill_s) in table {
        let bucket = gp2(gib);
        assert_eq!(burst_s, bucket.time_to_empty_s(5.4e6, 3_000.0).round(), "{gib} GiB");
        // The guide rounds to whole seconds.
        assert!(balance_after(&bucket, 0.0, refill_s - 0.5, 0.0) < 5.4e6, "{gib} GiB");
        assert_eq!(5.4e6, balance_after(&bucket, 0.0, refill_s + 0.5, 0.0), "{gib} GiB");
    }
}

/// A bucket fills in the time that what is missing takes at what arrives and is not used.
#[test]
fn what_is_missing_fills_at_the_rate_that_is_left() {
    let bucket = gp2(100.0);
    assert_eq!(5.4e6, balance_after(&bucket, 2.7e6, 9_000.0, 0.0));
    assert_eq!(5.4e6, balance_after(&bucket, 2.7e6, 18_000.0, 150.0 * 18_000.0));
    assert_eq!(5.4e6, balance_after(&bucket, 5.4e6, 1.0, 0.0));
    assert_eq!(2.7e6, balance_after(&bucket, 2.7e6, 9_000.0, 300.0 * 9_000.0));
    assert_eq!(f64::INFINITY, bucket.time_to_empty_s(2.7e6, 300.0));
    assert_eq!(f64::INFINITY, bucket.time_to_empty_s(0.0, 300.0));
}

/// Credits are nothing without a bucket, nor without a burst that they could pay for.
#[test]
fn credits_take_a_bucket_and_a_burst() {
    let (baseline, burst, capacity) = (300.0, 3_000.0, 5.4e6);
    assert!(Bucket { baseline, burst, capacity }.has_credits());
    assert!(!Bucket { baseline, burst, capacity: 0.0 }.has_credits());
    assert!(!Bucket { baseline, burst: baseline, capacity }.has_credits());
}

/// A 100 GiB volume at 3,000 operations: 20 steps of 100 s are served, the 21st falls to 300.
#[test]
fn an_empty_bucket_pegs_at_the_baseline() {
    let done = run(&[3_000.0; 25], 8.0 * KIB, 100.0, &[one(gp2(100.0), SSD_UNIT)], vec![5.4e6]);
    assert_eq!(vec![-1; 20], done.binding[..20]);
    assert_eq!(0.0, done.balance[0][19]);
    for step in 20..25 {
        assert_eq!(0, done.binding[step]);
        assert!(!done.at_burst[step]);
        assert_close(300.0 * 100.0, done.served_ops[step]);
        assert_close(2_700.0 * 100.0 * (step - 19) as f64, done.backlog_ops[step]);
    }
}

/// The moment of exhaustion lies inside a step: half of it is served at the burst.
#[test]
fn a_step_may_straddle_the_exhaustion() {
    let done = run(&[3_000.0], 8.0 * KIB, 4_000.0, &[one(gp2(100.0), SSD_UNIT)], vec![5.4e6]);
    assert_close(2_000.0 * 3_000.0 + 2_000.0 * 300.0, done.served_ops[0]);
    assert_close(0.5, done.throttled_ratio[0]);
}

/// Above the burst the burst binds first, then, when the credits are spent, the baseline.
#[test]
fn the_burst_binds_before_the_baseline() {
    let stage = one(gp2(100.0), SSD_UNIT);
    let at_burst = run(&[9_000.0], 8.0 * KIB, 3_000.0, &[stage], vec![5.4e6]);
    assert!(at_burst.at_burst[0]);
    let mostly_empty = run(&[9_000.0], 8.0 * KIB, 5_000.0, &[stage], vec![5.4e6]);
    assert!(!mostly_empty.at_burst[0]);
    assert_close(1.0, mostly_empty.throttled_ratio[0]);
}

/// After an overload of (d − B)·t, the queue drains at B − d′ and the step is throttled until then.
#[test]
fn a_queue_drains_at_the_spare_rate() {
    let stage = one(without_credits(100.0), Account::REQUESTS);
    // 50 ops/s too many for 60 s leave 3,000; 80 ops/s to spare clear them in 37.5 s.
    let done = run(&[150.0, 20.0], 1.0, 60.0, &[stage], vec![0.0]);
    assert_close(3_000.0, done.backlog_ops[0]);
    assert_close(0.0, done.backlog_ops[1]);
    assert_close(37.5 / 60.0, done.throttled_ratio[1]);
    assert_close(3_000.0 + 1_200.0, done.served_ops[1]);
}

/// Requests are served in order of arrival, each at the price of its own size.
#[test]
fn older_requests_go_first_at_their_own_size() {
    let stage = one(without_credits(1_000.0), Account::Bytes);
    let (ops, size) = ([30.0, 30.0, 0.0], [100.0, 10.0, f64::NAN]);
    let demand = Demand { ops_per_s: &ops, bytes_per_op: &size, step_s: 10.0 };
    let done = replay(demand, &[stage], vec![0.0], Backlog::Carry, &[]);
    // 10 s pay for 100 requests of 100 bytes; 200 of them wait when the small ones begin to come.
    assert_close(100.0, done.served_ops[0]);
    assert_close(200.0 + 300.0 - 100.0, done.backlog_ops[1]);
    assert_close(10_000.0, done.served_bytes[1]);
    // The last 100 large ones take the whole third step; all 300 small ones still wait.
    assert_close(300.0, done.backlog_ops[2]);
    assert_close(3_000.0, done.backlog_bytes[2]);
}

/// While a later ceiling binds below its baseline, an earlier bucket refills.
#[test]
fn a_bucket_refills_behind_a_tighter_ceiling() {
    let instance = Bucket { baseline: 100.0, burst: 400.0, capacity: 10_000.0 };
    let chain = [one(instance, Account::REQUESTS), one(without_credits(60.0), Account::REQUESTS)];
    let done = run(&[500.0; 2], 1.0, 50.0, &chain, vec![1_000.0, 0.0]);
    assert_eq!(vec![1, 1], done.binding);
    assert_close(1_000.0 + 40.0 * 50.0, done.balance[0][0]);
    assert_close(1_000.0 + 40.0 * 100.0, done.balance[0][1]);
}

/// Four stripes have four buckets: limits and credits four times, the requests spread evenly.
#[test]
fn stripes_share_the_requests() {
    let stage = Stage { bucket: gp2(100.0), account: SSD_UNIT, stripes: 4.0 };
    let done = run(&[12_000.0; 21], 8.0 * KIB, 100.0, &[stage], vec![5.4e6]);
    assert_eq!(-1, done.binding[19]);
    assert_close(4.0 * 300.0 * 100.0, done.served_ops[20]);
}

/// One of the two limits binds below the knee, the other above it; at the knee they agree.
#[test]
fn the_knee_separates_operations_from_bytes() {
    // An r5.2xlarge as documented before December 2019: 212.5 MB/s and 12,000 operations.
    let chain = [
        one(without_credits(212.5e6), Account::Bytes),
        one(without_credits(12_000.0), Account::REQUESTS),
    ];
    let knee = knee(BytesPerS(212.5e6), OpsPerS(12_000.0));
    assert_close(17_708.333_333_333_33, knee.0);
    let at = |size| ceiling_at(&chain, IoSize(size), Phase::Baseline).unwrap();
    let next = |size| next_binding(&chain, IoSize(size), Phase::Baseline).unwrap();
    assert_eq!((1, 0), (at(8_192.0).stage, next(8_192.0).stage));
    assert_eq!((0, 1), (at(65_536.0).stage, next(65_536.0).stage));
    assert_eq!(OpsPerS(12_000.0), at(8_192.0).ops);
    assert_eq!(BytesPerS(212.5e6), at(65_536.0).bytes);
    assert_close(at(knee.0).ops.0, next(knee.0).ops.0);
}

/// A chain of one has nothing that binds next, and an empty one nothing that binds.
#[test]
fn what_is_not_there_does_not_bind() {
    let lonely = [one(without_credits(5.0), Account::REQUESTS)];
    assert_eq!(None, next_binding(&lonely, IoSize(1.0), Phase::Burst));
    assert_eq!(None, ceiling_at(&[], IoSize(1.0), Phase::Burst));
    let none = curve(&[], &[1.0], Phase::Burst);
    assert_eq!((f64::INFINITY, -1, -1), (none.ops_per_s[0], none.stage[0], none.next_stage[0]));
    assert_eq!(vec![-1], curve(&lonely, &[1.0], Phase::Burst).next_stage);
}

/// 1,024 KiB are four operations, 8 KiB one; eight sequential ones of 32 KiB are one (EBS guide).
#[test]
fn operations_are_counted_in_units() {
    assert_eq!(4.0, SSD_UNIT.cost_of_request(1_024.0 * KIB));
    assert_eq!(1.0, SSD_UNIT.cost_of_request(8.0 * KIB));
    assert_eq!(2.0, SSD_UNIT.cost_of_request(257.0 * KIB));
    assert_eq!(4.0, SSD_UNIT.cost_per_op(1_024.0 * KIB));
    assert_eq!(1.0, SSD_UNIT.cost_per_op(8.0 * KIB));
    let merged = Account::Ops { unit_bytes: 256.0 * KIB, sequential_ratio: 1.0 };
    assert_eq!(1.0, 8.0 * merged.cost_per_op(32.0 * KIB));
    let half = Account::Ops { unit_bytes: 256.0 * KIB, sequential_ratio: 0.5 };
    assert_eq!(0.5 + 0.5 / 8.0, half.cost_per_op(32.0 * KIB));
    assert_eq!(1.0, Account::REQUESTS.cost_per_op(1_024.0 * KIB));
}

/// An empty 100 GiB volume with 256 KiB requests gives 300 × 256 KiB = 75 MiB/s.
#[test]
fn an_empty_small_volume_also_loses_throughput() {
    let chain =
        [one(without_credits(128.0 * KIB * KIB), Account::Bytes), one(gp2(100.0), SSD_UNIT)];
    for size in [256.0 * KIB, 1_024.0 * KIB] {
        let baseline = ceiling_at(&chain, IoSize(size), Phase::Baseline).unwrap();
        assert_eq!((75.0 * KIB * KIB, 1), (baseline.bytes.0, baseline.stage));
        let burst = ceiling_at(&chain, IoSize(size), Phase::Burst).unwrap();
        assert_eq!((128.0 * KIB * KIB, 0), (burst.bytes.0, burst.stage));
    }
}

/// A daily grant comes every day at its hour, and not once a step.
#[test]
fn a_daily_grant_comes_daily() {
    let bucket = Bucket { baseline: 10.0, burst: 100.0, capacity: 9_000.0 };
    let ops = vec![50.0; 72];
    let size = vec![1.0; 72];
    let demand = Demand { ops_per_s: &ops, bytes_per_op: &size, step_s: 3_600.0 };
    let daily = Grant { first_s: 5.5 * 3_600.0, every_s: 86_400.0, stages: vec![0] };
    let chain = [one(bucket, Account::REQUESTS)];
    let done = replay(demand, &chain, vec![0.0], Backlog::Shed, &[daily]);
    let rich: Vec<usize> = (0..72).filter(|&hour| done.served_ops[hour] > 36_001.0).collect();
    assert_eq!(vec![5, 29, 53], rich);
    // 9,000 credits above the baseline, all spent within the half hour that is left of the step.
    assert_close(36_000.0 + 9_000.0, done.served_ops[29]);
}

/// What cannot be served is lost at once when nobody waits.
#[test]
fn impatient_requests_are_shed() {
    let ops = [150.0, 50.0];
    let size = [1.0, 1.0];
    let demand = Demand { ops_per_s: &ops, bytes_per_op: &size, step_s: 60.0 };
    let chain = [one(without_credits(100.0), Account::REQUESTS)];
    let done = replay(demand, &chain, vec![0.0], Backlog::Shed, &[]);
    assert_eq!((6_000.0, 3_000.0), (done.served_ops[0], done.shed_ops[0]));
    assert_eq!((3_000.0, 0.0), (done.served_ops[1], done.shed_ops[1]));
    assert_eq!(vec![0.0, 0.0], done.backlog_ops);
}

/// A flow can be stepped by hand, as a simulator does whose demand depends on what was served.
#[test]
fn a_flow_can_be_stepped() {
    let chain = [one(without_credits(100.0), Account::REQUESTS)];
    let mut flow = Flow::new(&chain, vec![0.0]);
    let outcome = flow.advance(150.0, 1.0, 2.0, Backlog::Carry);
    assert_eq!((200.0, 100.0), (outcome.served_ops, flow.backlog_ops()));
    assert_eq!(Some(0), flow.take_binding().map(|binding| binding.stage));
    assert_eq!(None, flow.take_binding());
}

/// In a calm night one of many candidates still has a queue to serve, and serves it.
#[test]
fn a_calm_night_is_not_calm_for_those_who_wait() {
    let roomy = one(without_credits(1_000.0), Account::REQUESTS);
    let tight = one(without_credits(10.0), Account::REQUESTS);
    for late in 0..40 {
        let candidates: Vec<Candidate> = (0..40)
            .map(|i| if i == late { tight } else { roomy })
            .map(|stage| Candidate { chain: vec![stage], start: vec![0.0] })
            .collect();
        // 32 busy seconds leave 640 requests, which 9 to spare per second serve in 71.1 s.
        let ops: Vec<f64> = (0..160).map(|step| if step < 32 { 30.0 } else { 1.0 }).collect();
        let sizes = vec![1.0; 160];
        let demand = Demand { ops_per_s: &ops, bytes_per_op: &sizes, step_s: 1.0 };
        let trials = replay_candidates(demand, &candidates, Backlog::Carry, None);
        for (i, &throttled) in trials.throttled_steps.iter().enumerate() {
            assert_eq!(if i == late { 32 + 71 } else { 0 }, throttled, "candidate {i}");
        }
    }
}
