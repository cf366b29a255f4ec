//! The configuration of a gate, and the form of a chain in JSON.
//!
//! Rule 1: capacities arrive as documented; only this file divides them by the credit clock. Rates and
//! latencies stay real.
//! Rule 2: a number that the law cannot use is refused here, with its place.

use std::path::PathBuf;

use plimsoll_core::bucket::Bucket;
use plimsoll_core::chain::{Account, Stage};
use serde::{Deserialize, Serialize};

use crate::pieces::DEVICE_REQUEST_BYTES;
use crate::refusal::Refusal;

/// More volumes than any documented layout has; limits the pieces of one request.
const STRIPES_MAX: u32 = 64;

/// What the gate serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The backing folder, through the page cache.
    Fs,
    /// One file in the folder, without page cache, for a loop device with a file system on it.
    BlockImage,
}

/// What a stage counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// A request costs its bytes.
    Bytes,
    /// A request costs operations.
    #[serde(alias = "ops")]
    Operations,
}

/// One ceiling, as written in JSON.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StageConfig {
    /// Its name, which is unique.
    pub name: String,
    /// Credits per second that are sustainable forever.
    pub baseline: f64,
    /// Credits per second while the balance is above zero.
    pub burst: f64,
    /// Most credits, as documented: not divided by the credit clock.
    #[serde(default)]
    pub capacity: f64,
    /// What it counts.
    pub counts: Counts,
    /// Largest request that counts as one operation; none if the size does not matter.
    #[serde(default)]
    pub unit_bytes: Option<f64>,
    /// Volumes that the requests are spread over, each with such a bucket.
    #[serde(default = "one")]
    pub stripes: u32,
}

/// How long a request takes when nothing waits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyConfig {
    /// Seconds of a read.
    pub read: f64,
    /// Seconds of a write, and of a flush.
    pub write: f64,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Folder whose files are passed through; absolute, like the other paths.
    pub backing: PathBuf,
    /// Empty folder where they appear.
    pub mount: PathBuf,
    /// What the gate serves.
    pub mode: Mode,
    /// Size of the image file to make; none if it exists.
    #[serde(default)]
    pub image_bytes: Option<u64>,
    /// Socket where questions are answered.
    pub socket: PathBuf,
    /// File for a line of each interval.
    pub record: PathBuf,
    /// Whether other accounts of the machine may use the mount.
    #[serde(default)]
    pub allow_other: bool,
    /// Credit clock: an emulated minute is 60/clock seconds. ≥ 1.
    pub clock: f64,
    /// Most page cache for the mount; none for no bound.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Idle time shorter than this is not lost to the client.
    pub slack_s: f64,
    /// Requests of writeback that may be in the disk's queue at a time.
    pub max_background: u16,
    /// Bytes of an operation after which others may have a turn.
    #[serde(default = "whole_operation")]
    pub portion_bytes: f64,
    /// Ceilings in the order in which requests meet them.
    pub chain: Vec<StageConfig>,
    /// Credits at the start, 0–1 of the capacity, one per stage.
    pub balance_ratio: Vec<f64>,
    /// Base latencies.
    pub latency_s: LatencyConfig,
    /// False lets every request through at once: to measure the gate itself.
    pub is_limited: bool,
    /// Bytes of a file on one stripe before the next one follows.
    pub chunk_bytes: u64,
    /// Threads that take requests from the kernel. As many as small requests are commonly in flight:
    /// passing one to another thread costs about as much as taking it from the kernel.
    #[serde(default = "sixteen")]
    pub threads: usize,
}

/// A chain that can be enforced, with its written form.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The written form.
    pub written: Vec<StageConfig>,
    /// The stages for the law: capacities are divided by the credit clock.
    pub stages: Vec<Stage>,
}

fn one() -> u32 {
    1
}

fn sixteen() -> usize {
    16
}

fn whole_operation() -> f64 {
    DEVICE_REQUEST_BYTES as f64
}

