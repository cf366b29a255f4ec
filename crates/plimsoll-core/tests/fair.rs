//! Reads and writes take fair turns.

mod common;

use common::without_credits;
use plimsoll_core::chain::{Account, Stage};
use plimsoll_core::fair::{Class, FairQueue, Flow, Turn};
use plimsoll_core::pace::{Pace, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const KIB: f64 = 1_024.0;
/// Bytes per second of the chain that is shared.
const RATE: f64 = 64.0 * KIB * KIB;
/// Room for rounding.
const ROUNDING: f64 = 1e-9;

/// Somebody who keeps `depth` requests of one size on their way from `from_s` on.
#[derive(Clone, Copy, Debug)]
struct Client {
    is_write: bool,
    bytes: f64,
    depth: usize,
    from_s: f64,
}

/// What a client got.
#[derive(Clone, Debug, Default)]
struct Got {
    bytes: f64,
    /// Longest time from asking to being done.
    waited_s_max: f64,
}

/// Clients of one chain, who ask again as soon as they are answered.
struct Shared {
    pace: Pace,
    queue: FairQueue<usize>,
    /// A request is admitted as soon as less than this is left to do.
    horizon_s: f64,
    clients: Vec<Client>,
    /// When somebody asks next, and who.
    events: Vec<(f64, usize)>,
}

impl Shared {
    fn new(clients: Vec<Client>, horizon_s: f64) -> Self {
        let stage = Stage { bucket: without_credits(RATE), account: Account::Bytes, stripes: 1.0 };
        let pace = Pace::new(vec![stage], vec![0.0], 0.0);
        let asks = |(who, client): (usize, &Client)| {
            std::iter::repeat_n((client.from_s, who), client.depth).collect::<Vec<_>>()
        };
        let events = clients.iter().enumerate().flat_map(asks).collect();
        Self { pace, queue: FairQueue::new(), horizon_s, clients, events }
    }

    fn request(&self, who: usize) -> Request {
        let Client { is_write, bytes, .. } = self.clients[who];
        Request { bytes, is_write, volume: 0, continues: false }
    }

    /// Run until `end_s`, and tell what each client got from `begin_s` on.
    fn run(mut self, begin_s: f64, end_s: f64) -> Vec<Got> {
        let mut got = vec![Got::default(); self.clients.len()];
        let mut now_s = 0.0;
        while now_s < end_s {
            while let Some(at) = self.events.iter().position(|&(at_s, _)| at_s <= now_s) {
                let (_, who) = self.events.remove(at);
                let request = self.request(who);
                let flow = Flow::of(request.is_write, 0);
                self.queue.push(now_s, flow, self.pace.share_s(&request), who);
            }
            while self.pace.ready_s() <= now_s + self.horizon_s {
                let Some(Turn { payload: who, pushed_s, .. }) = self.queue.pop() else { break };
                let done_s = self.pace.admit(now_s, &self.request(who)).done_s;
                self.events.push((done_s, who));
                if done_s > begin_s && done_s <= end_s {
                    got[who].bytes += self.clients[who].bytes;
                    got[who].waited_s_max = got[who].waited_s_max.max(done_s - pushed_s);
                }
            }
            now_s = self.next_s(now_s);
        }
        got
    }

    /// When somebody asks again, or the chain is ready for one who waits.
    fn next_s(&self, now_s: f64) -> f64 {
        let ready_s = self.pace.ready_s() - self.horizon_s;
        let waiting = if self.queue.is_empty() { f64::INFINITY } else { ready_s };
        let later = self.events.iter().map(|&(at_s, _)| at_s).filter(|&at_s| at_s > now_s);
        later.fold(waiting, f64::min)
    }
}

fn reader(kib: f64, depth: usize) -> Client {
    Client { is_write: false, bytes: kib * KIB, depth, from_s: 0.0 }
}

/// Writeback: 32 MiB of it are always waiting.
fn flood() -> Client {
    Client { is_write: true, bytes: 128.0 * KIB, depth: 256, from_s: 0.0 }
}

/// Calls on a queue: a class and a cost to push, or a turn to take.
fn calls() -> impl Strategy<Value = Vec<Option<(bool, f64)>>> {
    let push = (any::<bool>(), prop_oneof![1 => Just(0.0), 4 => 1e-5..1.0_f64]).prop_map(Some);
    vec(prop_oneof![1 => push, 1 => Just(None)], 1..200)
}

/// What is popped, in order, as (is it a write, cost, how many came before it).
fn popped(calls: &[Option<(bool, f64)>]) -> Vec<(Class, f64, usize)> {
    let mut queue = FairQueue::default();
    let turn = |Turn { flow, cost_s, payload, .. }| (flow.class, cost_s, payload);
    let mut turns = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        match *call {
            Some((is_write, cost_s)) => queue.push(0.0, Flow::of(is_write, 0), cost_s, index),
            None => turns.extend(queue.pop().map(turn)),
        }
    }
    turns.extend(std::iter::from_fn(|| queue.pop()).map(turn));
    turns
}

