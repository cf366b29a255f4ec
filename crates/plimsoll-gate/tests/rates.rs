//! Limits as they are felt: rates, turns, credits, latencies and the bound on the page cache.
//!
//! One test at a time, as each measures time; each asserts what the law says of it.

mod common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{Aligned, Gate, MIB, Setup, noise};
use rustix::fs::OFlags;
use serde_json::{Value, json};

const O_DIRECT: i32 = OFlags::DIRECT.bits() as i32;

/// Largest distance between a rate and its ceiling.
const TOLERANCE: f64 = 0.02;

/// Idle time that is not lost, as the gates here are told.
const SLACK_S: f64 = 0.05;

/// How often a rate may be measured before it counts as missed: other work on the machine takes time
/// away.
const ATTEMPTS: usize = 3;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(path: &Path, flags: i32) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}

/// A file of so many mebibytes, made below the gate so that it costs nothing.
fn prepare(gate: &Gate, mebibytes: usize) -> std::path::PathBuf {
    let bytes = noise(MIB, 1);
    let file = File::create(gate.backing().join("data")).unwrap();
    for index in 0..mebibytes {
        file.write_all_at(&bytes, (index * MIB) as u64).unwrap();
    }
    gate.mount().join("data")
}

/// What clients do, each in a thread of its own: requests of one size at places of their own.
struct Load<'a> {
    path: &'a Path,
    clients: usize,
    bytes: usize,
    is_write: bool,
    is_random: bool,
    flags: i32,
}