impl Config {
    /// Parse a configuration from JSON.
    ///
    /// # Errors
    /// It is not such a document, or a number is outside its range.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let config: Self = serde_json::from_str(text).map_err(|error| {
            Refusal::new(
                format!("unable to read the configuration: {error}"),
                "It must be one JSON document, as 'plimsoll gate mount' writes it.",
            )
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Refusal> {
        let paths = [&self.backing, &self.mount, &self.socket, &self.record];
        let ranges = [
            ("clock", self.clock, 1.0, 1e6),
            ("slack_s", self.slack_s, 0.0, 10.0),
            ("latency_s.read", self.latency_s.read, 0.0, 60.0),
            ("latency_s.write", self.latency_s.write, 0.0, 60.0),
            ("max_background", f64::from(self.max_background), 1.0, 65_535.0),
            ("chunk_bytes", self.chunk_bytes as f64, 4096.0, 1e15),
            // Less would be many turns for one page.
            ("portion_bytes", self.portion_bytes, 4096.0, DEVICE_REQUEST_BYTES as f64),
            ("threads", self.threads as f64, 1.0, 64.0),
        ];
        if let Some(path) = paths.into_iter().find(|path| !path.is_absolute()) {
            return Err(wrong(&format!("'{}' is not an absolute path", path.display())));
        }
        for (name, number, least, most) in ranges {
            if !(least..=most).contains(&number) {
                return Err(wrong(&format!("{name} is {number}, not {least} to {most}")));
            }
        }
        match (self.mode, self.image_bytes) {
            (Mode::BlockImage, Some(0..4096)) => Err(wrong("image_bytes is less than one page")),
            (Mode::Fs, Some(_)) => Err(wrong("image_bytes is only for mode block-image")),
            _ => Chain::new(&self.chain, self.clock)?.balances(&self.balance_ratio).map(drop),
        }
    }
}

impl Chain {
    /// Return the chain to enforce at a credit clock.
    ///
    /// # Errors
    /// A number is outside its range, or two stages share a name.
    pub fn new(written: &[StageConfig], clock: f64) -> Result<Self, Refusal> {
        for (index, stage) in written.iter().enumerate() {
            let name = &stage.name;
            if !(stage.baseline > 0.0 && stage.burst >= stage.baseline && stage.burst.is_finite()) {
                return Err(wrong(&format!(
                    "stage '{name}' has a baseline of {} and a burst of {}",
                    stage.baseline, stage.burst
                )));
            }
            if !(stage.capacity >= 0.0 && stage.capacity.is_finite()) {
                return Err(wrong(&format!("stage '{name}' has a capacity of {}", stage.capacity)));
            }
            if !(1..=STRIPES_MAX).contains(&stage.stripes) {
                return Err(wrong(&format!("stage '{name}' has {} stripes", stage.stripes)));
            }
            if stage.unit_bytes.is_some_and(|unit| unit.is_nan() || unit < 1.0) {
                return Err(wrong(&format!("stage '{name}' has an accounting unit below 1")));
            }
            if written[..index].iter().any(|other| other.name == *name) {
                return Err(wrong(&format!("two stages are named '{name}'")));
            }
        }
        let stages = written.iter().map(|stage| stage_of(stage, clock)).collect();
        Ok(Self { written: written.to_vec(), stages })
    }

    /// Return balances, of one stripe each, from the shares 0–1 that are left.
    ///
    /// # Errors
    /// There is not one share per stage, or one is not a share.
    pub fn balances(&self, ratios: &[f64]) -> Result<Vec<f64>, Refusal> {
        if ratios.len() != self.stages.len() {
            return Err(wrong(&format!(
                "{} balances were given for {} stages",
                ratios.len(),
                self.stages.len()
            )));
        }
        if let Some(ratio) = ratios.iter().find(|ratio| !(0.0..=1.0).contains(*ratio)) {
            return Err(wrong(&format!("a balance of {ratio} is not a share of the bucket")));
        }
        Ok(self.stages.iter().zip(ratios).map(|(s, ratio)| s.bucket.capacity * ratio).collect())
    }

    /// Return the number of volumes that requests are spread over: the stripes of the widest stage.
    #[must_use]
    pub fn volumes(&self) -> usize {
        self.written.iter().map(|stage| stage.stripes as usize).max().unwrap_or(1)
    }

    /// Return the index of a stage in the chain.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.written.iter().position(|stage| stage.name == name)
    }
}

