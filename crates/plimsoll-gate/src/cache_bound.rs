//! A bound on the mount's data in the kernel's page cache.
//!
//! Rule 1: pages are dropped in order of delivery (FIFO), not of last use: the kernel does not report
//! which pages are used.
//! Rule 2: no dirty data is lost. The kernel writes a page out before it drops it.
//! Rule 3: a page counts once, however often it is delivered.
//! Rule 4: a page that is being written out is not dropped: dropping it would wait for the write.
//!
//! The ledger has a bit for every delivered page of every file. Pages that the kernel dropped by itself
//! stay in the ledger, so it counts too much rather than too little.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// Bytes of a page, as the ledger counts.
pub const PAGE_BYTES: u64 = 4096;

/// Void entries that may collect before the queue is cleaned.
const VOID_MAX: usize = 4096;

/// Stretches that are skipped before another thread gets the ledger; the next search continues behind
/// them.
const PASSED_OVER_MAX: usize = 64;

/// A bit for each cached page, in words of 64 pages; files may be sparse, so only words with a bit set are
/// stored.
type Bits = BTreeMap<u64, u64>;

/// Key of a file: its node number and the epoch of the node.
pub type FileKey = (u64, u64);

/// A stretch of a file to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Node number.
    pub id: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Delivered {
    file: FileKey,
    page: u64,
    pages: u64,
}

/// The delivered pages, and their order.
#[derive(Debug)]
pub struct Ledger {
    most_pages: u64,
    held_pages: u64,
    held: HashMap<FileKey, Bits>,
    order: VecDeque<Delivered>,
    /// A bit for each page that is being written out.
    written: HashMap<FileKey, Bits>,
}

impl Ledger {
    /// Return a ledger for at most this many bytes.
    #[must_use]
    pub fn new(most_bytes: u64) -> Self {
        let most_pages = (most_bytes / PAGE_BYTES).max(1);
        let (held, order, written) = (HashMap::new(), VecDeque::new(), HashMap::new());
        Self { most_pages, held_pages: 0, held, order, written }
    }

    /// Return the most bytes that the kernel may hold.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held_pages * PAGE_BYTES
    }

    /// Return whether something must be dropped.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.held_pages > self.most_pages
    }

    /// Note that a stretch of a file is in the page cache.
    pub fn deliver(&mut self, file: FileKey, offset: u64, bytes: u64) {
        let (first, end) = pages_of(offset, bytes);
        if first >= end {
            return;
        }
        let bits = self.held.entry(file).or_default();
        let fresh = mark(bits, first, end, true);
        if fresh > 0 {
            self.held_pages += fresh;
            match self.order.back_mut() {
                // A stream is one entry, up to 1 MiB.
                Some(last)
                    if last.file == file && last.page + last.pages == first && last.pages < 256 =>
                {
                    last.pages += end - first;
                }
                _ => self.order.push_back(Delivered { file, page: first, pages: end - first }),
            }
        }
        if self.order.len() > VOID_MAX + self.held_pages as usize {
            let held = &self.held;
            self.order.retain(|entry| is_any(held, entry));
        }
    }

    /// Note that a stretch of a file is being written out.
    pub fn begin_write(&mut self, file: FileKey, offset: u64, bytes: u64) {
        let (first, end) = pages_of(offset, bytes);
        mark(self.written.entry(file).or_default(), first, end, true);
    }

    /// Note that it has been written: it is in the page cache, and can be dropped.
    pub fn end_write(&mut self, file: FileKey, offset: u64, bytes: u64) {
        let (first, end) = pages_of(offset, bytes);
        if let Some(bits) = self.written.get_mut(&file) {
            mark(bits, first, end, false);
            if bits.is_empty() {
                self.written.remove(&file);
            }
        }
        self.deliver(file, offset, bytes);
    }

    /// Note that a stretch of a file is no longer cached.
    pub fn lose(&mut self, file: FileKey, offset: u64, bytes: u64) {
        let (first, end) = pages_of(offset, bytes);
        if let Some(bits) = self.held.get_mut(&file) {
            self.held_pages -= mark(bits, first, end, false);
        }
    }

    /// Note that a file ends here: later pages are no longer cached.
    pub fn cut(&mut self, file: FileKey, bytes: u64) {
        let first = bytes.div_ceil(PAGE_BYTES);
        if let Some(bits) = self.held.get_mut(&file) {
            self.held_pages -= mark(bits, first, first.next_multiple_of(64), false);
            let behind = bits.split_off(&first.div_ceil(64));
            let pages: u32 = behind.values().map(|word| word.count_ones()).sum();
            self.held_pages -= u64::from(pages);
        }
    }

    /// Note that the kernel has forgotten a file.
    pub fn forget(&mut self, file: FileKey) {
        self.cut(file, 0);
        self.held.remove(&file);
    }

    /// Return the oldest stretch to drop; `None` when enough was dropped, or when all that were checked
    /// are being written out.
    pub fn next_victim(&mut self) -> Option<Victim> {
        let mut passed_over = 0;
        while self.is_over() && passed_over < PASSED_OVER_MAX {
            let oldest = self.order.pop_front()?;
            if is_any(&self.written, &oldest) {
                self.order.push_back(oldest);
                passed_over += 1;
                continue;
            }
            let Delivered { file, page, pages } = oldest;
            let Some(bits) = self.held.get_mut(&file) else { continue };
            let dropped = mark(bits, page, page + pages, false);
            if dropped > 0 {
                self.held_pages -= dropped;
                let (offset, bytes) = (page * PAGE_BYTES, pages * PAGE_BYTES);
                return Some(Victim { id: file.0, offset, bytes });
            }
        }
        None
    }
}

