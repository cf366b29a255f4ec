//! Count the completed requests.
//!
//! Operations are those that the device gets ([`crate::pieces`]). A request of several operations counts
//! its time once for each of them. So time divided by operations is their mean latency, and the sum of
//! times divided by the elapsed time is the mean queue depth (Little's law).

use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation counts as late from this delay on. Shorter delays come from schedulers, and are below the
/// latency of any storage type.
pub const LATE_FROM_S: f64 = 0.001;

/// Sums over a length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Operations that read.
    pub read_ops: u64,
    /// Operations that write, flushes that are charged included.
    pub write_ops: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Seconds from arrival to reply, summed over reads.
    pub read_wait_s: f64,
    /// The same over writes.
    pub write_wait_s: f64,
    /// Integral of the operations in flight over time, in seconds.
    pub depth_s: f64,
    /// Flushes carried out.
    pub fsyncs: u64,
    /// Operations whose I/O ended later than on the emulated disk, by [`LATE_FROM_S`] or more.
    pub late_ops: u64,
    /// The longest of these delays.
    pub late_s_max: f64,
    /// Sum of these delays over the operations. Divided by the sum of waits it is the share of waiting
    /// that the real disk caused.
    pub late_s: f64,
    /// Longest delay of a reply after it was due, because this machine was busy.
    pub stall_s_max: f64,
    /// Sum of such delays of [`LATE_FROM_S`] or more, over the operations.
    pub stall_s: f64,
}

/// One finished request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Operations it made.
    pub ops: u64,
    /// Bytes it moved.
    pub bytes: u64,
    /// Whether it wrote.
    pub is_write: bool,
    /// Time from its arrival to its reply.
    pub wait_s: f64,
    /// Delay of its I/O behind the emulated disk; ≤ 0 for none.
    pub late_s: f64,
    /// Delay of its reply after it was due.
    pub stall_s: f64,
}

#[derive(Debug, Default)]
struct Counts {
    now: Totals,
    before: Totals,
    in_flight: u64,
    counted_s: f64,
}

/// Counts that several threads update.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Mutex<Counts>,
}

impl Totals {
    /// Return the operations of both kinds.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.read_ops + self.write_ops
    }

    /// Return the sums over both intervals.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            read_ops: self.read_ops + other.read_ops,
            write_ops: self.write_ops + other.write_ops,
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            read_wait_s: self.read_wait_s + other.read_wait_s,
            write_wait_s: self.write_wait_s + other.write_wait_s,
            depth_s: self.depth_s + other.depth_s,
            fsyncs: self.fsyncs + other.fsyncs,
            late_ops: self.late_ops + other.late_ops,
            late_s_max: self.late_s_max.max(other.late_s_max),
            late_s: self.late_s + other.late_s,
            stall_s_max: self.stall_s_max.max(other.stall_s_max),
            stall_s: self.stall_s + other.stall_s,
        }
    }
}

impl Counters {
    /// Count a request that arrived at `arrived_s` as in flight.
    pub fn begin(&self, now_s: f64, arrived_s: f64, ops: u64) {
        let mut counts = self.at(now_s);
        counts.now.depth_s += ops as f64 * (now_s - arrived_s).max(0.0);
        counts.in_flight += ops;
    }

    /// Count a request as finished.
    pub fn finish(&self, now_s: f64, finished: &Finished) {
        let mut counts = self.at(now_s);
        counts.in_flight = counts.in_flight.saturating_sub(finished.ops);
        counts.now.add(finished);
    }

    /// Count a flush.
    pub fn flushed(&self, now_s: f64) {
        self.at(now_s).now.fsyncs += 1;
    }

