//! Many more files than the gate may have descriptors.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use common::twin::look;
use common::{Aligned, Gate, Setup, noise};

/// Folders of the test with many files, and files in each.
const FOLDERS: usize = 10;
const FILES: usize = 1000;

fn setup(descriptors_max: u64) -> Setup {
    let mut setup = Setup::new();
    setup.descriptors_max = Some(descriptors_max);
    setup
}

/// Descriptors that the gate has open, and the most that it may have.
fn descriptors(gate: &Gate) -> (usize, usize) {
    let process = PathBuf::from(format!("/proc/{}", gate.pid().as_raw_nonzero()));
    let limits = fs::read_to_string(process.join("limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let most = line.split_whitespace().nth(4).unwrap().parse().unwrap();
    (fs::read_dir(process.join("fd")).unwrap().count(), most)
}

/// Ten thousand files are made, looked at, read again, moved and removed by a gate that may have
/// 1,024 descriptors, while the kernel remembers them all.
#[test]
fn files_are_not_bounded_by_descriptors() {
    let Some(gate) = setup(1024).mount() else { return };
    let folder = |number: usize| gate.mount().join(format!("{number:02}"));
    let file = |number: usize| folder(number / FILES).join(format!("{number}"));
    (0..FOLDERS).for_each(|number| fs::create_dir(folder(number)).unwrap());

    let inodes: Vec<u64> = (0..FOLDERS * FILES)
        .map(|number| {
            let mut made = File::create_new(file(number)).unwrap();
            made.write_all(format!("{number:08}").as_bytes()).unwrap();
            made.metadata().unwrap().ino()
        })
        .collect();
    let now = descriptors(&gate);
    assert!(now.1 == 1024 && now.0 < 700, "{} descriptors of {}", now.0, now.1);
    for (number, inode) in inodes.iter().enumerate() {
        let found = fs::symlink_metadata(file(number)).unwrap();
        assert_eq!((*inode, 8), (found.ino(), found.len()));
    }
    // Folders first: what lies in them is reached by their new names.
    for number in 0..FOLDERS {
        let moved = gate.mount().join(format!("moved-{number}"));
        fs::rename(folder(number), &moved).unwrap();
        fs::rename(&moved, folder(number)).unwrap();
    }
    for number in 0..inodes.len() {
        assert_eq!(format!("{number:08}"), fs::read_to_string(file(number)).unwrap());
    }
    for number in 0..inodes.len() {
        fs::remove_file(file(number)).unwrap();
    }
    (0..FOLDERS).for_each(|number| fs::remove_dir(folder(number)).unwrap());
    assert_eq!(0, fs::read_dir(gate.backing()).unwrap().count());
}

/// One number after another, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % most
    }
}

/// Some thousand changes of names, drawn by lot: what came of each in words.
fn shuffle(folder: &Path, seed: u64) -> Vec<String> {
    let (mut dice, mut outcomes, mut held) = (Dice(seed), Vec::new(), BTreeMap::new());
    let place = |dice: &mut Dice| {
        let depth = dice.below(4);
        (0..depth).fold(folder.to_path_buf(), |path, _| path.join(format!("d{}", dice.below(3))))
    };
    for step in 0..4000_usize {
        let (from, to) = (place(&mut dice), place(&mut dice));
        let (one, other) =
            (from.join(format!("f{}", dice.below(6))), to.join(format!("f{}", dice.below(6))));
        let (inner, outer) =
            (from.join(format!("d{}", dice.below(3))), to.join(format!("d{}", dice.below(3))));
        let number = dice.below(12);
        let done = match dice.below(9) {
            0 | 1 => fs::write(&one, noise(step % 50, step as u64)),
            2 => fs::create_dir(&inner),
            3 => fs::hard_link(&one, &other),
            4 => fs::rename(&one, &other),
            5 => fs::rename(&inner, &outer),
            6 => fs::remove_file(&one).or_else(|_| fs::remove_dir(&inner)),
            7 => File::options().read(true).write(true).open(&one).map(|open| {
                held.insert(number, open);
            }),
            _ => match held.get(&number) {
                Some(open) => open.write_all_at(b"later", step as u64 % 60),
                None => fs::symlink_metadata(&one).map(drop),
            },
        };
        let word =
            done.map_or_else(|error| format!("{:?}", error.raw_os_error()), |()| String::new());
        let size = held.get(&number).map(|open| {
            let (mut content, mut reader) = (Vec::new(), open);
            std::io::Seek::rewind(&mut reader)
                .and_then(|()| reader.read_to_end(&mut content))
                .unwrap();
            let found = open.metadata().unwrap();
            (common::twin::sum(&content), found.len(), found.nlink())
        });
        outcomes.push(format!("{step}: {word} {size:?}"));
    }
    outcomes
}