impl Victim {
    /// Return whether a request to a file touches this stretch, which may reach to the end of the file.
    #[must_use]
    pub fn touches(&self, id: u64, offset: u64, bytes: u64) -> bool {
        let end = if self.bytes == 0 { u64::MAX } else { self.offset + self.bytes };
        self.id == id && self.offset < offset + bytes && offset < end
    }
}

fn pages_of(offset: u64, bytes: u64) -> (u64, u64) {
    (offset / PAGE_BYTES, (offset + bytes).div_ceil(PAGE_BYTES))
}

/// Return whether any page of an entry is marked.
fn is_any(marked: &HashMap<FileKey, Bits>, entry: &Delivered) -> bool {
    let (first, end) = (entry.page, entry.page + entry.pages);
    marked.get(&entry.file).is_some_and(|bits| {
        let mut words = bits.range(first / 64..=(end - 1) / 64);
        words.any(|(&index, word)| word & mask(index, first, end) != 0)
    })
}

/// Return the bits of one word that belong to the pages `[first, end)`.
fn mask(index: u64, first: u64, end: u64) -> u64 {
    let low = first.max(index * 64) - index * 64;
    let high = end.min(index * 64 + 64) - index * 64;
    (u64::MAX << low) & (u64::MAX >> (64 - high))
}

