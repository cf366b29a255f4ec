//! Read the clock, and measure how late this machine wakes a sleeping thread.
//!
//! Rule 1: only this file reads a clock; it passes on seconds since the gate started.

use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Number and length of the sleeps whose error is measured.
const MEASURED_SLEEPS: usize = 31;
const MEASURED_SLEEP: Duration = Duration::from_micros(300);

/// The largest plausible error. More than this means that the machine was busy at that moment, not that
/// its timers are slow.
const TIMER_ERROR_S_MAX: f64 = 0.000_2;

/// A clock that starts at zero, never steps back, and knows the time of day of its zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begun: Instant,
    begun_epoch_s: f64,
}

impl Clock {
    /// Return a clock that starts now.
    #[must_use]
    pub fn begin() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { begun: Instant::now(), begun_epoch_s: epoch.as_secs_f64() }
    }

    /// Return the seconds since it started.
    #[must_use]
    pub fn now_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Convert a moment of this clock to seconds since 1970.
    #[must_use]
    pub fn epoch_s(&self, at_s: f64) -> f64 {
        self.begun_epoch_s + at_s
    }
}

/// Make the kernel wake the calling thread as exactly as it can.
///
/// By default it may wake a thread 50 µs late, to wake several at once (prctl(2), PR_SET_TIMERSLACK).
pub fn wake_exactly() {
    // If this fails, base latencies are about 50 µs longer, nothing else.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Return how much later than requested a sleeping thread continues, in seconds: the median of some sleeps.
#[must_use]
pub fn measure_timer_error_s() -> f64 {
    wake_exactly();
    let (lock, never) = (Mutex::new(()), Condvar::new());
    let mut errors_s: Vec<f64> = (0..MEASURED_SLEEPS)
        .map(|_| {
            let begun = Instant::now();
            let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
            drop(never.wait_timeout(guard, MEASURED_SLEEP));
            (begun.elapsed().as_secs_f64() - MEASURED_SLEEP.as_secs_f64()).max(0.0)
        })
        .collect();
    errors_s.sort_by(f64::total_cmp);
    errors_s[MEASURED_SLEEPS / 2].min(TIMER_ERROR_S_MAX)
}
