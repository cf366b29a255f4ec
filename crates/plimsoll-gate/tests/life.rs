//! The life of a gate: what it refuses, how it ends, and what outlives a crash.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::process::Command;

use common::{Aligned, MIB, Setup, ask, is_mounted, is_root, noise};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::json;

/// Whether FUSE can be used here; where it cannot, a gate refuses for that reason alone.
fn is_fuse_here() -> bool {
    Setup::new().mount().is_some()
}

fn refusal_of(setup: Setup) -> String {
    match setup.try_mount() {
        Ok(_) => "not refused".to_owned(),
        Err(refused) => {
            assert_eq!(2, refused.status);
            assert!(!is_mounted(&refused.setup.path("mount")));
            refused.said
        }
    }
}

/// Each obstacle is reported in one sentence, with the remedy, and nothing is mounted.
#[test]
fn what_stands_in_the_way_is_said() {
    if !is_fuse_here() {
        return;
    }
    let full = Setup::new();
    fs::write(full.path("mount").join("x"), "").unwrap();
    assert!(refusal_of(full).contains("is not empty\nhint: Choose an empty folder."));

    let missing = Setup::new().with("backing", json!("/nowhere"));
    assert!(refusal_of(missing).contains("backing folder '/nowhere' does not exist"));

    let within = Setup::new();
    let inner = within.path("backing").join("inner");
    fs::create_dir(&inner).unwrap();
    assert!(refusal_of(within.with("mount", json!(inner))).contains("lie within each other"));

    let behind = Setup::new();
    let record = behind.path("mount").join("record.jsonl");
    assert!(refusal_of(behind.with("record", json!(record))).contains("behind the gate itself"));

    let wrong = Setup::new().with_stage("x", "bytes", -1.0, json!({}));
    assert!(refusal_of(wrong).contains("stage 'x' has a baseline of -1"));

    let odd = Setup::new().with("mood", json!("fine"));
    assert!(refusal_of(odd).contains("unknown field `mood`"));
}

/// A second gate neither takes over a living mount nor a socket at which somebody answers.
#[test]
fn what_lives_is_left_alone() {
    let Some(gate) = Setup::new().mount() else { return };
    let same_mount = Setup::new().with("mount", json!(gate.mount()));
    let said = refusal_of_living(same_mount);
    assert!(said.contains("a mount of type fuse.plimsoll-gate is there"), "{said}");

    let same_socket = Setup::new().with("socket", json!(gate.beside("sock")));
    assert!(refusal_of(same_socket).contains("another process answers there"));

    assert_eq!(json!(true), gate.status()["is_limited"]);
    fs::write(gate.mount().join("still"), "here").unwrap();
}

fn refusal_of_living(setup: Setup) -> String {
    let Err(refused) = setup.try_mount() else { return "not refused".to_owned() };
    let own = json!(refused.setup.beside("mnt"));
    let said = refused.said.clone();
    // Its own folder is what it may clear away in the end.
    drop(refused.setup.with("mount", own));
    said
}

/// A gate ends on a signal, takes its mount and socket away, and what was written is there.
#[test]
fn a_signal_ends_it_in_good_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let Some(mut gate) = Setup::new().mount() else { return };
        let socket = fs::symlink_metadata(gate.beside("sock")).unwrap();
        assert!(socket.file_type().is_socket());
        assert_eq!(0o600, socket.permissions().mode() & 0o777);
        fs::write(gate.mount().join("a"), noise(300_000, 1)).unwrap();

        assert_eq!(0, gate.end_by(signal));

        assert!(!is_mounted(&gate.mount()) && !gate.beside("sock").exists());
        assert_eq!(noise(300_000, 1), fs::read(gate.backing().join("a")).unwrap());
    }
}

/// Somebody who unmounts it by hand ends it as well.
#[test]
fn an_unmounted_gate_ends() {
    let Some(mut gate) = Setup::new().mount() else { return };
    let tool: &[&str] = if is_root() { &["umount"] } else { &["fusermount3", "-u"] };
    let done = Command::new(tool[0]).args(&tool[1..]).arg(gate.mount()).status().unwrap();

    assert!(done.success());
    assert_eq!(0, gate.wait());
}