/// Beside a flood of writes a reader who asks for as much gets its half.
#[test]
fn a_reader_beside_a_flood_gets_its_half() {
    for kib in [8.0, 128.0, 1_024.0] {
        let clients = vec![reader(kib, 256), flood()];
        let got = Shared::new(clients, 0.004).run(1.0, 11.0);

        let share = got[0].bytes / (got[0].bytes + got[1].bytes);
        assert!((share - 0.5).abs() < 0.01, "{kib} KiB: {share}");
        assert!((got[0].bytes + got[1].bytes) / 10.0 > 0.99 * RATE);
    }
}

/// One read at a time during a flood waits for one turn of the other class, never for the flood: it
/// takes at most twice as long as alone, or as long as alone and one write.
#[test]
fn a_single_read_does_not_wait_for_the_flood() {
    let horizon_s = 0.000_5;
    let write_s = 128.0 * KIB / RATE;
    for kib in [8.0, 128.0, 1_024.0] {
        let got = Shared::new(vec![reader(kib, 1), flood()], horizon_s).run(1.0, 11.0);

        let read_s = kib * KIB / RATE;
        let most_s = read_s + read_s.max(write_s) + horizon_s;
        assert!(got[0].waited_s_max <= most_s + ROUNDING, "{kib} KiB: {}", got[0].waited_s_max);
        assert!(got[1].waited_s_max > 0.25, "the flood waits: {}", got[1].waited_s_max);
    }
}

/// A class that asks for nothing costs the other nothing.
#[test]
fn an_idle_class_costs_nothing() {
    let got = Shared::new(vec![flood()], 0.004).run(0.0, 10.0);

    let served = got[0].bytes / 10.0;
    assert!((served - RATE).abs() <= 128.0 * KIB, "{served}");
}

/// Who comes late has saved nothing up: from then on it is half for each.
#[test]
fn a_late_comer_has_saved_nothing_up() {
    let late = Client { from_s: 5.0, ..reader(128.0, 256) };
    let got = Shared::new(vec![late, flood()], 0.004).run(5.0, 6.0);

    assert!((got[0].bytes - got[1].bytes).abs() <= 0.01 * RATE, "{got:?}");
}

/// One page of a file, while another file is flooded, is behind one request of the flood at most.
#[test]
fn a_page_of_another_file_does_not_wait_for_the_flood() {
    let mut queue = FairQueue::new();
    (0..100).for_each(|page| queue.push(0.0, Flow::of(true, 1), 1.0, (1, page)));
    for page in 0..10 {
        queue.push(0.0, Flow::of(true, 2), 1.0, (2, page));
        let ahead =
            std::iter::from_fn(|| queue.pop()).take_while(|turn| turn.payload != (2, page)).count();
        assert!(ahead <= 1, "{ahead} requests of the flood before page {page}");
    }
}

/// Files are no classes: however many are written, reads get their half.
#[test]
fn many_files_do_not_take_the_half_of_the_reads() {
    let mut queue = FairQueue::new();
    for file in 0..50 {
        (0..10).for_each(|_| queue.push(0.0, Flow::of(true, file), 1.0, ()));
        (0..10).for_each(|_| queue.push(0.0, Flow::of(false, file), 1.0, ()));
    }
    let first = std::iter::from_fn(|| queue.pop()).take(200);
    let reads = first.filter(|turn| turn.flow.class == Class::Read).count();

    assert_eq!(100, reads);
}

