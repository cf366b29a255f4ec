//! Worked examples of single requests in real time: published figures and arithmetic.

mod common;

use common::without_credits;
use plimsoll_core::bucket::Bucket;
use plimsoll_core::chain::{Account, Stage};
use plimsoll_core::flow::Binding;
use plimsoll_core::pace::{Admission, Pace, Request};

const MIB: f64 = 1_048_576.0;
const VOLUME: Account = Account::Ops { unit_bytes: 262_144.0, sequential_ratio: 0.0 };

fn one(bucket: Bucket, account: Account) -> Stage {
    Stage { bucket, account, stripes: 1.0 }
}

fn fixed(rate: f64, account: Account) -> Pace {
    Pace::new(vec![one(without_credits(rate), account)], vec![0.0], 0.0)
}

fn read(bytes: f64) -> Request {
    Request { bytes, is_write: false, volume: 0, continues: false }
}

/// A db.t3.xlarge: 695 and 2,780 Mbit/s, 30 minutes of burst; capacity of a clock that runs 60 times.
fn t3_xlarge() -> Stage {
    let (baseline, burst) = (86.875e6, 347.5e6);
    one(Bucket { baseline, burst, capacity: (burst - baseline) * 1_800.0 / 60.0 }, Account::Bytes)
}

/// What is done per second while `count` requests follow each other without a pause.
fn rate(pace: &mut Pace, request: &Request, count: usize) -> f64 {
    let begin_s = pace.ready_s().max(0.0);
    for _ in 0..count {
        pace.admit(pace.ready_s().max(0.0), request);
    }
    count as f64 / (pace.ready_s() - begin_s)
}

fn assert_close(expected: f64, found: f64) {
    assert!((expected - found).abs() <= 1e-9 * expected.abs().max(1e-3), "{expected} {found}");
}

/// A fifth of the credits lasts 6 s of 30 s at 347.5 MB/s; from then on it is 86.875 MB/s.
#[test]
fn a_fifth_of_the_byte_balance_lasts_six_seconds() {
    let stage = t3_xlarge();
    let mut pace = Pace::new(vec![stage], vec![0.2 * stage.bucket.capacity], 0.0);
    let requests = (6.0 * 347.5e6 / 1e6) as usize;

    assert_close(347.5, rate(&mut pace, &read(1e6), requests));
    assert_close(0.0, pace.balance_ratio(6.0, 0).expect("credits"));
    assert_close(86.875, rate(&mut pace, &read(1e6), 1_000));
}

/// The stage that decided is named, with its number that was binding.
#[test]
fn a_delay_has_a_stage_and_a_phase() {
    let stage = t3_xlarge();
    let volume = one(without_credits(4_000.0), VOLUME);
    let mut pace = Pace::new(vec![stage, volume], vec![MIB, 0.0], 0.0);
    let mut binding_of = |bytes| pace.admit(pace.ready_s().max(0.0), &read(bytes)).binding;

    assert_eq!(Some(Binding { stage: 0, is_burst: true }), binding_of(MIB));
    assert_eq!(Some(Binding { stage: 0, is_burst: false }), binding_of(MIB));
    assert_eq!(Some(Binding { stage: 1, is_burst: false }), binding_of(8_192.0));
}

/// Sixteen requests at a time and 4,000 operations per second make 4 ms for each.
#[test]
fn queue_depth_16_at_4000_iops_waits_4_ms() {
    let mut pace = fixed(4_000.0, VOLUME);
    let mut done = [0.0; 16];
    for turn in 0..1_000 {
        let slot = turn % 16;
        let Admission { done_s, waited_s, .. } = pace.admit(done[slot], &read(8_192.0));
        done[slot] = done_s;
        if turn >= 16 {
            assert_close(0.004, waited_s);
        }
    }
}

/// Of a stall the slack is caught up, and what is beyond it is lost.
#[test]
fn a_long_stall_loses_what_is_beyond_the_slack() {
    let stage = one(without_credits(1_000.0), Account::REQUESTS);
    let mut pace = Pace::new(vec![stage], vec![0.0], 0.05);
    let done_s = |pace: &mut Pace, now_s: f64| {
        (0..1_000).fold(now_s, |now_s: f64, _| pace.admit(now_s, &read(1.0)).done_s)
    };
    let begun_s = done_s(&mut pace, 0.0);

    assert_close(0.95, begun_s);
    assert_close(0.95 + 0.08 + 1.0 - 0.05, done_s(&mut pace, begun_s + 0.08));
}

