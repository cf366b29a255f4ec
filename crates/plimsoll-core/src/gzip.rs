//! gzip, unpacked at once into memory that is at hand, or in pieces.
//!
//! Rule: this file knows no bounds. The caller says how large the content is, and has checked that it may be.

use flate2::{Decompress, FlushDecompress, Status};

/// Bytes of the shortest file: a header of ten, an empty block and a trailer of eight.
const SHORTEST: usize = 20;
/// Bits of the window of gzip (RFC 1952).
const WINDOW_BITS: u8 = 15;
/// Bytes of a piece: they stay in the second cache of a core until they are read.
const PIECE: usize = 1 << 18;

/// Return the size that the end of a file names for its last member, modulo 2³² (RFC 1952, ISIZE).
#[must_use]
pub fn named_size(packed: &[u8]) -> Option<usize> {
    let end = packed.last_chunk::<4>().filter(|_| packed.len() >= SHORTEST)?;
    usize::try_from(u32::from_le_bytes(*end)).ok()
}

/// Fill `content` with what a file of one member holds; false if it is damaged, or holds anything else.
pub fn unpack(packed: &[u8], content: &mut [u8]) -> bool {
    let mut member = Decompress::new_gzip(WINDOW_BITS);
    let size = content.len() as u64;
    // Once more than needed where the last bytes fill the content before the trailer is checked.
    for _ in 0..2 {
        let (read, written) = (member.total_in() as usize, member.total_out() as usize);
        match member.decompress(&packed[read..], &mut content[written..], FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => {
                return member.total_in() == packed.len() as u64 && member.total_out() == size;
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Hand out what a file of one member holds in pieces that stay in the cache; false if it is damaged.
///
/// `take` is given a piece and whether it is the last, and returns how many of its bytes are used up; the next
/// piece begins with the others. If it returns None, or leaves bytes of the last piece, the answer is false.
pub fn unpack_in_pieces(
    packed: &[u8],
    size: usize,
    mut take: impl FnMut(&[u8], bool) -> Option<usize>,
) -> bool {
    let mut member = Decompress::new_gzip(WINDOW_BITS);
    let mut piece = vec![0; PIECE.min(size + 1)];
    let mut kept = 0;
    loop {
        let (read, written) = (member.total_in(), member.total_out());
        let rest = &packed[read as usize..];
        let Ok(status) = member.decompress(rest, &mut piece[kept..], FlushDecompress::None) else {
            return false;
        };
        let filled = kept + (member.total_out() - written) as usize;
        let is_end = status == Status::StreamEnd;
        let is_over = member.total_out() > size as u64;
        if is_over || (!is_end && (member.total_in(), member.total_out()) == (read, written)) {
            return false;
        }
        let Some(used) = take(&piece[..filled], is_end) else { return false };
        kept = filled - used;
        if is_end {
            let is_whole = member.total_in() == packed.len() as u64;
            return kept == 0 && is_whole && member.total_out() == size as u64;
        }
        piece.copy_within(used..filled, 0);
        if kept > piece.len() / 2 {
            // One message or line fills most of it.
            piece.resize(2 * piece.len(), 0);
        }
    }
}

/// Return the first bytes of a packed file, at most `most`; fewer where it is damaged.
#[must_use]
pub fn head(packed: &[u8], most: usize) -> Vec<u8> {
    let mut member = Decompress::new_gzip(WINDOW_BITS);
    let mut content = vec![0; most];
    // What was unpacked before the damage is of use.
    let _ = member.decompress(packed, &mut content, FlushDecompress::None);
    content.truncate(member.total_out() as usize);
    content
}
