//! Memory for what was read and waits for its reply.
//!
//! Fresh memory for a large read costs as much as copying it, as the kernel has to clear it page by
//! page; so a few large buffers are kept. Small ones are left to the allocator.

use std::sync::{Mutex, PoisonError};

const KEPT_BYTES_MIN: usize = 32 * 1024;
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// As many large reads as a device has in flight at full readahead; 16 MiB at most.
const KEPT: usize = 16;

/// Buffers to be used again; each is as long as its memory.
#[derive(Debug, Default)]
pub struct Buffers {
    kept: Mutex<Vec<Vec<u8>>>,
}

impl Buffers {
    /// A buffer of at least so many bytes, with anything in it.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        if bytes >= KEPT_BYTES_MIN {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = kept.iter().rposition(|buffer| buffer.len() >= bytes) {
                return kept.swap_remove(at);
            }
        }
        vec![0; bytes]
    }

    /// Take a buffer back.
    pub fn give(&self, buffer: Vec<u8>) {
        if (KEPT_BYTES_MIN..=KEPT_BYTES_MAX).contains(&buffer.len()) {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < KEPT {
                kept.push(buffer);
            }
        }
    }
}
