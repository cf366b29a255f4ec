//! Formats a whole file from one stream into others.

use std::io::{self, Read, Write};

use crate::layout::Layout;
use crate::lines::Lines;
use crate::quarantine::Quarantine;
use crate::record::Formatter;
use crate::summary::Summary;

/// Rows are written when so many bytes of them are ready.
const BLOCK: usize = 1 << 20;

/// So many lengths tell what kind a file is of: a few of them may be damaged.
const PROBED: usize = 100;

/// What the command line says of the file.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Whose it is.
    pub organisation: &'a str,
    /// Its name, for messages.
    pub name: &'a str,
    /// Its number in the ledger.
    pub file_id: i64,
}

/// Why a file was not formatted.
#[derive(Debug)]
pub enum Refusal {
    /// The file is of another kind: cause and hint.
    OtherKind(String, String),
    /// Something cannot be read or written.
    Io(&'static str, io::Error),
}

/// Formats a file. Nothing is written if it is of another kind.
///
/// # Errors
///
/// The file is of another kind; a stream cannot be read or written.
pub fn format<R: Read, W: Write, Q: Write>(
    file: File<'_>,
    layout: &Layout,
    input: R,
    mut output: W,
    quarantine: Q,
) -> Result<Summary, Refusal> {
    let reading = |error| Refusal::Io("read the records", error);
    let writing = |error| Refusal::Io("write the rows", error);
    let setting_aside = |error| Refusal::Io("write the quarantine", error);
    let mut lines = Lines::new(input);
    let lengths = lines.first_lengths(PROBED).map_err(reading)?;
    check_kind(file, layout, &lengths)?;

    let mut formatter = Formatter::new(layout.clone(), file.organisation, file.file_id);
    let mut quarantine = Quarantine::new(quarantine, file.file_id);
    let names = formatter.amount_names().map(|name| (name.to_owned(), 0)).collect();
    let mut summary = Summary { sums: names, ..Summary::default() };
    let mut rows = Vec::with_capacity(BLOCK + 8192);
    while let Some(line) = lines.next_line().map_err(reading)? {
        summary.records += 1;
        match formatter.push_row(line, summary.records, &mut rows) {
            Ok(()) => {
                summary.rows += 1;
                for ((_, sum), amount) in summary.sums.iter_mut().zip(formatter.amounts()) {
                    *sum += amount;
                }
            }
            Err(reason) => {
                summary.count(reason.fault);
                quarantine.push(line, summary.records, &reason).map_err(setting_aside)?;
            }
        }
        if rows.len() >= BLOCK {
            output.write_all(&rows).map_err(writing)?;
            rows.clear();
        }
    }
    output.write_all(&rows).and_then(|()| output.flush()).map_err(writing)?;
    quarantine.flush().map_err(setting_aside)?;
    summary.bytes = lines.read_bytes;
    Ok(summary)
}

/// Refuses a file whose first records have the length of another kind, and none the right one.
fn check_kind(file: File<'_>, layout: &Layout, lengths: &[usize]) -> Result<(), Refusal> {
    if lengths.contains(&layout.width) {
        return Ok(());
    }
    let most = |other: &Layout| lengths.iter().filter(|length| **length == other.width).count();
    let Some(other) = crate::layout::all().into_iter().max_by_key(most) else { return Ok(()) };
    if most(&other) == 0 {
        return Ok(());
    }
    let (name, kind, width) = (file.name, &layout.kind, layout.width);
    Err(Refusal::OtherKind(
        format!(
            "'{name}' has records of {} bytes, as {} has, not of {width} bytes, as {kind} has",
            other.width, other.kind
        ),
        format!("Format it with --kind {}.", other.kind),
    ))
}
