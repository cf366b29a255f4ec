//! Where the gate is mounted: what is checked before, and how it is taken away.
//!
//! Rule 1: what stands in the way is said in one sentence before anything is mounted.
//! Rule 2: a mount whose daemon is gone is taken away; one that lives is not ours to touch.
//! Rule 3: a mount that is still in use loses its name first, so that it is gone within the time of
//! grace, however long its users and the disk take. Then what was written is brought to the disk.

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

/// The one file of mode `block-image`.
pub const IMAGE: &str = "disk.img";

/// How mounts of a gate are called in the mount table, behind `fuse.`.
pub const SUBTYPE: &str = "plimsoll-gate";

const FUSE: &str = "/dev/fuse";
const MOUNTS: &str = "/proc/self/mountinfo";
const FUSERMOUNTS: [&str; 2] = ["fusermount3", "fusermount"];

/// How long a mount that lives may take to open its root; nothing limits that.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How often a busy mount is tried again; there is nothing to be told by.
pub const RETRY: Duration = Duration::from_millis(20);

/// How a mount came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nobody used it any more.
    Clean,
    /// It was in use, and has no name any more.
    Detached,
    /// Somebody else had unmounted it.
    WasGone,
}

/// Where everything is, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The backing folder.
    pub backing: PathBuf,
    /// The mount point.
    pub mount: PathBuf,
}

/// See that a gate can be mounted as told, and clear away what a crash left.
///
/// # Errors
/// Whatever stands in the way.
pub fn prepare(config: &Config) -> Result<Places, Refusal> {
    check_fuse()?;
    let backing = check_backing(&config.backing)?;
    let mount = check_mount_point(&config.mount)?;
    if mount.starts_with(&backing) || backing.starts_with(&mount) {
        return Err(Refusal::new(
            format!("'{}' and '{}' lie in each other", backing.display(), mount.display()),
            "Choose a mount point outside the backing folder.",
        ));
    }
    for path in [&config.socket, &config.record] {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        if parent.is_some_and(|parent| parent.starts_with(&mount)) {
            return Err(Refusal::new(
                format!("'{}' would lie behind the gate itself", path.display()),
                "Choose a place outside the mount point.",
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
                format!("this machine has no {FUSE}, so nothing can be mounted from a program"),
                format!("{in_container}; on a host, 'sudo modprobe fuse' loads it."),
            ));
        }
        Err(error) => {
            return Err(Refusal::new(
                format!("{FUSE} cannot be opened: {}", said(&error)),
                format!("{in_container}; on a host, 'sudo chmod 666 {FUSE}' lets everyone in."),
            ));
        }
    }
    if !rustix::process::geteuid().is_root() && fusermount().is_none() {
        return Err(Refusal::new(
            "a plain user mounts through fusermount3, and it is not installed",
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
        ErrorKind::NotFound => wrong("is not there"),
        _ => wrong(&format!("cannot be used: {}", said(&error))),
    })?;
    if !backing.is_dir() {
        return Err(wrong("is not a folder"));
    }
    let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(&backing, access)
        .map_err(|error| wrong(&format!("cannot be written to: {}", said(&error.into()))))?;
    Ok(backing)
}

fn check_mount_point(place: &Path) -> Result<PathBuf, Refusal> {
    let hint = "Choose an empty folder.";
    let wrong =
        |what: &str| Refusal::new(format!("mount point '{}' {what}", place.display()), hint);
    // A mount that lost its daemon cannot be resolved, but what is around it can.
    let parent = place.parent().ok_or_else(|| wrong("is the root of everything"))?;
    let parent = parent.canonicalize().map_err(|_| wrong("is not there"))?;
    let mount = parent.join(place.file_name().ok_or_else(|| wrong("has no name"))?);
    while let Some(kind) = mounted_at(&mount) {
        if kind.starts_with("fuse") && is_silent(&mount) {
            if !is_gate_half_dead(Path::new("/proc")) {
                return Err(wrong(&format!("is in use: something of type {kind} does not answer")));
            }
            abort(&mount);
        }
        if !kind.starts_with("fuse") || !is_dead(&mount) {
            return Err(wrong(&format!("is in use: something of type {kind} is mounted there")));
        }
        detach(&mount).map_err(|error| {
            Refusal::new(
                format!("a mount left by a crash cannot be taken away: {}", said(&error.into())),
                format!("Run 'sudo umount -l {}'.", mount.display()),
            )
        })?;
    }
    let kind = fs::symlink_metadata(&mount).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("is not there"),
        _ => wrong(&format!("cannot be used: {}", said(&error))),
    })?;
    if !kind.is_dir() {
        return Err(wrong("is not a folder"));
    }
    match fs::read_dir(&mount).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(mount),
        Ok(false) => Err(wrong("is not empty")),
        Err(error) => Err(wrong(&format!("cannot be read: {}", said(&error)))),
    }
}

