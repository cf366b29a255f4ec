//! Write an object of S3 to standard output.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;

use claims_fetch::arguments::{HELP, arguments_of};
use claims_fetch::problem::{Kind, Problem};
use claims_fetch::stream::Object;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "claims-fetch: {problem}");
            ExitCode::from(problem.kind as u8)
        }
    }
}

fn run() -> Result<(), Problem> {
    let output =
        |error: std::io::Error| Problem::new(Kind::Output, format!("unable to write: {error}"));
    // Not the locked standard output, which looks for the end of a line in everything.
    let mut to = File::from(std::io::stdout().as_fd().try_clone_to_owned().map_err(output)?);
    let Some(arguments) = arguments_of(std::env::args().skip(1))? else {
        return to.write_all(HELP.as_bytes()).map_err(output);
    };
    if !arguments.head {
        return Object::new(arguments)?.copy(&mut to).map(drop);
    }
    // A row in any case: whoever reads it with COPY gets the sentence, which standard error would not bring.
    let row = match Object::new(arguments).and_then(|object| object.facts()) {
        Ok(facts) => format!("{},{},\n", facts.bytes, quoted(&facts.etag)),
        Err(problem) => format!(",,{}\n", quoted(&problem.sentence)),
    };
    to.write_all(row.as_bytes()).map_err(output)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
