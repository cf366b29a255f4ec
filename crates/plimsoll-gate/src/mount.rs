//! Check the mount point before the gate is mounted, and unmount it in the end.
//!
//! Rule 1: every obstacle is reported in one sentence before anything is mounted.
//! Rule 2: a mount without a daemon is removed; a live one is not ours to change.
//! Rule 3: a busy mount is detached first, so that it is gone within the grace time, however long its
//! users and the disk take. Then the data is written to the disk.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::config::{Config, Mode};
use crate::refusal::Refusal;

/// The only file of mode `block-image`.
pub const IMAGE: &str = "disk.img";

/// Type of a gate's mounts in the mount table, after `fuse.`.
pub const SUBTYPE: &str = "plimsoll-gate";

const FUSE: &str = "/dev/fuse";
const MOUNTS: &str = "/proc/self/mountinfo";
const FUSERMOUNTS: [&str; 2] = ["fusermount3", "fusermount"];

/// How long a live mount may take to open its root; the gate never limits that.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How often to try a busy mount again; the kernel sends no event for it.
pub const RETRY: Duration = Duration::from_millis(20);

/// How a mount ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was not in use.
    Clean,
    /// It was in use and has been detached.
    Detached,
    /// Another process had unmounted it.
    WasGone,
}

/// The resolved paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The backing folder.
    pub backing: PathBuf,
    /// The mount point.
    pub mount: PathBuf,
}

/// Check that a gate can be mounted as configured, and remove what a crash left.
///
/// # Errors
/// Anything that prevents it.
pub fn prepare(config: &Config) -> Result<Places, Refusal> {
    check_fuse()?;
    let backing = check_backing(&config.backing)?;
    let mount = check_mount_point(&config.mount)?;
    if mount.starts_with(&backing) || backing.starts_with(&mount) {
        return Err(Refusal::new(
            format!("'{}' and '{}' lie within each other", backing.display(), mount.display()),
            "Choose a mount point outside the backing folder.",
        ));
    }
    for path in [&config.socket, &config.record] {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        if parent.is_some_and(|parent| parent.starts_with(&mount)) {
            return Err(Refusal::new(
                format!("'{}' would be behind the gate itself", path.display()),
                "Choose a path outside the mount point.",
            ));
        }
    }
    Ok(Places { backing, mount })
}

fn check_fuse() -> Result<(), Refusal> {
    let in_container = "Start a container with '--device /dev/fuse --cap-add SYS_ADMIN'";
    match OpenOptions::new().read(true).write(true).open(FUSE) {
        Ok(_) => {}
        Err(error) if matches!(error.raw_os_error(), Some(2 | 6 | 19)) => {
            return Err(Refusal::new(
                format!("this machine has no {FUSE}, so no program can serve a file system"),
                format!("{in_container}; on a host, 'sudo modprobe fuse' loads it."),
            ));
        }
        Err(error) => {
            return Err(Refusal::new(
                format!("unable to open {FUSE}: {}", said(&error)),
                format!("{in_container}; on a host, 'sudo chmod 666 {FUSE}' allows everybody."),
            ));
        }
    }
    if !rustix::process::geteuid().is_root() && fusermount().is_none() {
        return Err(Refusal::new(
            "a plain user mounts through fusermount3, which is not installed",
            "Install it with 'sudo apt-get install fuse3', or run as root.",
        ));
    }
    Ok(())
}

fn check_backing(place: &Path) -> Result<PathBuf, Refusal> {
    let wrong = |what: &str| {
        let hint = "Choose a folder on the real disk that you may write to.";
        Refusal::new(format!("backing folder '{}' {what}", place.display()), hint)
    };
    let backing = place.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("does not exist"),
        _ => wrong(&format!("is not usable: {}", said(&error))),
    })?;
    if !backing.is_dir() {
        return Err(wrong("is not a folder"));
    }
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(&backing, access)
        .map_err(|error| wrong(&format!("is not writable: {}", said(&error.into()))))?;
    Ok(backing)
}

fn check_mount_point(place: &Path) -> Result<PathBuf, Refusal> {
    let hint = "Choose an empty folder.";
    let wrong =
        |what: &str| Refusal::new(format!("mount point '{}' {what}", place.display()), hint);
    // A mount without a daemon cannot be resolved, but its parent can.
    let parent = place.parent().ok_or_else(|| wrong("is the root folder"))?;
    let parent = parent.canonicalize().map_err(|_| wrong("does not exist"))?;
    let mount = parent.join(place.file_name().ok_or_else(|| wrong("has no name"))?);
    while let Some(kind) = mounted_at(&mount) {
        if kind.starts_with("fuse") && is_silent(&mount) {
            if !is_gate_half_dead(Path::new("/proc")) {
                return Err(wrong(&format!("is in use: a mount of type {kind} does not answer")));
            }
            abort(&mount);
        }
        if !kind.starts_with("fuse") || !is_dead(&mount) {
            return Err(wrong(&format!("is in use: a mount of type {kind} is there")));
        }
        detach(&mount).map_err(|error| {
            Refusal::new(
                format!("unable to remove a mount that a crash left: {}", said(&error.into())),
                format!("Run 'sudo umount -l {}'.", mount.display()),
            )
        })?;
    }
    let kind = fs::symlink_metadata(&mount).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("does not exist"),
        _ => wrong(&format!("is not usable: {}", said(&error))),
    })?;
    if !kind.is_dir() {
        return Err(wrong("is not a folder"));
    }
    match fs::read_dir(&mount).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(mount),
        Ok(false) => Err(wrong("is not empty")),
        Err(error) => Err(wrong(&format!("is not readable: {}", said(&error)))),
    }
}