fn stage_of(written: &StageConfig, clock: f64) -> Stage {
    let account = match written.counts {
        Counts::Bytes => Account::Bytes,
        Counts::Operations => Account::Ops {
            unit_bytes: written.unit_bytes.unwrap_or(f64::INFINITY),
            sequential_ratio: 0.0,
        },
    };
    let StageConfig { baseline, burst, .. } = *written;
    let bucket = Bucket { baseline, burst, capacity: written.capacity / clock };
    Stage { bucket, account, stripes: f64::from(written.stripes) }
}

fn wrong(what: &str) -> Refusal {
    Refusal::new(
        format!("the configuration is wrong: {what}"),
        "Rates are finite and above 0, names differ, and balances are shares from 0 to 1.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str) -> StageConfig {
        StageConfig {
            name: name.to_owned(),
            baseline: 86_875_000.0,
            burst: 347_500_000.0,
            capacity: 4.69e11,
            counts: Counts::Bytes,
            unit_bytes: None,
            stripes: 1,
        }
    }

    /// A burst of 30 minutes lasts 30 seconds at clock 60: capacities shrink, rates do not.
    #[test]
    fn the_credit_clock_divides_capacities_alone() {
        let chain = Chain::new(&[written("instance")], 60.0).unwrap();

        assert_eq!(4.69e11 / 60.0, chain.stages[0].bucket.capacity);
        assert_eq!(86_875_000.0, chain.stages[0].bucket.baseline);
        assert_eq!(vec![0.2 * (4.69e11 / 60.0)], chain.balances(&[0.2]).unwrap());
    }

    /// What the law cannot work with is refused, and the message says where it stands.
    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let of = |change: fn(&mut StageConfig)| {
            let mut stage = written("instance");
            change(&mut stage);
            Chain::new(&[stage], 1.0).unwrap_err().error
        };

        assert!(of(|s| s.baseline = 0.0).contains("stage 'instance' has a baseline of 0"));
        assert!(of(|s| s.burst = 1.0).contains("burst of 1"));
        assert!(of(|s| s.burst = f64::INFINITY).contains("burst of inf"));
        assert!(of(|s| s.capacity = f64::NAN).contains("capacity of NaN"));
        assert!(of(|s| s.stripes = 0).contains("0 stripes"));
        assert!(of(|s| s.unit_bytes = Some(0.0)).contains("unit below 1"));
        let twice = Chain::new(&[written("a"), written("a")], 1.0).unwrap_err();
        assert!(twice.error.contains("two stages are named 'a'"));
        let chain = Chain::new(&[written("a")], 1.0).unwrap();
        assert!(chain.balances(&[]).unwrap_err().error.contains("0 balances were given for 1"));
        assert!(chain.balances(&[1.5]).unwrap_err().error.contains("1.5 is not a share"));
    }

    /// The document that starts a gate reads back as it was written.
    #[test]
    fn a_configuration_is_one_json_document() {
        let text = r#"{"backing": "/a", "mount": "/b", "mode": "fs", "socket": "/c", "record": "/d",
            "allow_other": true, "clock": 60.0, "memory_bytes": null, "slack_s": 0.05,
            "max_background": 16, "chain": [{"name": "x", "baseline": 1.0, "burst": 2.0,
            "capacity": 3.0, "counts": "operations", "unit_bytes": 262144, "stripes": 4}],
            "balance_ratio": [0.5], "latency_s": {"read": 0.0007, "write": 0.0009},
            "is_limited": true, "chunk_bytes": 65536}"#;

        let config = Config::parse(text).unwrap();

        assert_eq!(4, Chain::new(&config.chain, config.clock).unwrap().volumes());
        assert_eq!(16, config.threads);
        let again = Config::parse(&serde_json::to_string(&config).unwrap()).unwrap();
        assert_eq!(config, again);
        let relative = Config::parse(&text.replace("/a", "a")).unwrap_err();
        assert!(relative.error.contains("'a' is not an absolute path"));
        let image = text.replace("\"clock\"", "\"image_bytes\": 1, \"clock\"");
        assert!(Config::parse(&image).unwrap_err().error.contains("only for mode block-image"));
        let image = Config::parse(&image.replace("\"fs\"", "\"block-image\"")).unwrap_err();
        assert!(image.error.contains("less than one page"));
        assert!(Config::parse("{}").unwrap_err().error.contains("missing field"));
    }
}
