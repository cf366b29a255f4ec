//! Memory for data that was read and waits for its reply.
//!
//! Fresh memory for a large read costs as much as copying it, because the kernel must clear every page.
//! So a few large buffers are kept. Small ones are left to the allocator.
//!
//! Every buffer starts at the alignment for direct I/O. The allocator does not promise that, so each
//! buffer asks for a page more and ignores the bytes before its start.

use std::sync::{Mutex, PoisonError};

/// Alignment of memory for direct I/O: the largest logical block of disks.
const ALIGNED_BYTES: usize = 4096;

const KEPT_BYTES_MIN: usize = 32 * 1024;
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// As many large reads as a device has in flight at full readahead; at most 16 MiB.
const KEPT: usize = 16;

/// Memory that starts at a multiple of [`ALIGNED_BYTES`].
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    begin: usize,
}

/// Buffers to reuse; each is as long as its memory.
#[derive(Debug, Default)]
pub struct Buffers {
    kept: Mutex<Vec<Buffer>>,
}

impl Buffer {
    fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + ALIGNED_BYTES];
        let address = memory.as_ptr().addr();
        Self { begin: address.next_multiple_of(ALIGNED_BYTES) - address, memory }
    }

    fn room(&self) -> usize {
        self.memory.len() - ALIGNED_BYTES
    }

    /// Return its first bytes, to read.
    #[must_use]
    pub fn first(&self, bytes: usize) -> &[u8] {
        &self.memory[self.begin..self.begin + bytes]
    }

    /// Return its first bytes, to fill.
    pub fn first_mut(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + bytes]
    }
}

impl Buffers {
    /// Return a buffer of at least this size, with arbitrary content.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Buffer {
        if bytes >= KEPT_BYTES_MIN {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = kept.iter().rposition(|buffer| buffer.room() >= bytes) {
                return kept.swap_remove(at);
            }
        }
        Buffer::new(bytes)
    }

    /// Take a buffer back.
    pub fn give(&self, buffer: Buffer) {
        if (KEPT_BYTES_MIN..=KEPT_BYTES_MAX).contains(&buffer.room()) {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < KEPT {
                kept.push(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// New or used before, small or large, a buffer has its room and begins at a multiple.
    #[test]
    fn buffers_are_aligned_and_large_ones_are_used_again() {
        let buffers = Buffers::default();
        for _ in 0..2 {
            for bytes in [1, 512, 8192, KEPT_BYTES_MIN, 131_072, KEPT_BYTES_MAX] {
                let mut buffer = buffers.take(bytes);
                buffer.first_mut(bytes).fill(7);

                assert_eq!(0, buffer.first(bytes).as_ptr().addr() % ALIGNED_BYTES);
                assert!(buffer.first(bytes).iter().all(|byte| *byte == 7));
                buffers.give(buffer);
            }
        }

        assert_eq!(3, buffers.kept.lock().unwrap().len());
    }
}
