//! Turns one record into one row, or says why not.

use std::io::Write;

use crate::field::{self, Fault};
use crate::layout::{Field, Layout, Type};
use crate::lines::Line;
use crate::quarantine::printable;

/// Why a record is not a row: the first fault in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its class.
    pub fault: Fault,
    /// The class, the field and its value.
    pub text: String,
}

/// Turns records of one file into rows.
pub struct Formatter {
    layout: Layout,
    /// Organisation and number of the file, with a comma after each.
    source: Vec<u8>,
    /// Amounts of the record at hand, in cents, in the order of the layout.
    amounts: Vec<i128>,
}

impl Formatter {
    /// Formats records of a layout, which come from a file of an organisation.
    pub fn new(layout: Layout, organisation: &str, file_id: i64) -> Self {
        let source = format!("{organisation},{file_id},").into_bytes();
        Formatter { layout, source, amounts: Vec::new() }
    }

    /// Returns the names of the amounts.
    pub fn amount_names(&self) -> impl Iterator<Item = &str> {
        let fields = self.layout.fields.iter();
        fields.filter(|field| field.holds == Type::Amount).map(|field| field.name.as_str())
    }

    /// Returns the amounts of the last record that became a row, in cents; 0 where there is none.
    pub fn amounts(&self) -> &[i128] {
        &self.amounts
    }

    /// Appends the row of a record, with its end of line; nothing if the record has a fault.
    ///
    /// # Errors
    ///
    /// The first fault of the record.
    pub fn push_row(
        &mut self,
        line: Line<'_>,
        number: u64,
        rows: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        self.check_length(line)?;
        let start = rows.len();
        rows.extend_from_slice(&self.source);
        write!(rows, "{number}").expect("memory takes everything");
        self.amounts.clear();
        let is_plain = field::is_plain(line.bytes);
        for field in &self.layout.fields {
            rows.push(b',');
            let raw = &line.bytes[field.start..field.start + field.width];
            let value = field::trimmed(raw);
            if let Err(fault) = push_field(rows, field, value, is_plain, &mut self.amounts) {
                rows.truncate(start);
                return Err(reason(fault, field, raw));
            }
        }
        rows.push(b'\n');
        Ok(())
    }

    fn check_length(&self, line: Line<'_>) -> Result<(), Reason> {
        let (length, width) = (line.length, self.layout.width);
        let (fault, text) = match length.cmp(&(width as u64)) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => (Fault::Truncated, format!("{length} of {width} bytes")),
            std::cmp::Ordering::Greater => {
                (Fault::Long, format!("{length} bytes instead of {width}"))
            }
        };
        Err(Reason { fault, text: format!("{}: {text}", fault.class()) })
    }
}

fn push_field(
    rows: &mut Vec<u8>,
    field: &Field,
    value: &[u8],
    is_plain: bool,
    amounts: &mut Vec<i128>,
) -> Result<(), Fault> {
    if value.is_empty() {
        if field.holds == Type::Amount {
            amounts.push(0);
        }
        return if field.is_key { Err(Fault::Key) } else { Ok(()) };
    }
    match field.holds {
        Type::Text if is_plain => rows.extend_from_slice(value),
        Type::Text => field::push_text(rows, value)?,
        Type::Date => field::push_date(rows, value)?,
        holds => {
            let number = field::number_of(value, holds, field.width)?;
            if holds == Type::Amount {
                amounts.push(number);
            }
            rows.extend_from_slice(value);
        }
    }
    Ok(())
}

fn reason(fault: Fault, field: &Field, raw: &[u8]) -> Reason {
    let (class, name) = (fault.class(), &field.name);
    let text = match fault {
        Fault::Key => format!("{class}: {name} is blank"),
        _ => format!("{class}: {name} is '{}'", printable(field::trimmed(raw))),
    };
    Reason { fault, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a field, if it is not the blank it would be.
    type Given<'a> = (&'a str, &'a str);

    fn record(layout: &Layout, given: &[Given]) -> Vec<u8> {
        let mut bytes = vec![b' '; layout.width];
        for (name, value) in [("bene_mbi_id", "1S00A00AA00")].iter().chain(given) {
            let field = layout.fields.iter().find(|field| field.name == *name).unwrap();
            bytes[field.start..field.start + value.len()].copy_from_slice(value.as_bytes());
        }
        bytes
    }

    fn formatted(kind: &str, given: &[Given]) -> (Result<(), Reason>, String, Vec<i128>) {
        let layout = crate::layout::all().into_iter().find(|layout| layout.kind == kind).unwrap();
        let bytes = record(&layout, given);
        let line = Line { bytes: &bytes, length: bytes.len() as u64 };
        let mut formatter = Formatter::new(layout, "A1001", 7);
        let mut rows = Vec::new();
        let result = formatter.push_row(line, 3, &mut rows);
        (result, String::from_utf8(rows).unwrap(), formatter.amounts().to_vec())
    }

    #[test]
    fn a_row_begins_with_organisation_file_and_line() {
        let (result, row, amounts) = formatted(
            "part_d_events",
            &[("cur_clm_uniq_id", "0000000000042"), ("clm_line_bene_pmt_amt", "        -5.10")],
        );

        assert_eq!(result, Ok(()));
        assert_eq!(row, "A1001,7,3,0000000000042,1S00A00AA00,,,,,,,,,,,,,-5.10,,,,,,\n");
        assert_eq!(amounts, [-510]);
    }

    #[test]
    fn a_record_with_a_fault_leaves_no_row() {
        let (result, row, _) = formatted(
            "part_d_events",
            &[("cur_clm_uniq_id", "42"), ("clm_line_from_dt", "2023-02-30")],
        );

        assert_eq!(result.unwrap_err().text, "bad date: clm_line_from_dt is '2023-02-30'");
        assert_eq!(row, "");
    }

    #[test]
    fn a_blank_key_is_a_fault() {
        let (result, _, _) = formatted("part_d_events", &[]);

        assert_eq!(result.unwrap_err().text, "missing key: cur_clm_uniq_id is blank");
    }

    #[test]
    fn a_name_with_a_comma_is_quoted_and_a_tab_is_a_fault() {
        let (result, row, _) = formatted("beneficiaries", &[("bene_last_name", "DOE, \"JR\"")]);
        assert_eq!(result, Ok(()));
        assert!(row.contains(",\"DOE, \"\"JR\"\"\","), "{row}");

        let (result, _, _) = formatted("beneficiaries", &[("bene_last_name", "A\tB")]);
        assert_eq!(result.unwrap_err().text, "control character: bene_last_name is 'A\\x09B'");
    }
}
