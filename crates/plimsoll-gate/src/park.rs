//! Keep replies until they are due.
//!
//! Rule 1: the I/O of a request is finished before it comes here; only its reply waits.
//! Rule 2: one thread sends the replies that are due. A submitting thread wakes it only if it would sleep
//! too long for the new reply.
//!
//! The thread asks to be woken a little early, by the measured error of this machine's timers, and sends
//! replies that are due within half of that.
//!
//! # Writeback
//!
//! The kernel writes its page cache out in as many requests as it may have in flight, and reads through
//! the cache queue behind them in the kernel, without fairness. So very many are allowed in flight
//! ([`crate::fs`]), and all except the first few wait here, not yet in the disk's queue ([`crate::writeback`]).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{ReplyData, ReplyEmpty, ReplyWrite};
use plimsoll_core::chain::Stage;
use plimsoll_core::pace::Request;

use crate::buffers::{Buffer, Buffers};
use crate::cache_bound::FileKey;
use crate::clock::{Clock, wake_exactly};
use crate::config::{Chain, LatencyConfig, StageConfig};
use crate::counters::{Counters, Finished};
use crate::pieces::Layout;
use crate::pruner::Pruner;
use crate::throttle::{Bound, Done, Facts, Throttle};
use crate::writeback::Writeback;

/// Replies sent before the lock is taken again.
const BATCH: usize = 64;

/// A reply that can be sent from any thread.
#[derive(Debug)]
pub enum Reply {
    /// What was read: so many bytes of the buffer.
    Data(ReplyData, Buffer, usize),
    /// Number of written bytes.
    Written(ReplyWrite, u32),
    /// An empty reply.
    Empty(ReplyEmpty),
    /// It was sent already; the disk is still charged for it.
    Told,
}

/// A request that has been carried out.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// When it arrived.
    pub arrived_s: f64,
    /// Whether it writes.
    pub is_write: bool,
    /// Number of the file; 0 for a folder.
    pub file: u64,
    /// Where in the file the disk was accessed.
    pub offset: u64,
    /// Bytes that it moved; 0 for a flush.
    pub bytes: u64,
    /// Whether it continues another request of the file.
    pub continues: bool,
    /// Whether the device is charged for it.
    pub is_charged: bool,
    /// Whether it is writeback of the kernel's page cache.
    pub is_writeback: bool,
    /// What the kernel caches once it has the reply: file, offset and bytes.
    pub kept: Option<(FileKey, u64, u64)>,
}

#[derive(Debug)]
struct Parked {
    reply: Reply,
    ops: u64,
    carried: Carried,
}

#[derive(Debug)]
struct State {
    throttle: Throttle<Parked>,
    chain: Chain,
    layout: Layout,
    is_limited: bool,
    is_over: bool,
    writeback: Writeback<(Carried, Reply)>,
    /// Until when the thread sleeps; infinite until a wake-up.
    sleeps_until_s: f64,
}

/// Replies that wait, shared by all threads.
#[derive(Debug)]
pub struct Park {
    state: Mutex<State>,
    woken: Condvar,
    clock: Clock,
    counters: Arc<Counters>,
    buffers: Arc<Buffers>,
    pruner: Arc<Pruner>,
    latency: LatencyConfig,
    timer_error_s: f64,
}

/// The parameters of a park.
#[derive(Debug)]
pub struct Plan {
    /// The ceilings.
    pub chain: Chain,
    /// Credits of one stripe, one per stage.
    pub balance: Vec<f64>,
    /// Idle time shorter than this is not lost to the client.
    pub slack_s: f64,
    /// How a file is spread over the volumes.
    pub chunk_bytes: u64,
    /// How long a request takes when nothing waits.
    pub latency: LatencyConfig,
    /// False lets every request through at once.
    pub is_limited: bool,
    /// How late this machine wakes a sleeping thread.
    pub timer_error_s: f64,
    /// Most requests of writeback in the disk's queue.
    pub writing_back_max: usize,
    /// Bytes of an operation after which others may have a turn.
    pub portion_bytes: f64,
}

impl Park {
    /// Return an empty park.
    #[must_use]
    pub fn new(
        plan: Plan,
        clock: Clock,
        counters: Arc<Counters>,
        buffers: Arc<Buffers>,
        pruner: Arc<Pruner>,
    ) -> Self {
        let volumes = plan.chain.volumes() as u64;
        let stages: Vec<Stage> = plan.chain.stages.clone();
        let state = State {
            throttle: Throttle::new(stages, plan.balance, plan.slack_s, plan.portion_bytes),
            chain: plan.chain,
            layout: Layout { volumes, chunk_bytes: plan.chunk_bytes },
            is_limited: plan.is_limited,
            is_over: false,
            writeback: Writeback::new(plan.writing_back_max),
            sleeps_until_s: f64::NEG_INFINITY,
        };
        let (latency, timer_error_s) = (plan.latency, plan.timer_error_s);
        let (state, woken) = (Mutex::new(state), Condvar::new());
        Self { state, woken, clock, counters, buffers, pruner, latency, timer_error_s }
    }

