//! How far a long measurement is, on standard error, and only where that is a terminal.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that ends with this value; nothing where nobody looks.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

/// How often the time in the bar moves.
const TICK: Duration = Duration::from_millis(500);

impl Progress {
    /// A bar of so many steps.
    pub(crate) fn new(steps: usize) -> Self {
        if !stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(4));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (left {eta}) {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self { bar }
    }

    /// The next step begins.
    pub(crate) fn begin(&self, what: String) {
        self.bar.set_message(what);
    }

    /// A step is over.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
