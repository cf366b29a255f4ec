//! Find which ceiling is tight, and for how long, within one uniform piece of time.
//!
//! Every stage bounds the operations served by time `t` with two lines: `burst·t`, and
//! `balance + baseline·t`. The chain allows their lower envelope.

/// `start + rate·t`, in operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub start: f64,
    pub rate: f64,
    pub stage: usize,
    pub is_burst: bool,
}

impl Line {
    fn at(&self, t: f64) -> f64 {
        self.start + self.rate * t
    }
}

/// Seconds in which a stage was tight, at its burst rate and at its baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tight {
    pub burst_s: f64,
    pub baseline_s: f64,
}

/// Return the part of `[0, end]` in which the envelope is at or above `waiting + rate·t`: demand is met.
///
/// The envelope is concave, so this is one interval, possibly empty (`from > to`).
pub(crate) fn met(lines: &[Line], waiting: f64, rate: f64, end: f64) -> (f64, f64) {
    let (mut from, mut to) = (0.0_f64, end);
    for line in lines {
        let missing = waiting - line.start;
        let gain = line.rate - rate;
        if gain > 0.0 {
            from = from.max(missing / gain);
        } else if gain < 0.0 {
            to = to.min(missing / gain);
        } else if missing > 0.0 {
            return (end, 0.0);
        }
    }
    (from, to)
}

/// Add to each stage the seconds of `[from, to]` in which one of its lines is the lowest.
pub(crate) fn add_tight(lines: &[Line], from: f64, to: f64, tight: &mut [Tight]) {
    let Some(mut lowest) = lowest_at(lines, from) else { return };
    let mut t = from;
    while t < to {
        let (next_t, next) = next_crossing(lines, lowest, t, to);
        let seconds = next_t - t;
        let stage = &mut tight[lowest.stage];
        if lowest.is_burst {
            stage.burst_s += seconds;
        } else {
            stage.baseline_s += seconds;
        }
        let Some(line) = next else { return };
        (t, lowest) = (next_t, line);
    }
}

/// Return the lowest line at `t`; the first of equal ones. A slower equal one takes over at once.
fn lowest_at(lines: &[Line], t: f64) -> Option<Line> {
    let mut lowest: Option<(f64, Line)> = None;
    for line in lines {
        let height = line.at(t);
        if lowest.is_none_or(|(least, _)| height < least) {
            lowest = Some((height, *line));
        }
    }
    lowest.map(|(_, line)| line)
}

/// Return when a slower line first crosses below `lowest` in `(t, to)`, and which one; else the end.
fn next_crossing(lines: &[Line], lowest: Line, t: f64, to: f64) -> (f64, Option<Line>) {
    let mut next = (to, None);
    let mut next_rate = f64::INFINITY;
    for line in lines.iter().filter(|line| line.rate < lowest.rate) {
        let crossing = ((line.start - lowest.start) / (lowest.rate - line.rate)).max(t);
        if crossing < next.0 || (crossing == next.0 && next.1.is_some() && line.rate < next_rate) {
            next = (crossing, Some(*line));
            next_rate = line.rate;
        }
    }
    next
}
