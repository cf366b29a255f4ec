//! Answer questions on a socket: one JSON document a line, one answer a line.
//!
//! | question | answer |
//! |---|---|
//! | `{"ask": "status"}` | balances, rates of the last second, lateness, what binds, the chain |
//! | `{"ask": "set", "chain": […], "balance_ratio": […] or null}` | the new balances |
//! | `{"ask": "balance", "stage": "…", "ratio": 0.0}` | the new balances |
//! | `{"ask": "lift"}` | that all limits are lifted; the record ends with it |
//! | `{"ask": "stop"}` | how it was unmounted; then the gate ends |
//!
//! Anything else is answered with `{"error": "…", "hint": "…"}`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::config::{Chain, Mode, StageConfig};
use crate::counters::Counters;
use crate::mount::Ending;
use crate::park::Park;
use crate::recorder::Recorder;
use crate::refusal::Refusal;

const QUESTION_BYTES_MAX: u64 = 1_000_000;

/// Every process that may open the socket may open many connections; each costs a thread.
const CONVERSATIONS_MAX: usize = 64;

#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    Status {},
    Set { chain: Vec<StageConfig>, balance_ratio: Option<Vec<f64>> },
    Balance { stage: String, ratio: f64 },
    Lift {},
    Stop {},
}

/// The answer to `status`.
#[derive(Debug, Serialize)]
struct Status {
    pid: u32,
    mode: Mode,
    is_limited: bool,
    clock: f64,
    uptime_s: f64,
    balance: BTreeMap<String, Option<f64>>,
    read_ops_per_s: f64,
    write_ops_per_s: f64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    queue_depth: f64,
    in_flight: u64,
    ops: u64,
    late_ratio: f64,
    late_s_max: f64,
    stall_s_max: f64,
    binding: Option<String>,
    phase: Option<&'static str>,
    chain: Vec<StageConfig>,
    timer_error_s: f64,
}

/// A request to end, and channels for its outcome.
#[derive(Debug)]
pub struct Stop {
    /// Receives the outcome as soon as it is known.
    pub ended: Sender<Ending>,
    /// Signals that the outcome was sent to the client.
    pub told: Receiver<()>,
}

/// The state that questions are about.
#[derive(Debug)]
pub struct Control {
    /// The clock.
    pub clock: Clock,
    /// Limits and balances.
    pub park: Arc<Park>,
    /// Counts of the completed requests.
    pub counters: Arc<Counters>,
    /// The last second.
    pub recorder: Arc<Recorder>,
    /// Credit clock.
    pub credit_clock: f64,
    /// What the gate serves.
    pub mode: Mode,
    /// How late this machine wakes a sleeping thread.
    pub timer_error_s: f64,
    /// Channel for requests to end.
    pub stops: Sender<Stop>,
}