    /// Take a reply, and send it when it is due.
    pub fn submit(&self, carried: &Carried, reply: Reply) {
        let mut state = self.lock();
        let now_s = self.clock.now_s();
        if !state.is_limited {
            let ops = pieces_of(&state, carried).len() as u64;
            drop(state);
            self.counters.begin(now_s, carried.arrived_s, ops);
            self.pass(now_s, carried, ops, reply);
            return;
        }
        let reply = if carried.is_writeback {
            match state.writeback.take(carried.file, (*carried, reply)) {
                Some((_, reply)) => reply,
                None => return,
            }
        } else {
            reply
        };
        self.queue(&mut state, now_s, carried, reply);
        let is_urgent = state.throttle.next_s().is_some_and(|next_s| next_s < state.sleeps_until_s);
        if is_urgent {
            state.sleeps_until_s = f64::NEG_INFINITY;
            drop(state);
            self.woken.notify_one();
        }
    }

    /// Put a request into the queue of the disk.
    fn queue(&self, state: &mut State, now_s: f64, carried: &Carried, reply: Reply) {
        let &Carried { arrived_s, is_write, file, .. } = carried;
        let pieces = pieces_of(state, carried);
        let ops = pieces.len() as u64;
        self.counters.begin(now_s, arrived_s, ops);
        let latency_s = self.latency_s(is_write);
        let facts = Facts { arrived_s, served_s: now_s, latency_s, is_write, file };
        state.throttle.submit(now_s, facts, &pieces, Parked { reply, ops, carried: *carried });
    }

    /// Let an unlimited request pass.
    fn pass(&self, now_s: f64, carried: &Carried, ops: u64, reply: Reply) {
        let &Carried { arrived_s, is_write, file, .. } = carried;
        let facts = Facts { arrived_s, served_s: now_s, latency_s: 0.0, is_write, file };
        let payload = Parked { reply, ops, carried: *carried };
        self.send(Done { facts, deadline_s: now_s, payload });
    }

    fn latency_s(&self, is_write: bool) -> f64 {
        if is_write { self.latency.write } else { self.latency.read }
    }

    /// Return what is due, at most a batch; for each finished writeback the next one enters the queue.
    fn take_due(&self, state: &mut State, now_s: f64, due: &mut Vec<Done<Parked>>) {
        while due.len() < BATCH {
            let Some(done) = state.throttle.take_due(now_s + self.timer_error_s / 2.0) else {
                break;
            };
            let Carried { is_writeback, file, .. } = done.payload.carried;
            due.push(done);
            let next = if is_writeback { state.writeback.leave(file) } else { None };
            if let Some((carried, reply)) = next {
                self.queue(state, now_s, &Carried { arrived_s: now_s, ..carried }, reply);
            }
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
            self.take_due(&mut state, now_s, &mut due);
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
        let Parked { reply, ops, carried } = done.payload;
        let Carried { bytes, .. } = carried;
        let now_s = self.clock.now_s();
        let facts = done.facts;
        // Count first: a client that has its reply may ask for the counts at once.
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
                reply.data(buffer.first(length));
                self.buffers.give(buffer);
            }
            Reply::Written(reply, bytes) => reply.written(bytes),
            Reply::Empty(reply) => reply.ok(),
            Reply::Told => self.pruner.paid(),
        }
        if let Some((file, offset, bytes)) = carried.kept {
            self.pruner.deliver(file, offset, bytes, carried.is_writeback);
        }
    }

    /// Let everything through from now on, including waiting requests.
    pub fn lift(&self) {
        let mut state = self.lock();
        state.is_limited = false;
        let queued = state.throttle.drain();
        let held_back = state.writeback.drain();
        drop(state);
        queued.into_iter().for_each(|done| self.send(done));
        let now_s = self.clock.now_s();
        held_back.into_iter().for_each(|(carried, reply)| {
            let carried = Carried { arrived_s: now_s, ..carried };
            self.pass(now_s, &carried, 0, reply);
        });
    }

    /// End the thread when nothing is due.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
    }

    /// Return the present chain.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.lock().chain.clone()
    }

    /// Return whether limits are enforced.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.lock().is_limited
    }

    /// Return how full the bucket of each stage is, 0–1; `None` for a stage without credits.
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

    /// Return how long each stage has made requests wait since the last call: its name, whether it has
    /// credits, and the times.
    #[must_use]
    pub fn take_bound(&self) -> Vec<(String, bool, Bound)> {
        let mut state = self.lock();
        let bound = state.throttle.take_bound();
        let Chain { written, stages } = &state.chain;
        let named = written.iter().zip(stages).zip(bound);
        named.map(|((w, s), bound)| (w.name.clone(), s.bucket.has_credits(), bound)).collect()
    }

    /// Fill or drain the bucket of a stage of the present chain; return false if there is no such stage.
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

    /// Replace the chain, with these balances of one stripe each.
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

/// Return the operations of the disk for a request.
fn pieces_of(state: &State, carried: &Carried) -> Vec<Request> {
    let &Carried { offset, bytes, is_write, continues, is_charged, .. } = carried;
    if is_charged { state.layout.pieces(offset, bytes, is_write, continues) } else { Vec::new() }
}
