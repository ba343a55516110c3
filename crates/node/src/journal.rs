#![expect(clippy::disallowed_methods, reason = "I/O shell: the journal's own folder, fsync and lock")]
//! The one journal of changes to the machine: snapshot, fsync, write, verify, undo. May touch: its state folder, the
//! settings that it is asked to change, and `/proc` to tell whether an earlier owner lives.
//!
//! The old value of a setting is on disk before the first write, so that a program that is killed at any moment leaves
//! enough behind for the next start to restore what was there. Undo goes backwards, past failures, and tells about
//! each setting. A value that another program has set since is reported and left alone; while a change is announced
//! and its outcome is not on record, whatever is there counts as ours, for the hardware may have rounded it.
//!
//! What a killed process left returns to the snapshot and to nothing else: a lease dies with the process that counts
//! its time, so a cap that was live then binds nobody until its holder asks again.
//!
//! The journal says which files to write, and often root does it. A journal that another user could have written is
//! therefore refused, and so is one behind a symbolic link.

mod owner;
mod record;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::knob::{Applied, Knob, KnobError, KnobValue};
use crate::sys_root::{SysRoot, is_missing};
pub use owner::Owner;
use record::{Parsed, Record};

/// The journal of one machine's changes, owned by one living process.
///
/// Dropping it restores every setting, as [`Journal::close`] does, but cannot tell how that went.
#[derive(Debug)]
pub struct Journal {
    root: Arc<dyn SysRoot>,
    path: PathBuf,
    file: File,
    /// Held for the journal's life; the kernel releases it when the process ends, however it ends.
    lock: File,
    owner: Owner,
    entries: Vec<Entry>,
    bytes: usize,
    /// Whether the last line may be incomplete, because the disk was full.
    is_cut: bool,
    /// Whether the settings stay as they are when the value ends.
    is_left: bool,
}

/// One setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The setting's file, relative to the root.
    pub path: String,
    /// The text that it held before the first change.
    pub old: String,
    /// The text that it showed after the last change, if one was completed.
    applied: Option<String>,
    /// The text of a change that was announced and not completed.
    intended: Option<String>,
}

/// What an earlier process left behind and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The process that left the journal; `None` when there was nothing to recover.
    pub owner: Option<Owner>,
    /// The machine has started again since: its settings are fresh and none was touched.
    pub is_other_boot: bool,
    /// Lines that could not be read: cut off by the kill, or damaged.
    pub lines_damaged: usize,
    /// What became of each setting, in the order of undoing.
    pub undone: Vec<Undone>,
}

/// What became of one setting when it was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The setting's file, relative to the root.
    pub path: String,
    /// The text that it held before the first change.
    pub old: String,
    /// What happened.
    pub outcome: UndoOutcome,
}

