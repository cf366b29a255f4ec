//! Truths of [`Throttle`], with time as it is needed.

use super::*;
use plimsoll_core::bucket::Bucket;
use plimsoll_core::chain::Account;
use proptest::prelude::*;

const SLACK_S: f64 = 0.05;

fn stage(rate: f64, stripes: u8) -> Stage {
    let bucket = Bucket { baseline: rate, burst: rate, capacity: 0.0 };
    Stage { bucket, account: Account::REQUESTS, stripes: f64::from(stripes) }
}

fn throttle(chain: Vec<Stage>) -> Throttle<usize> {
    let balance = vec![0.0; chain.len()];
    Throttle::new(chain, balance, SLACK_S, 262_144.0)
}

fn facts(arrived_s: f64, is_write: bool) -> Facts {
    Facts { arrived_s, served_s: arrived_s, latency_s: 0.001, is_write, file: 0 }
}

fn piece(volume: usize, is_write: bool) -> Request {
    Request { bytes: 8192.0, is_write, volume, continues: false }
}

/// Take everything in the order in which it is done, as somebody would who never sleeps too long.
fn take_all(throttle: &mut Throttle<usize>, from_s: f64) -> Vec<Done<usize>> {
    let (mut taken, mut now_s) = (Vec::new(), from_s);
    while let Some(next_s) = throttle.next_s() {
        now_s = now_s.max(next_s);
        throttle.advance(now_s);
        taken.extend(std::iter::from_fn(|| throttle.take_due(now_s)));
    }
    taken
}

/// What nothing limits takes its base latency, from its arrival on.
#[test]
fn without_a_limit_a_request_takes_its_base_latency() {
    let mut throttle = throttle(Vec::new());
    throttle.submit(5.004, facts(5.0, false), &[piece(0, false)], 7);

    assert_eq!(Some(5.001), throttle.next_s());
    let done = throttle.take_due(5.004).unwrap();
    assert_eq!((7, 5.001), (done.payload, done.deadline_s));
    assert_eq!(None, throttle.next_s());
}

/// A request that the device is not charged for is not held up by those that it is.
#[test]
fn what_is_not_charged_does_not_queue() {
    let mut throttle = throttle(vec![stage(10.0, 1)]);
    for number in 0..5 {
        throttle.submit(0.0, facts(0.0, true), &[piece(0, true)], number);
    }
    throttle.submit(0.0, facts(0.0, true), &[], 99);

    assert_eq!(Some(99), throttle.take_due(0.001).map(|done| done.payload));
}

/// A thousand operations per second are a thousandth of a second each, behind the slack.
#[test]
fn a_saturated_ceiling_serves_at_its_rate() {
    let mut throttle = throttle(vec![stage(1000.0, 1)]);
    for number in 0..500 {
        throttle.submit(0.0, facts(0.0, false), &[piece(0, false)], number);
    }

    let done = take_all(&mut throttle, 0.0);

    let order: Vec<usize> = done.iter().map(|done| done.payload).collect();
    assert_eq!((0..500).collect::<Vec<_>>(), order);
    assert!((done[499].deadline_s - (0.5 - SLACK_S)).abs() < 1e-9);
}

/// A read that comes behind a hundred writes is served after a few of them.
#[test]
fn a_read_does_not_stand_behind_all_writes() {
    let mut throttle = throttle(vec![stage(1000.0, 1)]);
    for number in 0..200 {
        throttle.submit(0.0, facts(0.0, true), &[piece(0, true)], number);
    }
    throttle.submit(0.0, facts(0.0, false), &[piece(0, false)], 1000);

    let done = take_all(&mut throttle, 0.0);

    let before = done.iter().position(|done| done.payload == 1000).unwrap();
    let admitted_at_once = ((SLACK_S + HORIZON_S) * 1000.0) as usize;
    assert!(before <= admitted_at_once + 2, "{before} writes went first");
}

/// Four volumes serve four requests in the time that one takes for one.
#[test]
fn volumes_work_side_by_side() {
    let mut throttle = throttle(vec![stage(100.0, 4)]);
    for number in 0..40 {
        throttle.submit(0.0, facts(0.0, false), &[piece(number, false)], number);
    }

    let done = take_all(&mut throttle, 0.0);

    assert!((done[39].deadline_s - (0.1 - SLACK_S)).abs() < 1e-9);
}

/// A request is done when the slowest of its pieces is.
#[test]
fn a_request_waits_for_all_its_pieces() {
    let mut throttle = throttle(vec![stage(100.0, 2)]);
    for number in 0..20 {
        throttle.submit(0.0, facts(0.0, false), &[piece(0, false)], number);
    }
    throttle.submit(0.0, facts(0.0, false), &[piece(0, false), piece(1, false)], 99);

    let done = take_all(&mut throttle, 0.0);

    assert_eq!((21, 99), (done.len(), done[20].payload));
    assert!((done[20].deadline_s - (0.21 - SLACK_S)).abs() < 1e-9);
}

