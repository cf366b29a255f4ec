//! The credit bucket.
//!
//! Rule 1: every change of a balance happens in this file.
//! Rule 2: this file knows no cloud, no metric and no clock; a step has a length, not a date.
//! Rule 3: a formula here is written once, for one number and for a vector of them ([`Lane`]).
//!
//! Credits arrive at `baseline`, leave as they are served, and stop arriving at `capacity`. Work is
//! served at up to `burst` while credits last, and at `baseline` when they are spent. One credit
//! pays for one unit that the bucket counts: a byte or an operation. A ceiling without credits is a
//! bucket with `burst == baseline` and `capacity == 0`.
//!
//! # Why a whole piece of time can be settled at once
//!
//! Take a piece of time of length `dt` in which all work costs the same and demand arrives at one
//! rate `d`, after an amount `q ≥ 0` that is already waiting. Serving as early as possible, the
//! work served by time `t` is
//!
//! ```text
//! S(t) = min( q + d·t,  burst·t,  b + baseline·t )
//! ```
//!
//! over all buckets in series (greedy shaping under concave constraints: J.-Y. Le Boudec and
//! P. Thiran, *Network Calculus*, chapter 1.5). Each term is a straight line that starts at or
//! above zero, so `S` is concave: the rate of service never rises within the piece. A balance
//! therefore falls first and rises afterwards, if it does both. It follows that
//! - a bucket that fills up stays full until the end of the piece, so clamping once, at the end,
//!   loses exactly the credits that clamping at every moment would lose;
//! - a bucket whose balance rises serves below its baseline from then on, so it cannot bind again
//!   in this piece, and the line `b + baseline·t` need not know the capacity.
//!
//! [`allowance`] and [`balance_after`] are thus exact for such a piece, however long it is.

use crate::lane::Lane;

/// Baseline, burst and capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket<L = f64> {
    /// Rate that is sustainable forever, credits per second; also the refill. ≥ 0.
    pub baseline: L,
    /// Rate while the balance is above zero, credits per second. ≥ baseline, > 0.
    pub burst: L,
    /// Most credits the bucket holds. ≥ 0.
    pub capacity: L,
}

/// Return the most that can be served in the next `dt` seconds from `balance`, in credits.
#[inline(always)]
pub fn allowance<L: Lane>(bucket: &Bucket<L>, balance: L, dt_s: L) -> L {
    (balance + bucket.baseline * dt_s).least(bucket.burst * dt_s)
}

/// Return the balance after `dt` seconds in which `cost` credits were served.
///
/// `cost` is at most the [`allowance`]; the clamp at zero only removes rounding.
#[inline(always)]
pub fn balance_after<L: Lane>(bucket: &Bucket<L>, balance: L, dt_s: L, cost: L) -> L {
    (balance + bucket.baseline * dt_s - cost).least(bucket.capacity).most(balance.splat(0.0))
}

/// Return the shortest time in which work of `cost` credits is served from `balance`, in seconds.
///
/// This is the inverse of [`allowance`]; infinite if the bucket never earns what is missing.
#[inline(always)]
pub fn time_to_serve<L: Lane>(bucket: &Bucket<L>, balance: L, cost: L) -> L {
    ((cost - balance) / bucket.baseline).most(cost / bucket.burst)
}

/// Return the balance after a grant: full.
#[inline(always)]
pub fn balance_granted<L: Lane>(bucket: &Bucket<L>) -> L {
    bucket.capacity
}

/// Return the balance of a bucket filled to this share of its capacity; 0–1, clamped.
#[inline(always)]
pub fn balance_at<L: Lane>(bucket: &Bucket<L>, ratio: L) -> L {
    bucket.capacity * ratio.most(ratio.splat(0.0)).least(ratio.splat(1.0))
}

impl Bucket {
    /// Return whether credits change the rate that can be served.
    #[must_use]
    pub fn has_credits(&self) -> bool {
        self.capacity > 0.0 && self.burst > self.baseline
    }

    /// Return the seconds from `balance` to zero while `rate` is served; infinite if it does not fall.
    #[must_use]
    pub fn time_to_empty_s(&self, balance: f64, rate: f64) -> f64 {
        let falling = rate.min(self.burst) - self.baseline;
        if falling > 0.0 { balance / falling } else { f64::INFINITY }
    }
}
