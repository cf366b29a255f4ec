//! What several tests of the law need.

use plimsoll_core::bucket::Bucket;

/// A ceiling without credits: `rate` now and forever.
pub fn without_credits(rate: f64) -> Bucket {
    Bucket { baseline: rate, burst: rate, capacity: 0.0 }
}