/// What happened to one setting when it was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The old value is back, and was read back.
    Restored,
    /// The old value was there already.
    Unchanged,
    /// Another program has set this value since; it was left alone.
    ChangedByOther {
        /// What is there now.
        found: String,
    },
    /// The setting is gone, with its device.
    Gone,
    /// The old value could not be written or did not stick; the journal keeps the entry for the next start.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The state folder cannot be used.
    #[error("cannot use the journal {}: {source}; nothing will be changed without it (choose a state folder that this user can write)", path.display())]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A living process owns the journal.
    #[error("the journal {} belongs to {owner}: stop that process first", path.display())]
    InUse {
        /// The journal.
        path: PathBuf,
        /// The living owner.
        owner: Owner,
    },
    /// Too many settings are journalled.
    #[error("the journal holds {} settings, its limit", Journal::ENTRIES_MAX)]
    Full,
    /// The setting's old value cannot be read, so it will not be changed.
    #[error("cannot read the old value of {path}, so it is not changed: {source}")]
    Snapshot {
        /// The setting's file.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The setting refused the text; it is restored with the others if it has changed all the same.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The setting's file.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// What the setting holds after the write is not known, or not what was written; it is restored with the others.
    #[error("{path} was written and does not hold it: {source}")]
    Verify {
        /// The setting's file.
        path: String,
        /// The kernel's answer, or what is there instead.
        source: io::Error,
    },
    /// The setting could not be changed; it is restored with the others.
    #[error(transparent)]
    Knob(#[from] KnobError),
}

impl Journal {
    /// More settings than this are refused.
    pub const ENTRIES_MAX: usize = 16_384;
    /// A journal file longer than this is written anew with what still matters.
    pub const BYTES_MAX: usize = 1 << 20;
    /// The most that is read of a journal file; what lies beyond counts as damaged.
    const READ_MAX: u64 = 64 << 20;

    /// Opens the journal of `root` in `folder`, which is created, and first restores what a dead process left there.
    ///
    /// Blocks for file reads and writes and two fsyncs. Settings that could not be restored stay in the journal.
    ///
    /// # Errors
    /// When the folder cannot be written, or a living process owns the journal.
    pub fn open(folder: &Path, root: Arc<dyn SysRoot>) -> Result<(Self, Recovery), JournalError> {
        let storage = |path: &Path| {
            let path = path.to_path_buf();
            move |source| JournalError::Storage { path, source }
        };
        std::fs::create_dir_all(folder).map_err(storage(folder))?;
        let slug = slug(&root.describe());
        let path = folder.join(format!("journal-{slug}"));
        let lock = open_private(&folder.join(format!("journal-{slug}.lock"))).map_err(storage(&path))?;
        let locked = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        // Only now, for an owner that ends just before may have written until then.
        let parsed = record::parse(&read_bounded(&path).map_err(storage(&path))?);
        match locked {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let owner = parsed.owner.unwrap_or_else(Owner::unknown);
                return Err(JournalError::InUse { path, owner });
            }
            Err(errno) => return Err(storage(&path)(errno.into())),
        }
        if let Some(owner) = parsed.owner.clone().filter(Owner::is_other_and_alive) {
            return Err(JournalError::InUse { path, owner });
        }
        let owner = Owner::this_process();
        let mut entries = entries(&parsed);
        let recovery = recover(&*root, &owner, parsed, &mut entries);
        let (file, bytes) = write_anew(&path, &owner, &entries).map_err(storage(&path))?;
        Ok((Self { root, path, file, lock, owner, entries, bytes, is_cut: false, is_left: false }, recovery))
    }

    /// Sets a knob and remembers how to undo it. Blocks for the write, one read and, for each new value, one fsync.
    ///
    /// The old value is on disk before the knob is written. When the write fails, the entry stays, for what the
    /// machine then holds is not certain.
    ///
    /// # Errors
    /// When the old value cannot be read or stored (nothing is changed then), or the knob cannot be set.
    pub fn set(&mut self, knob: &dyn Knob, value: KnobValue) -> Result<Applied, JournalError> {
        let wanted = knob.quantise(value)?;
        let path = knob.path().to_string();
        let text = knob.encode(wanted.value);
        self.announce(&path, &text)?;
        let applied = knob.set(&*self.root, value);
        // What the hardware made of the value is ours to undo as well, also when it refused the write.
        let completed = self.complete(&path);
        let applied = applied?;
        completed?;
        Ok(applied)
    }

    /// Writes a text to any setting, reads it back and compares, and remembers how to undo it; for settings that are
    /// no knobs (CPU sets, interrupt affinities). Blocks as [`Journal::set`] does.
    ///
    /// # Errors
    /// When the old value cannot be read or stored (nothing is changed then), or the text does not stick.
    pub fn write(&mut self, path: &str, text: &str) -> Result<(), JournalError> {
        self.announce(path, text)?;
        let written = self.root.write(path, text);
        let found = self.complete(path);
        written.map_err(|source| JournalError::Write { path: path.to_string(), source })?;
        let found = found?;
        if found.trim() == text.trim() {
            return Ok(());
        }
        let text = format!("{:?} was written and {:?} is there", text.trim(), found.trim());
        Err(JournalError::Verify { path: path.to_string(), source: io::Error::other(text) })
    }

    /// The settings that are changed now, in the order of their first change.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Puts one setting back to its old value, for a lease that ended; `None` when it is not in the journal.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn restore(&mut self, path: &str) -> Result<Option<Undone>, JournalError> {
        let Some(index) = self.entries.iter().position(|entry| entry.path == path) else { return Ok(None) };
        let Some(entry) = self.entries.get(index) else { return Ok(None) };
        let undone = undo(&*self.root, entry);
        if !undone.is_pending() {
            self.entries.remove(index);
            self.append(&[Record::Restored { path: path.to_string() }], false)?;
        }
        Ok(Some(undone))
    }

    /// Puts every setting back to its old value, last change first, past failures, and tells about each.
    ///
    /// # Errors
    /// When the journal cannot be written; the settings are restored all the same.
    pub fn restore_all(&mut self) -> Result<Vec<Undone>, JournalError> {
        let undone = undo_all(&*self.root, &mut self.entries);
        self.compact()?;
        Ok(undone)
    }

    /// Restores every setting and takes the journal away when nothing is left to restore.
    ///
    /// # Errors
    /// When the journal cannot be written; the settings are restored all the same.
    pub fn close(mut self) -> Result<Vec<Undone>, JournalError> {
        let undone = self.restore_all()?;
        self.remove_if_empty();
        Ok(undone)
    }

    /// Ends without restoring anything: what is changed stays so and in the journal, for the next start to restore.
    pub fn leave(mut self) {
        // Nothing is left for the end of the value to undo; the file keeps its lines.
        self.is_left = true;
    }

    /// Puts the old value (the first time) and the new one on disk before the setting is written.
    fn announce(&mut self, path: &str, text: &str) -> Result<(), JournalError> {
        let mut records = Vec::new();
        if !self.entries.iter().any(|entry| entry.path == path) {
            if self.entries.len() >= Self::ENTRIES_MAX {
                return Err(JournalError::Full);
            }
            let old = self.root.read(path);
            let old = old.map_err(|source| JournalError::Snapshot { path: path.to_string(), source })?;
            records.push(Record::Snapshot { path: path.to_string(), old });
        }
        records.push(Record::Intend { path: path.to_string(), text: text.to_string() });
        self.append(&records, true)?;
        for record in records {
            note(&mut self.entries, record);
        }
        Ok(())
    }

    /// Notes what the setting shows after the write, and returns it.
    fn complete(&mut self, path: &str) -> Result<String, JournalError> {
        let found = self.root.read(path);
        let text = found.map_err(|source| JournalError::Verify { path: path.to_string(), source })?;
        let record = Record::Applied { path: path.to_string(), text: text.clone() };
        // Without fsync: it only matters to a later process of this boot, which reads the same page cache.
        self.append(std::slice::from_ref(&record), false)?;
        note(&mut self.entries, record);
        if self.bytes > Self::BYTES_MAX {
            self.compact()?;
        }
        Ok(text)
    }

    fn append(&mut self, records: &[Record], is_synced: bool) -> Result<(), JournalError> {
        let mut text: String = records.iter().map(Record::encode).collect();
        if std::mem::replace(&mut self.is_cut, true) {
            text.insert(0, '\n');
        }
        let written = self.file.write_all(text.as_bytes());
        let done = written.and_then(|()| if is_synced { self.file.sync_data() } else { Ok(()) });
        done.map_err(|source| JournalError::Storage { path: self.path.clone(), source })?;
        self.is_cut = false;
        self.bytes += text.len();
        Ok(())
    }

    fn compact(&mut self) -> Result<(), JournalError> {
        let anew = write_anew(&self.path, &self.owner, &self.entries);
        let (file, bytes) =
            anew.map_err(|source| JournalError::Storage { path: self.path.clone(), source })?;
        (self.file, self.bytes, self.is_cut) = (file, bytes, false);
        Ok(())
    }

    fn remove_if_empty(&self) {
        if self.entries.is_empty() {
            // The lock file stays: taking it away would let two processes hold locks on two files of one name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.entries.is_empty() && !self.is_left {
            // Nobody is left to tell; what fails stays in the journal for the next start.
            undo_all(&*self.root, &mut self.entries);
            let _ = self.compact();
        }
        self.remove_if_empty();
        // A child process that is just being started holds a copy of the file until it has become its own program.
        let _ = rustix::fs::flock(&self.lock, rustix::fs::FlockOperation::Unlock);
    }
}