/// Set or clear the bits `[first, end)`; return how many changed.
fn mark(bits: &mut Bits, first: u64, end: u64, is_held: bool) -> u64 {
    if first >= end {
        return 0;
    }
    let mut changed = 0;
    for index in first / 64..=(end - 1) / 64 {
        let mask = mask(index, first, end);
        let word = bits.entry(index).or_default();
        let wanted = if is_held { *word | mask } else { *word & !mask };
        changed += u64::from((*word ^ wanted).count_ones());
        *word = wanted;
        if wanted == 0 {
            bits.remove(&index);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const PAGE: u64 = PAGE_BYTES;
    const FILE: FileKey = (7, 1);

    /// The oldest stretch goes first, and no more than needed.
    #[test]
    fn what_was_delivered_first_is_dropped_first() {
        let mut ledger = Ledger::new(4 * PAGE);
        for page in [9, 1, 5, 3] {
            ledger.deliver(FILE, page * PAGE, PAGE);
        }
        assert_eq!(None, ledger.next_victim());

        ledger.deliver(FILE, 20 * PAGE, 2 * PAGE);

        let victims: Vec<Victim> = std::iter::from_fn(|| ledger.next_victim()).collect();
        let offsets: Vec<u64> = victims.iter().map(|victim| victim.offset / PAGE).collect();
        assert_eq!((vec![9, 1], 4 * PAGE), (offsets, ledger.held_bytes()));
    }

    /// What is being written out is passed over, and goes once it has been written.
    #[test]
    fn what_is_being_written_out_stays() {
        let mut ledger = Ledger::new(4 * PAGE);
        ledger.deliver(FILE, 0, 4 * PAGE);
        ledger.begin_write(FILE, 2 * PAGE, PAGE);
        ledger.deliver((8, 2), 0, 2 * PAGE);

        assert_eq!(Some(8), ledger.next_victim().map(|victim| victim.id));
        ledger.deliver(FILE, 8 * PAGE, PAGE);
        ledger.begin_write(FILE, 8 * PAGE, PAGE);
        assert_eq!(None, ledger.next_victim());
        ledger.end_write(FILE, 2 * PAGE, PAGE);

        assert_eq!(Some(0), ledger.next_victim().map(|victim| victim.offset));
    }

    /// A page that is delivered again, as after the kernel dropped it, is the same page.
    #[test]
    fn a_page_counts_once() {
        let mut ledger = Ledger::new(100 * PAGE);
        ledger.deliver(FILE, 0, 8 * PAGE);
        ledger.deliver(FILE, 4 * PAGE, 8 * PAGE);
        ledger.deliver(FILE, 1, 1);

        assert_eq!(12 * PAGE, ledger.held_bytes());
    }

    /// Nothing is held of what a file lost, and nothing of it is dropped later.
    #[test]
    fn files_that_shrink_or_go_free_their_pages() {
        let mut ledger = Ledger::new(10 * PAGE);
        ledger.deliver(FILE, 0, 10 * PAGE);
        ledger.deliver((8, 2), 0, 5 * PAGE);

        ledger.cut(FILE, 3 * PAGE + 1);
        assert_eq!(9 * PAGE, ledger.held_bytes());
        ledger.lose(FILE, 0, PAGE);
        assert_eq!(8 * PAGE, ledger.held_bytes());
        ledger.forget((8, 2));

        assert_eq!((3 * PAGE, None), (ledger.held_bytes(), ledger.next_victim()));
    }

    /// The queue does not grow with files that come and go, however small the cache stays.
    #[test]
    fn the_queue_stays_small() {
        let mut ledger = Ledger::new(1_000_000 * PAGE);
        for epoch in 0..100_000 {
            ledger.deliver((7, epoch), 0, PAGE);
            ledger.forget((7, epoch));
        }

        assert!(ledger.order.len() <= VOID_MAX + 1);
    }

    proptest! {
        /// The ledger holds what a plain set of pages would hold, and keeps the bound.
        #[test]
        fn the_ledger_is_a_set_of_pages(
            steps in proptest::collection::vec((0_u8..3, 0_u64..200, 1_u64..70), 1..60),
        ) {
            let mut ledger = Ledger::new(90 * PAGE);
            let mut held = BTreeSet::new();
            for (kind, page, pages) in steps {
                match kind {
                    0 => {
                        ledger.deliver(FILE, page * PAGE, pages * PAGE);
                        held.extend(page..page + pages);
                    }
                    1 => {
                        ledger.lose(FILE, page * PAGE, pages * PAGE);
                        held.retain(|at| !(page..page + pages).contains(at));
                    }
                    _ => {
                        ledger.cut(FILE, page * PAGE);
                        held.retain(|at| *at < page);
                    }
                }
                while let Some(victim) = ledger.next_victim() {
                    let gone = victim.offset / PAGE..(victim.offset + victim.bytes) / PAGE;
                    held.retain(|at| !gone.contains(at));
                }
                prop_assert_eq!(held.len() as u64 * PAGE, ledger.held_bytes());
                prop_assert!(!ledger.is_over());
            }
        }
    }
}