/// A long idle spell refills the balance for all of it but the slack, which is kept as time.
#[test]
fn an_idle_spell_refills_the_balance() {
    let bucket = Bucket { baseline: 100.0, burst: 3_000.0, capacity: 1_000.0 };
    let mut pace = Pace::new(vec![one(bucket, VOLUME)], vec![0.0], 0.05);
    // Five operations take the slack that is there at the start.
    (0..5).for_each(|_| assert_close(0.0, pace.admit(0.0, &read(1.0)).waited_s));

    assert_close(0.0, pace.balance_ratio(0.05, 0).expect("credits"));
    assert_close(0.5, pace.balance_ratio(5.05, 0).expect("credits"));
    assert_close(1.0, pace.balance_ratio(500.0, 0).expect("credits"));
}

/// Four gp2 volumes of 3,000 operations per second are one of 12,000 to evenly spread requests.
#[test]
fn stripes_add_up() {
    let stage = Stage { stripes: 4.0, ..one(without_credits(3_000.0), VOLUME) };
    let mut pace = Pace::new(vec![stage], vec![0.0], 0.0);
    for volume in 0..12_000 {
        pace.admit(0.0, &Request { volume, ..read(8_192.0) });
    }

    assert_close(1.0, pace.ready_s());
}

/// Who asks a volume that is free does not wait for those who ask a busy one.
#[test]
fn a_busy_volume_delays_no_other() {
    let stripes = Stage { stripes: 4.0, ..one(without_credits(100.0), VOLUME) };
    let instance = one(without_credits(10_000.0), Account::REQUESTS);
    let mut pace = Pace::new(vec![instance, stripes], vec![0.0; 2], 0.0);
    for _ in 0..1_000 {
        pace.admit(0.0, &read(8_192.0));
    }
    let other = pace.admit(1.0, &Request { volume: 2, ..read(8_192.0) });

    assert_close(10.0, pace.ready_s());
    assert_close(0.01, other.waited_s);
}

/// A flush moves no byte and is one operation.
#[test]
fn a_flush_is_one_operation() {
    let bytes = one(without_credits(1e6), Account::Bytes);
    let volume = one(without_credits(1_000.0), VOLUME);
    let mut pace = Pace::new(vec![bytes, volume], vec![0.0; 2], 0.0);
    let admission = pace.admit(0.0, &Request { is_write: true, ..read(0.0) });

    assert_close(0.001, admission.waited_s);
    assert_eq!(Some(Binding { stage: 1, is_burst: false }), admission.binding);
}

/// At 1,000 IOPS 8 KiB read in sequence are 250 MiB/s and at random 7.8 MiB/s; 1 MiB are 250 MiB/s.
#[test]
fn sequential_reads_are_merged_up_to_256_kib() {
    let mib_per_s = |bytes: f64, continues| {
        let request = Request { continues, ..read(bytes) };
        rate(&mut fixed(1_000.0, VOLUME), &request, 1_000) * bytes / MIB
    };

    assert_close(250.0, mib_per_s(8_192.0, true));
    assert_close(7.8125, mib_per_s(8_192.0, false));
    assert_close(250.0, mib_per_s(MIB, false));
}

/// An instance that counts requests whatever their size counts sequential ones too.
#[test]
fn nothing_is_merged_where_size_does_not_matter() {
    let request = Request { continues: true, ..read(8_192.0) };

    assert_close(1_000.0, rate(&mut fixed(1_000.0, Account::REQUESTS), &request, 1_000));
}

/// A grant and a drain hold from the next request on, and nothing that was promised moves.
#[test]
fn a_grant_and_a_drain_take_effect_at_once() {
    let mut pace = Pace::new(vec![t3_xlarge()], vec![0.0], 0.0);

    assert_close(86.875, rate(&mut pace, &read(1e6), 100));
    pace.set_balance_ratio(pace.ready_s(), 0, 1.0);
    assert_close(347.5, rate(&mut pace, &read(1e6), 100));
    pace.set_balance_ratio(pace.ready_s(), 0, 0.0);
    assert_close(86.875, rate(&mut pace, &read(1e6), 100));
    pace.set_balance_ratio(pace.ready_s(), 0, 0.25);
    let now_s = pace.ready_s();
    assert_close(0.25, pace.balance_ratio(now_s, 0).expect("credits"));
}

/// A larger class holds behind what waits already; nobody overtakes.
#[test]
fn a_larger_class_holds_behind_what_was_admitted() {
    let mut pace = fixed(100.0, Account::REQUESTS);
    for _ in 0..100 {
        pace.admit(0.0, &read(1.0));
    }
    pace.replace(0.5, vec![one(without_credits(1_000.0), Account::REQUESTS)], vec![0.0]);

    assert_close(1.001, pace.admit(0.5, &read(1.0)).done_s);
    assert_close(1_000.0, rate(&mut pace, &read(1.0), 100));
}