impl Control {
    /// Answer every client that connects.
    pub fn run(self: &Arc<Self>, socket: &UnixListener) {
        let conversations = Arc::new(AtomicUsize::new(0));
        for stream in socket.incoming().flatten() {
            if conversations.fetch_add(1, Ordering::AcqRel) >= CONVERSATIONS_MAX {
                conversations.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (control, open) = (Arc::clone(self), Arc::clone(&conversations));
            let talk = move || {
                // An error here means that the client has hung up.
                let _ = control.talk(&stream);
                open.fetch_sub(1, Ordering::AcqRel);
            };
            if thread::Builder::new().name("gate-talk".into()).spawn(talk).is_err() {
                conversations.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn talk(&self, stream: &UnixStream) -> std::io::Result<()> {
        let mut questions = BufReader::new(stream);
        loop {
            let mut line = String::new();
            let length = questions.by_ref().take(QUESTION_BYTES_MAX).read_line(&mut line)?;
            if length == 0 {
                return Ok(());
            }
            match serde_json::from_str::<Question>(&line) {
                Ok(Question::Stop {}) => return self.stop(stream),
                Ok(question) => tell(stream, &self.answer(question).unwrap_or_else(refused))?,
                Err(error) => tell(stream, &refused(no_question(&error)))?,
            }
            if !line.ends_with('\n') {
                return Ok(());
            }
        }
    }

    fn answer(&self, question: Question) -> Result<Value, Refusal> {
        match question {
            Question::Status {} => {
                serde_json::to_value(self.status()).map_err(|error| no_question(&error))
            }
            Question::Set { chain, balance_ratio } => self.set(&chain, balance_ratio),
            Question::Balance { stage, ratio } => self.set_balance(&stage, ratio),
            Question::Lift {} => {
                self.recorder.end();
                self.park.lift();
                Ok(json!({ "lifted": true }))
            }
            Question::Stop {} => Ok(Value::Null),
        }
    }

    fn status(&self) -> Status {
        let now_s = self.clock.now_s();
        let (last, all) = (self.recorder.last_second(), self.counters.all(now_s));
        let per_s = |sum: f64| if last.length_s > 0.0 { sum / last.length_s } else { 0.0 };
        let (binding, phase) = last.binding.unzip();
        Status {
            pid: std::process::id(),
            mode: self.mode,
            is_limited: self.park.is_limited(),
            clock: self.credit_clock,
            uptime_s: now_s,
            balance: self.park.balances().into_iter().collect(),
            read_ops_per_s: per_s(last.totals.read_ops as f64),
            write_ops_per_s: per_s(last.totals.write_ops as f64),
            read_bytes_per_s: per_s(last.totals.read_bytes as f64),
            write_bytes_per_s: per_s(last.totals.write_bytes as f64),
            queue_depth: per_s(last.totals.depth_s),
            in_flight: self.counters.in_flight(),
            ops: all.ops(),
            late_ratio: all.late_ops as f64 / all.ops().max(1) as f64,
            late_s_max: all.late_s_max,
            stall_s_max: all.stall_s_max,
            binding,
            phase,
            chain: self.park.chain().written,
            timer_error_s: self.timer_error_s,
        }
    }

    fn set(&self, written: &[StageConfig], ratios: Option<Vec<f64>>) -> Result<Value, Refusal> {
        let chain = Chain::new(written, self.credit_clock)?;
        let ratios = ratios.unwrap_or_else(|| {
            let left: BTreeMap<_, _> = self.park.balances().into_iter().collect();
            // A stage that existed before keeps its share; a new one starts full.
            let of = |stage: &StageConfig| left.get(&stage.name).copied().flatten().unwrap_or(1.0);
            written.iter().map(of).collect()
        });
        let balance = chain.balances(&ratios)?;
        self.park.replace(chain, balance);
        Ok(self.balances())
    }

    fn set_balance(&self, stage: &str, ratio: f64) -> Result<Value, Refusal> {
        let chain = self.park.chain();
        let Some(index) = chain.index_of(stage) else {
            let names: Vec<_> = chain.written.iter().map(|stage| stage.name.as_str()).collect();
            let hint = format!("The stages are: {}.", names.join(", "));
            return Err(Refusal::new(format!("no stage is named '{stage}'"), hint));
        };
        if !chain.stages[index].bucket.has_credits() {
            let hint = "Only a stage with a capacity and a burst has a balance.";
            return Err(Refusal::new(format!("stage '{stage}' has no credits"), hint));
        }
        if !(0.0..=1.0).contains(&ratio) {
            let error = format!("a balance of {ratio} is not a share of the bucket");
            return Err(Refusal::new(error, "Give 0 for an empty bucket up to 1 for a full one."));
        }
        self.park.set_balance(stage, ratio);
        Ok(self.balances())
    }

    fn balances(&self) -> Value {
        let left: BTreeMap<_, _> = self.park.balances().into_iter().collect();
        json!({ "balance": left })
    }

    fn stop(&self, stream: &UnixStream) -> std::io::Result<()> {
        let ((ended, end), (tell_told, told)) = (channel(), channel());
        let answer = match self.stops.send(Stop { ended, told }) {
            Ok(()) => end.recv().map_or_else(|_| ending_of(Ending::WasGone), ending_of),
            Err(_) => ending_of(Ending::WasGone),
        };
        let done = tell(stream, &answer);
        let _ = tell_told.send(());
        done
    }
}

fn ending_of(ending: Ending) -> Value {
    json!({
        "stopped": true,
        "is_detached": ending == Ending::Detached,
        "ending": match ending {
            Ending::Clean => "unmounted",
            Ending::Detached => "it was still in use, so it was detached; the data is on the disk",
            Ending::WasGone => "it was already unmounted",
        },
    })
}

fn no_question(error: &serde_json::Error) -> Refusal {
    Refusal::new(
        format!("not a question: {error}"),
        r#"Ask {"ask": "status"}, or set, balance, lift or stop, as one JSON document a line."#,
    )
}

fn refused(refusal: Refusal) -> Value {
    json!({ "error": refusal.error, "hint": refusal.hint })
}

fn tell(mut stream: &UnixStream, answer: &Value) -> std::io::Result<()> {
    let mut line = answer.to_string();
    line.push('\n');
    stream.write_all(line.as_bytes())
}
