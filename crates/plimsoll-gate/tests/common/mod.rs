//! A real gate on a folder of its own, for as long as a value lives.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod load;
pub mod twin;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest time that a gate may take for anything it is asked.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of a mebibyte.
pub const MIB: usize = 1024 * 1024;

/// Whether we may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A gate's folders and its configuration.
pub struct Setup {
    folder: TempDir,
    /// Most descriptors that the gate may have, by its hard limit.
    pub descriptors_max: Option<u64>,
    /// The configuration; change what you like.
    pub config: Value,
}

/// A gate that runs.
pub struct Gate {
    setup: Option<Setup>,
    child: Child,
    is_over: bool,
}

/// The result of a gate that did not start.
pub struct Refused {
    /// Its configuration, to try again.
    pub setup: Setup,
    /// Exit status.
    pub status: i32,
    /// Its output.
    pub said: String,
}

impl Setup {
    /// A gate without any limit, and without base latency.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("gate-").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("back")).unwrap();
        std::fs::create_dir(at("mnt")).unwrap();
        let config = json!({
            "backing": at("back"), "mount": at("mnt"), "mode": "fs", "socket": at("sock"),
            "record": at("record.jsonl"), "allow_other": is_root(), "clock": 60.0,
            "memory_bytes": null, "slack_s": 0.05, "max_background": 16, "chain": [],
            "balance_ratio": [], "latency_s": {"read": 0.0, "write": 0.0}, "is_limited": true,
            "chunk_bytes": 65536,
        });
        Self { folder, descriptors_max: None, config }
    }

    /// The same with one ceiling; without a burst if there is no capacity.
    pub fn with_stage(mut self, name: &str, counts: &str, baseline: f64, more: Value) -> Self {
        let mut stage =
            json!({"name": name, "counts": counts, "baseline": baseline, "burst": baseline});
        for (key, value) in more.as_object().into_iter().flatten() {
            stage[key] = value.clone();
        }
        self.config["chain"].as_array_mut().unwrap().push(stage);
        self.config["balance_ratio"].as_array_mut().unwrap().push(json!(1.0));
        self
    }

    /// The same with another value for a key.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.config[key] = value;
        self
    }

    /// A path of the configuration.
    pub fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.config[key].as_str().unwrap())
    }

    /// A path next to the gate's folders.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Start it. `None` where this machine has no FUSE for a plain user: then it has refused in so
    /// many words. Root must have it, so that no test passes for having tried nothing.
    pub fn mount(self) -> Option<Gate> {
        match self.try_mount() {
            Ok(gate) => Some(gate),
            Err(refused) => {
                assert!(
                    !is_root(),
                    "root cannot mount here, so nothing was tried: {}",
                    refused.said
                );
                let is_fuse_here = File::options().read(true).write(true).open("/dev/fuse").is_ok();
                assert!(!is_fuse_here || refused.said.contains("fusermount3"), "{}", refused.said);
                assert_eq!(2, refused.status);
                assert!(refused.said.starts_with("error: ") && refused.said.contains("\nhint: "));
                None
            }
        }
    }

    /// The program; where it may have so many descriptors only, also root cannot have more.
    fn command(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_plimsoll-gate");
        let Some(most) = self.descriptors_max else { return Command::new(program) };
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={most}:{most}"));
        if is_root() {
            command.args(["setpriv", "--bounding-set=-sys_resource"]);
        }
        command.arg(program);
        command
    }

    /// Start it, or say how it refused.
    pub fn try_mount(self) -> Result<Gate, Refused> {
        let file = self.beside("config.json");
        std::fs::write(&file, self.config.to_string()).unwrap();
        let mut child = self
            .command()
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if !line.is_empty() {
            let ready: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(json!(true), ready["ready"]);
            return Ok(Gate { setup: Some(self), child, is_over: false });
        }
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap().code().unwrap_or(-1);
        Err(Refused { setup: self, status, said })
    }
}

impl Gate {
    fn setup(&self) -> &Setup {
        self.setup.as_ref().unwrap()
    }

    /// Where files go through the limits.
    pub fn mount(&self) -> PathBuf {
        self.setup().path("mount")
    }

    /// Where they really are.
    pub fn backing(&self) -> PathBuf {
        self.setup().path("backing")
    }

    /// A path of ours next to the gate's folders.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.setup().beside(name)
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Put a question.
    pub fn ask(&self, question: &Value) -> Value {
        ask(&self.setup().path("socket"), &question.to_string())
    }

    /// How it stands.
    pub fn status(&self) -> Value {
        self.ask(&json!({"ask": "status"}))
    }

    /// The lines of its record.
    pub fn record(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.setup().path("record")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The sum of a number over the record.
    pub fn recorded(&self, key: &str) -> f64 {
        self.record().iter().map(|line| line[key].as_f64().unwrap()).sum()
    }

    /// Kill it as a crash would.
    pub fn kill(mut self) -> Setup {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.is_over = true;
        self.setup.take().unwrap()
    }

    /// Send it a signal, and wait for its end; its exit status.
    pub fn end_by(&mut self, signal: Signal) -> i32 {
        rustix::process::kill_process(self.pid(), signal).unwrap();
        self.wait()
    }

    /// Wait for its end; its exit status.
    pub fn wait(&mut self) -> i32 {
        self.is_over = true;
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Ask it to stop; its answer.
    pub fn stop(&mut self) -> Value {
        let answer = self.ask(&json!({"ask": "stop"}));
        assert_eq!(0, self.wait());
        answer
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if !self.is_over {
            // A test that failed leaves files open; the gate ends all the same.
            let _ = rustix::process::kill_process(self.pid(), Signal::TERM);
            let _ = self.child.wait();
        }
        if let Some(setup) = &self.setup {
            take_away(&setup.path("mount"));
        }
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        take_away(&self.path("mount"));
    }
}

/// Take a mount away, if one is left.
fn take_away(mount: &Path) {
    if is_mounted(mount) {
        let tools = [("umount", "-l"), ("fusermount3", "-uz")];
        tools.iter().any(|(tool, flag)| {
            Command::new(tool).arg(flag).arg(mount).status().is_ok_and(|status| status.success())
        });
    }
}

/// Whether anything is mounted there.
pub fn is_mounted(mount: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = mount.to_str().unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == Some(place))
}

/// Put one line to a socket; the answer.
pub fn ask(socket: &Path, line: &str) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// Bytes that begin where direct I/O wants them to.
pub struct Aligned {
    bytes: Vec<u8>,
    from: usize,
    length: usize,
}

impl Aligned {
    /// So many bytes of this value.
    pub fn filled(length: usize, value: u8) -> Self {
        let bytes = vec![value; length + 4096];
        let from = bytes.as_ptr().align_offset(4096);
        Self { bytes, from, length }
    }

    /// To read.
    pub fn get(&self) -> &[u8] {
        &self.bytes[self.from..self.from + self.length]
    }

    /// To write.
    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.length]
    }
}

/// Bytes that no two places have in common.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
