//! Little's law: requests in a system = rate of completion × time each spends there.
//!
//! Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9 (1961).

use crate::units::{OpsPerS, Seconds};

/// Mean number of requests waiting or in service.
#[must_use]
pub fn depth(rate: OpsPerS, latency: Seconds) -> f64 {
    rate.0 * latency.0
}

/// Mean time a request spends waiting and in service; `None` when nothing completes.
#[must_use]
pub fn latency(depth: f64, rate: OpsPerS) -> Option<Seconds> {
    (rate.0 > 0.0).then(|| Seconds(depth / rate.0))
}

/// Rate of a closed loop of `clients` that each think for `think` between requests: `N / (R + Z)`.
#[must_use]
pub fn closed_loop_rate(clients: f64, latency: Seconds, think: Seconds) -> OpsPerS {
    OpsPerS(clients / (latency.0 + think.0))
}
