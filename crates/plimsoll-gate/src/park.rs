//! Where replies wait for their moment.
//!
//! Rule 1: the I/O of a request is over when it comes here; only its reply waits.
//! Rule 2: one thread sends what is due. Whoever submits wakes it only if its sleep would be too
//! long for the newcomer.
//!
//! The thread asks to be woken a little early, by what the timers of this machine were measured to
//! err, and sends what is due within half of that.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use plimsoll_core::chain::Stage;

use crate::buffers::Buffers;
use crate::clock::{Clock, wake_exactly};
use crate::config::{Chain, LatencyConfig, StageConfig};
use crate::counters::{Counters, Finished};
use crate::pieces::{Layout, operations};
use crate::throttle::{Bound, Done, Facts, Throttle};

/// Replies sent before the lock is taken again.
const BATCH: usize = 64;

/// A reply that can be sent from any thread.
#[derive(Debug)]
pub enum Reply {
    /// What was read: so many bytes of the buffer.
    Data(ReplyData, Vec<u8>, usize),
    /// How much was written.
    Written(ReplyWrite, u32),
    /// It is done.
    Empty(ReplyEmpty),
}

/// A request that has been carried out.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// When it came.
    pub arrived_s: f64,
    /// Whether it writes.
    pub is_write: bool,
    /// Where in the file.
    pub offset: u64,
    /// How much was moved; 0 for a flush.
    pub bytes: u64,
    /// Whether it follows another request of the file.
    pub continues: bool,
    /// Whether the device is charged for it.
    pub is_charged: bool,
}

#[derive(Debug)]
struct Parked {
    reply: Reply,
    ops: u64,
    bytes: u64,
}

#[derive(Debug)]
struct State {
    throttle: Throttle<Parked>,
    chain: Chain,
    layout: Layout,
    is_limited: bool,
    is_over: bool,
    /// Until when the thread sleeps; infinite for as long as nobody wakes it.
    sleeps_until_s: f64,
}

/// The place, shared by all threads.
#[derive(Debug)]
pub struct Park {
    state: Mutex<State>,
    woken: Condvar,
    clock: Clock,
    counters: Arc<Counters>,
    buffers: Arc<Buffers>,
    latency: LatencyConfig,
    timer_error_s: f64,
}

/// What a park is made of.
#[derive(Debug)]
pub struct Plan {
    /// The ceilings.
    pub chain: Chain,
    /// Credits of one stripe, one per stage.
    pub balance: Vec<f64>,
    /// Idle time shorter than this is not lost.
    pub slack_s: f64,
    /// How a file is spread over the volumes.
    pub chunk_bytes: u64,
    /// What a request takes while nothing waits.
    pub latency: LatencyConfig,
    /// False lets everything pass at once.
    pub is_limited: bool,
    /// How late this machine wakes who sleeps.
    pub timer_error_s: f64,
}

impl Park {
    /// An empty place.
    #[must_use]
    pub fn new(plan: Plan, clock: Clock, counters: Arc<Counters>, buffers: Arc<Buffers>) -> Self {
        let volumes = plan.chain.volumes() as u64;
        let stages: Vec<Stage> = plan.chain.stages.clone();
        let state = State {
            throttle: Throttle::new(stages, plan.balance, plan.slack_s),
            chain: plan.chain,
            layout: Layout { volumes, chunk_bytes: plan.chunk_bytes },
            is_limited: plan.is_limited,
            is_over: false,
            sleeps_until_s: f64::NEG_INFINITY,
        };
        let (latency, timer_error_s) = (plan.latency, plan.timer_error_s);
        let (state, woken) = (Mutex::new(state), Condvar::new());
        Self { state, woken, clock, counters, buffers, latency, timer_error_s }
    }

    /// Take a reply, and send it when its moment has come.
    pub fn submit(&self, carried: &Carried, reply: Reply) {
        let mut state = self.lock();
        let now_s = self.clock.now_s();
        let Carried { arrived_s, is_write, offset, bytes, continues, is_charged } = *carried;
        let mut pieces = Vec::new();
        if is_charged {
            pieces = state.layout.pieces(offset, bytes, is_write, continues);
        }
        let ops = if is_charged { operations(&pieces) } else { 0 };
        self.counters.begin(now_s, arrived_s, ops);
        let latency_s = if is_write { self.latency.write } else { self.latency.read };
        let facts = Facts { arrived_s, served_s: now_s, latency_s, is_write };
        let parked = Parked { reply, ops, bytes };
        if !state.is_limited {
            drop(state);
            self.send(Done { facts, deadline_s: now_s, payload: parked });
            return;
        }
        state.throttle.submit(now_s, facts, &pieces, parked);
        let is_urgent = state.throttle.next_s().is_some_and(|next_s| next_s < state.sleeps_until_s);
        if is_urgent {
            state.sleeps_until_s = f64::NEG_INFINITY;
            drop(state);
            self.woken.notify_one();
        }
    }

