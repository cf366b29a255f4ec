//! Requests through a chain in real time: when may this one complete?
//!
//! Rule 1: a promise stands. A request is told once when it is done; nothing that happens later, be
//! it a request, a grant or another chain, moves that moment.
//! Rule 2: every change of a balance is made by [`crate::bucket`], every cost by [`crate::chain`].
//! Rule 3: time is an argument, in seconds since any moment near: a number of seconds since 1970
//! leaves an `f64` a quarter of a microsecond, which is not enough for tens of thousands of
//! operations per second. Where `now_s` steps back a little, the later moment counts.
//!
//! [`crate::flow`] asks how much of a demand is served in a step. Here single requests arrive, of
//! their own size each, and each is answered at once with the moment at which it is done.
//!
//! # Virtual clocks over the bucket law
//!
//! Every stripe of every stage has a clock: the moment at which all that was admitted there is
//! served, and the balance at that moment. A request of cost `c` moves the clock on by
//! [`time_to_serve`] and the balance to [`balance_after`]; no timer runs. Requests of cost
//! `c₁, c₂, …` one after the other put the clock at the first `t` for which
//!
//! ```text
//! c₁ + c₂ + … ≤ min( burst·t,  b + baseline·t )
//! ```
//!
//! because the service of a bucket is concave and each request is one more uniform piece of it. A
//! request is done when every stage on its way has served it: at the latest of their clocks, which
//! is the first `t` at which the sum fits under the lower envelope of all stages. That is the `S(t)`
//! of [`crate::bucket`] read the other way round, so the clocks, each of which knows nothing of the
//! others, serve a saturating stream as [`crate::flow::Flow`] does, up to the one request that is
//! being served. (Greedy shapers in series, concave constraints: J.-Y. Le Boudec and P. Thiran,
//! *Network Calculus*, chapter 1.5; virtual clocks: L. Zhang, SIGCOMM 1990.)
//!
//! # Idle time
//!
//! A clock that lies behind has been idle. Idle time refills the balance at the baseline, except
//! the last `slack_s` of it: they are kept as time, in which requests may still be served as if they
//! had come earlier. A host that stalls for less than the slack loses nothing, and after an idle
//! spell no more than `slack_s` times the rate passes at once. The slack is also how deep a bucket
//! every ceiling without credits is, and how much work of different kinds may overlap: requests that
//! load different stages and follow each other within the slack are one flow of their mean size.
//!
//! A stage that is faster than the rest waits for them: it is idle until the requests before have
//! left the chain, not only until now. Without this a long queue at one stage would let the others
//! work ahead and later exceed their ceilings. What has left is known for each volume, and a stage
//! of the instance is held to the volume that is done first, so that a hot volume never delays
//! requests to another.
//!
//! # Order
//!
//! Requests pass a stripe in the order in which they were admitted, whether they read or write. Who
//! is admitted first is decided elsewhere ([`crate::fair`]). A request is paid for when it is
//! admitted: balances are those behind all that is on its way, and what waits for a hot volume has
//! passed the stages of the instance already. Keep little on its way, and both differ little from
//! what a meter at the device would show.

use crate::bucket::{Bucket, balance_after, balance_at, time_to_serve};
use crate::chain::Stage;
use crate::flow::Binding;
use crate::lane::Lane;

/// One request as the device sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its length; 0 for one that moves nothing, as a flush.
    pub bytes: f64,
    /// Whether it writes. Reads and writes share every ceiling, so nothing here depends on it.
    pub is_write: bool,
    /// Which of the striped volumes it goes to; beyond the last one they are counted again from 0.
    pub volume: usize,
    /// Whether it begins where the last one of this file ended, and so may be merged with it.
    pub continues: bool,
}

/// What a request was told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// The moment at which it may complete, never before it was admitted.
    pub done_s: f64,
    /// From its admission until then.
    pub waited_s: f64,
    /// The stage that decided this moment; `None` if nothing delayed the request.
    pub binding: Option<Binding>,
}

/// One stripe of one stage.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// When all that was admitted is served.
    at_s: f64,
    /// Credits at that moment.
    balance: f64,
    /// Whether the last request that cost anything passed at the burst rate.
    is_burst: bool,
}

/// A chain in real time: clocks and balances.
#[derive(Clone, Debug)]
pub struct Pace {
    chain: Vec<Stage>,
    /// One clock per stripe, for each stage.
    clocks: Vec<Vec<Clock>>,
    /// When the requests admitted so far have left the chain, for each volume.
    passed_s: Vec<f64>,
    ready_s: f64,
    slack_s: f64,
    /// For each stage, the time that passed with nothing to serve and is not made up for.
    idle_s: Vec<f64>,
    /// Whether the clocks have been set: time begins with the first call that tells it.
    is_begun: bool,
}

