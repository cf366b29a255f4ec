//! Single requests in real time do what the replay of a flow says.

mod common;

use common::without_credits;
use plimsoll_core::bucket::Bucket;
use plimsoll_core::chain::{Account, Phase, Stage, ceiling_at};
use plimsoll_core::flow::{Backlog, Flow};
use plimsoll_core::pace::{Admission, Pace, Request};
use plimsoll_core::units::IoSize;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Accounting unit of a volume, in bytes.
const UNIT: f64 = 262_144.0;
/// Room for rounding, relative to the largest number involved.
const ROUNDING: f64 = 1e-9;
/// Requests in a stream that saturates a chain.
const STREAM: usize = 300;

/// A chain, what each bucket holds at the start, the size of the requests, and how many volumes.
#[derive(Clone, Debug)]
struct Setting {
    chain: Vec<Stage>,
    balance: Vec<f64>,
    bytes: f64,
    volumes: usize,
}

impl Setting {
    fn pace(&self, slack_s: f64) -> Pace {
        Pace::new(self.chain.clone(), self.balance.clone(), slack_s)
    }

    fn flow(&self) -> Flow<'_> {
        Flow::new(&self.chain, self.balance.clone())
    }

    /// Highest rate that the chain ever lets through.
    fn burst_ops(&self) -> f64 {
        ceiling_at(&self.chain, IoSize(self.bytes), Phase::Burst).expect("a stage").ops.0
    }

    /// The rate at which the chain is spent and every stage is at its baseline.
    fn baseline_ops(&self) -> f64 {
        ceiling_at(&self.chain, IoSize(self.bytes), Phase::Baseline).expect("a stage").ops.0
    }

    /// The i-th request of a stream that is spread evenly; every third one writes.
    fn request(&self, i: usize) -> Request {
        Request { is_write: i.is_multiple_of(3), volume: i, ..random(self.bytes) }
    }

    fn cost(&self, stage: usize) -> f64 {
        self.chain[stage].account.cost_of_request(self.bytes)
    }
}

/// A request that follows no other.
fn random(bytes: f64) -> Request {
    Request { bytes, is_write: false, volume: 0, continues: false }
}

fn volume_account() -> Account {
    Account::Ops { unit_bytes: UNIT, sequential_ratio: 0.0 }
}

/// Sizes at which the cost of a mean is the mean of the costs: up to the unit, and multiples of it.
fn size() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => (9..=18_i32).prop_map(|exponent| 2.0_f64.powi(exponent)),
        1 => 512.0..UNIT,
        1 => (1..=4_u8).prop_map(|units| UNIT * f64::from(units)),
    ]
}

/// A stage that lets tens to thousands of such requests per second through, with its balance.
fn stage(bytes: f64, volumes: usize) -> impl Strategy<Value = (Stage, f64)> {
    let account =
        prop_oneof![Just(Account::Bytes), Just(Account::REQUESTS), Just(volume_account())];
    let rate = (1.0..3.0_f64).prop_map(|exponent| 10.0_f64.powf(exponent));
    // Some bursts end within the first requests of a stream, some outlast it.
    let seconds = (-2.0..1.5_f64).prop_map(|exponent| 10.0_f64.powf(exponent));
    let credits = prop_oneof![Just(None), (1.01..8.0_f64, seconds, 0.0..=1.0_f64).prop_map(Some)];
    (account, rate, credits, any::<bool>()).prop_map(move |(account, rate, credits, striped)| {
        let stripes = if striped { volumes as f64 } else { 1.0 };
        let baseline = rate * account.cost_of_request(bytes) / stripes;
        let (over, seconds, filled) = credits.unwrap_or((1.0, 0.0, 0.0));
        let bucket = Bucket { baseline, burst: baseline * over, capacity: baseline * seconds };
        (Stage { bucket, account, stripes }, filled * bucket.capacity)
    })
}

fn setting_of(volumes: impl Strategy<Value = usize>) -> impl Strategy<Value = Setting> {
    (size(), volumes).prop_flat_map(|(bytes, volumes)| {
        vec(stage(bytes, volumes), 1..=4).prop_map(move |stages| {
            let (chain, balance) = stages.into_iter().unzip();
            Setting { chain, balance, bytes, volumes }
        })
    })
}

fn setting() -> impl Strategy<Value = Setting> {
    setting_of(prop_oneof![Just(1), Just(2), Just(4)])
}

fn slack() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.001..0.2_f64]
}

/// When each request of a saturating stream is done: `depth` are on their way at any time, or all
/// of them from the start.
fn saturate(setting: &Setting, pace: &mut Pace, depth: Option<usize>) -> Vec<f64> {
    let mut done: Vec<f64> = Vec::with_capacity(STREAM);
    for i in 0..STREAM {
        let now_s = depth.filter(|&depth| i >= depth).map_or(0.0, |depth| done[i - depth]);
        done.push(pace.admit(now_s, &setting.request(i)).done_s);
    }
    done
}

