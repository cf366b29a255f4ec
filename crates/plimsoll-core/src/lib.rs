//! The law of Plimsoll: credit buckets, chains of ceilings, replay.
//!
//! Everything here is arithmetic on numbers from the caller: no cloud, no metric, no file, no clock, no
//! randomness and no `unsafe`. Times are lengths in seconds, never dates.
//!
//! - [`bucket`]: the credits above a baseline; every change of a balance.
//! - [`chain`]: ceilings in series for the same requests; which of them binds at an I/O size.
//! - [`flow`]: one step of demand through a chain, with a queue in order of arrival.
//! - [`pace`]: single requests through a chain in real time: when each may complete.
//! - [`fair`]: turns of reads and writes under saturation.
//! - [`replay`]: a series of steps, with grants of credits.
//! - [`trials`], [`candidates`]: many chains over one series of demand, in parallel SIMD lanes.
//! - [`gzip`]: content of packed files.
//! - [`stream`]: points of metric streams, read from bytes; here because a fleet has billions of them.
//! - [`order`]: points by day and series, each once.

pub mod bucket;
pub mod candidates;
pub mod chain;
mod envelope;
pub mod fair;
pub mod flow;
mod group;
pub mod gzip;
pub mod lane;
pub mod order;
pub mod pace;
pub mod replay;
pub mod stream;
pub mod trials;
pub mod units;
