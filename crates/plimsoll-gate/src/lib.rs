//! The gate: a file system with an RDS instance's limits, between a database and the real disk.
//!
//! A folder is passed through a FUSE mount. Every read, write and flush that reaches the mount is carried
//! out at once; its reply waits until the emulated disk would have been done. The law is that of
//! `plimsoll-core`, with a clock.
//!
//! - [`config`], [`refusal`], [`mount`]: its configuration, its errors, its mount point.
//! - [`fs`], [`inodes`], [`node`], [`descriptors`], [`handles`], [`bypass`], [`leases`], [`written`],
//!   [`workers`], [`buffers`]: the file system.
//! - [`runs`], [`pieces`], [`throttle`], [`park`], [`clock`]: from a request to its reply.
//! - [`cache_bound`], [`pruner`]: the bound on the page cache.
//! - [`counters`], [`recorder`], [`control`]: counts, record and answers.
//! - [`daemon`]: its life cycle.
//!
//! Only what the program calls is public, so that the compiler reports unused code.

// Elsewhere the program is built too, for the wheels of the lab, and only refuses.
#![cfg(target_os = "linux")]

mod buffers;
mod bypass;
mod cache_bound;
mod claim;
mod clock;
pub mod config;
mod control;
mod counters;
pub mod daemon;
mod descriptors;
mod fs;
mod handles;
mod inodes;
mod known;
mod leases;
pub mod mount;
mod node;
mod park;
mod pieces;
mod pruner;
mod recorder;
pub mod refusal;
mod runs;
mod throttle;
mod workers;
mod writeback;
mod written;
