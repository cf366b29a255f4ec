//! Holes: where a file has no data no disk is asked, and none is charged.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;

use common::{Aligned, MIB, Setup, noise};
use rustix::fs::OFlags;
use serde_json::json;

/// A limit below which anything that is charged would take minutes.
fn slow() -> Setup {
    Setup::new().with_stage("volume", "bytes", 1_000_000.0, json!({}))
}

/// A file of 64 MiB with one of data at 40 MiB is read as zeros and data; only the data is charged.
#[test]
fn only_data_is_charged() {
    let Some(mut gate) = slow().mount() else { return };
    let (size, at) = (64 * MIB, 40 * MIB);
    let below = File::create(gate.backing().join("a")).unwrap();
    below.set_len(size as u64).unwrap();
    below.write_all_at(&noise(MIB, 1), at as u64).unwrap();

    let found = fs::read(gate.mount().join("a")).unwrap();

    assert!(found.len() == size && found[at..at + MIB] == noise(MIB, 1)[..]);
    assert!(found[..at].iter().all(|byte| *byte == 0));
    assert!(found[at + MIB..].iter().all(|byte| *byte == 0));
    gate.stop();
    assert_eq!(MIB as f64, gate.recorded("read_bytes"));
}

/// Reading past the cache costs nothing where there is a hole, and the end of a file is its end.
#[test]
fn holes_are_free_past_the_cache_too() {
    let Some(mut gate) = slow().mount() else { return };
    File::create(gate.backing().join("a")).unwrap().set_len(10_000).unwrap();
    let direct = OFlags::DIRECT.bits() as i32;
    let file =
        File::options().read(true).custom_flags(direct).open(gate.mount().join("a")).unwrap();
    let mut page = Aligned::filled(8192, 1);

    assert_eq!(8192, file.read_at(page.get_mut(), 0).unwrap());
    assert!(page.get().iter().all(|byte| *byte == 0));
    assert_eq!(10_000 - 8192, file.read_at(page.get_mut(), 8192).unwrap());
    assert_eq!(0, file.read_at(page.get_mut(), 16_384).unwrap());

    gate.stop();
    assert_eq!(0.0, gate.recorded("read_ops"));
}

/// Memory of a sparse file that is written to is charged once, for what is written out.
#[test]
fn a_sparse_map_is_charged_once() {
    let Some(mut gate) = slow().mount() else { return };
    let path = gate.mount().join("a");
    File::create(&path).unwrap().set_len(2 * MIB as u64).unwrap();
    let program = "import mmap, sys\n\
        with open(sys.argv[1], 'r+b') as file, mmap.mmap(file.fileno(), 0) as memory:\n\
        \x20   memory[:] = b'x' * len(memory)\n\
        \x20   memory.flush()\n";

    let done = Command::new("python3").args(["-c", program]).arg(&path).status().unwrap();

    assert!(done.success());
    assert_eq!(vec![b'x'; 2 * MIB], fs::read(gate.backing().join("a")).unwrap());
    gate.stop();
    assert_eq!(0.0, gate.recorded("read_bytes"));
    assert_eq!((2 * MIB) as f64, gate.recorded("write_bytes"));
}

/// A hole that is punched is one from then on; what was a hole and was written to is data.
#[test]
fn holes_come_and_go() {
    let Some(mut gate) = Setup::new().mount() else { return };
    let path = gate.mount().join("a");
    let direct = OFlags::DIRECT.bits() as i32;
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(direct)
        .open(&path)
        .unwrap();
    let mut page = Aligned::filled(MIB, 7);
    let read = |at: usize, page: &mut Aligned| {
        file.read_exact_at(page.get_mut(), at as u64).unwrap();
        page.get()[0]
    };
    file.write_all_at(page.get(), 0).unwrap();
    file.write_all_at(page.get(), MIB as u64).unwrap();
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, 0, MIB as u64).unwrap();
    assert_eq!((0, 7), (read(0, &mut page), read(MIB, &mut page)));
    page.get_mut().fill(9);
    file.write_all_at(page.get(), 0).unwrap();
    assert_eq!((9, 7), (read(0, &mut page), read(MIB, &mut page)));

    gate.stop();
    assert_eq!((3 * MIB) as f64, gate.recorded("read_bytes"));
}