impl Pace {
    /// Begin with these balances, one per stage, of one stripe each, and with nothing admitted.
    ///
    /// A balance outside its bucket is taken as empty or full. The chain may be empty: then nothing
    /// is ever delayed. The share of sequential requests of an account is not looked at: each
    /// request says whether it is one.
    ///
    /// # Panics
    /// If there is not one balance per stage, if the slack is not a number ≥ 0, or if a stage has a
    /// baseline that is not above 0 (nobody could be told when a request is done) or less than one
    /// stripe.
    #[must_use]
    pub fn new(chain: Vec<Stage>, balance: Vec<f64>, slack_s: f64) -> Self {
        assert!(slack_s >= 0.0 && slack_s.is_finite(), "a slack is a length of time");
        let never = f64::NEG_INFINITY;
        let clocks = clocks_of(&chain, &balance, 0.0);
        let passed_s = vec![never; volumes_of(&chain)];
        let idle_s = vec![0.0; chain.len()];
        Self { chain, clocks, passed_s, ready_s: never, slack_s, idle_s, is_begun: false }
    }

    /// For each stage, the time since the last call in which it had nothing to serve and which is not
    /// made up for: what passed beyond the slack before a request came. The mean over its stripes.
    pub fn take_idle_s(&mut self) -> Vec<f64> {
        let none = vec![0.0; self.chain.len()];
        std::mem::replace(&mut self.idle_s, none)
    }

    /// Admit a request now, and say when it is done.
    pub fn admit(&mut self, now_s: f64, request: &Request) -> Admission {
        self.begin(now_s);
        let volume = wrapped(request.volume, self.passed_s.len());
        let (mut done_s, mut binding) = (now_s, None);
        for (index, stage) in self.chain.iter().enumerate() {
            let stripe = wrapped(volume, self.clocks[index].len());
            let idle_until_s = self.idle_until_s(now_s, index, stripe);
            let stripes = self.clocks[index].len() as f64;
            let clock = &mut self.clocks[index][stripe];
            self.idle_s[index] += clock.idle(&stage.bucket, idle_until_s) / stripes;
            clock.serve(&stage.bucket, cost(stage, request));
            if clock.at_s > done_s {
                done_s = clock.at_s;
                binding = Some(Binding { stage: index, is_burst: clock.is_burst });
            }
        }
        self.passed_s[volume] = self.passed_s[volume].most(done_s);
        self.ready_s = self.ready_s.most(done_s);
        Admission { done_s, waited_s: done_s - now_s, binding }
    }

    /// When all that was admitted is done; −∞ before the first request.
    ///
    /// Striped volumes are done at different times. Who waits for the busiest one before admitting
    /// to any lets the others idle, so with stripes keep the last `done_s` of each volume instead.
    #[must_use]
    pub fn ready_s(&self) -> f64 {
        self.ready_s
    }

    /// How much of the chain's time a request takes: that of the stage where it takes most.
    ///
    /// With the credits that are there now, and spread over the stripes. It is the cost by which
    /// [`crate::fair::FairQueue`] divides a chain.
    #[must_use]
    pub fn share_s(&self, request: &Request) -> f64 {
        self.chain.iter().zip(&self.clocks).fold(0.0, |most: f64, (stage, clocks)| {
            let clock = &clocks[wrapped(request.volume, clocks.len())];
            let served_s = time_to_serve(&stage.bucket, clock.balance, cost(stage, request));
            most.most(served_s / clocks.len() as f64)
        })
    }

    /// How full the bucket of a stage is, 0–1, as the mean over its stripes.
    ///
    /// `None` if there is no such stage, or if it has no credits.
    pub fn balance_ratio(&mut self, now_s: f64, stage: usize) -> Option<f64> {
        self.settle(now_s);
        let bucket = self.chain.get(stage)?.bucket;
        let clocks = &self.clocks[stage];
        let sum: f64 = clocks.iter().map(|clock| clock.balance).sum();
        bucket.has_credits().then(|| sum / clocks.len() as f64 / bucket.capacity)
    }