/// What a flow that is always saturated has served at these moments, which never fall.
fn served_by(setting: &Setting, moments: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let (mut flow, mut served, mut at_s) = (setting.flow(), 0.0, 0.0);
    let demand = 2.0 * setting.burst_ops();
    let mut serve = |moment: f64| {
        if moment > at_s {
            let outcome = flow.advance(demand, setting.bytes, moment - at_s, Backlog::Carry);
            (served, at_s) = (served + outcome.served_ops, moment);
        }
        served
    };
    moments.into_iter().map(&mut serve).collect()
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= ROUNDING * scale.max(1e-6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Cases that were found stay here, to be tried first ever after.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// At every moment a saturating stream has got what the flow serves, short of the requests that
    /// are being served, one on each volume; and never more than the flow serves a slack later.
    #[test]
    fn a_saturating_stream_is_a_flow(
        setting in setting(), slack_s in slack(), depth in prop_oneof![Just(None), (4..40_usize).prop_map(Some)],
    ) {
        let mut done = saturate(&setting, &mut setting.pace(slack_s), depth);
        done.sort_by(f64::total_cmp);
        let least = served_by(&setting, done.iter().copied());
        let most = served_by(&setting, done.iter().map(|done_s| done_s + slack_s));
        let room = ROUNDING * STREAM as f64;
        for (before, (least, most)) in least.into_iter().zip(most).enumerate() {
            let after = (before + 1) as f64;
            prop_assert!(after <= most + room, "{after} of {most}");
            let short = least - before as f64;
            prop_assert!(short <= setting.volumes as f64 + room, "{before} of {least}");
        }
    }

    /// Without slack balances are those of the flow at the moment a request is done, through
    /// saturation and idle spells alike.
    #[test]
    fn balances_are_those_of_the_flow(
        setting in setting_of(Just(1)), pauses in vec(prop_oneof![3 => Just(0.0), 1 => 0.0..3.0_f64], 200),
    ) {
        let (mut pace, mut flow) = (setting.pace(0.0), setting.flow());
        let (mut now_s, demand) = (0.0, 2.0 * setting.burst_ops());
        // Time begins here, not with the first request.
        pace.balance_ratio(now_s, 0);
        for (i, pause_s) in pauses.into_iter().enumerate() {
            now_s += pause_s;
            flow.advance(0.0, setting.bytes, pause_s, Backlog::Shed);
            let Admission { done_s, waited_s, .. } = pace.admit(now_s, &setting.request(i));
            flow.advance(demand, setting.bytes, waited_s, Backlog::Shed);
            now_s = done_s;
            for (k, stage) in setting.chain.iter().enumerate() {
                let capacity = stage.bucket.capacity;
                let found = pace.balance_ratio(now_s, k);
                prop_assert_eq!(found.is_some(), stage.bucket.has_credits());
                let scale = capacity + setting.cost(k) * STREAM as f64;
                let found = found.map_or(flow.balance()[k], |ratio| ratio * capacity);
                prop_assert!(close(flow.balance()[k], found, scale), "{} {found}", flow.balance()[k]);
            }
        }
    }

    /// With requests on their way a balance is that after them: it differs by at most what they
    /// cost or what is earned in between, and with a slack by what is earned or spent in it.
    #[test]
    fn balances_are_told_in_advance(
        setting in setting_of(Just(1)), slack_s in slack(), depth in 1..40_usize,
    ) {
        let mut pace = setting.pace(slack_s);
        let (mut flow, mut at_s, demand) = (setting.flow(), 0.0, 2.0 * setting.burst_ops());
        let mut done: Vec<f64> = Vec::new();
        for i in 0..STREAM {
            let now_s = if i >= depth { done[i - depth] } else { 0.0 };
            if now_s > at_s {
                flow.advance(demand, setting.bytes, now_s - at_s, Backlog::Carry);
                at_s = now_s;
            }
            for (k, stage) in setting.chain.iter().enumerate() {
                let Bucket { baseline, burst, capacity } = stage.bucket;
                let Some(found) = pace.balance_ratio(now_s, k) else { continue };
                let cost = setting.cost(k);
                let earned = baseline * (pace.ready_s() - now_s).max(0.0);
                let ahead = earned.max(cost * (depth + 1) as f64) + burst * slack_s;
                let room = (ahead + ROUNDING * cost * STREAM as f64) / capacity + ROUNDING;
                let expected = flow.balance()[k] / capacity;
                prop_assert!((found - expected).abs() <= room, "{expected} {found} {room}");
            }
            done.push(pace.admit(now_s, &setting.request(i)).done_s);
        }
    }

    /// No stage lets more through in any time than it has and earns, nor than its burst, but for
    /// the slack and the request that was being served when that time began.
    #[test]
    fn no_ceiling_is_exceeded_in_any_window(
        setting in setting_of(Just(1)), slack_s in slack(),
        sizes in vec((prop_oneof![Just(0.0), 512.0..1e6_f64], 0.0..0.05_f64), 60),
    ) {
        let (mut pace, mut now_s, mut done) = (setting.pace(slack_s), 0.0, Vec::new());
        for (bytes, pause_s) in sizes {
            now_s += pause_s;
            done.push((pace.admit(now_s, &random(bytes)).done_s, bytes));
        }
        for stage in &setting.chain {
            let Bucket { baseline, burst, capacity } = stage.bucket;
            for (first, &(from_s, _)) in done.iter().enumerate() {
                let mut served = 0.0;
                for &(to_s, bytes) in &done[first + 1..] {
                    served += stage.account.cost_of_request(bytes);
                    let lasts_s = to_s - from_s + slack_s;
                    let most = (burst * lasts_s).min(capacity + baseline * lasts_s);
                    prop_assert!(served <= most + ROUNDING * (burst + capacity), "{served} of {most}");
                }
            }
        }
    }

    /// Requests of two sizes that take turns are a flow of their mean size.
    #[test]
    fn a_mix_is_a_flow_of_its_mean(
        (bytes_rate, ops_rate) in (1e6..4e7_f64, 100.0..4_000.0_f64), small in 512.0..UNIT, large in 512.0..UNIT,
    ) {
        let slack_s = 0.5;
        let fixed = |rate, account| Stage { bucket: without_credits(rate), account, stripes: 1.0 };
        let setting = Setting {
            chain: vec![fixed(bytes_rate, Account::Bytes), fixed(ops_rate, volume_account())],
            balance: vec![0.0; 2],
            bytes: (small + large) / 2.0,
            volumes: 1,
        };
        let mut pace = setting.pace(slack_s);
        let mut done_s = 0.0;
        for i in 0..STREAM {
            let bytes = if i.is_multiple_of(2) { small } else { large };
            done_s = pace.admit(0.0, &random(bytes)).done_s;
        }
        let expected_s = (STREAM as f64 / setting.baseline_ops() - slack_s).max(0.0);
        // The last pair may end with the stage that does not bind.
        let pair_s = (small + large) / bytes_rate + 2.0 / ops_rate;
        prop_assert!((done_s - expected_s).abs() <= pair_s, "{expected_s} {done_s}");
    }

    /// Nothing waits below the ceilings, as long as the slack covers the service of one request.
    #[test]
    fn nothing_waits_below_the_ceilings(
        setting in setting_of(Just(1)), demanded in 0.01..0.999_f64, jitter in vec(0.0..1.0_f64, STREAM),
    ) {
        let every_s = 1.0 / (demanded * setting.baseline_ops());
        let mut pace = setting.pace(2.0 * every_s);
        for (i, jitter) in jitter.into_iter().enumerate() {
            let now_s = (i as f64 + jitter) * every_s;
            let admission = pace.admit(now_s, &setting.request(i));
            prop_assert_eq!(Admission { done_s: now_s, waited_s: 0.0, binding: None }, admission);
        }
    }

    /// A host that stalls for no longer than the slack loses nothing.
    #[test]
    fn a_short_stall_loses_nothing(
        setting in setting_of(Just(1)), slack_s in 0.01..0.2_f64, stall in 0.0..1.0_f64, every in 5..40_usize,
    ) {
        let mut steady = setting.pace(slack_s);
        // The slack that is there at the start is not what is shown.
        while steady.ready_s() <= 0.0 {
            steady.admit(0.0, &setting.request(0));
        }
        let mut stalled = steady.clone();
        let (mut now_s, mut steady_s) = (steady.ready_s(), steady.ready_s());
        // Short enough to be caught up before the next one.
        let stall_s = stall * slack_s.min((every - 1) as f64 / setting.burst_ops());
        for i in 0..STREAM {
            let pause_s = if i % every == 0 { stall_s } else { 0.0 };
            now_s = stalled.admit(now_s + pause_s, &setting.request(i)).done_s;
            steady_s = steady.admit(steady_s, &setting.request(i)).done_s;
        }
        prop_assert!(now_s <= steady_s + stall_s + ROUNDING * steady_s, "{now_s} {steady_s}");
    }

    /// After an idle spell no more passes at once than the slack is worth, and one request.
    #[test]
    fn an_idle_spell_saves_up_no_more_than_the_slack(
        setting in setting(), slack_s in slack(), idle_s in 0.0..100.0_f64,
    ) {
        let mut pace = setting.pace(slack_s);
        saturate(&setting, &mut pace, None);
        let now_s = pace.ready_s() + idle_s;
        let at_once = (0..STREAM).filter(|&i| {
            pace.admit(now_s, &setting.request(i)).waited_s <= 0.0
        }).count();
        let most = slack_s * setting.burst_ops() + setting.volumes as f64;
        prop_assert!(at_once as f64 <= most + ROUNDING, "{at_once} of {most}");
    }

    /// Whatever is done to a chain while it runs: no request completes before it was admitted or
    /// before the one ahead of it, and every balance stays in its bucket.
    #[test]
    fn promises_stand_while_the_chain_changes(
        settings in vec(setting_of(Just(4)), 1..4), slack_s in slack(),
        acts in vec((0..12_u8, 0.0..0.02_f64, 0..4_usize, 0.0..1.0_f64), 1..200),
    ) {
        let mut pace = settings[0].pace(slack_s);
        let (mut now_s, mut last_s, mut stages) = (0.0, [0.0; 4], settings[0].chain.len());
        for (act, pause_s, which, ratio) in acts {
            now_s += pause_s;
            match act {
                0 => {
                    let Setting { chain, balance, .. } = settings[which % settings.len()].clone();
                    stages = chain.len();
                    pace.replace(now_s, chain, balance);
                }
                1 => pace.set_balance_ratio(now_s, which % stages, ratio),
                _ => {
                    let request = Request { volume: which, ..random(ratio * 1e6) };
                    let Admission { done_s, waited_s, binding } = pace.admit(now_s, &request);
                    prop_assert!(done_s >= now_s && done_s >= last_s[which]);
                    prop_assert!(pace.ready_s() >= done_s);
                    prop_assert_eq!(done_s - now_s, waited_s);
                    prop_assert_eq!(waited_s > 0.0, binding.is_some());
                    last_s[which] = done_s;
                }
            }
            for stage in 0..stages {
                let ratio = pace.balance_ratio(now_s, stage);
                prop_assert!(ratio.is_none_or(|ratio| (0.0..=1.0).contains(&ratio)), "{ratio:?}");
            }
        }
    }

    /// A closed loop of some depth waits as long as Little's law says.
    #[test]
    fn a_closed_loop_waits_as_little_says(rate in 100.0..20_000.0_f64, depth in 1..64_usize) {
        let bucket = without_credits(rate);
        let stage = Stage { bucket, account: Account::REQUESTS, stripes: 1.0 };
        let mut pace = Pace::new(vec![stage], vec![0.0], 0.0);
        let mut done = vec![0.0; depth];
        let mut waited_s = 0.0;
        for i in 0..2_000 {
            let admission = pace.admit(done[i % depth], &random(8_192.0));
            done[i % depth] = admission.done_s;
            waited_s += if i < depth { 0.0 } else { admission.waited_s };
        }
        let expected = depth as f64 / rate;
        prop_assert!(close(expected, waited_s / (2_000 - depth) as f64, 1.0));
    }

    /// Sequential requests of any size cost their share of a unit, others at least one operation.
    #[test]
    fn sequential_requests_are_merged(bytes in 512.0..1e6_f64, rate in 100.0..4_000.0_f64) {
        let stage = Stage { bucket: without_credits(rate), account: volume_account(), stripes: 1.0 };
        let total_s = |continues| {
            let mut pace = Pace::new(vec![stage], vec![0.0], 0.0);
            for _ in 0..STREAM {
                pace.admit(0.0, &Request { continues, ..random(bytes) });
            }
            pace.ready_s()
        };
        let units = STREAM as f64 * bytes / UNIT;
        prop_assert!(close(units / rate, total_s(true), STREAM as f64));
        let each = (bytes / UNIT).ceil();
        prop_assert!(close(STREAM as f64 * each / rate, total_s(false), STREAM as f64));
    }
}

/// Time without requests is reported once, less the slack that is made up for; the mean over the volumes.
#[test]
fn idle_time_is_told_once_less_the_slack() {
    let bucket = Bucket { baseline: 100.0, burst: 100.0, capacity: 0.0 };
    let account = Account::Ops { unit_bytes: UNIT, sequential_ratio: 0.0 };
    let stage = |stripes| Stage { bucket, account, stripes };
    let mut pace = Pace::new(vec![stage(1.0), stage(2.0)], vec![0.0, 0.0], 0.05);
    let request = random(8192.0);

    pace.admit(0.0, &request);
    // The first one took a hundredth of a second of the slack, and 0.04 s are left.
    pace.admit(1.0, &request);
    let idle_s = pace.take_idle_s();
    assert!((idle_s[0] - 0.99).abs() < 1e-9, "{idle_s:?}");
    assert!((idle_s[1] - 0.99 / 2.0).abs() < 1e-9, "{idle_s:?}");
    pace.admit(1.005, &request);
    assert_eq!(0.0, pace.take_idle_s()[0]);
}