/// A stop while a file is open detaches the mount and says so; what was written is on the disk.
#[test]
fn a_busy_gate_is_detached_in_the_end() {
    let Some(mut gate) = Setup::new().mount() else { return };
    let mut file = File::create(gate.mount().join("open")).unwrap();
    file.write_all(&noise(500_000, 2)).unwrap();

    let answer = gate.stop();

    assert_eq!(
        (json!(true), json!(true)),
        (answer["stopped"].clone(), answer["is_detached"].clone())
    );
    assert!(!is_mounted(&gate.mount()));
    assert_eq!(noise(500_000, 2), fs::read(gate.backing().join("open")).unwrap());
}

/// kill -9: what was flushed is there, the dead mount is cleared away, and files are used again.
#[test]
fn a_crash_loses_nothing_that_was_flushed() {
    let Some(gate) = Setup::new().mount() else { return };
    let file = File::create(gate.mount().join("ledger")).unwrap();
    for round in 0..20 {
        file.write_all_at(&noise(10_000, round), round * 10_000).unwrap();
        file.sync_data().unwrap();
    }
    let setup = gate.kill();
    let dead = fs::metadata(setup.path("mount")).unwrap_err().raw_os_error();
    assert_eq!(Some(Errno::NOTCONN.raw_os_error()), dead);
    drop(file);

    let gate = setup.mount().unwrap();

    let found = fs::read(gate.mount().join("ledger")).unwrap();
    let rounds: Vec<u8> = (0..20).flat_map(|round| noise(10_000, round)).collect();
    assert!(rounds == found);
    fs::write(gate.mount().join("ledger"), "again").unwrap();
}

/// What fsync acknowledges has been flushed below, files and folders alike. The disk below is
/// another gate, which counts what reaches it.
#[test]
fn a_flush_reaches_the_disk_below() {
    let Some(mut disk) = Setup::new().mount() else { return };
    let setup = Setup::new().with("backing", json!(disk.mount()));
    let Some(mut gate) = setup.mount() else { return };
    let file = File::create(gate.mount().join("a")).unwrap();
    file.write_all_at(&noise(3 * MIB, 3), 0).unwrap();
    file.sync_all().unwrap();
    assert!(noise(3 * MIB, 3) == fs::read(disk.backing().join("a")).unwrap());
    file.sync_data().unwrap();
    File::open(gate.mount()).unwrap().sync_all().unwrap();
    let path = gate.mount().join("direct");
    let now = (OFlags::DSYNC | OFlags::DIRECT).bits() as i32;
    let direct = File::options().write(true).create(true).custom_flags(now).open(path).unwrap();
    direct.write_all_at(Aligned::filled(8192, 1).get(), 0).unwrap();
    drop((file, direct));

    gate.stop();
    disk.stop();

    assert_eq!(3.0, gate.recorded("fsyncs"));
    assert_eq!(4.0, disk.recorded("fsyncs"));
    assert_eq!((3 * MIB + 8192) as f64, gate.recorded("write_bytes"));
}

/// Shared memory of a file is written out like anything else, and seen by those who read.
#[test]
fn shared_memory_of_a_file_is_written() {
    let Some(gate) = Setup::new().mount() else { return };
    let path = gate.mount().join("shared");
    fs::write(&path, noise(200_000, 4)).unwrap();
    let program = "import mmap, sys\n\
        with open(sys.argv[1], 'r+b') as file, mmap.mmap(file.fileno(), 0) as memory:\n\
        \x20   before = bytes(memory[100_000:100_008])\n\
        \x20   memory[100_000:100_008] = b'mmapped!'\n\
        \x20   file.seek(100_000)\n\
        \x20   assert file.read(8) == b'mmapped!'\n\
        \x20   memory.flush()\n\
        sys.stdout.buffer.write(before)\n";

    let done = Command::new("python3").args(["-c", program]).arg(&path).output().unwrap();

    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut expected = noise(200_000, 4);
    assert_eq!(expected[100_000..100_008], done.stdout);
    expected[100_000..100_008].copy_from_slice(b"mmapped!");
    assert!(expected == fs::read(&path).unwrap());
    assert!(expected == fs::read(gate.backing().join("shared")).unwrap());
}

