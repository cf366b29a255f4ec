//! What is written behind the gate reads as in a plain folder: cached, direct, appended, reserved.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Error, Read, Result, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use common::twin::{Act, compare, fine, open, sum};
use common::{Aligned, MIB, Setup, noise};
use rustix::fs::{FallocateFlags, OFlags, SeekFrom};

const O_DIRECT: i32 = OFlags::DIRECT.bits() as i32;
const O_APPEND: i32 = OFlags::APPEND.bits() as i32;

/// Reading and writing, by several who see each other.
const WRITING: &[(&str, Act)] = &[
    ("write here and there", |d| {
        let f = open(&d.join("a"), 0)?;
        for i in 0..40 {
            f.write_all_at(&noise(5000, i), i * 37_123)?;
        }
        Ok(String::new())
    }),
    ("two who append", |d| {
        let (mut a, mut b) = (open(&d.join("l"), O_APPEND)?, open(&d.join("l"), O_APPEND)?);
        for i in 0..50 {
            a.write_all(&noise(700, i))?;
            b.write_all(&noise(333, i))?;
        }
        a.rewind()?;
        let mut all = Vec::new();
        b.rewind()?;
        b.read_to_end(&mut all)?;
        Ok(format!("{:x}", sum(&all)))
    }),
    ("direct over cached", |d| {
        let f = open(&d.join("a"), 0)?;
        f.write_all_at(&noise(20_000, 7), 8192)?;
        let direct = open(&d.join("a"), O_DIRECT)?;
        direct.write_all_at(Aligned::filled(8192, 5).get(), 12_288)?;
        let mut back = vec![0; 20_000];
        f.read_exact_at(&mut back, 8192)?;
        Ok(format!("{:x}", sum(&back)))
    }),
    ("direct behind cached", |d| {
        let f = open(&d.join("a"), 0)?;
        f.write_all_at(&noise(16_384, 8), 4096)?;
        let mut block = Aligned::filled(8192, 0);
        open(&d.join("a"), O_DIRECT)?.read_exact_at(block.get_mut(), 8192)?;
        Ok(format!("{:x}", sum(block.get())))
    }),
    ("read behind the end", |d| {
        let mut b = [0; 10];
        Ok(open(&d.join("a"), 0)?.read_at(&mut b, 1 << 30)?.to_string())
    }),
];

/// Space, holes, copies and flushes.
const PLACING: &[(&str, Act)] = &[
    ("reserve", |d| {
        rustix::fs::fallocate(open(&d.join("a"), 0)?, FallocateFlags::empty(), 0, 3 * MIB as u64)
            .map(fine)
            .map_err(Error::from)
    }),
    ("reserve and keep the length", |d| {
        rustix::fs::fallocate(open(&d.join("a"), 0)?, FallocateFlags::KEEP_SIZE, 0, 5 * MIB as u64)
            .map(fine)
            .map_err(Error::from)
    }),
    ("punch", |d| {
        let f = open(&d.join("a"), 0)?;
        f.write_all_at(&noise(200_000, 9), 0)?;
        rustix::fs::fallocate(
            &f,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            10_000,
            100_000,
        )?;
        let mut back = vec![0; 200_000];
        f.read_exact_at(&mut back, 0)?;
        Ok(format!("{:x}", sum(&back)))
    }),
    ("zero", |d| {
        rustix::fs::fallocate(open(&d.join("a"), 0)?, FallocateFlags::ZERO_RANGE, 5000, 70_000)
            .map(fine)
            .map_err(Error::from)
    }),
    ("where data and holes begin", holes),
    ("copy within", |d| {
        let (from, to) = (open(&d.join("a"), 0)?, open(&d.join("c"), 0)?);
        let mut at = 100;
        let n = rustix::fs::copy_file_range(&from, Some(&mut at), &to, None, 150_000)?;
        Ok(n.to_string())
    }),
    ("copy", |d| Ok(fs::copy(d.join("a"), d.join("e"))?.to_string())),
    ("write where nothing may be read", |d| {
        let f = OpenOptions::new().write(true).create_new(true).mode(0o200).open(d.join("w"))?;
        f.write_all_at(b"abc", 5000)?;
        drop(f);
        OpenOptions::new().write(true).open(d.join("w"))?.write_all_at(b"xy", 1).map(fine)
    }),
    ("synchronously", |d| {
        open(&d.join("o"), OFlags::DSYNC.bits() as i32)?.write_all(&noise(10_000, 4)).map(fine)
    }),
    ("directly and synchronously", |d| {
        open(&d.join("p"), OFlags::SYNC.bits() as i32 | O_DIRECT)?
            .write_all(Aligned::filled(16_384, 3).get())
            .map(fine)
    }),
    ("flush", |d| {
        let f = open(&d.join("a"), 0)?;
        f.sync_all()?;
        f.sync_data()?;
        File::open(d)?.sync_all().map(fine)
    }),
];

/// Content is the same whichever way it was written and is read.
#[test]
fn content_behaves_as_in_a_plain_folder() {
    let Some(gate) = Setup::new().mount() else { return };
    compare(&gate, &[WRITING, PLACING].concat());
}

/// Also of data that the kernel has not written out yet: it must not look like a hole.
fn holes(folder: &Path) -> Result<String> {
    let file = open(&folder.join("h"), 0)?;
    file.write_all_at(&noise(100_000, 5), 1_048_576)?;
    file.write_all_at(&noise(10, 6), 8_388_608)?;
    let found = [
        rustix::fs::seek(&file, SeekFrom::Data(0))?,
        rustix::fs::seek(&file, SeekFrom::Hole(1_048_576))?,
        rustix::fs::seek(&file, SeekFrom::Data(2_097_152))?,
        rustix::fs::seek(&file, SeekFrom::Hole(8_388_608))?,
    ];
    let behind = rustix::fs::seek(&file, SeekFrom::Data(9_000_000));
    Ok(format!("{found:?} {behind:?}"))
}
