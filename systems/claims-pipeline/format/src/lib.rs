//! Records of CCLF files become rows for COPY.
//!
//! A record is a line of fixed width. A row is a line of CSV, or a line of the quarantine with the reason. Memory is
//! constant: one block of input, one of output, whatever the file's length.

pub mod arguments;
pub mod field;
pub mod layout;
pub mod lines;
pub mod quarantine;
pub mod record;
pub mod stream;
pub mod summary;