/// Whatever is done to names, files are the same ones as in a plain folder, also those that are
/// open, though the gate keeps few descriptors of those that are not.
#[test]
fn names_behave_as_in_a_plain_folder_with_few_descriptors() {
    for seed in 1..=3 {
        let Some(gate) = setup(96).mount() else { return };
        let twin = gate.beside("twin");
        fs::create_dir(&twin).unwrap();

        let (expected, found) = (shuffle(&twin, seed), shuffle(&gate.mount(), seed));

        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected, found, "seed {seed}");
        }
        assert_eq!(look(&twin), look(&gate.mount()));
    }
}

/// Fewer descriptors than most systems give: half of them are the gate's own.
const TIGHT: u64 = 64;

fn text_of(number: usize) -> String {
    format!("{number:04096}")
}

fn is_as_written(file: &File, number: usize) -> bool {
    let mut content = String::new();
    let mut reader = file;
    std::io::Seek::rewind(&mut reader).unwrap();
    reader.read_to_string(&mut content).unwrap();
    content == text_of(number)
}

/// Sixteen threads open files, and each is closed only when 400 others were opened after it: the
/// gate, which may have 64 descriptors, makes room before the kernel tells it that files were closed.
#[test]
fn files_may_be_opened_faster_than_they_are_closed() {
    let Some(gate) = setup(TIGHT).mount() else { return };
    let mount = gate.mount();
    let (hand_over, taken) = sync_channel::<File>(400);
    let (threads, files) = (16, 250);

    let closer = thread::spawn(move || {
        let mut held = std::collections::VecDeque::new();
        for file in taken {
            held.push_back(file);
            if held.len() > 400 {
                held.pop_front();
            }
        }
    });
    thread::scope(|scope| {
        for thread in 0..threads {
            let (mount, hand_over) = (&mount, hand_over.clone());
            scope.spawn(move || {
                for number in (0..files).map(|number| thread * files + number) {
                    let path = mount.join(format!("{number}"));
                    fs::write(&path, text_of(number)).unwrap();
                    let file = File::options().read(true).write(true).open(&path).unwrap();
                    assert!(is_as_written(&file, number));
                    assert!(fs::read_dir(mount).unwrap().next().is_some());
                    hand_over.send(file).unwrap();
                }
            });
        }
    });
    drop(hand_over);
    closer.join().unwrap();

    for number in 0..threads * files {
        assert_eq!(text_of(number), fs::read_to_string(mount.join(format!("{number}"))).unwrap());
    }
    assert_eq!(TIGHT as usize, descriptors(&gate).1);
}

/// A thousand files are kept open at once, a part of them past the cache, by a gate that may have 64
/// descriptors; all that can be done with an open file can be done with each.
#[test]
fn more_files_may_be_open_than_there_are_descriptors() {
    let Some(gate) = setup(TIGHT).mount() else { return };
    let at = |number: usize| gate.mount().join(format!("{number}"));
    let open: Vec<File> = (0..1000)
        .map(|number| {
            let past = if number % 5 == 0 { rustix::fs::OFlags::DIRECT.bits() as i32 } else { 0 };
            let mut how = File::options();
            how.read(true).write(true).create_new(true).custom_flags(past);
            how.open(at(number)).unwrap()
        })
        .collect();

    for (number, file) in open.iter().enumerate() {
        let mut content = Aligned::filled(4096, 0);
        content.get_mut().copy_from_slice(text_of(number).as_bytes());
        file.write_all_at(content.get(), 0).unwrap();
    }
    for (number, file) in open.iter().enumerate() {
        match number % 7 {
            0 => file.sync_data().unwrap(),
            1 => file.sync_all().unwrap(),
            2 => fs::rename(at(number), gate.mount().join(format!("moved-{number}"))).unwrap(),
            3 => file.set_permissions(fs::Permissions::from_mode(0o400)).unwrap(),
            4 => rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, 65_536)
                .unwrap(),
            _ => assert_eq!(0, rustix::fs::seek(file, rustix::fs::SeekFrom::Data(0)).unwrap()),
        }
    }
    // These have no name any more, and cannot be reached but by a descriptor.
    (0..10).map(|number| number * 98 + 5).for_each(|number| fs::remove_file(at(number)).unwrap());
    for (number, file) in open.iter().enumerate() {
        let mut content = Aligned::filled(4096, 0);
        file.read_exact_at(content.get_mut(), 0).unwrap();
        assert_eq!(text_of(number).as_bytes(), content.get(), "file {number}");
        assert_eq!(4096, file.metadata().unwrap().len());
        file.set_len(0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(0, file.metadata().unwrap().len());
    }
    drop(open);
    assert_eq!(990, fs::read_dir(gate.mount()).unwrap().count());
}

