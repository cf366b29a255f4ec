//! Time, and how late this machine wakes who sleeps.
//!
//! Rule 1: a clock is read in this file, and handed on as seconds since the gate began.

use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Sleeps whose error is measured, and how long each of them is meant to last.
const MEASURED_SLEEPS: usize = 31;
const MEASURED_SLEEP: Duration = Duration::from_micros(300);

/// The most that is believed of a measured error. Anything above is a machine that was busy at
/// that moment, and not what its timers cost.
const TIMER_ERROR_S_MAX: f64 = 0.000_2;

/// A clock that begins at zero, never steps back, and knows which moment zero was.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begun: Instant,
    begun_epoch_s: f64,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn begin() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { begun: Instant::now(), begun_epoch_s: epoch.as_secs_f64() }
    }

    /// Seconds since it began.
    #[must_use]
    pub fn now_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// A moment of this clock as seconds since 1970.
    #[must_use]
    pub fn epoch_s(&self, at_s: f64) -> f64 {
        self.begun_epoch_s + at_s
    }
}

/// Let the calling thread be woken as exactly as the kernel can.
///
/// By default the kernel may wake a thread 50 µs late so as to wake several at once.
pub fn wake_exactly() {
    // Without it base latencies are some 50 µs longer, nothing else.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// How much later than asked a sleeping thread goes on, in seconds: the median of some sleeps.
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
