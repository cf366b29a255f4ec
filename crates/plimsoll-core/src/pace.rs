//! Decide when each single request through a chain may complete, in real time.
//!
//! Rule 1: a completion time is final. It is set once, at admission; no later request, grant or change
//! of the chain moves it.
//! Rule 2: every change of a balance is made by [`crate::bucket`], every cost by [`crate::chain`].
//! Rule 3: time is an argument, in seconds since some recent moment. Seconds since 1970 would leave an
//! `f64` a resolution of a quarter of a microsecond, too little for tens of thousands of operations per
//! second. If `now_s` steps back a little, the later moment counts.
//!
//! [`crate::flow`] computes how much of a demand is served in a step. Here single requests arrive, each
//! with its own size, and each gets its completion time at once.
//!
//! # Virtual clocks over the bucket law
//!
//! Every stripe of every stage has a clock: the moment at which all admitted requests are served, and
//! the balance at that moment. A request of cost `c` advances the clock by [`time_to_serve`] and the
//! balance by [`balance_after`]; no timer runs. Requests of cost `c₁, c₂, …` one after the other set the
//! clock to the first `t` for which
//!
//! ```text
//! c₁ + c₂ + … ≤ min( burst·t,  b + baseline·t )
//! ```
//!
//! because the service of a bucket is concave and each request is one more uniform piece of it. A
//! request is done when every stage on its way has served it: at the latest of their clocks, which is
//! the first `t` at which the sum fits under the lower envelope of all stages. That is the inverse of
//! `S(t)` in [`crate::bucket`]. So the clocks, which do not know of each other, serve a saturating
//! stream as [`crate::flow::Flow`] does, except for the one request in service. (Greedy shapers in
//! series, concave constraints: J.-Y. Le Boudec and P. Thiran, *Network Calculus*, chapter 1.5; virtual
//! clocks: L. Zhang, SIGCOMM 1990.)
//!
//! # Idle time
//!
//! A clock in the past has been idle. Idle time refills the balance at the baseline, except for its last
//! `slack_s`: they are kept as time in which requests may still be served as if they had come earlier. A
//! host that stalls for less than the slack loses nothing, and after idle time at most `slack_s` times
//! the rate passes at once. The slack is also the depth of the bucket of a ceiling without credits, and
//! the limit for overlapping work of different kinds: requests that load different stages and follow
//! each other within the slack are one flow of their mean size.
//!
//! A stage that is faster than the rest waits for them: it is idle until the earlier requests have left
//! the chain, not only until now. Otherwise a long queue at one stage would let the others work ahead
//! and later exceed their ceilings. Departures are known for each volume, and a stage of the instance
//! follows the volume that is done first, so that a busy volume never delays requests to another.
//!
//! # Order
//!
//! Requests pass a stripe in the order in which they were admitted, reads and writes alike. Who is
//! admitted first is decided elsewhere ([`crate::fair`]). A request is paid for at its admission, so
//! balances already include everything in flight, and a request that waits for a busy volume has
//! passed the stages of the instance. With few requests in flight, both differ little from what a meter
//! at the device would show.

use crate::bucket::{Bucket, balance_after, balance_at, time_to_serve};
use crate::chain::Stage;
use crate::flow::Binding;
use crate::lane::Lane;

/// One request as the device sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its length; 0 for one that moves no data, for example a flush.
    pub bytes: f64,
    /// Whether it writes. Reads and writes share every ceiling, so nothing here depends on it.
    pub is_write: bool,
    /// Index of its striped volume; counted modulo the number of volumes.
    pub volume: usize,
    /// Whether it starts where the last request of this file ended, so that both may be merged.
    pub continues: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// The moment at which it may complete, never before it was admitted.
    pub done_s: f64,
    /// Time from its admission until then.
    pub waited_s: f64,
    /// The stage that set this moment; `None` if nothing delayed the request.
    pub binding: Option<Binding>,
}

/// One stripe of one stage.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// When all admitted requests are served.
    at_s: f64,
    /// Credits at that moment.
    balance: f64,
    /// Whether the last request with a cost passed at the burst rate.
    is_burst: bool,
}

/// A chain in real time: clocks and balances.
#[derive(Clone, Debug)]
pub struct Pace {
    chain: Vec<Stage>,
    /// One clock per stripe, for each stage.
    clocks: Vec<Vec<Clock>>,
    /// When the requests admitted so far leave the chain, for each volume.
    passed_s: Vec<f64>,
    ready_s: f64,
    slack_s: f64,
    /// For each stage, the time without work beyond the slack.
    idle_s: Vec<f64>,
    /// Whether the clocks have been set: time begins with the first call that has a time.
    is_begun: bool,
}

impl Pace {
    /// Begin with these balances, one per stage, of one stripe each, and with nothing admitted.
    ///
    /// A balance outside its bucket is clamped to empty or full. The chain may be empty: then nothing is
    /// ever delayed. The account's share of sequential requests is ignored: each request says whether it
    /// is one.
    ///
    /// # Panics
    /// If there is not one balance per stage, if the slack is not a finite number ≥ 0, or if a stage has a
    /// baseline of 0 or less (a request would never be done) or less than one stripe.
    #[must_use]
    pub fn new(chain: Vec<Stage>, balance: Vec<f64>, slack_s: f64) -> Self {
        assert!(slack_s >= 0.0 && slack_s.is_finite(), "a slack is a length of time");
        let never = f64::NEG_INFINITY;
        let clocks = clocks_of(&chain, &balance, 0.0);
        let passed_s = vec![never; volumes_of(&chain)];
        let idle_s = vec![0.0; chain.len()];
        Self { chain, clocks, passed_s, ready_s: never, slack_s, idle_s, is_begun: false }
    }