/// Make the image if there is none; do nothing in mode `fs`.
///
/// # Errors
/// The folder has other content, or too little room.
pub fn prepare_image(config: &Config, backing: &Path) -> Result<(), Refusal> {
    if config.mode == Mode::Fs {
        return Ok(());
    }
    let image = backing.join(IMAGE);
    let is_other = |entry: fs::DirEntry| entry.file_name() != OsStr::new(IMAGE);
    let others = fs::read_dir(backing).map(|entries| entries.flatten().any(is_other));
    if others.unwrap_or(true) {
        return Err(Refusal::new(
            format!("backing folder '{}' has other files besides an image", backing.display()),
            format!("Choose an empty folder, or one with only '{IMAGE}'."),
        ));
    }
    if image.is_file() {
        return Ok(());
    }
    let Some(bytes) = config.image_bytes else {
        return Err(Refusal::new(
            format!("'{}' does not exist", image.display()),
            "Give image_bytes to create it.",
        ));
    };
    let made = File::create_new(&image).and_then(|file| file.set_len(bytes));
    made.map_err(|error| {
        Refusal::new(
            format!("unable to make an image of {bytes} bytes: {}", said(&error)),
            "Choose a backing folder on a file system that allows files of this size.",
        )
    })
}

/// Unmount at once if the mount is not in use, else within the grace time, else detach it. Return also
/// the file that keeps a detached mount reachable, for writing out its data.
///
/// # Errors
/// The mount is still there.
pub fn unmount(place: &Path, grace: Duration) -> Result<(Ending, Option<File>), Errno> {
    let begun = Instant::now();
    loop {
        match try_unmount(place, UnmountFlags::empty()) {
            Ok(()) => return Ok((Ending::Clean, None)),
            Err(Errno::INVAL | Errno::NOENT) => return Ok((Ending::WasGone, None)),
            Err(Errno::BUSY) if begun.elapsed() < grace => thread::sleep(RETRY),
            Err(Errno::BUSY) => break,
            Err(error) => return Err(error),
        }
    }
    let held = File::open(place).ok();
    detach(place)?;
    write_out(held.as_ref());
    Ok((Ending::Detached, held))
}

/// Make the kernel write out all data of a mount.
pub fn write_out(held: Option<&File>) {
    if let Some(file) = held {
        // Errors here also reach the program that flushes the file.
        let _ = rustix::fs::syncfs(file);
    }
}

fn detach(place: &Path) -> Result<(), Errno> {
    try_unmount(place, UnmountFlags::DETACH)
}

fn try_unmount(place: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    match rustix::mount::unmount(place, flags) {
        Err(Errno::PERM) => unmount_by_fusermount(place, flags),
        done => done,
    }
}

