//! Limits as they are felt: rates, turns, credits, latencies and the bound on the page cache.
//!
//! One test at a time, as each measures time; each asserts what the law says of it. A machine that stands
//! still for longer than the gate makes up for takes time away in which nothing is asked for: the gate's
//! record says for which share of the time a limit throttled requests, and in that share it must have served
//! what the limit gives.

mod common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::load::{
    ATTEMPTS, HELD_MIN, HELD_WHOLE, Load, SLACK_S, dt, held_ratio, held_s, lines_within, open,
};
use common::{Aligned, Gate, MIB, Setup, noise};
use rustix::fs::OFlags;
use serde_json::{Value, json};

const O_DIRECT: i32 = OFlags::DIRECT.bits() as i32;

/// A credit clock at which the record has ten lines a second.
const CLOCK: f64 = 600.0;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setup() -> Setup {
    Setup::new().with("clock", json!(CLOCK))
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

/// Large reads get the bytes per second of the ceiling; two readers, so that one of them waits at all times.
#[test]
fn reads_get_the_throughput_of_the_ceiling() {
    let _alone = alone();
    let setup = setup().with_stage("throughput", "bytes", 86_875_000.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let path = prepare(&gate, 64);
    let load = Load {
        path: &path,
        clients: 2,
        bytes: MIB,
        is_write: false,
        is_random: false,
        flags: O_DIRECT,
    };

    load.meets(&gate, 86_875_000.0 / MIB as f64, Duration::from_secs(3));

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
    let setup = setup().with_stage("iops", "operations", 4000.0, json!({"unit_bytes": 262_144}));
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

    load.meets(&gate, 4000.0, Duration::from_secs(2));

    // Little's law: sixteen clients, four thousand a second.
    let got = load.run(Duration::from_millis(100), Duration::from_millis(500));
    assert!((got.per_s * got.latency_s / 16.0 - 1.0).abs() < 0.1, "{got:?}");
}

/// Four volumes serve large requests four times as fast as one.
#[test]
fn stripes_add_up() {
    let _alone = alone();
    let more = json!({"stripes": 4});
    let setup = setup().with_stage("volume", "bytes", 25_000_000.0, more);
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

    load.meets(&gate, 100_000_000.0 / MIB as f64, Duration::from_secs(1));
}

/// A reader gets its turn although writers have queued up before it.
#[test]
fn a_reader_is_not_starved_by_writers() {
    let _alone = alone();
    let setup = setup().with_stage("throughput", "bytes", 100_000_000.0, json!({}));
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

    let (read, written) = thread::scope(|scope| {
        let busy = scope.spawn(|| writers.run(Duration::from_millis(300), Duration::from_secs(1)));
        let read = reader.run(Duration::from_millis(500), Duration::from_millis(600));
        (read, busy.join().unwrap())
    });
    let held = held_ratio(&lines_within(&gate, written.during_s));

    // A write waits for sixteen of a mebibyte, 168 ms; at most two of them go before a read.
    assert!(read.latency_s < written.latency_s * 0.3, "{read:?} beside {written:?}");
    assert!(written.per_s * MIB as f64 > 70e6 * held, "{written:?} of which held {held}");
    assert!(held > HELD_MIN, "held for {held}");
}

/// Nor is one who reads through the page cache, while the kernel writes back what others wrote at
/// random: it would have him queue behind thousands of requests.
#[test]
fn a_reader_is_not_starved_by_writing_back() {
    let _alone = alone();
    let setup = setup().with_stage("iops", "operations", 2000.0, json!({}));
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

    let read = thread::scope(|scope| {
        let busy = load(&other, 2, true);
        scope.spawn(move || busy.run(Duration::from_millis(1500), Duration::from_millis(1500)));
        load(&path, 4, false).run(Duration::from_secs(1), Duration::from_millis(1500))
    });
    let lines = lines_within(&gate, read.during_s);
    let sum = |key: &str| lines.iter().map(|line| line[key].as_f64().unwrap()).sum::<f64>();
    let (reads, writes) = (sum("read_ops"), sum("write_ops"));

    assert!(writes > 0.2 * (reads + writes), "{writes} writes beside {reads} reads");
    assert!(reads > 0.2 * (reads + writes), "{reads} reads beside {writes} writes");
}

/// A single client waits for the base latency, and what the timer costs is made up for; next to it
/// there is what a request costs on this machine anyway. Judged by the quicker ones: the rest also waits
/// for a processor where this machine has other work.
#[test]
fn a_request_takes_its_base_latency() {
    let _alone = alone();
    let Some((bare_read_s, bare_write_s)) = latencies_s(0.0, 0.0) else { return };
    let (read_s, write_s) = latencies_s(0.002, 0.004).unwrap();

    let read = 0.001_8..0.002_2 + 2.0 * bare_read_s;
    let write = 0.003_8..0.004_2 + 2.0 * bare_write_s;
    assert!(read.contains(&read_s), "a read took {read_s} s, without latency {bare_read_s}");
    assert!(write.contains(&write_s), "a write took {write_s} s, without latency {bare_write_s}");
}

/// What a read and a write take at these base latencies, the slowest of the quicker quarter of them.
fn latencies_s(read: f64, write: f64) -> Option<(f64, f64)> {
    let gate = Setup::new().with("latency_s", json!({"read": read, "write": write})).mount()?;
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

    Some((fastest(false), fastest(true)))
}

/// Credits last as long as the law says on the credit clock, can be granted and drained, and the
/// record tells it all.
#[test]
fn credits_run_out_and_can_be_granted() {
    let _alone = alone();
    // Above the baseline by 40 MB/s: 40 MB of credits last a second.
    let more = json!({"burst": 60e6, "capacity": 40e6 * CLOCK});
    let setup = setup().with_stage("instance", "bytes", 20_000_000.0, more);
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
    let balance = |gate: &Gate| gate.status()["balance"]["instance"].as_f64().unwrap();

    while balance(&gate) > 0.01 {
        load.run(Duration::ZERO, Duration::from_millis(500));
    }
    load.run(Duration::ZERO, Duration::from_millis(700));
    gate.ask(&json!({"ask": "balance", "stage": "instance", "ratio": 1.0}));
    let granted = balance(&gate);
    gate.ask(&json!({"ask": "balance", "stage": "instance", "ratio": 0.0}));
    let drained = balance(&gate);
    gate.stop();

    let record = gate.record();
    let (burst, baseline) = (held_rate(&record, "burst"), held_rate(&record, "baseline"));
    assert!((50e6..66e6).contains(&burst), "burst at {burst}");
    assert!(baseline > 18e6, "baseline at {baseline}");
    assert!(granted > 0.99 && drained < 0.01, "{granted} granted, {drained} drained");
    // Over any time, what was moved is what the baseline gives and what the balance has fallen by; besides
    // that, once, what is in flight and what a machine that stood still catches up with.
    let left = |line: &Value| line["balance"]["instance"].as_f64().unwrap();
    let phase = |above: f64, until: f64| -> Vec<&Value> {
        let lines = record.iter().skip_while(|line| left(line) > above);
        lines.take_while(|line| (until..0.95).contains(&left(line))).collect()
    };
    let moved = |line: &&Value| line["read_bytes"].as_f64().unwrap();
    for (name, lines) in [("falling", phase(0.9, 0.1)), ("baseline", phase(0.01, 0.0))] {
        let lasted_s: f64 = lines[1..].iter().map(|line| dt(line)).sum();
        let fallen = 40e6 * (left(lines[0]) - left(lines[lines.len() - 1]));
        let got = lines[1..].iter().map(moved).sum::<f64>() - 20e6 * lasted_s;
        let once = 20e6 * SLACK_S + (load.clients * load.bytes) as f64;
        assert!(got < fallen + 1.05 * once, "{name}: {got} moved, not {fallen}: {lines:?}");
        if name == "falling" {
            assert!(got > fallen - 1.2 * once, "{name}: {got} moved, not {fallen}: {lines:?}");
        }
    }
}

/// Bytes per second of all lines in which the stage throttled requests throughout, in one phase.
fn held_rate(record: &[Value], phase: &str) -> f64 {
    let is_so = |line: &&Value| {
        line["binding"]["instance"]["phase"] == json!(phase) && held_s(line) > HELD_WHOLE * dt(line)
    };
    let lines: Vec<&Value> = record.iter().filter(is_so).collect();
    let bytes: f64 = lines.iter().map(|line| line["read_bytes"].as_f64().unwrap()).sum();
    bytes / lines.iter().map(|line| dt(line)).sum::<f64>()
}

/// Another class holds from the next request on.
#[test]
fn the_chain_can_be_changed_while_it_runs() {
    let _alone = alone();
    let setup = setup().with_stage("old", "operations", 200.0, json!({}));
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
    load.meets(&gate, 200.0, Duration::from_secs(1));

    let chain = json!([
        {"name": "new", "counts": "operations", "baseline": 900.0, "burst": 900.0, "stripes": 3},
    ]);
    gate.ask(&json!({"ask": "set", "chain": chain, "balance_ratio": null}));

    load.meets(&gate, 2700.0, Duration::from_secs(1));
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
