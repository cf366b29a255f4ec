//! Measure the speed of the law: `cargo bench -p plimsoll-core`.
//!
//! The figures depend on this machine; `bench/law.py` compares them with other tools.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_core::bucket::Bucket;
use plimsoll_core::candidates::replay_candidates;
use plimsoll_core::chain::{Account, Stage};
use plimsoll_core::flow::Backlog;
use plimsoll_core::pace::{Pace, Request};
use plimsoll_core::replay::{Demand, replay};
use plimsoll_core::trials::Candidate;

/// Minutes in thirty days.
const STEPS: usize = 43_200;

/// Return a day's swing with a ripple, around the baselines below; without randomness, so runs agree.
fn demand() -> (Vec<f64>, Vec<f64>) {
    let phase = |step: usize| step as f64 * core::f64::consts::TAU / 1440.0;
    let ops = |step| 9_000.0 + 6_000.0 * phase(step).sin() + 900.0 * (17.0 * phase(step)).sin();
    let size = |step| 16_384.0 + 6_000.0 * (3.0 * phase(step)).cos();
    ((0..STEPS).map(ops).collect(), (0..STEPS).map(size).collect())
}

fn stage(baseline: f64, burst: f64, account: Account) -> Stage {
    let bucket = Bucket { baseline, burst, capacity: (burst - baseline) * 1800.0 };
    Stage { bucket, account, stripes: 1.0 }
}

/// Return instance throughput and operations, then volume throughput and operations.
fn chain(scale: f64) -> Vec<Stage> {
    let volume = Account::Ops { unit_bytes: 262_144.0, sequential_ratio: 0.0 };
    vec![
        stage(143.75e6 * scale, 593.75e6 * scale, Account::Bytes),
        stage(6_000.0 * scale, 18_750.0 * scale, Account::REQUESTS),
        stage(262.144e6, 262.144e6, Account::Bytes),
        stage(9_000.0, 12_000.0, volume),
    ]
}

fn start(chain: &[Stage]) -> Vec<f64> {
    chain.iter().map(|stage| stage.bucket.capacity).collect()
}

/// Return sixty-four candidates, from `least` to `most` times the instance above.
fn candidates(least: f64, most: f64, stages: usize) -> Vec<Candidate> {
    let one = |index: i32| {
        let mut chain = chain(least + (most - least) * f64::from(index) / 64.0);
        chain.truncate(stages);
        Candidate { start: start(&chain), chain }
    };
    (0..64).map(one).collect()
}

fn replays(c: &mut Criterion) {
    let (ops, size) = demand();
    let demand = Demand { ops_per_s: &ops, bytes_per_op: &size, step_s: 60.0 };
    let mut group = c.benchmark_group("replay");
    let one = chain(1.0);
    group.throughput(Throughput::Elements(STEPS as u64));
    group.bench_function("one chain, exact", |b| {
        b.iter(|| replay(black_box(demand), &one, start(&one), Backlog::Carry, &[]));
    });
    // Below 1 the demand exceeds every baseline at noon; below 0.7 the queue never empties.
    for (name, least, most) in [("roomy", 1.5, 3.0), ("mixed", 0.5, 2.5), ("hopeless", 0.2, 0.5)] {
        for stages in [2, 4] {
            let many = candidates(least, most, stages);
            group.throughput(Throughput::Elements((STEPS * many.len()) as u64));
            group.bench_function(BenchmarkId::new(name, stages), |b| {
                b.iter(|| replay_candidates(black_box(demand), &many, Backlog::Carry, None));
            });
        }
    }
    group.finish();
}

/// Requests of 8 KiB at depth 16 through four stages, the volumes' two on four stripes or on one.
fn admissions(c: &mut Criterion) {
    let mut group = c.benchmark_group("admissions");
    group.throughput(Throughput::Elements(1));
    for stripes in [1_usize, 4] {
        let mut four = chain(1.0);
        four[2..].iter_mut().for_each(|stage| stage.stripes = stripes as f64);
        let mut pace = Pace::new(four.clone(), start(&four), 0.05);
        let (mut done, mut turn) = ([0.0; 16], 0);
        group.bench_function(BenchmarkId::new("four stages", stripes), |b| {
            b.iter(|| {
                turn += 1;
                let slot = turn % 16;
                let continues = turn % 5 == 0;
                let request = Request { bytes: 8_192.0, is_write: false, volume: turn, continues };
                done[slot] = pace.admit(black_box(done[slot]), black_box(&request)).done_s;
            });
        });
    }
    group.finish();
}

criterion_group!(benches, replays, admissions);
criterion_main!(benches);