/// Unmount as a plain user, through the setuid program.
fn unmount_by_fusermount(place: &Path, flags: UnmountFlags) -> Result<(), Errno> {
    let mut command = Command::new(fusermount().ok_or(Errno::PERM)?);
    command.args(["-u", "-q"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if flags.contains(UnmountFlags::DETACH) {
        command.arg("-z");
    }
    match command.arg("--").arg(place).status() {
        Ok(status) if status.success() => Ok(()),
        _ if mounted_at(place).is_none() => Err(Errno::INVAL),
        _ => Err(Errno::BUSY),
    }
}

fn fusermount() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = FUSERMOUNTS.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    places.into_iter().find(|program| program.is_file())
}

/// Return whether a mount has lost its daemon: then it cannot be listed. Its attributes may still be in the
/// kernel's cache, so `stat` could succeed.
fn is_dead(place: &Path) -> bool {
    let error = fs::read_dir(place).err().and_then(|error| error.raw_os_error());
    let of = |errno: Errno| Some(errno.raw_os_error());
    error == of(Errno::NOTCONN) || error == of(Errno::CONNABORTED)
}

/// Return whether a mount does not answer. This happens while the rest of a killed gate keeps the connection
/// open: a thread that waits in the kernel for a reply that only the gate could have sent.
fn is_silent(place: &Path) -> bool {
    let (tell, told) = channel();
    let place = place.to_path_buf();
    // The thread may wait for ever; it ends with the connection, or with this process.
    thread::spawn(move || tell.send(fs::read_dir(&place).is_ok()));
    told.recv_timeout(ANSWER_MAX).is_err()
}

/// Return whether the first thread of a gate has ended and another one has not.
fn is_gate_half_dead(processes: &Path) -> bool {
    let of = |process: &Path| {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        let (name, behind) = stat.split_once('(')?.1.rsplit_once(')')?;
        let is_ended = name == SUBTYPE && behind.trim_start().starts_with('Z');
        Some(is_ended && fs::read_dir(process.join("task")).ok()?.count() > 1)
    };
    let all = fs::read_dir(processes).into_iter().flatten().flatten();
    all.into_iter().any(|process| of(&process.path()) == Some(true))
}

/// Abort a connection; waiting processes then get an error.
fn abort(place: &Path) {
    let number = fs::read(MOUNTS).ok().and_then(|table| field_in(&table, place, 2));
    let device = number.and_then(|field| field.split(':').next_back().map(str::to_owned));
    let file = format!("/sys/fs/fuse/connections/{}/abort", device.unwrap_or_default());
    // A plain user may write this file for mounts of their own; root may use umount -f anywhere. That
    // fails because the mount is in use, but aborts its connection (Linux, filesystems/fuse.rst).
    if fs::write(file, "1").is_err() {
        let _ = rustix::mount::unmount(place, UnmountFlags::FORCE);
    }
}

/// Return the type of the topmost mount at a path; `None` if there is none.
#[must_use]
pub fn mounted_at(place: &Path) -> Option<String> {
    mounted_in(&fs::read(MOUNTS).ok()?, place)
}

fn mounted_in(table: &[u8], place: &Path) -> Option<String> {
    let line = line_in(table, place)?;
    let behind = line.windows(3).position(|part| part == b" - ")? + 3;
    let kind = line[behind..].split(|byte| *byte == b' ').next()?;
    Some(String::from_utf8_lossy(kind).into_owned())
}

/// Return a field of the topmost mount at a place, counted from 0.
fn field_in(table: &[u8], place: &Path, index: usize) -> Option<String> {
    let field = line_in(table, place)?.split(|byte| *byte == b' ').nth(index)?;
    Some(String::from_utf8_lossy(field).into_owned())
}

fn line_in<'a>(table: &'a [u8], place: &Path) -> Option<&'a [u8]> {
    let mut lines = table.split(|byte| *byte == b'\n').rev();
    lines.find(|line| line.split(|byte| *byte == b' ').nth(4).map(plain).as_deref() == Some(place))
}

/// Decode a path of the mount table, where blanks and backslashes are written in octal (proc(5)).
fn plain(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| first == b'\\');
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Format an error of the system: lower case, without its number.
#[must_use]
pub fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text).trim();
    let mut letters = plain.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect::<String>().trim_end_matches('.').to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// The last line for a place counts, and blanks in it are octal.
    #[test]
    fn the_uppermost_mount_is_found() {
        let table = b"22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n\
            30 1 0:40 / /a\\040b rw - tmpfs none rw\n\
            31 30 0:41 / /a\\040b rw master:3 - fuse.plimsoll-gate plimsoll-gate rw,user_id=0\n";

        let kind = mounted_in(table, Path::new("/a b"));

        assert_eq!(Some("fuse.plimsoll-gate".to_owned()), kind);
        assert_eq!(Some("proc".to_owned()), mounted_in(table, Path::new("/proc")));
        assert_eq!(None, mounted_in(table, Path::new("/a")));
    }

    /// The device of a mount is told beside it.
    #[test]
    fn the_device_of_a_mount_is_found() {
        let table = b"31 30 0:41 / /a rw - fuse.plimsoll-gate plimsoll-gate rw\n";

        assert_eq!(Some("0:41".to_owned()), field_in(table, Path::new("/a"), 2));
    }

    /// A gate that is half dead is told from one that lives and one that is all dead.
    #[test]
    fn what_is_left_of_a_killed_gate_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let process = |number: &str, stat: &str, threads: usize| {
            let place = folder.path().join(number);
            (0..threads).for_each(|thread| {
                fs::create_dir_all(place.join(format!("task/{thread}"))).unwrap();
            });
            fs::write(place.join("stat"), stat).unwrap();
        };
        process("1", "1 (plimsoll-gate) S 0 1", 9);
        process("2", "2 (plimsoll-gate) Z 0 1", 1);
        process("3", "3 (other) Z 0 1", 2);
        assert!(!is_gate_half_dead(folder.path()));

        process("4", "4 (plimsoll-gate) Z 0 1", 2);
        assert!(is_gate_half_dead(folder.path()));
    }

    /// What looks like octal but is not stays as it is.
    #[test]
    fn a_backslash_alone_is_a_backslash() {
        assert_eq!(Path::new("/a\\9b"), plain(b"/a\\9b"));
        assert_eq!(Path::new("/a\\"), plain(b"/a\\134"));
        assert_eq!(OsStr::from_bytes(b"/\xff"), plain(b"/\xff"));
    }

    /// Messages are ours: lower case, no number, no full stop.
    #[test]
    fn errors_speak_plainly() {
        assert_eq!("permission denied", said(&Errno::ACCESS.into()));
    }
}
