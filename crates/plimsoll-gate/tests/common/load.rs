//! Clients that ask without end, and what the gate's record says of the same moments.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{Aligned, Gate};

/// Largest distance between a rate and its ceiling.
const TOLERANCE: f64 = 0.02;

/// Idle time that is not lost, as the gates here are configured.
pub const SLACK_S: f64 = 0.05;

/// How often a rate may be measured before it counts as missed: other work on the machine takes time
/// away.
pub const ATTEMPTS: usize = 3;

/// Share of the time for which a limit must have throttled requests, so that it was tested at all; and the
/// share from which on there is nothing to make allowance for.
pub const HELD_MIN: f64 = 0.5;
pub const HELD_WHOLE: f64 = 0.99;

/// Open a file to read and write.
pub fn open(path: &Path, flags: i32) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}

fn epoch_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// The lines of a record that lie within a time, once it has been written down.
pub fn lines_within(gate: &Gate, (from_s, to_s): (f64, f64)) -> Vec<Value> {
    let at = |line: &Value| line["t"].as_f64().unwrap();
    loop {
        let lines = gate.record();
        if lines.last().is_some_and(|line| at(line) >= to_s) {
            let is_within = |line: &Value| at(line) - dt(line) >= from_s && at(line) <= to_s;
            return lines.into_iter().filter(is_within).collect();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Length of a line in seconds.
pub fn dt(line: &Value) -> f64 {
    line["dt"].as_f64().unwrap()
}

/// Seconds of a line for which a stage throttled requests, the longest of all stages.
pub fn held_s(line: &Value) -> f64 {
    let stages = line["binding"].as_object().unwrap().values();
    stages.map(|bound| bound["seconds"].as_f64().unwrap()).fold(0.0, f64::max)
}

/// The share of these lines for which a limit throttled requests.
pub fn held_ratio(lines: &[Value]) -> f64 {
    lines.iter().map(held_s).sum::<f64>() / lines.iter().map(dt).sum::<f64>()
}

/// What clients got.
#[derive(Clone, Copy, Debug)]
pub struct Got {
    /// Requests completed per second.
    pub per_s: f64,
    /// Mean seconds of a request.
    pub latency_s: f64,
    /// From when to when, in seconds since 1970.
    pub during_s: (f64, f64),
}

/// What clients do, each in a thread of its own: requests of one size at places of their own.
pub struct Load<'a> {
    /// The file they work on.
    pub path: &'a Path,
    /// How many they are.
    pub clients: usize,
    /// Bytes of a request.
    pub bytes: usize,
    /// Whether they write.
    pub is_write: bool,
    /// Whether no request continues another one.
    pub is_random: bool,
    /// How they open it.
    pub flags: i32,
}

impl Load<'_> {
    /// What they get over a time.
    pub fn run(&self, warm: Duration, length: Duration) -> Got {
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
            let (begun, began_s) = (Instant::now(), epoch_s());
            thread::sleep(length);
            counted.store(false, Ordering::Relaxed);
            let passed = begun.elapsed().as_secs_f64();
            done.store(true, Ordering::Relaxed);
            let count = requests.load(Ordering::Relaxed) as f64;
            let latency_s = waited_ns.load(Ordering::Relaxed) as f64 / 1e9 / count.max(1.0);
            Got { per_s: count / passed, latency_s, during_s: (began_s, began_s + passed) }
        })
    }

    /// That the rate is this one over a time. It may be off by what a machine that stalls catches
    /// up with, which is the slack, but never by more; and mostly it is not. Where it is every time,
    /// the rate is that of the time in which a limit throttled requests.
    pub fn meets(&self, gate: &Gate, rate: f64, length: Duration) {
        let most = rate * (1.0 + SLACK_S / length.as_secs_f64() + TOLERANCE);
        let mut found = Vec::new();
        for _ in 0..ATTEMPTS {
            let got = self.run(Duration::from_millis(200), length);
            let held = held_ratio(&lines_within(gate, got.during_s));
            found.push((got.per_s, held));
            assert!(got.per_s < most, "{found:?} per second and share held, not {rate}");
            if (got.per_s / rate - 1.0).abs() < TOLERANCE {
                return;
            }
        }
        let is_right = |&(per_s, held): &(f64, f64)| {
            (HELD_MIN..HELD_WHOLE).contains(&held) && per_s >= rate * held * (1.0 - TOLERANCE)
        };
        assert!(found.iter().any(is_right), "{found:?} per second and share held, not {rate}");
    }
}
