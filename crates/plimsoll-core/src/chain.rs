//! Ceilings in series that the same requests meet.
//!
//! Rule 1: only this file decides what a request costs at a ceiling.
//! Rule 2: this file says which ceiling binds at a given I/O size; it never changes a balance.
//!
//! A request of `s` bytes costs `s` credits if bytes are counted. If operations are counted, the
//! accounting unit `u` decides: a request larger than `u` counts as several operations, and small
//! sequential requests are merged up to `u` (eight of 32 KiB are one of 256 KiB). The I/O size couples
//! ceilings on bytes with ceilings on operations: below the knee operations bind, above it bytes do.
//!
//! Source of the accounting rule: EBS user guide, "Amazon EBS I/O characteristics and monitoring".

use crate::bucket::Bucket;
use crate::units::{BytesPerS, IoSize, OpsPerS};

/// What a ceiling charges for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Account {
    /// A request costs its bytes.
    Bytes,
    /// A request costs operations.
    Ops {
        /// Largest request that is one operation, in bytes; infinite where size does not matter.
        unit_bytes: f64,
        /// Share 0–1 of the requests that are small, sequential and merged up to the unit.
        sequential_ratio: f64,
    },
}

impl Account {
    /// Every request is one operation, whatever its size.
    pub const REQUESTS: Self = Self::Ops { unit_bytes: f64::INFINITY, sequential_ratio: 0.0 };

    /// Return the credits for one request of exactly `bytes`, as an operation without merging.
    #[must_use]
    pub fn cost_of_request(&self, bytes: f64) -> f64 {
        match *self {
            Self::Bytes => bytes,
            Self::Ops { unit_bytes, .. } => (bytes / unit_bytes).ceil().max(1.0),
        }
    }

    /// Return the credits for one request of exactly `bytes` that starts where the last one ended.
    ///
    /// Such requests are merged up to the unit, and each pays its share of the merged operations.
    /// If the size does not matter, nothing is merged.
    #[must_use]
    pub fn cost_of_continuation(&self, bytes: f64) -> f64 {
        match *self {
            Self::Ops { unit_bytes, .. } if unit_bytes.is_finite() => bytes / unit_bytes,
            _ => self.cost_of_request(bytes),
        }
    }

    /// Return the mean credits per request of a flow whose requests have `mean_bytes` on average.
    ///
    /// Only the mean is known, so a request above the unit counts as `mean / unit`: requests of
    /// mixed sizes do not round up together. It is exact at and below the unit and at its
    /// multiples, and at most one operation too low in between.
    #[must_use]
    pub fn cost_per_op(&self, mean_bytes: f64) -> f64 {
        match *self {
            Self::Bytes => mean_bytes,
            Self::Ops { unit_bytes, sequential_ratio } => {
                let units = mean_bytes / unit_bytes;
                (1.0 - sequential_ratio) * units.max(1.0) + sequential_ratio * units
            }
        }
    }
}

/// One ceiling of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The bucket of one volume, or of the instance.
    pub bucket: Bucket,
    /// What it counts.
    pub account: Account,
    /// Volumes the requests are spread over evenly, each with such a bucket; ≥ 1.
    pub stripes: f64,
}

/// Which rate of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The rate that is sustainable forever.
    Baseline,
    /// The rate while credits last.
    Burst,
}

/// The rates that a chain allows at one I/O size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Most operations per second.
    pub ops: OpsPerS,
    /// The same in bytes per second.
    pub bytes: BytesPerS,
    /// Index of the stage that sets them; the first one if several agree.
    pub stage: usize,
}

impl Stage {
    /// Return the credits that one operation of a flow takes from each stripe.
    #[must_use]
    pub fn cost_per_op(&self, mean_bytes: f64) -> f64 {
        self.account.cost_per_op(mean_bytes) / self.stripes
    }

    /// Return the most operations of this size per second.
    #[must_use]
    pub fn ceiling(&self, size: IoSize, phase: Phase) -> OpsPerS {
        let rate = match phase {
            Phase::Baseline => self.bucket.baseline,
            Phase::Burst if self.bucket.has_credits() => self.bucket.burst,
            Phase::Burst => self.bucket.baseline,
        };
        OpsPerS(rate / self.cost_per_op(size.0))
    }
}

/// Return what the chain allows at this I/O size, and which stage binds; `None` for an empty chain.
#[must_use]
pub fn ceiling_at(chain: &[Stage], size: IoSize, phase: Phase) -> Option<Passage> {
    passage(chain, size, phase, None)
}

/// Return what would bind next: the lowest ceiling without the stage that binds now.
#[must_use]
pub fn next_binding(chain: &[Stage], size: IoSize, phase: Phase) -> Option<Passage> {
    let now = ceiling_at(chain, size, phase)?;
    passage(chain, size, phase, Some(now.stage))
}

/// Results of [`ceiling_at`] and [`next_binding`] over I/O sizes, one entry per size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Most operations per second; infinite without any stage.
    pub ops_per_s: Vec<f64>,
    /// The same in bytes per second.
    pub bytes_per_s: Vec<f64>,
    /// Index of the stage that binds; −1 without any.
    pub stage: Vec<i16>,
    /// Operations per second without that stage; infinite if nothing else binds.
    pub next_ops_per_s: Vec<f64>,
    /// Index of the stage that binds then; −1 if none does.
    pub next_stage: Vec<i16>,
}

/// Return what the chain allows at each of these mean I/O sizes, in bytes.
#[must_use]
pub fn curve(chain: &[Stage], io_size_bytes: &[f64], phase: Phase) -> Curve {
    let mut curve = Curve::default();
    let ops_of = |passage: Option<Passage>| passage.map_or(f64::INFINITY, |p| p.ops.0);
    let index_of = |passage: Option<Passage>| passage.map_or(-1, |p| p.stage as i16);
    for &size in io_size_bytes {
        let now = ceiling_at(chain, IoSize(size), phase);
        let next = next_binding(chain, IoSize(size), phase);
        curve.ops_per_s.push(ops_of(now));
        curve.bytes_per_s.push(now.map_or(f64::INFINITY, |p| p.bytes.0));
        curve.stage.push(index_of(now));
        curve.next_ops_per_s.push(ops_of(next));
        curve.next_stage.push(index_of(next));
    }
    curve
}

/// Return the I/O size at which a ceiling on bytes and a ceiling on operations allow the same rate.
///
/// Below it operations bind, above it bytes do. It ignores the accounting unit, so it holds for
/// knees at or below the unit; above, the byte ceiling cannot be reached without merging.
#[must_use]
pub fn knee(bytes: BytesPerS, ops: OpsPerS) -> IoSize {
    bytes / ops
}

fn passage(chain: &[Stage], size: IoSize, phase: Phase, lifted: Option<usize>) -> Option<Passage> {
    let mut lowest: Option<(OpsPerS, usize)> = None;
    for (index, stage) in chain.iter().enumerate() {
        let ops = stage.ceiling(size, phase);
        if Some(index) != lifted && lowest.is_none_or(|(least, _)| ops < least) {
            lowest = Some((ops, index));
        }
    }
    lowest.map(|(ops, stage)| Passage { ops, bytes: ops * size, stage })
}
