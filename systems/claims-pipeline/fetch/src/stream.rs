//! Reading an object to its end, over as many connections as it takes.
//!
//! Rule 1: one buffer, whatever the size of the object.
//! Rule 2: after a broken connection only the missing rest is asked for, and only of the same version (`If-Match`).
//! Rule 3: whoever gets status 0 has got every byte.

use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::address::{Address, address_of};
use crate::arguments::Arguments;
use crate::credentials::{Credentials, find};
use crate::encoding::{Decoder, Encoding, is_damage};
use crate::problem::{Kind, Problem};
use crate::signature::{hex, signed, stamp};

const BUFFER_BYTES: usize = 256 * 1024;
const CONNECT: Duration = Duration::from_secs(10);
/// The first pause between attempts; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// An object of S3.
pub struct Object {
    arguments: Arguments,
    address: Address,
    credentials: Credentials,
    agent: Agent,
}

/// What S3 says of an object before its content.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Length of the whole object in bytes.
    pub bytes: u64,
    /// Entity tag: its version, as S3 writes it.
    pub etag: String,
    /// How the content is stored.
    pub encoding: Encoding,
}

/// An attempt that failed: for good, or worth another one.
enum Failure {
    Final(Problem),
    Passing(String),
}

impl Object {
    /// Find address and credentials; nothing is asked yet.
    ///
    /// # Errors
    /// They are missing or wrong.
    pub fn new(arguments: Arguments) -> Result<Self, Problem> {
        let longest = Duration::from_secs(arguments.connection_s.max(1));
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT.min(longest)))
            .timeout_recv_response(Some(longest))
            .timeout_recv_body(Some(longest))
            .build()
            .into();
        let address = address_of(&arguments)?;
        let credentials = find(arguments.credentials.as_deref())?;
        Ok(Self { arguments, address, credentials, agent })
    }

    /// Return size and version.
    ///
    /// # Errors
    /// There is no such object, or S3 does not answer.
    pub fn facts(&self) -> Result<Facts, Problem> {
        self.patiently(|| {
            let answer = self.ask("HEAD", 0, None)?;
            self.facts_of(&answer)
        })
    }

    /// Write the content to `to`, unpacked, and return how many bytes the object has.
    ///
    /// # Errors
    /// There is no such object, S3 does not answer, the object changed, or it is not what was expected.
    pub fn copy(&self, to: &mut impl Write) -> Result<u64, Problem> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut hash = self.arguments.sha256.as_ref().map(|_| Sha256::new());
        let (mut done, mut empty, mut facts) = (0, 0, None::<Facts>);
        let mut to = Decoder::new(Encoding::Plain, to);
        loop {
            let before = done;
            let wanted = facts.as_ref().map(|known| known.etag.clone());
            let wanted = wanted.or_else(|| self.arguments.etag.clone());
            let mut answer = self.patiently(|| self.ask("GET", done, wanted.as_deref()))?;
            if facts.is_none() {
                let found = self.facts_of(&answer).map_err(Failure::problem)?;
                if let Decoder::Plain(plain) = to {
                    to = Decoder::new(found.encoding, plain);
                }
                facts = Some(found);
            }
            let total = facts.as_ref().map_or(0, |known| known.bytes);
            let mut body = answer.body_mut().as_reader();
            while done < total {
                let Ok(count @ 1..) = body.read(&mut buffer) else { break };
                to.write_all(&buffer[..count]).map_err(|error| self.problem_of(&error))?;
                if let Some(hash) = &mut hash {
                    hash.update(&buffer[..count]);
                }
                done += count as u64;
            }
            if done >= total {
                break;
            }
            empty = if done == before { empty + 1 } else { 0 };
            if empty >= self.arguments.attempts {
                let sentence = format!(
                    "S3 at {} stops sending at byte {done} again and again",
                    self.address.host
                );
                return Err(Problem::new(Kind::Away, sentence));
            }
            std::thread::sleep(PAUSE);
        }
        to.finish().map_err(|error| self.problem_of(&error))?;
        if let (Some(hash), Some(wanted)) = (hash, &self.arguments.sha256)
            && hex(&hash.finalize()) != *wanted
        {
            let sentence = format!("{} has another SHA-256 than it should have", self.name());
            return Err(Problem::new(Kind::Content, sentence));
        }
        Ok(done)
    }

    fn problem_of(&self, error: &std::io::Error) -> Problem {
        if is_damage(error) {
            let sentence = format!("{} is not a whole gzip file: {error}", self.name());
            return Problem::new(Kind::Content, sentence);
        }
        Problem::new(Kind::Output, format!("unable to write: {error}"))
    }

    fn name(&self) -> String {
        format!("s3://{}/{}", self.arguments.bucket, self.arguments.key)
    }

    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Problem> {
        let mut pause = PAUSE;
        for number in 1.. {
            match attempt() {
                Ok(found) => return Ok(found),
                Err(Failure::Passing(reason)) if number >= self.arguments.attempts => {
                    return Err(Problem::new(
                        Kind::Away,
                        format!(
                            "S3 at {} failed {number} times in a row: {reason}",
                            self.address.host
                        ),
                    ));
                }
                Err(Failure::Passing(_)) => std::thread::sleep(pause),
                Err(failure) => return Err(failure.problem()),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        unreachable!("the last attempt returns")
    }

    fn ask(&self, method: &str, from: u64, etag: Option<&str>) -> Result<Response<Body>, Failure> {
        let range = format!("bytes={from}-");
        let mut more = vec![];
        if from > 0 {
            more.push(("range", range.as_str()));
        }
        if let Some(etag) = etag {
            more.push(("if-match", etag));
        }
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let scope = (self.arguments.region.as_str(), &*stamp(now_s));
        let Address { host, path, .. } = &self.address;
        let url = self.address.url();
        let mut request = if method == "HEAD" { self.agent.head(url) } else { self.agent.get(url) };
        for (name, value) in signed(method, host, path, &more, scope, &self.credentials) {
            request = request.header(name, value);
        }
        let mut answer = request.call().map_err(|error| Failure::Passing(error.to_string()))?;
        let status = answer.status().as_u16();
        if status == if from > 0 { 206 } else { 200 } {
            return Ok(answer);
        }
        let text = answer.body_mut().with_config().limit(4096).read_to_string().unwrap_or_default();
        // An answer to HEAD has no text.
        let code = between(&text, "<Code>", "</Code>").map_or(String::new(), |c| format!(" ({c})"));
        let name = self.name();
        let problem = |kind, sentence| Failure::Final(Problem::new(kind, sentence));
        Err(match status {
            404 => problem(Kind::Missing, format!("{name} does not exist{code}")),
            401 | 403 => problem(Kind::Denied, format!("S3 refuses to read {name}{code}")),
            412 => problem(Kind::Changed, format!("{name} was replaced while it was read")),
            408 | 429 | 500.. => Failure::Passing(format!("status {status}{code}")),
            _ => problem(Kind::Away, format!("S3 answers status {status}{code} for {name}")),
        })
    }

    fn facts_of(&self, answer: &Response<Body>) -> Result<Facts, Failure> {
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let bytes = header("content-length").and_then(|text| text.parse().ok());
        let (Some(bytes), Some(etag)) = (bytes, header("etag")) else {
            return Err(Failure::Passing("an answer without length or ETag".into()));
        };
        let encoding = Encoding::of(header("content-encoding")).map_err(|name| {
            let sentence = format!(
                "{} has the content encoding '{name}', and only gzip is supported",
                self.name()
            );
            Failure::Final(Problem::new(Kind::Content, sentence))
        })?;
        Ok(Facts { bytes, etag: etag.to_owned(), encoding })
    }
}

impl Failure {
    fn problem(self) -> Problem {
        match self {
            Self::Final(problem) => problem,
            Self::Passing(reason) => Problem::new(Kind::Away, reason),
        }
    }
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    text.split_once(start)?.1.split_once(end).map(|(found, _)| found)
}
