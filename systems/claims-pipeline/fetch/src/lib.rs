//! Streaming an object of S3 in constant memory, over broken connections, unpacked.

pub mod address;
pub mod arguments;
pub mod credentials;
pub mod encoding;
pub mod problem;
pub mod signature;
pub mod stream;