impl Undone {
    /// Whether the setting still has to be restored.
    pub const fn is_pending(&self) -> bool {
        matches!(self.outcome, UndoOutcome::Failed { .. })
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, old) = (&self.path, self.old.trim());
        match &self.outcome {
            UndoOutcome::Restored => write!(f, "{path}: restored to {old}"),
            UndoOutcome::Unchanged => write!(f, "{path}: is {old} already"),
            UndoOutcome::ChangedByOther { found } => {
                write!(f, "{path}: left at {found}, which another program has set (it was {old} before)")
            }
            UndoOutcome::Gone => write!(f, "{path}: gone with its device (it was {old})"),
            UndoOutcome::Failed { reason } => write!(f, "{path}: cannot be restored to {old}: {reason}"),
        }
    }
}

/// Undoes what an earlier process left, unless the machine has started again since.
fn recover(root: &dyn SysRoot, owner: &Owner, parsed: Parsed, entries: &mut Vec<Entry>) -> Recovery {
    let is_other_boot = parsed.owner.as_ref().is_some_and(|left| left.is_other_boot(owner));
    let mut recovery = Recovery {
        owner: parsed.owner,
        is_other_boot,
        lines_damaged: parsed.lines_damaged,
        undone: Vec::new(),
    };
    if is_other_boot {
        entries.clear();
    } else {
        recovery.undone = undo_all(root, entries);
    }
    recovery
}

