//! Write the record, a line for each interval, and keep the rates of the last second.
//!
//! An interval is a second, or an emulated minute if that is shorter. A line is written in one piece, so
//! that a reader sees whole lines; only a crash can cut the last one.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::clock::Clock;
use crate::counters::{Counters, Totals};
use crate::park::Park;
use crate::pruner::Pruner;
use crate::throttle::Bound;

const EMULATED_MINUTE_S: f64 = 60.0;
const INTERVAL_S_MAX: f64 = 1.0;

/// How long programs waited for a processor (Linux, accounting/psi.rst: 4.20 and later, unless it is
/// disabled).
const PRESSURE: &str = "/proc/pressure/cpu";

/// A line that covers less than this has no information, and is left out at the end.
const INTERVAL_S_MIN: f64 = 0.001;

/// How long a stage made requests wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Binding {
    /// Seconds of the interval.
    pub seconds: f64,
    /// Its rate for most of that time: `baseline`, `burst`, or `fixed` without credits.
    pub phase: &'static str,
    /// Seconds of the interval in which it had nothing to serve, beyond the slack.
    pub idle_s: f64,
}

/// One line of the record. [`Totals`] explains the counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// End of the interval, seconds since 1970.
    pub t: f64,
    /// Length of the interval, in seconds.
    pub dt: f64,
    read_ops: u64,
    write_ops: u64,
    read_bytes: u64,
    write_bytes: u64,
    read_wait_s_sum: f64,
    write_wait_s_sum: f64,
    queue_depth: f64,
    balance: BTreeMap<String, Option<f64>>,
    /// By stage, without those that made no request wait.
    pub binding: BTreeMap<String, Binding>,
    late_ops: u64,
    late_s_max: f64,
    late_s_sum: f64,
    stall_s_max: f64,
    stall_s_sum: f64,
    /// How long some program of this machine waited for a processor; none if the kernel does not say.
    cpu_wait_s: Option<f64>,
    fsyncs: u64,
    /// Page cache of the mount, as the ledger counts it; none without a bound.
    cache_bytes: Option<u64>,
}

/// The rates of the last second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastSecond {
    /// Sums over it.
    pub totals: Totals,
    /// Its length in seconds; shorter at the start.
    pub length_s: f64,
    /// The stage that made requests wait for longest, and its rate.
    pub binding: Option<(String, &'static str)>,
}

#[derive(Debug)]
struct State {
    file: File,
    recent: VecDeque<(Line, Totals)>,
    taken_s: f64,
    /// How long some program has waited for a processor so far.
    cpu_waited_s: Option<f64>,
    is_over: bool,
}

/// The source and the destination of the lines.
#[derive(Debug)]
pub struct Recorder {
    clock: Clock,
    counters: Arc<Counters>,
    park: Arc<Park>,
    pruner: Arc<Pruner>,
    interval_s: f64,
    state: Mutex<State>,
    woken: Condvar,
}

impl Recorder {
    /// Start a record at a credit clock.
    #[must_use]
    pub fn new(
        file: File,
        credit_clock: f64,
        clock: Clock,
        counters: Arc<Counters>,
        park: Arc<Park>,
        pruner: Arc<Pruner>,
    ) -> Self {
        let taken_s = clock.now_s();
        let waited_s = std::fs::read_to_string(PRESSURE).ok().and_then(|text| waited_s_in(&text));
        let recent = VecDeque::new();
        let state = State { file, recent, taken_s, cpu_waited_s: waited_s, is_over: false };
        let interval_s = INTERVAL_S_MAX.min(EMULATED_MINUTE_S / credit_clock);
        let (state, woken) = (Mutex::new(state), Condvar::new());
        Self { clock, counters, park, pruner, interval_s, state, woken }
    }