/// Files that are removed in a row are let go before the kernel has forgotten them all.
#[test]
fn removing_files_is_not_bounded_by_descriptors() {
    let Some(gate) = setup(TIGHT).mount() else { return };
    thread::scope(|scope| {
        for thread in 0..16 {
            let folder = gate.mount().join(format!("{thread}"));
            scope.spawn(move || {
                fs::create_dir(&folder).unwrap();
                let at = |number: usize| folder.join(format!("{number}"));
                (0..300).for_each(|number| fs::write(at(number), text_of(number)).unwrap());
                (0..300).for_each(|number| fs::remove_file(at(number)).unwrap());
                fs::remove_dir(&folder).unwrap();
            });
        }
    });

    assert_eq!(0, fs::read_dir(gate.backing()).unwrap().count());
}

/// Only files that are open and have no name need a descriptor each. Where there are none left for
/// them, removing one more fails for want of memory, never of descriptors, and works again once some
/// are closed.
#[test]
fn more_removed_files_than_descriptors_are_not_said_to_be_too_many() {
    let Some(gate) = setup(TIGHT).mount() else { return };
    let at = |number: usize| gate.mount().join(format!("{number}"));
    let open: Vec<File> = (0..100).map(|number| File::create_new(at(number)).unwrap()).collect();

    let failed = (0..100).find_map(|number| fs::remove_file(at(number)).err()).unwrap();

    assert_eq!(Some(rustix::io::Errno::NOMEM.raw_os_error()), failed.raw_os_error());
    drop(open);
    for left in fs::read_dir(gate.mount()).unwrap() {
        fs::remove_file(left.unwrap().path()).unwrap();
    }
    assert_eq!(0, fs::read_dir(gate.mount()).unwrap().count());
}

/// Descriptors that a plain account has by default.
const USUAL: u64 = 1024;

/// What one thread of the stress does in a round, by turns; the error of what failed.
fn round_of(
    folder: &Path,
    thread: usize,
    number: usize,
    held: &mut Vec<(usize, File)>,
) -> Option<String> {
    let at = |number: usize| folder.join(format!("{thread}-{number}"));
    let done = (|| {
        let mut file = File::options().read(true).write(true).create_new(true).open(at(number))?;
        file.write_all(text_of(number).as_bytes())?;
        match number % 5 {
            0 => file.sync_data()?,
            1 => fs::remove_file(at(number))?,
            2 => fs::rename(at(number), folder.join(format!("moved-{thread}-{number}")))?,
            3 => drop(fs::read_dir(folder)?.take(3).count()),
            _ => assert_eq!(4096, File::open(at(number))?.metadata()?.len()),
        }
        held.push((number, file));
        if held.len() > 40 {
            let (number, file) = held.remove(number % held.len());
            assert!(is_as_written(&file, number));
        }
        Ok::<(), std::io::Error>(())
    })();
    done.err().map(|error| format!("{number}: {error}"))
}

/// Sixty-four threads hold forty files each, two and a half times what the gate may have descriptors for, on
/// a machine whose processors are all busy, so that files are let go late. None gets an error of too many open
/// files, none waits for ever, and every file has its own content.
#[test]
fn a_busy_machine_that_lets_files_go_late_runs_out_of_nothing() {
    let Some(gate) = setup(USUAL).mount() else { return };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let begun = std::time::Instant::now();
    let busy = 2 * thread::available_parallelism().unwrap().get();

    let failed: Vec<String> = thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| {
                while !is_over.load(order) {
                    std::hint::spin_loop();
                }
            });
        }
        let workers: Vec<_> = (0..64)
            .map(|thread| {
                let mount = gate.mount();
                scope.spawn(move || {
                    let mut held = Vec::new();
                    (0..80).filter_map(|n| round_of(&mount, thread, n, &mut held)).collect()
                })
            })
            .collect();
        let failed =
            workers.into_iter().flat_map(|worker| -> Vec<String> { worker.join().unwrap() });
        let failed = failed.collect();
        is_over.store(true, order);
        failed
    });

    assert_eq!(Vec::<String>::new(), failed);
    assert!(begun.elapsed().as_secs() < 300, "{:?}", begun.elapsed());
    assert_eq!(USUAL as usize, descriptors(&gate).1);
    // A gate that nobody uses any more has let everything go, and serves.
    fs::write(gate.mount().join("after"), "all").unwrap();
    assert_eq!("all", fs::read_to_string(gate.backing().join("after")).unwrap());
}
