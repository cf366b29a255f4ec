//! Helpers for several tests of the law.

use plimsoll_core::bucket::Bucket;

/// Return a ceiling without credits: `rate` at all times.
pub fn without_credits(rate: f64) -> Bucket {
    Bucket { baseline: rate, burst: rate, capacity: 0.0 }
}
