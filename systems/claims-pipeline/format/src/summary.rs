//! What became of a file: counts, and sums that are exact.

use std::fmt::Write;

use crate::field::{FAULTS, Fault};

/// Counts and sums of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Bytes read.
    pub bytes: u64,
    /// Lines read; `rows` + `quarantined`.
    pub records: u64,
    /// Records that became rows.
    pub rows: u64,
    /// Records with a fault, by its class.
    pub faults: [u64; FAULTS.len()],
    /// Of each amount, the sum over all rows, in cents.
    pub sums: Vec<(String, i128)>,
}

impl Summary {
    /// Counts a record with a fault.
    pub fn count(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    /// Returns how many records have a fault.
    pub fn quarantined(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// Returns the summary as a JSON object on one line; sums are texts, so that they stay exact.
    pub fn json(&self) -> String {
        let mut text = format!(
            "{{\"bytes\":{},\"records\":{},\"rows\":{},\"quarantined\":{},\"reasons\":{{",
            self.bytes,
            self.records,
            self.rows,
            self.quarantined()
        );
        let present = FAULTS.iter().zip(self.faults).filter(|(_, count)| *count > 0);
        let reasons: Vec<String> =
            present.map(|(fault, count)| format!("\"{}\":{count}", fault.class())).collect();
        let sums: Vec<String> = self
            .sums
            .iter()
            .map(|(name, sum)| format!("\"{name}\":\"{}\"", dollars(*sum)))
            .collect();
        writeln!(text, "{}}},\"sums\":{{{}}}}}", reasons.join(","), sums.join(","))
            .expect("memory takes everything");
        text
    }
}

/// Returns cents as dollars with two decimals.
fn dollars(cents: i128) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let size = cents.unsigned_abs();
    format!("{sign}{}.{:02}", size / 100, size % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_json_with_exact_sums() {
        let mut summary = Summary {
            bytes: 99,
            records: 3,
            rows: 1,
            sums: vec![("clm_pmt_amt".to_owned(), -12_345_678_901_234_567_805)],
            ..Summary::default()
        };
        summary.count(Fault::Date);
        summary.count(Fault::Truncated);

        assert_eq!(
            summary.json(),
            concat!(
                r#"{"bytes":99,"records":3,"rows":1,"quarantined":2,"#,
                r#""reasons":{"truncated record":1,"bad date":1},"#,
                r#""sums":{"clm_pmt_amt":"-123456789012345678.05"}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn cents_below_a_dollar_keep_their_zero() {
        assert_eq!(dollars(5), "0.05");
        assert_eq!(dollars(-5), "-0.05");
        assert_eq!(dollars(0), "0.00");
    }

    #[test]
    fn a_fault_is_counted_under_its_own_name() {
        for (number, fault) in FAULTS.iter().enumerate() {
            assert_eq!(number, *fault as usize);
        }
    }
}