/// A full disk is reported to whoever flushes or writes without cache, and reading goes on.
#[test]
fn a_full_disk_is_told() {
    if !is_root() {
        // A small disk is made by root alone.
        return;
    }
    let setup = Setup::new();
    let backing = setup.path("backing");
    let small = ["-t", "tmpfs", "-o", "size=4m", "none"];
    assert!(Command::new("mount").args(small).arg(&backing).status().unwrap().success());
    let unmount = || Command::new("umount").arg("-l").arg(&backing).status();
    let Some(mut gate) = setup.mount() else {
        unmount().unwrap();
        return;
    };
    let full = Some(Errno::NOSPC.raw_os_error());

    let kept = gate.mount().join("kept");
    fs::write(&kept, noise(100_000, 5)).unwrap();
    let file = File::create(gate.mount().join("large")).unwrap();
    // Told where it is written, or where it is flushed: that depends on when the kernel writes out.
    let told = file.write_all_at(&noise(8 * MIB, 6), 0).and_then(|()| file.sync_all());
    let reserved =
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, (16 * MIB) as u64);

    assert_eq!(full, told.unwrap_err().raw_os_error());
    assert_eq!(Err(Errno::NOSPC), reserved);
    assert!(noise(100_000, 5) == fs::read(&kept).unwrap());
    drop(file);
    fs::remove_file(gate.mount().join("large")).unwrap();
    fs::write(gate.mount().join("small"), noise(MIB, 7)).unwrap();
    gate.stop();
    assert!(noise(MIB, 7) == fs::read(backing.join("small")).unwrap());
    unmount().unwrap();
}

/// Thousands of files are open at once, and the kernel's forgetting frees them all.
#[test]
fn thousands_of_files_are_open_at_once() {
    let Some(gate) = Setup::new().mount() else { return };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    // Each takes one descriptor of the gate, which leaves a quarter to those that are not open; a
    // plain user has what he is given.
    let most = limit.maximum.unwrap_or(u64::MAX) / 4 * 3 - 200;
    let count = most.min(if is_root() { 10_000 } else { 4000 });

    let open: Vec<File> = (0..count)
        .map(|number| {
            let path = gate.mount().join(format!("{number}"));
            let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
            file.write_all_at(&number.to_le_bytes(), 0).unwrap();
            file
        })
        .collect();

    for (number, file) in open.iter().enumerate() {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(number as u64, u64::from_le_bytes(bytes));
    }
}

/// Eight writers at once leave what each of them wrote.
#[test]
fn writers_do_not_disturb_each_other() {
    let Some(gate) = Setup::new().mount() else { return };
    let path = gate.mount().join("a");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let part = 400_000;

    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let file = &file;
            scope.spawn(move || {
                let bytes = noise(part, writer);
                for (index, piece) in bytes.chunks(7_000).enumerate() {
                    let at = writer * part as u64 + index as u64 * 7_000;
                    file.write_all_at(piece, at).unwrap();
                    if index % 20 == 0 {
                        file.sync_data().unwrap();
                    }
                }
            });
        }
    });

    let expected: Vec<u8> = (0..8).flat_map(|writer| noise(part, writer)).collect();
    assert!(expected == fs::read(&path).unwrap());
    file.sync_all().unwrap();
    assert!(expected == fs::read(gate.backing().join("a")).unwrap());
}

