//! Who reads past the page cache of the mount reads past the one below, too, if that has nothing; and
//! finds what was written.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use common::twin::open;
use common::{Aligned, MIB, Setup, noise};
use rustix::fs::{Advice, FallocateFlags, OFlags, ftruncate};
use serde_json::{Value, json};

const O_DIRECT: i32 = OFlags::DIRECT.bits() as i32;
const BLOCK: usize = 8192;

/// Bytes that a process has had the disks read; none is counted for what lies in a cache.
fn fetched(process: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let line = text.lines().find(|line| line.starts_with("read_bytes: ")).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Read the first mebibyte three times over, past the cache if this can be done there.
fn read_thrice(path: &Path) {
    let file = open(path, O_DIRECT).or_else(|_| open(path, 0)).unwrap();
    let mut block = Aligned::filled(BLOCK, 0);
    let expected = noise(MIB, 3);
    // In an order that nobody reads ahead of.
    for number in 0..3 * MIB / BLOCK {
        let at = number * 37 * BLOCK % MIB;
        file.read_exact_at(block.get_mut(), at as u64).unwrap();
        assert!(expected[at..at + BLOCK] == *block.get());
    }
}

/// The disk is asked as it would be without a gate: again each time, unless it is memory; but for a
/// look into the cache here and there.
#[test]
fn each_read_past_the_cache_reaches_the_disk() {
    let Some(gate) = Setup::new().mount() else { return };
    let (twin, behind) = (gate.beside("twin"), gate.backing().join("a"));
    for path in [&twin, &behind] {
        fs::write(path, noise(MIB, 3)).unwrap();
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    }
    let pid = gate.pid().as_raw_nonzero().to_string();
    let own = fetched("thread-self");
    read_thrice(&twin);
    let expected = fetched("thread-self") - own;

    let before = fetched(&pid);
    read_thrice(&gate.mount().join("a"));

    let found = fetched(&pid) - before;
    assert!(found >= expected * 2 / 3, "{found} of {expected} bytes");
}

/// A file that several change in several ways, and what must be in it.
struct Changed {
    cached: File,
    direct: File,
    content: Vec<u8>,
}

impl Changed {
    fn at(path: &Path) -> Self {
        let (cached, direct) = (open(path, 0).unwrap(), open(path, O_DIRECT).unwrap());
        Self { cached, direct, content: Vec::new() }
    }

    /// Change it in one of the ways there are, at a place that a number makes out.
    fn change(&mut self, number: usize) {
        let length = self.content.len();
        let at = number * 37_123 % (length + 1);
        match number % 6 {
            0 | 1 => {
                let new = noise(5000 + number * 911 % 90_000, number as u64);
                self.content.resize(length.max(at + new.len()), 0);
                self.content[at..at + new.len()].copy_from_slice(&new);
                self.cached.write_all_at(&new, at as u64).unwrap();
            }
            2 => {
                // Small ones go through the cache below, large ones past it.
                let bytes = BLOCK * [1, 8, 32][number / 6 % 3];
                let (at, new) = (at / BLOCK * BLOCK, Aligned::filled(bytes, number as u8));
                self.content.resize(length.max(at + bytes), 0);
                self.content[at..at + bytes].copy_from_slice(new.get());
                self.direct.write_all_at(new.get(), at as u64).unwrap();
            }
            3 => {
                let rest = (length - at).min(50_001);
                self.content[at..at + rest].fill(0);
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                if rest > 0 {
                    rustix::fs::fallocate(&self.cached, flags, at as u64, rest as u64).unwrap();
                }
            }
            4 => {
                // Shorter and longer again: what was behind the cut must not come back.
                ftruncate(&self.cached, (length - length / 5) as u64).unwrap();
                ftruncate(&self.direct, (length + 3) as u64).unwrap();
                self.content.truncate(length - length / 5);
                self.content.resize(length + 3, 0);
            }
            _ => self.direct.sync_data().unwrap(),
        }
    }

    /// Read all of it past the caches, to the end and beyond.
    fn look(&self, bytes: usize, number: usize) {
        let mut block = Aligned::filled(bytes, 0);
        for at in (0..self.content.len() + bytes).step_by(bytes) {
            let length = self.direct.read_at(block.get_mut(), at as u64).unwrap();
            let rest = self.content.get(at..).unwrap_or_default();
            let expected = &rest[..rest.len().min(bytes)];
            assert!(*expected == block.get()[..length], "after {number}, at {at}: {length} bytes");
        }
    }
}

fn change_and_look(memory_bytes: Value) {
    let Some(gate) = Setup::new().with("memory_bytes", memory_bytes).mount() else { return };
    let mut changed = Changed::at(&gate.mount().join("a"));
    let below = File::open(gate.backing().join("a")).unwrap();
    for number in 0..60 {
        changed.change(number);
        // What is on the disk is no longer in the cache below, so that it is passed by.
        rustix::fs::fadvise(&below, 0, None, Advice::DontNeed).unwrap();
        changed.look([4096, 65_536, 512, MIB][number % 4], number);
    }
    changed.cached.sync_all().unwrap();

    assert!(changed.content.len() > 128 * 1024, "{} bytes are no trial", changed.content.len());
    changed.look(BLOCK, 60);
    assert!(changed.content == fs::read(gate.backing().join("a")).unwrap());
}

/// Written, cut, punched or grown, through whichever handle: who reads past the caches sees it.
#[test]
fn what_was_changed_is_read_past_the_caches() {
    change_and_look(Value::Null);
}

/// Also where the mount's cache is so small that most of it is written out and dropped at once.
#[test]
fn what_was_dropped_is_read_past_the_caches() {
    change_and_look(json!(128 * 1024));
}

/// What no disk could be asked for in blocks is read all the same.
#[test]
fn odd_places_are_read_too() {
    let Some(gate) = Setup::new().mount() else { return };
    let content = noise(100_000, 4);
    fs::write(gate.backing().join("a"), &content).unwrap();
    let below = File::open(gate.backing().join("a")).unwrap();
    below.sync_all().unwrap();
    rustix::fs::fadvise(&below, 0, None, Advice::DontNeed).unwrap();
    let file = open(&gate.mount().join("a"), O_DIRECT).unwrap();

    for (at, bytes) in [(0, 8191), (7, 4096), (1000, 100), (512, 700), (99_840, 160), (90_000, 512)]
    {
        let mut block = vec![0; bytes];
        file.read_exact_at(&mut block, at as u64).unwrap();
        assert!(content[at..at + bytes] == block, "{bytes} bytes at {at}");
    }
}
