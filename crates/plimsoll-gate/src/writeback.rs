//! Which requests of writeback may enter the queue of the disk.
//!
//! Rule 1: at most `most` are in the queue, as on a disk with so many places.
//! Rule 2: a file that has none in the queue may exceed that, up to twice `most`. So a file with a few pages, for
//! example the log of a commit, never waits for all pages of another file.
//! Rule 3: the requests of a file enter in order of arrival; files take turns.
//!
//! Linux does the same in front of a real disk: background writes get a part of its queue, so that others find
//! places in it (writeback throttling, block/blk-wbt.c). The kernel does not tell us which writes are in the
//! background; but these are many pages of one file, and those that somebody waits for are few.

use std::collections::{HashMap, VecDeque};

/// Requests of writeback, in the queue and before it.
#[derive(Debug)]
pub struct Writeback<T> {
    most: usize,
    /// Requests in the queue: of each file that has any, and together.
    queued: HashMap<u64, usize>,
    total: usize,
    /// Requests before the queue, of each file that has any.
    waiting: HashMap<u64, VecDeque<T>>,
    /// The files of `waiting`, in the order of their turns.
    turns: VecDeque<u64>,
}

impl<T> Writeback<T> {
    /// Return an empty queue with so many places, ≥ 1.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let (queued, waiting) = (HashMap::new(), HashMap::new());
        Self { most, queued, total: 0, waiting, turns: VecDeque::new() }
    }

    /// Take a request of a file, and return it if it enters the queue now.
    pub fn take(&mut self, file: u64, request: T) -> Option<T> {
        let is_alone = !self.queued.contains_key(&file) && self.total < 2 * self.most;
        let waiting = self.waiting.get_mut(&file);
        if let Some(waiting) = waiting {
            waiting.push_back(request);
            return None;
        }
        if self.total < self.most || is_alone {
            self.enter(file);
            return Some(request);
        }
        self.waiting.insert(file, VecDeque::from([request]));
        self.turns.push_back(file);
        None
    }

    /// Note that a request of a file has left the queue, and return one that enters it now, if any may.
    pub fn leave(&mut self, file: u64) -> Option<T> {
        self.total = self.total.saturating_sub(1);
        if let Some(queued) = self.queued.get_mut(&file) {
            *queued -= 1;
            if *queued == 0 {
                self.queued.remove(&file);
                if self.waiting.contains_key(&file) {
                    return self.next_of(file);
                }
            }
        }
        let file = self.turns.front().copied().filter(|_| self.total < self.most)?;
        self.next_of(file)
    }

    /// Return everything that waits, and forget what is in the queue.
    pub fn drain(&mut self) -> Vec<T> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let turns = std::mem::take(&mut self.turns);
        self.queued.clear();
        self.total = 0;
        turns.iter().filter_map(|file| waiting.remove(file)).flatten().collect()
    }

    fn enter(&mut self, file: u64) {
        *self.queued.entry(file).or_default() += 1;
        self.total += 1;
    }

    /// Let the first waiting request of a file enter; its next one waits until all other files had a turn.
    fn next_of(&mut self, file: u64) -> Option<T> {
        let waiting = self.waiting.get_mut(&file)?;
        let request = waiting.pop_front()?;
        let is_last = waiting.is_empty();
        self.turns.retain(|&other| other != file);
        if is_last {
            self.waiting.remove(&file);
        } else {
            self.turns.push_back(file);
        }
        self.enter(file);
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A flood of one file fills the queue, and a page of another one enters all the same.
    #[test]
    fn a_file_with_one_page_does_not_wait_for_a_flood() {
        let mut disk = Writeback::new(4);
        let entered = (0..100).filter_map(|page| disk.take(1, page)).count();

        assert_eq!(4, entered);
        assert_eq!(Some(1_000), disk.take(2, 1_000));
        // Its second one waits for the first, and then goes before the rest of the flood.
        assert_eq!(None, disk.take(2, 1_001));
        assert_eq!(Some(1_001), disk.leave(2));
    }

    /// Many files with one page each find a limit, too.
    #[test]
    fn the_queue_has_an_end() {
        let mut disk = Writeback::new(4);
        let entered = (0..100).filter_map(|file| disk.take(file, file)).count();

        assert_eq!(8, entered);
        // Nothing enters before fewer than four are left.
        let entered: Vec<u64> = (0..5).filter_map(|file| disk.leave(file)).collect();
        assert_eq!(vec![8], entered);
    }

    /// Of two files that wait each gets every second place.
    #[test]
    fn files_take_turns() {
        let mut disk = Writeback::new(2);
        for page in 0..10 {
            disk.take(1, (1, page));
            disk.take(2, (2, page));
        }
        let mut queue = VecDeque::from([(1, 0), (2, 0)]);
        let mut order = Vec::new();
        while let Some((file, page)) = queue.pop_front() {
            order.push((file, page));
            queue.extend(disk.leave(file));
        }

        let expected: Vec<(u64, i32)> = (0..10).flat_map(|page| [(1, page), (2, page)]).collect();
        assert_eq!(expected, order);
    }

    proptest! {
        /// Every request enters once, those of a file in order, and never more than twice the places.
        #[test]
        fn each_enters_once(
            most in 1_usize..6,
            calls in prop::collection::vec((0_u64..5, any::<bool>()), 1..200),
        ) {
            let mut disk = Writeback::new(most);
            let (mut queue, mut entered) = (VecDeque::new(), Vec::new());
            let asked = calls.iter().filter(|call| call.1).count();
            for (number, (file, is_new)) in calls.into_iter().enumerate() {
                let next = if is_new {
                    disk.take(file, (file, number))
                } else {
                    queue.pop_front().and_then(|(file, _): (u64, usize)| disk.leave(file))
                };
                queue.extend(next);
                entered.extend(next);
                prop_assert!(queue.len() <= 2 * most);
            }
            while let Some((file, _)) = queue.pop_front() {
                let next = disk.leave(file);
                queue.extend(next);
                entered.extend(next);
            }
            prop_assert_eq!(asked, entered.len());
            for file in 0..5 {
                prop_assert!(entered.iter().filter(|one| one.0 == file).is_sorted());
            }
        }
    }
}