/// The time for which a ceiling makes requests wait is the time that passes, given once; one that waits for
/// another has nothing to serve.
#[test]
fn binding_time_is_the_time_that_passes() {
    let mut throttle = throttle(vec![stage(4000.0, 1), stage(100.0, 4)]);
    for number in 0..80 {
        throttle.submit(0.0, facts(0.0, false), &[piece(number, false)], number);
    }
    take_all(&mut throttle, 0.0);

    let bound = throttle.take_bound();
    assert_eq!((0.0, 0.0), (bound[0].burst_s, bound[0].baseline_s));
    assert!(bound[0].idle_s > 0.1, "it is forty times as fast, so it had little to do: {bound:?}");
    assert!((bound[1].baseline_s - (0.2 - SLACK_S)).abs() < 1e-9, "{bound:?}");
    assert!(bound[1].idle_s.abs() < 1e-9, "{bound:?}");
    assert_eq!(vec![Bound::default(); 2], throttle.take_bound());
}

/// A faster chain lets through what waits; more volumes get what was waiting for fewer.
#[test]
fn what_waits_goes_on_under_another_chain() {
    let mut throttle = throttle(vec![stage(10.0, 1)]);
    for number in 0..100 {
        throttle.submit(0.0, facts(0.0, false), &[piece(number, false)], number);
    }
    throttle.replace(0.0, vec![stage(1e6, 4)], vec![0.0]);

    let done = take_all(&mut throttle, 0.0);

    assert_eq!(100, done.len());
    assert!(done[99].deadline_s < 0.2, "{}", done[99].deadline_s);
}

/// At the end everything comes back, whether it waits for its turn or for its moment.
#[test]
fn draining_gives_back_everything() {
    let mut throttle = throttle(vec![stage(10.0, 1)]);
    for number in 0..10 {
        throttle.submit(0.0, facts(0.0, false), &[piece(0, false)], number);
    }

    let mut numbers: Vec<usize> = throttle.drain().iter().map(|done| done.payload).collect();
    numbers.sort_unstable();
    assert_eq!((0..10).collect::<Vec<_>>(), numbers);
    assert_eq!(None, throttle.next_s());
    throttle.submit(1.0, facts(1.0, false), &[], 5);
    assert_eq!(1, take_all(&mut throttle, 1.0).len());
}

proptest! {
    /// Everything comes back once, in the order of the deadlines, and nothing before its base
    /// latency has passed; over any time no more passes than the ceiling and its slack allow.
    #[test]
    fn nothing_is_lost_early_or_too_much(
        requests in proptest::collection::vec((0.0..0.02_f64, any::<bool>(), 0_usize..4), 1..200),
        stripes in 1_u8..4,
    ) {
        let rate = 300.0;
        let mut throttle = throttle(vec![stage(rate, stripes)]);
        let (mut now_s, mut done) = (0.0, Vec::new());
        for (number, (gap_s, is_write, volume)) in requests.iter().enumerate() {
            now_s += gap_s;
            throttle.advance(now_s);
            done.extend(std::iter::from_fn(|| throttle.take_due(now_s)));
            let pieces = [piece(*volume, *is_write)];
            throttle.submit(now_s, facts(now_s, *is_write), &pieces, number);
        }
        done.extend(take_all(&mut throttle, now_s));

        let mut numbers: Vec<usize> = done.iter().map(|done| done.payload).collect();
        numbers.sort_unstable();
        prop_assert_eq!((0..requests.len()).collect::<Vec<_>>(), numbers);
        for one in &done {
            prop_assert!(one.deadline_s >= one.facts.arrived_s + one.facts.latency_s);
        }
        let mut ends: Vec<f64> = done.iter().map(|done| done.deadline_s).collect();
        ends.sort_by(f64::total_cmp);
        for (first, from_s) in ends.iter().enumerate() {
            for (last, until_s) in ends.iter().enumerate().skip(first) {
                let most = (until_s - from_s + SLACK_S) * rate * f64::from(stripes);
                prop_assert!(((last - first) as f64) <= most + f64::from(stripes));
            }
        }
    }
}

/// A large request of one file, and small ones of another that come while it waits: each has its turn after a portion,
/// and the large one costs what it costs in one piece.
#[test]
fn another_file_has_its_turn_within_an_operation() {
    let bytes = |rate: f64| {
        let bucket = Bucket { baseline: rate, burst: rate, capacity: 0.0 };
        Stage { bucket, account: Account::Bytes, stripes: 1.0 }
    };
    let chain = || vec![bytes(10_000_000.0)];
    let large = Request { bytes: 262_144.0, ..piece(0, true) };
    let log = Facts { file: 1, ..facts(1.0, true) };
    let order = |portion_bytes: f64| {
        let mut throttle = Throttle::new(chain(), vec![0.0], 0.0, portion_bytes);
        // Something is in service.
        throttle.submit(1.0, facts(1.0, true), &[large], 0);
        throttle.submit(1.0, facts(1.0, true), &[large], 1);
        throttle.submit(1.0, log, &[piece(0, true)], 2);
        take_all(&mut throttle, 1.0)
    };
    let at = |done: &[Done<usize>], number: usize| {
        done.iter().find(|one| one.payload == number).map_or(f64::NAN, |one| one.deadline_s)
    };
    let (whole, parts) = (order(262_144.0), order(16_384.0));

    let size_s = 262_144.0 / 10_000_000.0;
    assert!(at(&whole, 2) >= 1.0 + size_s, "{whole:?}");
    assert!(at(&parts, 2) < 1.0 + 0.5 * size_s, "{parts:?}");
    let end_s = |done: &[Done<usize>]| done.iter().map(|one| one.deadline_s).fold(0.0, f64::max);
    assert!((end_s(&whole) - end_s(&parts)).abs() < 1e-9, "{whole:?} {parts:?}");
}
