//! `plimsoll-gate CONFIG`: mount a gate, and serve it until told to end.

use std::io::Write;
use std::process::ExitCode;

use plimsoll_gate::config::Config;
use plimsoll_gate::daemon;
use plimsoll_gate::mount::said;
use plimsoll_gate::refusal::Refusal;

const REFUSED: u8 = 2;

fn main() -> ExitCode {
    match read_config().and_then(|config| daemon::run(&config)) {
        // Threads that wait for ever end with the process.
        Ok(()) => std::process::exit(0),
        Err(refusal) => {
            // Where nobody listens there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "{refusal}");
            ExitCode::from(REFUSED)
        }
    }
}

fn read_config() -> Result<Config, Refusal> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return Err(Refusal::new(
            "one configuration file is expected",
            "Run 'plimsoll-gate CONFIG'; 'plimsoll gate mount' writes one and does so.",
        ));
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let what = format!("'{}' cannot be read: {}", path.display(), said(&error));
        Refusal::new(what, "Give the path of a configuration file.")
    })?;
    Config::parse(&text)
}
