//! Being asked to stop: SIGINT, SIGTERM and SIGHUP end a wait, so that a command can put back what it changed.
//! Touches the signal table of the process.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use units::Instant;

use crate::report::{Exit, Failure};

/// Signals that ask the program to stop.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The receiving end of the signals. From its making on they no longer end the process by themselves.
#[derive(Debug)]
pub struct Interrupt {
    pipe: UnixStream,
    is_set: bool,
}

impl Interrupt {
    /// Takes over the signals.
    ///
    /// # Errors
    /// When the system refuses the pipe or a handler.
    pub fn install() -> Result<Self, Failure> {
        let fault = |error: io::Error| {
            Failure::new(Exit::Failed, "cannot take over SIGINT and SIGTERM")
                .with_remedy("raise the limit of open files (ulimit -n)")
                .with_source(error)
        };
        let (pipe, handler_end) = UnixStream::pair().map_err(fault)?;
        for signal in SIGNALS {
            let end = handler_end.try_clone().map_err(fault)?;
            pipe::register(signal, end).map_err(fault)?;
        }
        Ok(Self { pipe, is_set: false })
    }

    /// Waits until `deadline` or a signal; true once a signal has come. Wakes for nothing else.
    pub fn wait_until(&mut self, deadline: Instant) -> bool {
        let mut byte = [0];
        while !self.is_set {
            let left = deadline.saturating_since(node::clock::monotonic());
            // A timeout of zero would mean for ever.
            if left.is_zero() || self.pipe.set_read_timeout(Some(left)).is_err() {
                break;
            }
            match self.pipe.read(&mut byte) {
                // The sending end lives in the handlers for ever, so an end of file cannot be.
                Ok(_) => self.is_set = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Timed out, which the clock confirms on the next turn.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                Err(_) => self.is_set = true,
            }
        }
        self.is_set
    }

    /// Whether a signal has come.
    pub fn is_set(&mut self) -> bool {
        self.wait_until(node::clock::monotonic() + POLL)
    }
}

/// The shortest wait that the kernel takes for a timeout.
const POLL: Duration = Duration::from_micros(10);
