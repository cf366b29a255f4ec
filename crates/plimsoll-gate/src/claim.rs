//! Claim the backing folder of a gate: one folder, one gate.
//!
//! Rule 1: the claim is a lock on the folder itself (`flock`). It holds for every path to the folder, and
//! the kernel releases it when the process ends, in any way (flock(2)).
//! Rule 2: a folder inside or around the folder of another gate shares files with it, so it is refused
//! as well.
//! Rule 3: where folders cannot be locked, for example on some network file systems, nothing is claimed.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::config::Config;
use crate::mount::{RETRY, SUBTYPE};
use crate::refusal::Refusal;

/// How long a killed gate may keep its claim: until its last thread has left the kernel.
const DYING_MAX: Duration = Duration::from_secs(2);

/// Another gate, as far as this account may inspect it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Other {
    pid: u32,
    backing: PathBuf,
    mount: PathBuf,
}

/// Claim a folder until the returned descriptor is closed; `None` if it cannot be locked.
///
/// # Errors
/// Another gate uses it, or a folder inside or around it.
pub fn claim(backing: &Path) -> Result<Option<OwnedFd>, Refusal> {
    let begun = Instant::now();
    let lock = loop {
        match lock(backing) {
            Ok(lock) => break Some(lock),
            Err(Errno::WOULDBLOCK) if begun.elapsed() < DYING_MAX && !is_claimant_here(backing) => {
                thread::sleep(RETRY);
            }
            Err(Errno::WOULDBLOCK) => return Err(taken(backing, &others())),
            Err(_) => break None,
        }
    };
    let nested = |other: &Other| {
        backing != other.backing
            && (backing.starts_with(&other.backing) || other.backing.starts_with(backing))
            && lock_is_taken(&other.backing)
    };
    match others().into_iter().find(nested) {
        Some(other) => Err(refusal(backing, &other)),
        None => Ok(lock),
    }
}

fn lock(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(folder, flags, Mode::empty())?;
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
    Ok(fd)
}

fn lock_is_taken(folder: &Path) -> bool {
    matches!(lock(folder), Err(Errno::WOULDBLOCK))
}

/// Return whether a process that holds the lock is visible and has not ended.
fn is_claimant_here(folder: &Path) -> bool {
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    match rustix::fs::stat(folder).ok().and_then(|found| holder_in(&table, found.st_ino)) {
        Some(pid) => !is_ended(pid),
        // The holder is unknown, so assume that it is alive.
        None => true,
    }
}

/// Return the process that holds a lock on the whole file, by its inode number (proc(5), /proc/locks).
/// The device is not compared: on some file systems the table and `stat` have different numbers.
fn holder_in(table: &str, inode: u64) -> Option<u32> {
    let held = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = fields[..] else { return None };
        let number = place.rsplit(':').next()?.parse::<u64>().ok()?;
        pid.parse().ok().filter(|_| number == inode)
    };
    table.lines().find_map(held)
}

fn is_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, behind)| behind.trim_start().starts_with('Z'))
}

/// Return every other gate whose configuration we may read.
fn others() -> Vec<Other> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != std::process::id()).filter_map(other).collect()
}

fn other(pid: u32) -> Option<Other> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    if name.trim_end() != SUBTYPE {
        return None;
    }
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let path = words.split(|byte| *byte == 0).rfind(|word| !word.is_empty())?;
    let text = fs::read_to_string(std::str::from_utf8(path).ok()?).ok()?;
    let config = Config::parse(&text).ok()?;
    let backing = config.backing.canonicalize().ok()?;
    Some(Other { pid, backing, mount: config.mount })
}

fn taken(backing: &Path, others: &[Other]) -> Refusal {
    if let Some(other) = others.iter().find(|other| other.backing == backing) {
        return refusal(backing, other);
    }
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = rustix::fs::stat(backing).ok().and_then(|found| holder_in(&table, found.st_ino));
    let who = pid.map_or_else(|| "another account".to_owned(), |pid| format!("process {pid}"));
    Refusal::new(format!("backing folder '{}' is in use by {who}", backing.display()), HINT)
}

const HINT: &str = "End that gate first, or choose another backing folder.";

fn refusal(backing: &Path, other: &Other) -> Refusal {
    let (backing, others) = (backing.display(), other.backing.display());
    let how = if backing.to_string() == others.to_string() {
        String::new()
    } else {
        format!(" shares files with '{others}', which")
    };
    let (pid, mount) = (other.pid, other.mount.display());
    let what = format!("is in use by another gate: process {pid}, mounted at '{mount}'");
    Refusal::new(format!("backing folder '{backing}'{how} {what}"), HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The holder of a lock stands in the table of the kernel; locks of a part are not ours.
    #[test]
    fn the_holder_of_a_lock_is_found() {
        let table = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
            2: FLOCK  ADVISORY  WRITE 22 fe:00:78 0 EOF\n\
            3: FLOCK  ADVISORY  READ 33 fe:00:79 0 EOF\n";

        assert_eq!([None, Some(22), None], [77, 78, 79].map(|inode| holder_in(table, inode)));
    }

    /// A folder is claimed once, by whatever path, and is free when the claim ends.
    #[test]
    fn a_folder_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let link = place.join("link");
        std::os::unix::fs::symlink(&place, &link).unwrap();
        let first = claim(&place).unwrap();
        assert!(first.is_some());

        let second = claim(&link).unwrap_err();

        let us = format!("is in use by process {}", std::process::id());
        assert!(second.error.ends_with(&us), "{second}");
        drop(first);
        assert!(claim(&place).unwrap().is_some());
    }

    /// Who has ended holds nothing any more, though the kernel may be about to notice.
    #[test]
    fn a_process_that_has_ended_is_told_from_one_that_runs() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while !is_ended(child.id()) {
            thread::sleep(RETRY);
        }
        assert!(!is_ended(std::process::id()));
        child.wait().unwrap();
    }
}
