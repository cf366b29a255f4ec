//! The gate: a disk with an RDS instance's limits, between a database and the real disk.
//!
//! A folder is passed through a mount of its own (FUSE). Every read, write and flush that reaches
//! the mount is carried out at once; its reply is held back until the emulated disk would have been
//! done. The law is that of `plimsoll-core`, with a clock.
//!
//! - [`config`], [`refusal`], [`mount`]: what it is told, what it refuses, where it is mounted.
//! - [`fs`], [`inodes`], [`descriptors`], [`handles`], [`leases`], [`written`], [`workers`],
//!   [`buffers`]: the file system.
//! - [`runs`], [`pieces`], [`throttle`], [`park`], [`clock`]: from a request to its reply.
//! - [`cache_bound`], [`pruner`]: the bound on the page cache.
//! - [`counters`], [`recorder`], [`control`]: what it counts, writes down and answers.
//! - [`daemon`]: its life.

#[cfg(not(target_os = "linux"))]
compile_error!("the gate needs Linux and its FUSE");

pub mod buffers;
pub mod cache_bound;
pub mod claim;
pub mod clock;
pub mod config;
pub mod control;
pub mod counters;
pub mod daemon;
pub mod descriptors;
pub mod fs;
pub mod handles;
pub mod inodes;
mod known;
pub mod leases;
pub mod mount;
pub mod park;
pub mod pieces;
pub mod pruner;
pub mod recorder;
pub mod refusal;
pub mod runs;
pub mod throttle;
pub mod workers;
pub mod written;
