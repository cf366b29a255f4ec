//! The command line.

use std::path::PathBuf;

use crate::layout::{self, Layout};

/// What `--help` prints.
pub const HELP: &str = "\
Turn records of a CCLF file (standard input) into rows for COPY (standard output, CSV without a header).

  claims-format --kind KIND --organisation ID --file NAME --file-id N [--quarantine FILE] [--summary FILE]

  --kind KIND          part_a_claims, part_a_lines, part_a_diagnoses, part_b_lines, part_d_events or beneficiaries
  --organisation ID    first column of each row, for example A1001
  --file NAME          name of the file, for messages
  --file-id N          second column of each row: the number of the file in the ledger
  --quarantine FILE    write records with a fault there: file_id,line_number,reason,raw (default: standard error)
  --summary FILE       write counts and sums there, as JSON (default: nowhere)
";

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Layout of the file.
    pub layout: Layout,
    /// Whose file it is.
    pub organisation: String,
    /// Name of the file.
    pub file: String,
    /// Its number in the ledger.
    pub file_id: i64,
    /// Where records with a fault go.
    pub quarantine: Option<PathBuf>,
    /// Where counts and sums go.
    pub summary: Option<PathBuf>,
}

/// Reads the command line, without the name of the program; none if it asks for help.
///
/// # Errors
///
/// Cause and hint.
pub fn read(words: impl Iterator<Item = String>) -> Result<Option<Arguments>, (String, String)> {
    let see = || "See claims-format --help.".to_owned();
    let names = ["--kind", "--organisation", "--file", "--file-id", "--quarantine", "--summary"];
    let mut given: [Option<String>; 6] = Default::default();
    let mut words = words;
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Ok(None);
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        let Some(at) = names.iter().position(|known| *known == name) else {
            return Err((format!("there is no option '{name}'"), see()));
        };
        let value = value.or_else(|| words.next());
        given[at] = Some(value.ok_or_else(|| (format!("{name} needs a value"), see()))?);
    }
    let [kind, organisation, file, file_id, quarantine, summary] = given;
    let needed = |value: Option<String>, name| {
        value.filter(|text| !text.is_empty()).ok_or_else(|| (format!("{name} is missing"), see()))
    };
    Ok(Some(Arguments {
        layout: layout_of(&needed(kind, "--kind")?)?,
        organisation: organisation_of(needed(organisation, "--organisation")?)?,
        file: needed(file, "--file")?,
        file_id: number_of(&needed(file_id, "--file-id")?)?,
        quarantine: quarantine.map(PathBuf::from),
        summary: summary.map(PathBuf::from),
    }))
}

fn layout_of(kind: &str) -> Result<Layout, (String, String)> {
    let all = layout::all();
    let kinds: Vec<String> = all.iter().map(|layout| layout.kind.clone()).collect();
    all.into_iter().find(|layout| layout.kind == kind).ok_or_else(|| {
        (format!("there is no kind '{kind}'"), format!("The kinds are {}.", kinds.join(", ")))
    })
}

fn organisation_of(text: String) -> Result<String, (String, String)> {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return Ok(text);
    }
    let hint = "It has letters, digits, - and _, for example A1001.";
    Err((format!("--organisation is '{text}', which is no organisation"), hint.to_owned()))
}

fn number_of(text: &str) -> Result<i64, (String, String)> {
    text.parse().map_err(|_| {
        (format!("--file-id is '{text}', which is no number"), "For example 17.".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(line: &str) -> String {
        read(line.split(' ').map(str::to_owned)).unwrap_err().0
    }

    const RIGHT: &str = "--kind part_d_events --organisation A1001 --file P.X --file-id=17";

    #[test]
    fn a_right_line_is_read() {
        let found = read(RIGHT.split(' ').map(str::to_owned)).unwrap().unwrap();

        assert_eq!(found.layout.width, 195);
        assert_eq!((found.organisation.as_str(), found.file.as_str()), ("A1001", "P.X"));
        assert_eq!((found.file_id, found.quarantine), (17, None));
    }

    #[test]
    fn a_wrong_line_has_one_cause() {
        assert_eq!(cause("--kind part_z"), "there is no kind 'part_z'");
        assert_eq!(cause("--kid part_z"), "there is no option '--kid'");
        assert_eq!(cause("--kind"), "--kind needs a value");
        assert_eq!(cause("--kind part_d_events --file x"), "--organisation is missing");
        assert_eq!(cause(&RIGHT.replace("17", "x")), "--file-id is 'x', which is no number");
        assert!(cause(&RIGHT.replace("A1001", "a,b")).starts_with("--organisation is 'a,b'"));
    }
}
