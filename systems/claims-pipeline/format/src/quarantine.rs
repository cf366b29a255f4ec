//! Records that are not rows: where they stand, why, and what they were.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::field::push_quoted;
use crate::lines::Line;
use crate::record::Reason;

/// Writes rows `file_id,line_number,reason,raw`.
pub struct Quarantine<W> {
    output: W,
    file_id: i64,
}

impl<W: Write> Quarantine<W> {
    /// Writes records of a file.
    pub fn new(output: W, file_id: i64) -> Self {
        Quarantine { output, file_id }
    }

    /// Writes a record with the reason.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn push(&mut self, line: Line<'_>, number: u64, reason: &Reason) -> io::Result<()> {
        let mut row = format!("{},{number},", self.file_id).into_bytes();
        push_quoted(&mut row, reason.text.as_bytes());
        row.push(b',');
        // In quotes even if nothing is left of it: what is not in quotes is NULL.
        let raw = printable(line.bytes).replace('"', "\"\"");
        writeln!(row, "\"{raw}\"")?;
        self.output.write_all(&row)
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Returns bytes as text that a database takes: `\xNN` for a byte that is not UTF-8 or a control character.
///
/// A backslash becomes two, so the bytes can be had back.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                letter if letter.is_control() => {
                    letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| hex(&mut text, byte));
                }
                letter => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|&byte| hex(&mut text, byte));
    }
    text
}

fn hex(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("memory takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Fault;

    #[test]
    fn bytes_that_no_database_takes_are_written_as_hexadecimal() {
        assert_eq!(printable(b"A\0B\xff\\ \xc3\x91\t"), "A\\x00B\\xff\\\\ Ñ\\x09");
        assert_eq!(printable("\u{85}".as_bytes()), "\\xc2\\x85");
    }

    #[test]
    fn a_row_has_file_line_reason_and_raw() {
        let mut output = Vec::new();
        let reason = Reason { fault: Fault::Date, text: "bad date: a is 'x,y'".to_owned() };
        let line = Line { bytes: b"say \"x\"", length: 7 };

        Quarantine::new(&mut output, 9).push(line, 4, &reason).unwrap();

        let row = String::from_utf8(output).unwrap();
        assert_eq!(row, "9,4,\"bad date: a is 'x,y'\",\"say \"\"x\"\"\"\n");
    }
}