/// Make the image where there is none; nothing in mode `fs`.
///
/// # Errors
/// The folder holds something else, or has no room.
pub fn prepare_image(config: &Config, backing: &Path) -> Result<(), Refusal> {
    if config.mode == Mode::Fs {
        return Ok(());
    }
    let image = backing.join(IMAGE);
    let is_other = |entry: fs::DirEntry| entry.file_name() != OsStr::new(IMAGE);
    let others = fs::read_dir(backing).map(|entries| entries.flatten().any(is_other));
    if others.unwrap_or(true) {
        return Err(Refusal::new(
            format!("backing folder '{}' holds more than an image", backing.display()),
            format!("Choose an empty folder, or one with nothing but '{IMAGE}'."),
        ));
    }
    if image.is_file() {
        return Ok(());
    }
    let Some(bytes) = config.image_bytes else {
        return Err(Refusal::new(
            format!("'{}' is not there", image.display()),
            "Give image_bytes, so that it is made.",
        ));
    };
    let made = File::create_new(&image).and_then(|file| file.set_len(bytes));
    made.map_err(|error| {
        Refusal::new(
            format!("an image of {bytes} bytes cannot be made: {}", said(&error)),
            "Choose a backing folder on a file system that takes files of this size.",
        )
    })
}

/// Take the mount away: at once if nobody uses it, else within the time of grace, else by force of
/// detaching it. With the file that keeps a detached one reachable, for writing out what it holds.
///
/// # Errors
/// It stays where it is.
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

/// Have the kernel write out all it holds of a mount.
pub fn write_out(held: Option<&File>) {
    if let Some(file) = held {
        // What fails here has been told to whoever flushes the file.
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

/// As a plain user: by the program that is allowed to.
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

/// Whether a mount has lost its daemon: then it cannot be listed. Its attributes may still be known to
/// the kernel, which then answers for the daemon.
fn is_dead(place: &Path) -> bool {
    let error = fs::read_dir(place).err().and_then(|error| error.raw_os_error());
    let of = |errno: Errno| Some(errno.raw_os_error());
    error == of(Errno::NOTCONN) || error == of(Errno::CONNABORTED)
}

/// Whether a mount answers nothing, as one does while what is left of a killed gate holds its
/// connection: a thread that waits in the kernel for what the gate alone could have done.
fn is_silent(place: &Path) -> bool {
    let (tell, told) = channel();
    let place = place.to_path_buf();
    // The thread may wait for ever; it goes with the connection, or with us.
    thread::spawn(move || tell.send(fs::read_dir(&place).is_ok()));
    told.recv_timeout(ANSWER_MAX).is_err()
}

/// Whether the first thread of a gate has ended and another one has not.
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

/// End a connection, so that whoever waits for it gets an error.
fn abort(place: &Path) {
    let number = fs::read(MOUNTS).ok().and_then(|table| field_in(&table, place, 2));
    let device = number.and_then(|field| field.split(':').next_back().map(str::to_owned));
    let file = format!("/sys/fs/fuse/connections/{}/abort", device.unwrap_or_default());
    // A plain user may do the first where it is mounted, root the second everywhere; the mount is
    // found in use then, but its connection has ended.
    if fs::write(file, "1").is_err() {
        let _ = rustix::mount::unmount(place, UnmountFlags::FORCE);
    }
}

/// The type of what is mounted at a path, the uppermost; `None` if nothing is.
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

/// A field of the uppermost mount at a place, counted from 0.
fn field_in(table: &[u8], place: &Path, index: usize) -> Option<String> {
    let field = line_in(table, place)?.split(|byte| *byte == b' ').nth(index)?;
    Some(String::from_utf8_lossy(field).into_owned())
}

fn line_in<'a>(table: &'a [u8], place: &Path) -> Option<&'a [u8]> {
    let mut lines = table.split(|byte| *byte == b'\n').rev();
    lines.find(|line| line.split(|byte| *byte == b' ').nth(4).map(plain).as_deref() == Some(place))
}

/// A path of the mount table, where blanks and backslashes are written in octal.
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

/// An error in our words: lower case, without the number.
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