    /// From now on another chain holds, with these balances, one per stage, of one stripe each.
    ///
    /// It takes effect behind what has been admitted: that is done when it was told, and what comes
    /// later is done later.
    ///
    /// # Panics
    /// As [`Pace::new`].
    pub fn replace(&mut self, now_s: f64, chain: Vec<Stage>, balance: Vec<f64>) {
        let begins_s = self.ready_s.most(now_s - self.slack_s);
        self.clocks = clocks_of(&chain, &balance, begins_s);
        self.passed_s = vec![self.ready_s; volumes_of(&chain)];
        self.idle_s = vec![0.0; chain.len()];
        self.chain = chain;
        self.is_begun = true;
    }

    /// Fill the bucket of a stage up to this share of it, or drain it down to it, on every stripe.
    ///
    /// 1 is a grant and 0 a drain; beyond them is as they are. It takes effect behind what has been
    /// admitted. Without credits nothing happens.
    ///
    /// # Panics
    /// If there is no such stage.
    pub fn set_balance_ratio(&mut self, now_s: f64, stage: usize, ratio: f64) {
        self.settle(now_s);
        let balance = balance_at(&self.chain[stage].bucket, ratio);
        for clock in &mut self.clocks[stage] {
            clock.balance = balance;
        }
    }

    /// Set the clocks when time is told for the first time: the slack is there, as after any idle
    /// spell, and the balances are those that were given.
    fn begin(&mut self, now_s: f64) {
        if !self.is_begun {
            self.is_begun = true;
            for clock in self.clocks.iter_mut().flatten() {
                clock.at_s = now_s - self.slack_s;
            }
        }
    }

    /// Refill what has been idle.
    fn settle(&mut self, now_s: f64) {
        self.begin(now_s);
        for index in 0..self.chain.len() {
            for stripe in 0..self.clocks[index].len() {
                let idle_until_s = self.idle_until_s(now_s, index, stripe);
                let stripes = self.clocks[index].len() as f64;
                let clock = &mut self.clocks[index][stripe];
                self.idle_s[index] += clock.idle(&self.chain[index].bucket, idle_until_s) / stripes;
            }
        }
    }

    /// Until when a stripe that has served all it got is idle for good.
    ///
    /// Nothing that comes later leaves the chain before the volumes behind this stripe have been
    /// left by what came before.
    fn idle_until_s(&self, now_s: f64, stage: usize, stripe: usize) -> f64 {
        let behind = self.passed_s.iter().skip(stripe).step_by(self.clocks[stage].len());
        let passed_s = behind.fold(f64::INFINITY, |least, &passed_s| least.least(passed_s));
        now_s.most(passed_s) - self.slack_s
    }
}

impl Clock {
    /// Let time pass with nothing to serve; how much it was.
    fn idle(&mut self, bucket: &Bucket, until_s: f64) -> f64 {
        let idle_s = (until_s - self.at_s).most(0.0);
        if idle_s > 0.0 {
            self.balance = balance_after(bucket, self.balance, idle_s, 0.0);
            self.at_s = until_s;
        }
        idle_s
    }

    fn serve(&mut self, bucket: &Bucket, cost: f64) {
        if cost > 0.0 {
            let served_s = time_to_serve(bucket, self.balance, cost);
            self.is_burst = bucket.has_credits() && served_s <= cost / bucket.burst;
            self.balance = balance_after(bucket, self.balance, served_s, cost);
            self.at_s += served_s;
        }
    }
}

fn cost(stage: &Stage, request: &Request) -> f64 {
    if request.continues {
        stage.account.cost_of_continuation(request.bytes)
    } else {
        stage.account.cost_of_request(request.bytes)
    }
}

fn clocks_of(chain: &[Stage], balance: &[f64], at_s: f64) -> Vec<Vec<Clock>> {
    assert_eq!(chain.len(), balance.len(), "one balance per stage");
    let clocks_of_stage = |(stage, &balance): (&Stage, &f64)| {
        assert!(stage.bucket.baseline > 0.0, "what is served at no rate is never done");
        assert!(stage.stripes >= 1.0, "a stage has at least one stripe");
        let balance = balance_after(&stage.bucket, balance, 0.0, 0.0);
        vec![Clock { at_s, balance, is_burst: false }; stage.stripes as usize]
    };
    chain.iter().zip(balance).map(clocks_of_stage).collect()
}

/// How many volumes a request can go to: as many as the widest stage has stripes.
fn volumes_of(chain: &[Stage]) -> usize {
    chain.iter().map(|stage| stage.stripes as usize).max().unwrap_or(1)
}

/// `index` modulo `count`, without a division where there is nothing to reduce.
fn wrapped(index: usize, count: usize) -> usize {
    if index < count { index } else { index % count }
}