    /// Return for each stage the time since the last call in which it had no work, beyond the slack, as
    /// the mean over its stripes.
    pub fn take_idle_s(&mut self) -> Vec<f64> {
        let none = vec![0.0; self.chain.len()];
        std::mem::replace(&mut self.idle_s, none)
    }

    /// Admit a request now, and return when it is done.
    pub fn admit(&mut self, now_s: f64, request: &Request) -> Admission {
        self.admit_portion(now_s, request, 1.0)
    }

    /// Admit this share of a request, 0–1, for this share of its cost, and return when that is done.
    ///
    /// Portions that add up to the request cost what it costs as a whole, but another request may be admitted
    /// between two of them.
    pub fn admit_portion(&mut self, now_s: f64, request: &Request, share: f64) -> Admission {
        self.begin(now_s);
        let volume = wrapped(request.volume, self.passed_s.len());
        let (mut done_s, mut binding) = (now_s, None);
        for (index, stage) in self.chain.iter().enumerate() {
            let stripe = wrapped(volume, self.clocks[index].len());
            let idle_until_s = self.idle_until_s(now_s, index, stripe);
            let stripes = self.clocks[index].len() as f64;
            let clock = &mut self.clocks[index][stripe];
            self.idle_s[index] += clock.idle(&stage.bucket, idle_until_s) / stripes;
            clock.serve(&stage.bucket, share * cost(stage, request));
            if clock.at_s > done_s {
                done_s = clock.at_s;
                binding = Some(Binding { stage: index, is_burst: clock.is_burst });
            }
        }
        self.passed_s[volume] = self.passed_s[volume].most(done_s);
        self.ready_s = self.ready_s.most(done_s);
        Admission { done_s, waited_s: done_s - now_s, binding }
    }

    /// Return when all admitted requests are done; −∞ before the first request.
    ///
    /// Striped volumes are done at different times. Waiting for the busiest one before admitting to any
    /// would idle the others, so with stripes use the last `done_s` of each volume instead.
    #[must_use]
    pub fn ready_s(&self) -> f64 {
        self.ready_s
    }

    /// Return how much of the chain's time a request takes: the most that any stage needs for it.
    ///
    /// This uses the present credits and spreads the request over the stripes. It is the cost by which
    /// [`crate::fair::FairQueue`] divides a chain.
    #[must_use]
    pub fn share_s(&self, request: &Request) -> f64 {
        self.chain.iter().zip(&self.clocks).fold(0.0, |most: f64, (stage, clocks)| {
            let clock = &clocks[wrapped(request.volume, clocks.len())];
            let served_s = time_to_serve(&stage.bucket, clock.balance, cost(stage, request));
            most.most(served_s / clocks.len() as f64)
        })
    }

    /// Return how full the bucket of a stage is, 0–1, as the mean over its stripes.
    ///
    /// `None` if there is no such stage, or if it has no credits.
    pub fn balance_ratio(&mut self, now_s: f64, stage: usize) -> Option<f64> {
        self.settle(now_s);
        let bucket = self.chain.get(stage)?.bucket;
        let clocks = &self.clocks[stage];
        let sum: f64 = clocks.iter().map(|clock| clock.balance).sum();
        bucket.has_credits().then(|| sum / clocks.len() as f64 / bucket.capacity)
    }

    /// Replace the chain, with these balances, one per stage, of one stripe each.
    ///
    /// It takes effect behind all admitted requests: they keep their completion times, and later
    /// requests complete after them.
    ///
    /// # Panics
    /// For the reasons of [`Pace::new`].
    pub fn replace(&mut self, now_s: f64, chain: Vec<Stage>, balance: Vec<f64>) {
        let begins_s = self.ready_s.most(now_s - self.slack_s);
        self.clocks = clocks_of(&chain, &balance, begins_s);
        self.passed_s = vec![self.ready_s; volumes_of(&chain)];
        self.idle_s = vec![0.0; chain.len()];
        self.chain = chain;
        self.is_begun = true;
    }

    /// Fill or drain the bucket of a stage to this share of it, on every stripe.
    ///
    /// 1 is a grant and 0 a drain; other values are clamped. It takes effect behind all admitted requests.
    /// A stage without credits does not change.
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

    /// Set the clocks at the first call with a time. The slack is available, as after any idle time, and
    /// the balances are the given ones.
    fn begin(&mut self, now_s: f64) {
        if !self.is_begun {
            self.is_begun = true;
            for clock in self.clocks.iter_mut().flatten() {
                clock.at_s = now_s - self.slack_s;
            }
        }
    }

    /// Refill the balances for idle time.
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

    /// Return until when a stripe without work counts as idle.
    ///
    /// No later request leaves the chain before the earlier ones have left the volumes behind this stripe.
    fn idle_until_s(&self, now_s: f64, stage: usize, stripe: usize) -> f64 {
        let behind = self.passed_s.iter().skip(stripe).step_by(self.clocks[stage].len());
        let passed_s = behind.fold(f64::INFINITY, |least, &passed_s| least.least(passed_s));
        now_s.most(passed_s) - self.slack_s
    }
}

impl Clock {
    /// Let time pass without work; return how much of it was idle.
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

/// Return how many volumes a request can go to: the stripes of the widest stage.
fn volumes_of(chain: &[Stage]) -> usize {
    chain.iter().map(|stage| stage.stripes as usize).max().unwrap_or(1)
}

/// Return `index` modulo `count`, without a division if it is small enough already.
fn wrapped(index: usize, count: usize) -> usize {
    if index < count { index } else { index % count }
}