/// An image is one file of the size that was asked for, and every request to it is seen.
#[test]
fn an_image_is_served_without_cache() {
    let setup =
        Setup::new().with("mode", json!("block-image")).with("image_bytes", json!(64 * MIB));
    let Some(mut gate) = setup.mount() else { return };
    let image = gate.mount().join("disk.img");
    assert_eq!((64 * MIB) as u64, fs::metadata(&image).unwrap().len());
    let file = OpenOptions::new().read(true).write(true).open(&image).unwrap();

    file.write_all_at(&noise(100_000, 8), 5_000_000).unwrap();
    let mut back = vec![0; 100_000];
    for _ in 0..3 {
        file.read_exact_at(&mut back, 5_000_000).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    assert!(noise(100_000, 8) == back);
    gate.stop();

    assert_eq!((300_000.0, 100_000.0), (gate.recorded("read_bytes"), gate.recorded("write_bytes")));
    assert_eq!((1.0, 1.0), (gate.recorded("fsyncs"), gate.recorded("write_ops")));
    let blocks = fs::metadata(gate.backing().join("disk.img")).unwrap().blocks();
    assert!(blocks < 1000, "the image is sparse, but has {blocks} blocks");
}

/// What is no question gets an answer that says so, and the conversation goes on.
#[test]
fn nonsense_is_answered() {
    let setup = Setup::new().with_stage("volume", "operations", 100.0, json!({}));
    let Some(gate) = setup.mount() else { return };
    let socket = gate.beside("sock");

    for (question, answer) in [
        ("nonsense", "not a question"),
        (r#"{"ask": "status", "more": 1}"#, "unknown field `more`"),
        (r#"{"ask": "balance", "stage": "x", "ratio": 1}"#, "no stage is named 'x'"),
        (r#"{"ask": "balance", "stage": "volume", "ratio": 1}"#, "has no credits"),
        (r#"{"ask": "set", "chain": [], "balance_ratio": [1.0]}"#, "1 balances were given for 0"),
    ] {
        let told = ask(&socket, question);
        assert!(told["error"].as_str().unwrap().contains(answer), "{told}");
        assert!(told["hint"].as_str().unwrap().ends_with('.'), "{told}");
    }
    assert_eq!(json!({"volume": null}), gate.status()["balance"]);
}

/// It takes little memory, also after much has passed.
#[test]
fn it_stays_small() {
    let Some(gate) = Setup::new().mount() else { return };
    let path = gate.mount().join("a");
    for round in 0..4 {
        fs::write(&path, noise(16 * MIB, round)).unwrap();
        let mut all = Vec::new();
        File::open(&path).unwrap().read_to_end(&mut all).unwrap();
    }
    let status = format!("/proc/{}/status", gate.pid().as_raw_nonzero());
    let text = fs::read_to_string(status).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();

    assert!(kib < 48 * 1024, "it takes {kib} KiB");
}

/// One backing folder has one gate: a second one is refused, by whatever path, and also for a folder
/// within it or around it; the first goes on. A folder next to it is free.
#[test]
fn a_backing_folder_has_one_gate() {
    let Some(mut gate) = Setup::new().mount() else { return };
    let inner = gate.backing().join("inner");
    fs::create_dir(&inner).unwrap();
    let link = gate.beside("link");
    std::os::unix::fs::symlink(gate.backing(), &link).unwrap();
    let who = format!("process {}, mounted at '{}'", gate.pid(), gate.mount().display());

    for (backing, what) in
        [(link, "is in use by another gate"), (inner, "shares files"), (gate.beside(""), "shares")]
    {
        let said = refusal_of(Setup::new().with("backing", json!(backing)));
        assert!(said.contains(what) && said.contains(&who), "{said}");
    }

    fs::write(gate.mount().join("still"), "here").unwrap();
    fs::create_dir(gate.beside("next")).unwrap();
    let beside = Setup::new().with("backing", json!(gate.beside("next"))).mount().unwrap();
    drop(beside);
    gate.stop();
    let again = Setup::new().with("backing", json!(gate.backing())).mount().unwrap();
    assert_eq!("here", fs::read_to_string(again.mount().join("still")).unwrap());
}

/// A killed gate's mount is found dead though the kernel remembers its root, and its claim is free.
#[test]
fn a_dead_mount_is_found_though_its_attributes_are_known() {
    let Some(gate) = Setup::new().mount() else { return };
    fs::metadata(gate.mount()).unwrap();
    let setup = gate.kill();

    let mut again = setup.mount().unwrap();

    again.stop();
    assert!(!is_mounted(&again.mount()));
}

/// A busy mount loses its name within a second, whoever still uses it; what was written is on the disk.
#[test]
fn a_busy_mount_is_gone_within_a_second() {
    let Some(mut gate) = Setup::new().mount() else { return };
    let mut file = File::create(gate.mount().join("open")).unwrap();
    file.write_all(&noise(500_000, 2)).unwrap();
    let begun = std::time::Instant::now();
    rustix::process::kill_process(gate.pid(), Signal::TERM).unwrap();

    while is_mounted(&gate.mount()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }

    let passed = begun.elapsed();
    assert!(passed.as_secs_f64() < 1.0, "{passed:?}");
    assert_eq!(0, gate.wait());
    assert_eq!(noise(500_000, 2), fs::read(gate.backing().join("open")).unwrap());
}

/// Once limits are lifted nothing waits, the record has ended, and the mount serves on.
#[test]
fn lifted_limits_hold_nobody_up() {
    let setup = Setup::new().with_stage("volume", "operations", 1.0, json!({}));
    let Some(mut gate) = setup.mount() else { return };
    assert_eq!(json!({"lifted": true}), gate.ask(&json!({"ask": "lift"})));
    let lines = gate.record().len();
    let begun = std::time::Instant::now();

    for number in 0..100 {
        File::create(gate.mount().join(format!("{number}"))).unwrap().sync_all().unwrap();
    }

    assert!(begun.elapsed().as_secs_f64() < 20.0);
    gate.stop();
    assert_eq!(lines, gate.record().len());
}
