//! The program `claims-format`.
//!
//! An error is one sentence and a hint on standard error, and status 2.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use claims_format::arguments::{self, Arguments};
use claims_format::stream::{self, Refusal};

/// The file cannot be formatted as it was asked.
const BAD: u8 = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err((cause, hint)) => {
            let hint = if hint.is_empty() { hint } else { format!("hint: {hint}\n") };
            // If nobody reads this either, the status says it.
            let _ = write!(io::stderr(), "error: {cause}\n{hint}");
            ExitCode::from(BAD)
        }
    }
}

fn run() -> Result<(), (String, String)> {
    // A word that is not UTF-8 is no option and no value.
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let Some(arguments) = arguments::read(words)? else {
        return io::stdout()
            .write_all(arguments::HELP.as_bytes())
            .map_err(|error| unable("write the help", &error));
    };
    let quarantine = quarantine_of(&arguments)?;
    let file = stream::File {
        organisation: &arguments.organisation,
        name: &arguments.file,
        file_id: arguments.file_id,
    };
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    let summary =
        stream::format(file, &arguments.layout, input, output, quarantine).map_err(refused)?;
    if let Some(path) = &arguments.summary {
        std::fs::write(path, summary.json()).map_err(|error| unable(&shown(path), &error))?;
    }
    Ok(())
}

fn quarantine_of(arguments: &Arguments) -> Result<BufWriter<Box<dyn Write>>, (String, String)> {
    let output: Box<dyn Write> = match &arguments.quarantine {
        Some(path) => Box::new(File::create(path).map_err(|error| unable(&shown(path), &error))?),
        None => Box::new(io::stderr()),
    };
    Ok(BufWriter::new(output))
}

fn refused(refusal: Refusal) -> (String, String) {
    match refusal {
        Refusal::OtherKind(cause, hint) => (cause, hint),
        Refusal::Io(what, error) => unable(what, &error),
    }
}

fn shown(path: &Path) -> String {
    format!("write '{}'", path.display())
}

fn unable(what: &str, error: &io::Error) -> (String, String) {
    (format!("unable to {what}: {}", error.to_string().to_lowercase()), String::new())
}
