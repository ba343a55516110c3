//! The lines that a bench's process prints and waits for. Touches standard input and output.

use std::io::{BufRead, Read, Write, stdin, stdout};

use serde::Serialize;

use super::rounds::Rounds;

/// What a process says when others may begin.
#[derive(Debug, Serialize)]
pub(super) struct Ready {
    ready: bool,
    /// Where the floor's sockets answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

impl Ready {
    pub(super) fn new(address: Option<String>) -> Self {
        Self { ready: true, address }
    }
}

/// The rounds of `ping`.
#[derive(Debug, Serialize)]
struct RoundTimes<'a> {
    answers_ns: &'a [u64],
    rounds_ns: &'a [u64],
    repeated: u32,
}

/// What `rx` saw.
#[derive(Debug, Default, Serialize)]
pub(super) struct Received {
    pub(super) received: u64,
    pub(super) disordered: u64,
    pub(super) bytes: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

/// What `tx` did.
#[derive(Debug, Serialize)]
pub(super) struct Sent {
    pub(super) sent: u32,
    pub(super) refused: u32,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) acknowledged: bool,
}

/// When endpoints were made.
#[derive(Debug, Serialize)]
pub(super) struct Created {
    pub(super) started_ns: u64,
    pub(super) created_ns: u64,
}

/// When endpoints were matched.
#[derive(Debug, Serialize)]
pub(super) struct MatchedAll {
    pub(super) matched: bool,
    pub(super) matched_ns: u64,
}

/// Prints one object. The parent reads it or has gone; both are fine.
pub(super) fn say(object: &impl Serialize) {
    let Ok(text) = serde_json::to_string(object) else { return };
    let mut output = stdout().lock();
    let _ = writeln!(output, "{text}").and_then(|()| output.flush());
}

/// Prints what `ping` measured.
pub(super) fn say_rounds(rounds: &Rounds, repeated: u32) {
    say(&RoundTimes { answers_ns: rounds.answers(), rounds_ns: rounds.rounds(), repeated });
}

/// Waits for the line that starts a measurement.
pub(super) fn wait_for_go() {
    say(&serde_json::json!({ "waiting": true }));
    let _ = stdin().lock().read_line(&mut String::new());
}

/// Waits until the parent closes standard input or has gone.
pub(super) fn wait_for_end() {
    let _ = stdin().lock().read_to_end(&mut Vec::new());
}

/// `CLOCK_MONOTONIC`, which all processes of a machine share.
pub(super) fn now_ns() -> u64 {
    node::clock::monotonic().as_nanos()
}
