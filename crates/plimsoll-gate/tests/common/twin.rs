//! The same done in two folders: the mount, and a twin of the backing folder.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::Gate;

/// Something done to a folder, and what came of it in words.
pub type Act = fn(&Path) -> Result<String>;

/// What a tree looks like: for each path its kind, mode, owner, links, length and content.
pub fn look(folder: &Path) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(place) = waiting.pop() {
        for entry in fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_dir() {
                waiting.push(path.clone());
                String::new()
            } else if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if found.is_file() {
                format!("{} of {:x}", found.len(), sum(&fs::read(&path).unwrap()))
            } else {
                format!("device {:x}", found.rdev())
            };
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let facts = (found.mode(), found.uid(), found.gid(), found.nlink(), found.mtime());
            // Times of what was just made differ by the moment; those that were set do not.
            let mtime = if facts.4 < 1_000_000_000 { facts.4 } else { 0 };
            let words =
                format!("{:o} {} {} {} {mtime} {content}", facts.0, facts.1, facts.2, facts.3);
            seen.insert(name, words);
        }
    }
    seen
}

/// A number that differs where bytes do.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(14_695_981_039_346_656_037, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    })
}

fn said(outcome: Result<String>) -> String {
    outcome.unwrap_or_else(|error| format!("error {:?}", error.raw_os_error()))
}

/// Do the same in both folders, and compare.
pub fn compare(gate: &Gate, acts: &[(&str, Act)]) {
    let (mount, twin) = (gate.mount(), gate.beside("twin"));
    fs::create_dir(&twin).unwrap();
    for (name, act) in acts {
        assert_eq!(said(act(&twin)), said(act(&mount)), "outcome of: {name}");
        assert_eq!(look(&twin), look(&mount), "the tree after: {name}");
    }
    // After a flush, the data that the kernel cached is in the backing folder.
    rustix::fs::syncfs(File::open(&mount).unwrap()).unwrap();
    assert_eq!(look(&twin), look(&gate.backing()), "the backing folder in the end");
}

/// Open a file to read and write, made if it is not there.
pub fn open(path: &Path, flags: i32) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(flags)
        .open(path)
}

/// In words: it went well.
pub fn fine(_: impl Sized) -> String {
    "fine".to_owned()
}