    /// Send what is due until [`Park::end`] is called.
    pub fn run(&self) {
        wake_exactly();
        let mut due = Vec::with_capacity(BATCH);
        let mut state = self.lock();
        loop {
            let now_s = self.clock.now_s();
            state.throttle.advance(now_s);
            while due.len() < BATCH {
                match state.throttle.take_due(now_s + self.timer_error_s / 2.0) {
                    Some(done) => due.push(done),
                    None => break,
                }
            }
            if due.is_empty() {
                if state.is_over {
                    return;
                }
                state = self.sleep(state, now_s);
            } else {
                drop(state);
                due.drain(..).for_each(|done| self.send(done));
                state = self.lock();
            }
        }
    }

    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, now_s: f64) -> MutexGuard<'a, State> {
        let next_s = state.throttle.next_s().unwrap_or(f64::INFINITY);
        state.sleeps_until_s = next_s;
        let asleep = if next_s.is_finite() {
            let length_s = (next_s - self.timer_error_s - now_s).max(0.0);
            let waited = self.woken.wait_timeout(state, Duration::from_secs_f64(length_s));
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.woken.wait(state).unwrap_or_else(PoisonError::into_inner)
        };
        let mut state = asleep;
        state.sleeps_until_s = f64::NEG_INFINITY;
        state
    }

    fn send(&self, done: Done<Parked>) {
        let Parked { reply, ops, bytes } = done.payload;
        let now_s = self.clock.now_s();
        let facts = done.facts;
        // Counted first: who has its reply may ask at once what was counted.
        self.counters.finish(
            now_s,
            &Finished {
                ops,
                bytes,
                is_write: facts.is_write,
                wait_s: now_s - facts.arrived_s,
                late_s: facts.served_s - done.deadline_s,
                stall_s: now_s - done.deadline_s.max(facts.served_s),
            },
        );
        match reply {
            Reply::Data(reply, buffer, length) => {
                reply.data(&buffer[..length]);
                self.buffers.give(buffer);
            }
            Reply::Written(reply, bytes) => reply.written(bytes),
            Reply::Empty(reply) => reply.ok(),
        }
    }

    /// Let everything through from now on, what waits included.
    pub fn lift(&self) {
        let mut state = self.lock();
        state.is_limited = false;
        let waiting = state.throttle.drain();
        drop(state);
        waiting.into_iter().for_each(|done| self.send(done));
    }

    /// Let the thread end when nothing is due.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
    }

    /// The chain that holds.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.lock().chain.clone()
    }

    /// Whether limits hold.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.lock().is_limited
    }

    /// How full the bucket of each stage is, 0–1; `None` for a stage without credits.
    #[must_use]
    pub fn balances(&self) -> Vec<(String, Option<f64>)> {
        let mut state = self.lock();
        let now_s = self.clock.now_s();
        let State { chain, throttle, .. } = &mut *state;
        let ratio = |(index, stage): (usize, &StageConfig)| {
            (stage.name.clone(), throttle.balance_ratio(now_s, index))
        };
        chain.written.iter().enumerate().map(ratio).collect()
    }

    /// For how long each stage has made requests wait since the last call: its name, whether it has
    /// credits, and the times.
    #[must_use]
    pub fn take_bound(&self) -> Vec<(String, bool, Bound)> {
        let mut state = self.lock();
        let bound = state.throttle.take_bound();
        let Chain { written, stages } = &state.chain;
        let named = written.iter().zip(stages).zip(bound);
        named.map(|((w, s), bound)| (w.name.clone(), s.bucket.has_credits(), bound)).collect()
    }

    /// Fill or drain the bucket of a stage of the chain that holds now; false if there is none.
    pub fn set_balance(&self, stage: &str, ratio: f64) -> bool {
        let mut state = self.lock();
        let now_s = self.clock.now_s();
        match state.chain.index_of(stage) {
            Some(index) => state.throttle.set_balance_ratio(now_s, index, ratio),
            None => return false,
        }
        drop(state);
        self.woken.notify_one();
        true
    }

    /// Let another chain hold from now on, with these balances of one stripe each.
    pub fn replace(&self, chain: Chain, balance: Vec<f64>) {
        let mut state = self.lock();
        let now_s = self.clock.now_s();
        state.throttle.replace(now_s, chain.stages.clone(), balance);
        state.layout.volumes = chain.volumes() as u64;
        state.chain = chain;
        drop(state);
        self.woken.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