/// An idle chain that is replaced, even before anything was admitted, keeps its slack and goes on
/// from the balances it is given.
#[test]
fn an_idle_chain_is_replaced_with_its_slack() {
    let replaced = |mut pace: Pace| {
        let bucket = Bucket { baseline: 64.0, burst: 256.0, capacity: 1_024.0 };
        pace.replace(5.0, vec![one(bucket, VOLUME)], vec![512.0]);
        assert_close(0.5 + 64.0 / 1_024.0, pace.balance_ratio(6.0, 0).expect("credits"));
        (0..100).filter(|_| pace.admit(6.0, &read(1.0)).waited_s <= 0.0).count()
    };
    let chain = vec![one(without_credits(100.0), VOLUME)];
    let fresh = Pace::new(chain, vec![0.0], 0.0625);
    let mut used = fresh.clone();
    used.admit(0.0, &read(1.0));

    assert_eq!(16, replaced(fresh));
    assert_eq!(16, replaced(used));
}

/// A balance is set on every stripe, at this moment, and never beyond empty and full.
#[test]
fn a_balance_is_set_on_every_stripe() {
    let bucket = Bucket { baseline: 64.0, burst: 256.0, capacity: 1_024.0 };
    let stage = Stage { stripes: 4.0, ..one(bucket, VOLUME) };
    let mut pace = Pace::new(vec![stage], vec![1e9], 0.05);
    let mut set = |now_s, ratio| {
        pace.set_balance_ratio(now_s, 0, ratio);
        pace.balance_ratio(now_s, 0).expect("credits")
    };

    assert_close(0.25, set(0.0, 0.25));
    assert_close(0.0, set(10.0, 0.0));
    assert_close(1.0, set(20.0, 60.0));
    assert_close(0.0, set(30.0, -1.0));
    let mut given = Pace::new(vec![stage], vec![1e9], 0.05);
    assert_close(1.0, given.balance_ratio(0.0, 0).expect("credits"));
}

/// A chain that is replaced again and again while idle does not give the slack each time.
#[test]
fn the_slack_is_not_given_twice() {
    let chain = vec![one(without_credits(100.0), Account::REQUESTS)];
    let mut pace = Pace::new(chain.clone(), vec![0.0], 0.1);
    for _ in 0..50 {
        pace.admit(1.0, &read(1.0));
        pace.replace(1.0, chain.clone(), vec![0.0]);
    }

    assert!(pace.ready_s() >= 1.0 + 50.0 / 100.0 - 0.1 - 1e-9, "{}", pace.ready_s());
}

/// Where there is no ceiling nothing waits, and where nothing was admitted nothing is queued.
#[test]
fn an_empty_chain_delays_nothing() {
    let mut pace = Pace::new(Vec::new(), Vec::new(), 0.05);

    assert!(pace.ready_s() < 0.0);
    let expected = Admission { done_s: 7.0, waited_s: 0.0, binding: None };
    assert_eq!(expected, pace.admit(7.0, &read(MIB)));
    assert_eq!(None, pace.balance_ratio(7.0, 0));
    assert_close(0.0, pace.share_s(&read(MIB)));
}

/// A request costs the time of the stage where it takes most, spread over its stripes.
#[test]
fn a_share_is_that_of_the_dominant_stage() {
    let bytes = one(Bucket { baseline: 1e6, burst: 4e6, capacity: 1e6 }, Account::Bytes);
    let volume = Stage { stripes: 4.0, ..one(without_credits(1_000.0), VOLUME) };
    let chain = vec![bytes, volume];
    let share_s = |balance, size| Pace::new(chain.clone(), balance, 0.0).share_s(&read(size));

    assert_close(0.1, share_s(vec![0.0, 0.0], 1e5));
    assert_close(0.025, share_s(vec![1e6, 0.0], 1e5));
    assert_close(0.000_25, share_s(vec![1e6, 0.0], 100.0));
}

/// A bucket that earns nothing could not say when it is done, so it is refused.
#[test]
#[should_panic(expected = "never done")]
fn a_stage_that_earns_nothing_is_refused() {
    fixed(0.0, Account::Bytes);
}

/// Every stage has its balance.
#[test]
#[should_panic(expected = "one balance per stage")]
fn a_balance_too_few_is_refused() {
    let mut pace = fixed(1.0, Account::Bytes);
    pace.replace(0.0, vec![t3_xlarge()], Vec::new());
}
