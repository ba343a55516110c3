//! Standard output: one place that knows what to do when nobody reads any more. Touches stdout.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use crate::report::{Exit, Failure};

/// Where data goes. After the reader went away (as `head` does), writes do nothing and [`Output::is_open`] is false,
/// so that a command can stop early and still end well.
pub struct Output {
    sink: Box<dyn Write + Send>,
    is_open: bool,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("is_open", &self.is_open).finish_non_exhaustive()
    }
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        Self::new(io::stdout())
    }

    /// Any other sink.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { sink: Box::new(sink), is_open: true }
    }

    /// Whether somebody still reads.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Writes `text` and a line end, and flushes.
    ///
    /// # Errors
    /// When the sink fails for another reason than a reader that went away.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(format!("{text}\n").as_bytes())
    }

    /// Writes `bytes` and flushes.
    ///
    /// # Errors
    /// When the sink fails for another reason than a reader that went away.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        match self.sink.write_all(bytes).and_then(|()| self.sink.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_open = false;
                Ok(())
            }
            Err(error) => Err(Failure::new(Exit::Failed, "cannot write to standard output")
                .with_remedy("check that the disk or device it goes to has room")
                .with_source(error)),
        }
    }
}

/// Text from the bus as it may be shown on a terminal: control and direction characters become escapes such as
/// `\u{1b}`, so that no peer can move the cursor, colour or rename the operator's window.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(io::ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a peer says cannot drive the terminal; ordinary text stays as it is.
    #[test]
    fn control_characters_become_escapes() {
        assert_eq!(plain("\u{1b}[31mred\u{7}\u{9b}\u{202e}"), "\\u{1b}[31mred\\u{7}\\u{9b}\\u{202e}");
        assert!(matches!(plain("nœud 7 °C"), Cow::Borrowed(_)));
    }

    /// A reader that went away ends the output quietly.
    #[test]
    fn broken_pipe_is_quiet() {
        let mut output = Output::new(Fails(io::ErrorKind::BrokenPipe));
        output.line("x").unwrap();
        assert!(!output.is_open());
    }

    /// A full disk does not.
    #[test]
    fn full_disk_is_reported() {
        let mut output = Output::new(Fails(io::ErrorKind::StorageFull));
        assert_eq!(output.line("x").unwrap_err().exit(), Exit::Failed);
        assert!(output.is_open());
    }
}
