//! `plimsoll-gate CONFIG`: mount a gate, and serve it until it is asked to end.

use std::io::Write;
use std::process::ExitCode;

const REFUSED: u8 = 2;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: a gate needs Linux with FUSE");
    ExitCode::from(REFUSED)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use plimsoll_gate::daemon;

    match read_config().and_then(|config| daemon::run(&config)) {
        // Exit now: some threads wait for ever.
        Ok(()) => std::process::exit(0),
        Err(refusal) => {
            // An error here means that nobody reads our output.
            let _ = writeln!(std::io::stderr(), "{refusal}");
            ExitCode::from(REFUSED)
        }
    }
}

#[cfg(target_os = "linux")]
fn read_config() -> Result<plimsoll_gate::config::Config, plimsoll_gate::refusal::Refusal> {
    use plimsoll_gate::config::Config;
    use plimsoll_gate::mount::said;
    use plimsoll_gate::refusal::Refusal;

    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return Err(Refusal::new(
            "the path of one configuration file is missing",
            "Run 'plimsoll-gate CONFIG'; 'plimsoll gate mount' writes the file and runs it.",
        ));
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let what = format!("unable to read '{}': {}", path.display(), said(&error));
        Refusal::new(what, "Give the path of a configuration file.")
    })?;
    Config::parse(&text)
}