/// A cost below nothing, or none at all, buys no turn ahead of others.
#[test]
fn nobody_is_paid_for_asking() {
    let mut queue = FairQueue::new();
    queue.push(0.0, Flow::of(true, 0), -5.0, 0);
    queue.push(0.0, Flow::of(true, 0), f64::NAN, 1);
    queue.push(0.0, Flow::of(false, 0), 1.0, 2);
    queue.push(0.0, Flow::of(true, 0), 1.0, 3);

    let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|turn| turn.payload).collect();
    assert_eq!(vec![0, 1, 2, 3], order);
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Cases that were found stay here, to be tried first ever after.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    /// Over any time in which both classes wait, what they get differs by at most the largest
    /// request of each, however unlike their requests are.
    #[test]
    fn two_that_wait_get_the_same(
        read in vec(1e-5..1.0_f64, 50..100), write in vec(1e-5..0.01_f64, 50..100),
    ) {
        let mut queue = FairQueue::new();
        read.iter().for_each(|&cost_s| queue.push(0.0, Flow::of(false, 0), cost_s, ()));
        write.iter().for_each(|&cost_s| queue.push(0.0, Flow::of(true, 0), cost_s, ()));
        let largest = |costs: &[f64]| costs.iter().copied().fold(0.0, f64::max);
        let most = largest(&read) + largest(&write);
        let (mut ahead, mut low, mut high) = (0.0_f64, 0.0_f64, 0.0_f64);
        let (mut reads, mut writes) = (read.len(), write.len());
        while reads > 0 && writes > 0 {
            let Turn { flow, cost_s, .. } = queue.pop().expect("both wait");
            let class = flow.class;
            *if class == Class::Read { &mut reads } else { &mut writes } -= 1;
            ahead += if class == Class::Read { cost_s } else { -cost_s };
            (low, high) = (low.min(ahead), high.max(ahead));
            prop_assert!(high - low <= most + ROUNDING, "{low} {high} {most}");
        }
    }

    /// Over any time in which two files both wait, what they get differs by at most the largest request of each,
    /// and the requests of each are in order of arrival.
    #[test]
    fn two_files_that_wait_get_the_same(
        one in vec(1e-5..1.0_f64, 50..100), other in vec(1e-5..0.01_f64, 50..100),
    ) {
        let mut queue = FairQueue::new();
        for (file, costs) in [(1, &one), (2, &other)] {
            let asked = costs.iter().enumerate();
            asked.for_each(|(at, &cost_s)| queue.push(0.0, Flow::of(true, file), cost_s, at));
        }
        let largest = |costs: &[f64]| costs.iter().copied().fold(0.0, f64::max);
        let most = largest(&one) + largest(&other);
        let (mut ahead, mut low, mut high) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut done = [0, 0];
        while done[0] < one.len() && done[1] < other.len() {
            let Turn { flow, cost_s, payload, .. } = queue.pop().expect("both wait");
            let file = flow.file as usize - 1;
            prop_assert_eq!(done[file], payload);
            done[file] += 1;
            ahead += if file == 0 { cost_s } else { -cost_s };
            (low, high) = (low.min(ahead), high.max(ahead));
            prop_assert!(high - low <= most + ROUNDING, "{low} {high} {most}");
        }
    }

    /// All that was pushed is popped, each class in order of arrival, and alike every time.
    #[test]
    fn nothing_is_lost_or_overtaken_in_its_class(calls in calls()) {
        let turns = popped(&calls);
        prop_assert_eq!(calls.iter().flatten().count(), turns.len());
        for class in [Class::Read, Class::Write] {
            let order: Vec<usize> = turns.iter().filter(|turn| turn.0 == class).map(|t| t.2).collect();
            prop_assert!(order.is_sorted());
        }
        prop_assert_eq!(popped(&calls), turns);
    }

    /// There is a next one exactly while something waits, and what waits is counted.
    #[test]
    fn the_queue_keeps_its_books(calls in calls()) {
        let mut queue = FairQueue::new();
        let mut costs: Vec<f64> = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            if let Some((is_write, cost_s)) = call {
                costs.push(cost_s);
                queue.push(index as f64, Flow::of(is_write, 0), cost_s, index);
            } else if let Some(Turn { cost_s, pushed_s, payload, .. }) = queue.pop() {
                prop_assert_eq!(payload as f64, pushed_s);
                costs.remove(costs.iter().position(|&cost| cost == cost_s).expect("it was pushed"));
            } else {
                prop_assert!(costs.is_empty());
            }
            prop_assert_eq!(costs.len(), queue.len());
            prop_assert_eq!(costs.is_empty(), queue.is_empty());
        }
    }
}