    /// Return the operations in flight.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).in_flight
    }

    /// Return the sums since the last call.
    pub fn take(&self, now_s: f64) -> Totals {
        let mut counts = self.at(now_s);
        counts.before = counts.before.and(&counts.now.clone());
        std::mem::take(&mut counts.now)
    }

    /// Return the sums since the start.
    #[must_use]
    pub fn all(&self, now_s: f64) -> Totals {
        let counts = self.at(now_s);
        counts.before.and(&counts.now)
    }

    /// Return the counts, with the depth integrated until now.
    fn at(&self, now_s: f64) -> MutexGuard<'_, Counts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let passed_s = now_s - counts.counted_s;
        if passed_s > 0.0 {
            counts.now.depth_s += counts.in_flight as f64 * passed_s;
            counts.counted_s = now_s;
        }
        counts
    }
}

impl Totals {
    fn add(&mut self, finished: &Finished) {
        let wait_s = finished.wait_s * finished.ops as f64;
        if finished.is_write {
            self.write_ops += finished.ops;
            self.write_bytes += finished.bytes;
            self.write_wait_s += wait_s;
        } else {
            self.read_ops += finished.ops;
            self.read_bytes += finished.bytes;
            self.read_wait_s += wait_s;
        }
        if finished.late_s >= LATE_FROM_S {
            self.late_ops += finished.ops;
            self.late_s_max = self.late_s_max.max(finished.late_s);
            self.late_s += finished.late_s * finished.ops as f64;
        }
        self.stall_s_max = self.stall_s_max.max(finished.stall_s);
        if finished.stall_s >= LATE_FROM_S {
            self.stall_s += finished.stall_s * finished.ops as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ops: u64, wait_s: f64, late_s: f64) -> Finished {
        Finished { ops, bytes: 8192 * ops, is_write: false, wait_s, late_s, stall_s: 0.0 }
    }

    /// Two operations in flight for a second are a depth of two, also across two intervals.
    #[test]
    fn depth_is_integrated_over_time() {
        let counters = Counters::default();
        counters.begin(10.0, 10.0, 2);

        let first = counters.take(10.5);
        counters.finish(11.0, &read(2, 1.0, 0.0));
        let second = counters.take(12.0);

        assert_eq!((1.0, 0, 0.0), (first.depth_s, first.read_ops, first.read_wait_s));
        assert_eq!((1.0, 2, 2.0), (second.depth_s, second.read_ops, second.read_wait_s));
        assert_eq!(0, counters.in_flight());
        assert_eq!((2.0, 16_384), (counters.all(12.0).depth_s, counters.all(12.0).read_bytes));
    }

    /// What the I/O itself took counts from the arrival on.
    #[test]
    fn a_request_counts_from_its_arrival() {
        let counters = Counters::default();
        counters.begin(3.0, 2.75, 1);
        counters.finish(3.25, &read(1, 0.5, 0.0));

        assert_eq!(0.5, counters.take(4.0).depth_s);
    }

    /// A reply that left after it was due counts, unless that is the doing of schedulers.
    #[test]
    fn stalls_are_counted_by_operation() {
        let counters = Counters::default();
        for stall_s in [LATE_FROM_S / 2.0, 0.25] {
            counters.begin(1.0, 1.0, 4);
            counters.finish(1.0, &Finished { stall_s, ..read(4, 0.5, 0.0) });
        }

        let totals = counters.take(2.0);
        assert_eq!((1.0, 0.25, 0), (totals.stall_s, totals.stall_s_max, totals.late_ops));
        assert_eq!(2.0, totals.and(&totals).stall_s);
    }

    /// Late is what the emulated disk would have finished before; the longest delay is kept.
    #[test]
    fn lateness_is_counted_by_operation() {
        let counters = Counters::default();
        for late_s in [LATE_FROM_S / 2.0, -1.0, 0.25, 0.125] {
            counters.begin(1.0, 1.0, 4);
            counters.finish(1.0, &read(4, 0.0, late_s));
        }

        let totals = counters.take(2.0);
        assert_eq!((16, 8, 0.25), (totals.ops(), totals.late_ops, totals.late_s_max));
        assert_eq!(4.0 * (0.25 + 0.125), totals.late_s);
        assert_eq!(2.0 * totals.late_s, totals.and(&totals).late_s);
    }
}
