//! One process of a bench, whoever made its program: started on its CPUs, read line by line, ended with this value.
//! Touches processes and their pipes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use serde_json::Value;

use super::cpus;
use crate::report::{Exit, Failure};

/// Lets all end at once, then waits for each.
pub(super) fn end_all(mut processes: Vec<Process>) {
    processes.iter_mut().for_each(|process| drop(process.child.stdin.take()));
}

/// The longest line that a process may print: all answers of the largest bench.
const LINE_MAX: usize = 512 << 20;
/// Once its input is closed, a process has this long to end by itself.
const END_MAX: Duration = Duration::from_millis(2000);
/// How much of what a process complained about is shown.
const COMPLAINT_MAX: usize = 600;

/// A started process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    name: String,
    output: ChildStdout,
    /// What has been read and is not yet a line.
    read: Vec<u8>,
    complaints: File,
}

impl Process {
    /// Starts it on these CPUs; on all where none are given.
    pub(super) fn start(name: String, mut command: Command, cpus: Option<&[u32]>) -> Result<Self, Failure> {
        let fault = |error: std::io::Error| {
            Failure::new(Exit::Failed, format!("{name} cannot be started")).with_source(error)
        };
        let complaints = rustix::fs::memfd_create("stillwatt-bench-stderr", MemfdFlags::CLOEXEC)
            .map_err(|errno| fault(errno.into()))?;
        let complaints = File::from(complaints);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(complaints.try_clone().map_err(fault)?);
        let before = cpus.map(cpus::move_to).transpose()?;
        let started = command.spawn();
        if let Some(before) = before {
            before.restore();
        }
        let mut child = started.map_err(fault)?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| Failure::new(Exit::Failed, format!("{name} has no output")))?;
        Ok(Self { child, name, output, read: Vec::new(), complaints })
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the line that it waits for.
    pub(super) fn go(&mut self) -> Result<(), Failure> {
        let sent =
            self.child.stdin.as_mut().map(|input| input.write_all(b"go\n").and_then(|()| input.flush()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// The next line, which must have the member `member`.
    ///
    /// # Errors
    /// When it ends or says nothing within `wait`; its exit code 4 means that it cannot do this here.
    pub(super) fn line(&mut self, member: &str, wait: Duration) -> Result<Value, Failure> {
        let end = node::clock::monotonic().saturating_add(wait);
        loop {
            if let Some(at) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=at).collect();
                match serde_json::from_slice::<Value>(&line) {
                    Ok(value) if value.get(member).is_some() => return Ok(value),
                    _ => continue,
                }
            }
            let left = end.saturating_since(node::clock::monotonic());
            if left.is_zero() || self.read.len() > LINE_MAX {
                let complaint = self.complaint();
                let wait = wait.as_secs();
                let text = format!("{} did not say {member:?} within {wait} s{complaint}", self.name);
                return Err(Failure::new(Exit::Failed, text)
                    .with_remedy("run it again when the machine is less busy"));
            }
            self.read_more(left)?;
        }
    }

    fn read_more(&mut self, wait: Duration) -> Result<(), Failure> {
        let wait = Timespec::try_from(wait).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut watched = [PollFd::new(&self.output, PollFlags::IN)];
        if poll(&mut watched, Some(&wait)).unwrap_or(0) == 0 {
            return Ok(());
        }
        let mut part = vec![0; 1 << 16];
        match self.output.read(&mut part) {
            Ok(0) | Err(_) => Err(self.ended()),
            Ok(count) => {
                self.read.extend_from_slice(part.get(..count).unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Why it ended before its time.
    fn ended(&mut self) -> Failure {
        let status = self.child.wait();
        let complaint = self.complaint();
        let code = status.ok().and_then(|status| status.code());
        let exit = if code == Some(4) { Exit::NotAvailable } else { Exit::Failed };
        let shown = code.map_or("was killed".to_owned(), |code| format!("ended with {code}"));
        Failure::new(exit, format!("{} {shown}{complaint}", self.name))
            .with_remedy("see its messages above; another --peer or --transport may work")
    }

    /// What it wrote to standard error, shortened, after a colon.
    fn complaint(&mut self) -> String {
        let mut text = Vec::new();
        let _ = self.complaints.seek(SeekFrom::Start(0)).and_then(|_| self.complaints.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.trim().lines().map(crate::output::plain).collect();
        let text = lines.join("\n");
        let start = text.char_indices().rev().nth(COMPLAINT_MAX).map_or(0, |(at, _)| at);
        match text.get(start..) {
            Some("") | None => String::new(),
            Some(end) => format!(":\n{end}"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let end = node::clock::monotonic().saturating_add(END_MAX);
        while node::clock::monotonic() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            node::clock::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