/// Undoes all, last first, and once more what failed: the two ends of a range may need each other to move first.
/// Leaves in `entries` what is still to be restored.
fn undo_all(root: &dyn SysRoot, entries: &mut Vec<Entry>) -> Vec<Undone> {
    let mut undone: Vec<Undone> = entries.iter().rev().map(|entry| undo(root, entry)).collect();
    for (entry, report) in entries.iter().rev().zip(&mut undone) {
        if report.is_pending() {
            *report = undo(root, entry);
        }
    }
    let is_pending =
        |entry: &Entry| undone.iter().any(|report| report.path == entry.path && report.is_pending());
    entries.retain(is_pending);
    undone
}

fn undo(root: &dyn SysRoot, entry: &Entry) -> Undone {
    let report = |outcome| Undone { path: entry.path.clone(), old: entry.old.clone(), outcome };
    let failed = |reason: &dyn fmt::Display| report(UndoOutcome::Failed { reason: reason.to_string() });
    let found = match root.read(&entry.path) {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return report(UndoOutcome::Gone),
        Err(error) => return failed(&error),
    };
    if found == entry.old || found.trim() == entry.old.trim() {
        return report(UndoOutcome::Unchanged);
    }
    let is_ours = |text: &String| text.trim() == found.trim();
    if entry.intended.is_none() && !entry.applied.as_ref().is_some_and(is_ours) {
        return report(UndoOutcome::ChangedByOther { found: found.trim().to_string() });
    }
    if let Err(error) = root.write(&entry.path, &entry.old) {
        return failed(&error);
    }
    match root.read(&entry.path) {
        Ok(found) if found.trim() == entry.old.trim() => report(UndoOutcome::Restored),
        Ok(found) => failed(&format!("it shows {} afterwards", found.trim())),
        Err(error) => failed(&error),
    }
}

fn entries(parsed: &Parsed) -> Vec<Entry> {
    let mut entries = Vec::new();
    for record in parsed.records.iter().cloned() {
        note(&mut entries, record);
    }
    entries
}

/// Brings the list of changed settings up to date with one record. A record without its snapshot tells nothing.
fn note(entries: &mut Vec<Entry>, record: Record) {
    if let Record::Snapshot { path, old } = record {
        if !entries.iter().any(|entry| entry.path == path) {
            entries.push(Entry { path, old, applied: None, intended: None });
        }
        return;
    }
    if let Record::Restored { path } = &record {
        entries.retain(|entry| entry.path != *path);
        return;
    }
    let (Record::Intend { path, .. } | Record::Applied { path, .. }) = &record else { return };
    let Some(entry) = entries.iter_mut().find(|entry| entry.path == *path) else { return };
    match record {
        Record::Intend { text, .. } => entry.intended = Some(text),
        Record::Applied { text, .. } => (entry.applied, entry.intended) = (Some(text), None),
        Record::Snapshot { .. } | Record::Restored { .. } => {}
    }
}

/// Writes a journal with the given entries beside the old one and puts it in its place.
fn write_anew(path: &Path, owner: &Owner, entries: &[Entry]) -> io::Result<(File, usize)> {
    let mut text = owner.encode();
    for Entry { path, old, applied, intended } in entries {
        text += &Record::Snapshot { path: path.clone(), old: old.clone() }.encode();
        for applied in applied.iter().cloned() {
            text += &Record::Applied { path: path.clone(), text: applied }.encode();
        }
        for intended in intended.iter().cloned() {
            text += &Record::Intend { path: path.clone(), text: intended }.encode();
        }
    }
    let fresh = path.with_extension("new");
    let mut file = open_private(&fresh)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok((file, text.len()))
}

fn open_private(path: &Path) -> io::Result<File> {
    let mut options = private();
    options.write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Options that follow no symbolic link at the path's end.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match private().open(path) {
        Ok(file) => {
            check_ours(&file)?;
            file.take(Journal::READ_MAX).read_to_end(&mut bytes)?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(bytes)
}

/// Refuses a journal that somebody else could have written.
fn check_ours(file: &File) -> io::Result<()> {
    let data = file.metadata()?;
    let user = rustix::process::geteuid().as_raw();
    if data.uid() == user && data.mode() & 0o022 == 0 {
        return Ok(());
    }
    let text = format!(
        "user {} owns it with mode {:o}, but only user {user} may be able to write it; look into it and remove it",
        data.uid(),
        data.mode() & 0o777
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// A root's description as part of a file name: `this machine` becomes `this-machine`.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(plain).collect();
    // Long descriptions are told apart by their check sum.
    match slug.char_indices().nth(80) {
        None => slug,
        Some((end, _)) => {
            format!("{}-{:08x}", slug.get(..end).unwrap_or_default(), record::checksum(text.as_bytes()))
        }
    }
}
