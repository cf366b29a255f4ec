//! Split a request into operations of the volumes.
//!
//! Rule 1: requests are spread over the volumes by chunks of the file. The part of one request on one
//! volume is contiguous there, because the chunks in between are on the other volumes.
//! Rule 2: a volume gets that part in requests of at most [`DEVICE_REQUEST_BYTES`], as from a block layer.
//! These are the operations that are counted, and a request of another client may come between two of
//! them.

use plimsoll_core::pace::Request;

/// Largest request that a volume accepts; larger ones are split on the way.
///
/// Source: EBS user guide, "Amazon EBS I/O characteristics and monitoring": the I/O size of
/// SSD-backed volumes is capped at 256 KiB.
pub const DEVICE_REQUEST_BYTES: u64 = 256 * 1024;

/// How a file's bytes are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Volumes.
    pub volumes: u64,
    /// Bytes of a file on one volume before the next one follows.
    pub chunk_bytes: u64,
}

impl Layout {
    /// Return the operations of the volumes for a request; one for a request that moves nothing.
    #[must_use]
    pub fn pieces(&self, offset: u64, bytes: u64, is_write: bool, continues: bool) -> Vec<Request> {
        let mut pieces = Vec::with_capacity(1);
        for (volume, length) in self.lengths(offset, bytes) {
            for part in 0..length.div_ceil(DEVICE_REQUEST_BYTES).max(1) {
                let bytes = (length - part * DEVICE_REQUEST_BYTES).min(DEVICE_REQUEST_BYTES);
                let (bytes, volume) = (bytes as f64, volume as usize);
                pieces.push(Request { bytes, is_write, volume, continues });
            }
        }
        pieces
    }

    /// Return the volumes that a request reaches, in order from the first, and its bytes on each.
    fn lengths(self, offset: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        let first_chunk = offset / self.chunk_bytes;
        let last_chunk = (offset + bytes.saturating_sub(1)) / self.chunk_bytes;
        let reached = (last_chunk - first_chunk + 1).min(self.volumes);
        (first_chunk..first_chunk + reached).map(move |first| {
            let on_volume = (last_chunk - first) / self.volumes + 1;
            let mut length = on_volume * self.chunk_bytes;
            if first == first_chunk {
                length -= offset % self.chunk_bytes;
            }
            if (last_chunk - first).is_multiple_of(self.volumes) {
                length -= (last_chunk + 1) * self.chunk_bytes - (offset + bytes);
            }
            (first % self.volumes, length)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: u64 = 1024;

    /// What a request brings to each volume that it reaches.
    fn lengths(layout: Layout, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        layout.lengths(offset, bytes).collect()
    }

    /// A megabyte over four volumes is a quarter for each of them, wherever it begins.
    #[test]
    fn a_large_request_reaches_every_volume() {
        let layout = Layout { volumes: 4, chunk_bytes: 64 * KIB };
        let quarter = 256 * KIB;

        assert_eq!(
            vec![(0, quarter), (1, quarter), (2, quarter), (3, quarter)],
            lengths(layout, 0, 1024 * KIB)
        );
        let (first, rest) = (56 * KIB + 192 * KIB + 8 * KIB, quarter);
        assert_eq!(
            vec![(1, first), (2, rest), (3, rest), (0, rest)],
            lengths(layout, 72 * KIB, 1024 * KIB)
        );
    }

    /// A small one goes to the volume on which its chunk lies, or to two where it crosses a border.
    #[test]
    fn a_small_request_reaches_one_volume() {
        let layout = Layout { volumes: 4, chunk_bytes: 64 * KIB };

        assert_eq!(vec![(1, 8 * KIB)], lengths(layout, 64 * KIB, 8 * KIB));
        assert_eq!(vec![(0, 4 * KIB), (1, 4 * KIB)], lengths(layout, 60 * KIB, 8 * KIB));
        assert_eq!(vec![(2, 0)], lengths(layout, 128 * KIB, 0));
    }

    /// A device gets a megabyte in four operations, and a flush is one.
    #[test]
    fn operations_are_what_a_device_gets() {
        let one = Layout { volumes: 1, chunk_bytes: 64 * KIB };
        let four = Layout { volumes: 4, chunk_bytes: 64 * KIB };
        let count = |layout: Layout, bytes| layout.pieces(0, bytes, true, false).len();

        assert_eq!((4, 4), (count(one, 1024 * KIB), count(four, 1024 * KIB)));
        assert_eq!((1, 2), (count(one, 128 * KIB), count(four, 128 * KIB)));
        assert_eq!((1, 1), (count(one, 0), count(four, 0)));
        let odd: Vec<f64> =
            one.pieces(7, 300 * KIB, true, false).iter().map(|piece| piece.bytes).collect();
        assert_eq!(vec![256.0 * 1024.0, 44.0 * 1024.0], odd);
    }

    proptest! {
        /// The pieces of a request are the request: no byte is lost, none is counted twice, and
        /// each lies where its chunk says.
        #[test]
        fn pieces_add_up_to_the_request(
            volumes in 1_u64..9,
            offset in 0_u64..10_000_000,
            bytes in 1_u64..3_000_000,
        ) {
            let layout = Layout { volumes, chunk_bytes: 4 * KIB };
            let mut expected = vec![0_u64; volumes as usize];
            let mut at = offset;
            while at < offset + bytes {
                let end = ((at / (4 * KIB) + 1) * 4 * KIB).min(offset + bytes);
                expected[(at / (4 * KIB) % volumes) as usize] += end - at;
                at = end;
            }

            let mut got = vec![0_u64; volumes as usize];
            for (volume, length) in lengths(layout, offset, bytes) {
                prop_assert_eq!(0, got[volume as usize]);
                got[volume as usize] += length;
            }
            let pieces = layout.pieces(offset, bytes, false, false);
            let sum: f64 = pieces.iter().map(|piece| piece.bytes).sum();

            prop_assert_eq!(expected, got);
            prop_assert_eq!(bytes as f64, sum);
        }
    }
}
