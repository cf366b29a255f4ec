//! Units as types, where two rates meet in one formula.
//!
//! Everything is in operations, bytes and seconds; nothing here converts from MB or MiB.

use core::ops::{Div, Mul};

/// Operations per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct OpsPerS(pub f64);

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct BytesPerS(pub f64);

/// Mean size of an operation, in bytes per operation.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct IoSize(pub f64);

impl Mul<IoSize> for OpsPerS {
    type Output = BytesPerS;

    fn mul(self, size: IoSize) -> BytesPerS {
        BytesPerS(self.0 * size.0)
    }
}

impl Div<OpsPerS> for BytesPerS {
    type Output = IoSize;

    fn div(self, ops: OpsPerS) -> IoSize {
        IoSize(self.0 / ops.0)
    }
}