impl Load<'_> {
    /// Requests completed per second, and mean seconds per request, over a time.
    fn run(&self, warm: Duration, length: Duration) -> (f64, f64) {
        let (counted, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let (requests, waited_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let size = fs::metadata(self.path).unwrap().len() / self.bytes as u64;
        let client = |number: usize| {
            let (file, mut block) = (open(self.path, self.flags), Aligned::filled(self.bytes, 7));
            let mut place = number as u64 * size / self.clients as u64;
            while !done.load(Ordering::Relaxed) {
                place = if self.is_random {
                    place
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407)
                } else {
                    place + 1
                };
                let at = (place >> if self.is_random { 24 } else { 0 }) % size * self.bytes as u64;
                let begun = Instant::now();
                if self.is_write {
                    file.write_all_at(block.get(), at).unwrap();
                } else {
                    file.read_exact_at(block.get_mut(), at).unwrap();
                }
                if counted.load(Ordering::Relaxed) {
                    requests.fetch_add(1, Ordering::Relaxed);
                    waited_ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for number in 0..self.clients {
                scope.spawn(move || client(number));
            }
            thread::sleep(warm);
            counted.store(true, Ordering::Relaxed);
            let begun = Instant::now();
            thread::sleep(length);
            counted.store(false, Ordering::Relaxed);
            let passed = begun.elapsed().as_secs_f64();
            done.store(true, Ordering::Relaxed);
            let count = requests.load(Ordering::Relaxed) as f64;
            (count / passed, waited_ns.load(Ordering::Relaxed) as f64 / 1e9 / count.max(1.0))
        })
    }

    /// That the rate is this one over a time. It may be off by what a machine that stalls catches
    /// up with, which is the slack, but never by more; and mostly it is not.
    fn meets(&self, rate: f64, length: Duration) {
        let most = rate * (1.0 + SLACK_S / length.as_secs_f64() + TOLERANCE);
        let mut found = Vec::new();
        for _ in 0..ATTEMPTS {
            let (measured, _) = self.run(Duration::from_millis(200), length);
            found.push(measured);
            assert!(measured < most, "{found:?} per second, not {rate}");
            if (measured / rate - 1.0).abs() < TOLERANCE {
                return;
            }
        }
        panic!("{found:?} per second, not {rate}");
    }
}

/// Large reads get the bytes per second of the ceiling.
#[test]
fn reads_get_the_throughput_of_the_ceiling() {
    let _alone = alone();
    let setup = Setup::new().with_stage("throughput", "bytes", 86_875_000.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let load = Load {
        path: &path,
        clients: 1,
        bytes: MIB,
        is_write: false,
        is_random: false,
        flags: O_DIRECT,
    };

    load.meets(86_875_000.0 / MIB as f64, Duration::from_secs(3));

    let status = gate.status();
    assert_eq!(
        (json!("throughput"), json!("fixed")),
        (status["binding"].clone(), status["phase"].clone())
    );
}

/// Small random requests get the operations per second of the ceiling, reads and writes together.
#[test]
fn small_requests_get_the_operations_of_the_ceiling() {
    let _alone = alone();
    let setup =
        Setup::new().with_stage("iops", "operations", 4000.0, json!({"unit_bytes": 262_144}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let load = Load {
        path: &path,
        clients: 16,
        bytes: 8192,
        is_write: false,
        is_random: true,
        flags: O_DIRECT,
    };

    load.meets(4000.0, Duration::from_secs(2));

    // Little's law: sixteen clients, four thousand a second.
    let (rate, latency_s) = load.run(Duration::from_millis(100), Duration::from_millis(500));
    assert!((rate * latency_s / 16.0 - 1.0).abs() < 0.1, "{rate} × {latency_s}");
}

/// Four volumes serve large requests four times as fast as one.
#[test]
fn stripes_add_up() {
    let _alone = alone();
    let more = json!({"stripes": 4});
    let setup = Setup::new().with_stage("volume", "bytes", 25_000_000.0, more);
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let load = Load {
        path: &path,
        clients: 4,
        bytes: MIB,
        is_write: true,
        is_random: false,
        flags: O_DIRECT,
    };

    load.meets(100_000_000.0 / MIB as f64, Duration::from_secs(1));
}

/// A reader gets its turn although writers have queued up before it.
#[test]
fn a_reader_is_not_starved_by_writers() {
    let _alone = alone();
    let setup = Setup::new().with_stage("throughput", "bytes", 100_000_000.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let writers = Load {
        path: &path,
        clients: 16,
        bytes: MIB,
        is_write: true,
        is_random: false,
        flags: O_DIRECT,
    };
    let reader = Load {
        path: &path,
        clients: 1,
        bytes: 8192,
        is_write: false,
        is_random: true,
        flags: O_DIRECT,
    };

    let (mut latency_s, mut written) = (0.0, 0.0);
    thread::scope(|scope| {
        let busy =
            scope.spawn(|| writers.run(Duration::from_millis(300), Duration::from_secs(1)).0);
        latency_s = reader.run(Duration::from_millis(500), Duration::from_millis(600)).1;
        written = busy.join().unwrap();
    });

    // Sixteen writes of a mebibyte take 168 ms; at most two of them go before a read.
    assert!(latency_s < 0.05, "a read took {latency_s} s");
    assert!(written * MIB as f64 > 70e6, "{written} MiB/s were written");
}

/// Nor is one who reads through the page cache, while the kernel writes back what others wrote at
/// random: it would have him queue behind thousands of requests.
#[test]
fn a_reader_is_not_starved_by_writing_back() {
    let _alone = alone();
    let setup = Setup::new().with_stage("iops", "operations", 2000.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 256);
    fs::copy(gate.backing().join("data"), gate.backing().join("other")).unwrap();
    let other = gate.mount().join("other");
    let load = |path, clients, is_write| Load {
        path,
        clients,
        bytes: 8192,
        is_write,
        is_random: true,
        flags: 0,
    };

    let mut read = 0.0;
    thread::scope(|scope| {
        let busy = load(&other, 2, true);
        scope.spawn(move || busy.run(Duration::from_millis(1500), Duration::from_millis(1500)));
        read = load(&path, 4, false).run(Duration::from_secs(1), Duration::from_millis(1500)).0;
    });

    assert!(read > 400.0, "{read} reads per second of 2,000 operations");
}

/// A single client waits for the base latency, and what the timer costs is made up for. Judged by
/// the quicker ones: the rest also waits for a processor where this machine has other work.
#[test]
fn a_request_takes_its_base_latency() {
    let _alone = alone();
    let setup = Setup::new().with("latency_s", json!({"read": 0.002, "write": 0.004}));
    let Some(gate) = setup.mount() else { return };
    let (file, mut block) = (open(&prepare(&gate, 8), O_DIRECT), Aligned::filled(8192, 7));
    let mut quickest_quarter_s = |is_write: bool| {
        let mut took_s: Vec<f64> = (0..100)
            .map(|index| {
                let (at, begun) = (index * 37 % 1000 * 8192, Instant::now());
                if is_write {
                    file.write_all_at(block.get(), at).unwrap();
                } else {
                    file.read_exact_at(block.get_mut(), at).unwrap();
                }
                begun.elapsed().as_secs_f64()
            })
            .collect();
        took_s.sort_by(f64::total_cmp);
        took_s[25]
    };
    let mut fastest =
        |is_write| (0..ATTEMPTS).map(|_| quickest_quarter_s(is_write)).fold(1.0, f64::min);

    let (read_s, write_s) = (fastest(false), fastest(true));

    assert!((0.001_8..0.002_4).contains(&read_s), "a read took {read_s} s");
    assert!((0.003_8..0.004_4).contains(&write_s), "a write took {write_s} s");
}

/// Credits last as long as the law says on the credit clock, can be granted and drained, and the
/// record tells it all.
#[test]
fn credits_run_out_and_can_be_granted() {
    let _alone = alone();
    // Above the baseline by 40 MB/s: 40 MB of credits last a second; at clock 60 they are 2400 MB.
    let more = json!({"burst": 60_000_000.0, "capacity": 2_400_000_000.0_f64});
    let setup = Setup::new().with_stage("instance", "bytes", 20_000_000.0, more);
    let Some(mut gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let load = Load {
        path: &path,
        clients: 4,
        bytes: 262_144,
        is_write: false,
        is_random: false,
        flags: O_DIRECT,
    };
    let rate = |length_ms| load.run(Duration::ZERO, Duration::from_millis(length_ms)).0 * 262_144.0;
    let balance = |gate: &Gate| gate.status()["balance"]["instance"].as_f64().unwrap();

    let burst = rate(600);
    let half_way = balance(&gate);
    rate(900);
    let spent = balance(&gate);
    let baseline = rate(500);
    gate.ask(&json!({"ask": "balance", "stage": "instance", "ratio": 1.0}));
    let granted = balance(&gate);
    gate.ask(&json!({"ask": "balance", "stage": "instance", "ratio": 0.0}));
    let drained = balance(&gate);
    gate.stop();

    assert!((50e6..66e6).contains(&burst), "burst at {burst}");
    assert!((0.3..0.55).contains(&half_way), "{half_way} left after 0.6 s");
    assert!(spent < 0.02, "{spent} left in the end");
    assert!((18e6..24e6).contains(&baseline), "baseline at {baseline}");
    assert!(granted > 0.99 && drained < 0.01, "{granted} granted, {drained} drained");
    let phases: Vec<Value> =
        gate.record().iter().map(|line| line["binding"]["instance"]["phase"].clone()).collect();
    assert_eq!(json!("burst"), phases[0]);
    assert!(phases.contains(&json!("baseline")), "{phases:?}");
}

/// Another class holds from the next request on.
#[test]
fn the_chain_can_be_changed_while_it_runs() {
    let _alone = alone();
    let setup = Setup::new().with_stage("old", "operations", 200.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 16);
    let load = Load {
        path: &path,
        clients: 8,
        bytes: 8192,
        is_write: false,
        is_random: true,
        flags: O_DIRECT,
    };
    load.meets(200.0, Duration::from_secs(1));

    let chain = json!([
        {"name": "new", "counts": "operations", "baseline": 900.0, "burst": 900.0, "stripes": 3},
    ]);
    gate.ask(&json!({"ask": "set", "chain": chain, "balance_ratio": null}));

    load.meets(2700.0, Duration::from_secs(1));
    assert_eq!(json!("new"), gate.status()["chain"][0]["name"]);
}

/// With a bound on the page cache what does not fit is read from the disk again; without one it is
/// not.
#[test]
fn the_page_cache_is_bounded() {
    let _alone = alone();
    for (bound, passes_that_read) in [(Some(8 * MIB), 2.0), (None, 1.0)] {
        let Some(mut gate) = Setup::new().with("memory_bytes", json!(bound)).mount() else {
            return;
        };
        let path = prepare(&gate, 32);
        let expected = fs::read(gate.backing().join("data")).unwrap();
        for _ in 0..2 {
            assert!(expected == fs::read(&path).unwrap());
        }
        // Written and not flushed: it must be there whatever is dropped.
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&noise(20 * MIB, 9), 0).unwrap();
        assert!(noise(20 * MIB, 9) == fs::read(&path).unwrap()[..20 * MIB]);
        drop(file);
        let read = gate.recorded("read_bytes");
        let held = gate.record().iter().filter_map(|line| line["cache_bytes"].as_u64()).max();
        gate.stop();

        let least = 32.0 * MIB as f64 * (passes_that_read - 0.25);
        let total = gate.recorded("read_bytes").max(read);
        assert!(total >= least, "{total} bytes were read with {bound:?}");
        if let Some(bound) = bound {
            assert!(held.unwrap_or(0) <= bound as u64 + MIB as u64, "{held:?} were held");
        } else {
            assert!(total <= 40.0 * MIB as f64, "{total} bytes were read");
        }
    }
}

/// A gate whose real disk is slower than the emulated one says so.
#[test]
fn a_disk_that_is_too_slow_is_told() {
    let _alone = alone();
    // The slow disk is another gate.
    let slow = Setup::new().with("latency_s", json!({"read": 0.02, "write": 0.02}));
    let Some(slow) = slow.mount() else { return };
    fs::write(slow.backing().join("data"), noise(MIB, 1)).unwrap();
    let Some(mut gate) = Setup::new().with("backing", json!(slow.mount())).mount() else { return };

    let file = open(&gate.mount().join("data"), O_DIRECT);
    let mut block = Aligned::filled(65_536, 0);
    for index in 0..8 {
        file.read_exact_at(block.get_mut(), index * 131_072).unwrap();
    }
    drop(file);
    let status = gate.status();
    gate.stop();

    assert!(status["late_ratio"].as_f64().unwrap() > 0.4, "{status}");
    assert!(status["late_s_max"].as_f64().unwrap() > 0.015, "{status}");
    assert!(gate.recorded("late_ops") >= 4.0);
    assert!(gate.recorded("late_s_sum") > 4.0 * 0.015);
}