    /// Write lines until [`Recorder::end`] is called.
    pub fn run(&self) {
        let mut state = self.lock();
        let mut next_s = state.taken_s + self.interval_s;
        while !state.is_over {
            let left_s = next_s - self.clock.now_s();
            if left_s > 0.0 {
                let waited = self.woken.wait_timeout(state, Duration::from_secs_f64(left_s));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            self.write(&mut state);
            // If the machine slept, skip intervals instead of catching up.
            next_s = (next_s + self.interval_s).max(self.clock.now_s());
        }
    }

    /// Write the last line.
    pub fn end(&self) {
        let mut state = self.lock();
        if !state.is_over {
            state.is_over = true;
            if self.clock.now_s() - state.taken_s >= INTERVAL_S_MIN {
                self.write(&mut state);
            }
        }
        self.woken.notify_all();
    }

    /// Return the rates of the last second, as far as recorded.
    #[must_use]
    pub fn last_second(&self) -> LastSecond {
        let state = self.lock();
        let mut last = LastSecond::default();
        let mut bound: BTreeMap<&str, (f64, &'static str)> = BTreeMap::new();
        for (line, totals) in &state.recent {
            last.totals = last.totals.and(totals);
            last.length_s += line.dt;
            for (stage, binding) in &line.binding {
                let of_stage = bound.entry(stage).or_insert((0.0, binding.phase));
                *of_stage = (of_stage.0 + binding.seconds, binding.phase);
            }
        }
        let longest = bound.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        last.binding = longest.map(|(stage, (_, phase))| (stage.to_owned(), phase));
        last
    }

    fn write(&self, state: &mut State) {
        let now_s = self.clock.now_s();
        let dt = now_s - state.taken_s;
        state.taken_s = now_s;
        let totals = self.counters.take(now_s);
        let waited_s = std::fs::read_to_string(PRESSURE).ok().and_then(|text| waited_s_in(&text));
        let cpu_wait_s = waited_s.zip(state.cpu_waited_s).map(|(now, before)| now - before);
        state.cpu_waited_s = waited_s;
        let line = self.line(now_s, dt, &totals, cpu_wait_s);
        if let Ok(mut text) = serde_json::to_vec(&line) {
            text.push(b'\n');
            // A full disk must not stop the gate; the gap in the record shows.
            let _ = state.file.write_all(&text);
        }
        state.recent.push_back((line, totals));
        let mut covered_s = state.recent.iter().map(|(line, _)| line.dt).sum::<f64>();
        while let Some((oldest, _)) = state.recent.front() {
            covered_s -= oldest.dt;
            // Timers round: nine tenths of a second count as one.
            if covered_s < 0.9 * INTERVAL_S_MAX {
                break;
            }
            state.recent.pop_front();
        }
    }

    fn line(&self, now_s: f64, dt: f64, totals: &Totals, cpu_wait_s: Option<f64>) -> Line {
        Line {
            t: self.clock.epoch_s(now_s),
            dt,
            read_ops: totals.read_ops,
            write_ops: totals.write_ops,
            read_bytes: totals.read_bytes,
            write_bytes: totals.write_bytes,
            read_wait_s_sum: totals.read_wait_s,
            write_wait_s_sum: totals.write_wait_s,
            queue_depth: totals.depth_s / dt,
            balance: self.park.balances().into_iter().collect(),
            binding: binding_of(self.park.take_bound()),
            late_ops: totals.late_ops,
            late_s_max: totals.late_s_max,
            late_s_sum: totals.late_s,
            stall_s_max: totals.stall_s_max,
            stall_s_sum: totals.stall_s,
            cpu_wait_s: cpu_wait_s.map(|waited_s| waited_s.min(dt)),
            fsyncs: totals.fsyncs,
            cache_bytes: self.pruner.with(|ledger| ledger.held_bytes()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Return the seconds in the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=123` (microseconds).
fn waited_s_in(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<f64>().ok().map(|microseconds| microseconds / 1e6)
}

/// Return the stages that made requests wait, each with whether it has credits.
fn binding_of(bound: Vec<(String, bool, Bound)>) -> BTreeMap<String, Binding> {
    let waited = bound.into_iter().filter(|(_, _, bound)| bound.burst_s + bound.baseline_s > 0.0);
    waited
        .map(|(name, has_credits, bound)| {
            let phase = match has_credits {
                false => "fixed",
                true if bound.burst_s > bound.baseline_s => "burst",
                true => "baseline",
            };
            let seconds = bound.burst_s + bound.baseline_s;
            (name, Binding { seconds, phase, idle_s: bound.idle_s })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time in which some program waited counts, not that in which all did.
    #[test]
    fn waiting_for_a_processor_is_read() {
        let text = "some avg10=5.53 avg60=4.21 avg300=3.56 total=6710471088\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

        assert_eq!(Some(6_710.471_088), waited_s_in(text));
        assert_eq!(None, waited_s_in("nothing"));
    }

    /// The phase is the one that lasted longer; a ceiling without credits has only one.
    #[test]
    fn a_binding_stage_tells_its_phase() {
        let bound = |burst_s, baseline_s| Bound { burst_s, baseline_s, idle_s: 0.0 };
        let found = binding_of(vec![
            ("a".into(), true, bound(0.25, 0.5)),
            ("b".into(), true, bound(0.5, 0.25)),
            ("c".into(), false, bound(0.0, 0.5)),
            ("d".into(), true, bound(0.0, 0.0)),
        ]);

        let phases: Vec<_> =
            found.iter().map(|(name, b)| (&name[..], b.phase, b.seconds)).collect();
        assert_eq!(
            vec![("a", "baseline", 0.75), ("b", "burst", 0.75), ("c", "fixed", 0.5)],
            phases
        );
    }
}
