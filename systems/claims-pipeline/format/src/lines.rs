//! Splits a stream into lines with constant memory.
//!
//! Rule 1: a line ends with LF or CR LF, or with the stream. A stream that ends with LF has no empty line after it.
//! Rule 2: of a line that is longer than [`KEPT`] only the beginning is kept, and its length.

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// Most bytes of a line that are kept: several times the longest record.
pub const KEPT: usize = 4096;

/// A line without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The bytes, at most [`KEPT`].
    pub bytes: &'a [u8],
    /// How many bytes the line has.
    pub length: u64,
}

/// The lines of a stream, one after another.
pub struct Lines<R> {
    input: R,
    block: Vec<u8>,
    /// What is not taken yet is `block[from..to]`.
    from: usize,
    to: usize,
    is_over: bool,
    /// Bytes read so far.
    pub read_bytes: u64,
}

impl<R: Read> Lines<R> {
    /// Starts at the beginning of a stream.
    pub fn new(input: R) -> Self {
        Lines { input, block: vec![0; BLOCK], from: 0, to: 0, is_over: false, read_bytes: 0 }
    }

    /// Reads the first block, and returns the lengths of the whole lines in it without taking them.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub fn first_lengths(&mut self, at_most: usize) -> io::Result<Vec<usize>> {
        while self.to < self.block.len() && !self.is_over {
            self.fill()?;
        }
        let mut rest = &self.block[self.from..self.to];
        let mut lengths = Vec::new();
        while lengths.len() < at_most {
            match memchr(b'\n', rest) {
                Some(end) => {
                    lengths.push(without_return(&rest[..end]).len());
                    rest = &rest[end + 1..];
                }
                None => {
                    if self.is_over && !rest.is_empty() {
                        lengths.push(without_return(rest).len());
                    }
                    break;
                }
            }
        }
        Ok(lengths)
    }

    /// Returns the next line, or none at the end.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        loop {
            if let Some(end) = memchr(b'\n', &self.block[self.from + searched..self.to]) {
                let (start, end) = (self.from, self.from + searched + end);
                self.from = end + 1;
                return Ok(Some(line_of(&self.block[start..end])));
            }
            if self.is_over {
                let start = std::mem::replace(&mut self.from, self.to);
                let rest = &self.block[start..self.to];
                return Ok((!rest.is_empty()).then(|| line_of(rest)));
            }
            searched = self.to - self.from;
            if searched > KEPT {
                return self.long_line().map(Some);
            }
            self.make_room();
            self.fill()?;
        }
    }

    /// Skips to the end of a line whose beginning fills more than is kept.
    fn long_line(&mut self) -> io::Result<Line<'_>> {
        self.make_room();
        let mut length = self.to as u64;
        let mut last = self.block[self.to - 1];
        loop {
            // The beginning stays where it is, and the rest of the block is read again and again.
            self.to = KEPT;
            self.fill()?;
            let rest = &self.block[KEPT..self.to];
            let end = memchr(b'\n', rest);
            let part = &rest[..end.unwrap_or(rest.len())];
            length += part.len() as u64;
            last = *part.last().unwrap_or(&last);
            self.from = self.to.min(KEPT + part.len() + 1);
            if end.is_some() || self.is_over {
                break;
            }
        }
        length -= u64::from(last == b'\r');
        Ok(Line { bytes: &self.block[..KEPT], length })
    }

    /// Moves what is not taken yet to the beginning of the block.
    fn make_room(&mut self) {
        if self.from > 0 {
            self.block.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.input.read(&mut self.block[self.to..]) {
                Ok(count) => {
                    self.is_over = count == 0;
                    self.to += count;
                    self.read_bytes += count as u64;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn line_of(bytes: &[u8]) -> Line<'_> {
    let bytes = without_return(bytes);
    Line { bytes: &bytes[..bytes.len().min(KEPT)], length: bytes.len() as u64 }
}

fn without_return(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives at most so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    fn all(input: &[u8], step: usize) -> Vec<(Vec<u8>, u64)> {
        let mut lines = Lines::new(Slow(input, step));
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.bytes.to_vec(), line.length));
        }
        assert_eq!(lines.read_bytes, input.len() as u64);
        found
    }

    fn short(text: &[u8]) -> (Vec<u8>, u64) {
        (text.to_vec(), text.len() as u64)
    }

    #[test]
    fn the_end_of_a_line_may_be_missing_at_the_end_of_the_stream() {
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"a\nb", 9), [short(b"a"), short(b"b")]);
        assert_eq!(all(b"a\r\nb\r\n", 9), [short(b"a"), short(b"b")]);
        assert_eq!(all(b"\n\n", 9), [short(b""), short(b"")]);
    }

    #[test]
    fn of_a_long_line_the_beginning_and_the_length_are_kept() {
        let long = vec![b'x'; 3 * BLOCK];
        let mut input = long.clone();
        input.extend_from_slice(b"\nshort\n");

        for step in [1000, 4096, 1 << 20] {
            let kept = (long[..KEPT].to_vec(), long.len() as u64);
            assert_eq!(all(&input, step), [kept, short(b"short")]);
        }
        assert_eq!(all(&long, 5000), [(long[..KEPT].to_vec(), long.len() as u64)]);
    }

    #[test]
    fn lengths_of_the_first_lines_take_none() {
        let mut lines = Lines::new(Slow(b"abc\r\nde\nf", 2));

        assert_eq!(lines.first_lengths(9).unwrap(), [3, 2, 1]);
        assert_eq!(lines.first_lengths(1).unwrap(), [3]);
        assert_eq!(lines.next_line().unwrap().unwrap().bytes, b"abc");
    }

    proptest! {
        #[test]
        fn how_much_is_read_at_a_time_changes_nothing(
            lines in proptest::collection::vec("[a-z ]{0,6}\r?|[xy]{4000,9000}\r?", 0..8), step in 1usize..9000,
        ) {
            let input = lines.join("\n") + "\n";

            prop_assert_eq!(all(input.as_bytes(), step), all(input.as_bytes(), BLOCK));
        }
    }
}
