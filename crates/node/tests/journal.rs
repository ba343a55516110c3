#![expect(clippy::disallowed_methods, reason = "I/O shell: scratch folders and child processes of the test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail by panic")]
//! The journal against killed processes, other writers, damaged files and settings that depend on each other.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use node::journal::{Journal, JournalError, UndoOutcome};
use node::knob::{self, FileKnob, Knob, KnobValue};
use node::sys_root::PerfEvent;
use node::{HostRoot, MemoryRoot, SysRoot};
use units::{Hertz, Instant, Watts};

const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy0";
const ZONE: &str = "sys/class/powercap/intel-rapl:0";
const CHILD: &str = "STILLWATT_JOURNAL_TEST_CHILD";

fn files() -> Vec<(String, &'static str)> {
    let policy = [
        ("affected_cpus", "0\n"),
        ("scaling_cur_freq", "2400000\n"),
        ("scaling_max_freq", "3900000\n"),
        ("scaling_min_freq", "1000000\n"),
        ("cpuinfo_max_freq", "3900000\n"),
        ("cpuinfo_min_freq", "1000000\n"),
    ];
    let zone = [
        ("name", "package-0\n"),
        ("constraint_0_power_limit_uw", "165000000\n"),
        ("constraint_0_max_power_uw", "165000000\n"),
    ];
    let online = [("sys/devices/system/cpu/online".to_string(), "0\n")];
    let policy = policy.map(|(name, text)| (format!("{POLICY}/{name}"), text));
    let zone = zone.map(|(name, text)| (format!("{ZONE}/{name}"), text));
    online.into_iter().chain(policy).chain(zone).collect()
}

/// A folder with a captured tree in `tree` and the journal's folder in `state`, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stw-journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (file, text) in files() {
            let path = folder.join("tree").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn root(&self) -> Arc<dyn SysRoot> {
        Arc::new(HostRoot::directory(&self.0.join("tree")).unwrap())
    }

    /// The tree's files that are not as they were, byte for byte.
    fn changed(&self) -> Vec<String> {
        let is_changed = |(file, text): &(String, &str)| {
            std::fs::read_to_string(self.0.join("tree").join(file)).unwrap() != *text
        };
        files().into_iter().filter(is_changed).map(|(file, _)| file).collect()
    }

    fn journal_file(&self) -> PathBuf {
        let names = std::fs::read_dir(self.state()).unwrap().map(|entry| entry.unwrap().path());
        names.into_iter().find(|path| path.extension().is_none()).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn knob_of(root: &dyn SysRoot, id: &str) -> FileKnob {
    knob::discover(root).into_iter().find(|knob| knob.info().id == id).unwrap()
}

fn gigahertz(value: f64) -> KnobValue {
    KnobValue::Frequency(Hertz::new(value * 1e9))
}

fn watts(value: f64) -> KnobValue {
    KnobValue::Power(Watts::new(value))
}

/// The changes that the child makes, in order.
fn changes() -> [(&'static str, KnobValue); 4] {
    [
        ("powercap.package-0.limit", watts(120.0)),
        ("cpufreq.policy0.max", gigahertz(2.0)),
        ("powercap.package-0.limit", watts(90.0)),
        ("cpufreq.policy0.min", gigahertz(1.5)),
    ]
}

/// A root that waits for a line on standard input before and after each write, so that it can be killed there.
#[derive(Debug)]
struct Stepping(Arc<dyn SysRoot>);

impl Stepping {
    fn wait(what: &str) {
        println!("step {what}");
        io::stdout().flush().unwrap();
        io::stdin().lock().read_line(&mut String::new()).unwrap();
    }
}

impl SysRoot for Stepping {
    fn read(&self, path: &str) -> io::Result<String> {
        self.0.read(path)
    }
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        Self::wait("before");
        self.0.write(path, text)?;
        Self::wait("after");
        Ok(())
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn link_name(&self, path: &str) -> io::Result<String> {
        self.0.link_name(path)
    }
    fn perf_count(&self, event: &PerfEvent) -> io::Result<u64> {
        self.0.perf_count(event)
    }
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

/// Not a test of its own: the child process that the kill test starts and kills. Does nothing without its parent.
#[test]
fn child_process() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let folder = Path::new(&folder);
    let plain: Arc<dyn SysRoot> = Arc::new(HostRoot::directory(&folder.join("tree")).unwrap());
    let root = Arc::new(Stepping(Arc::clone(&plain)));
    let (mut journal, _) = Journal::open(&folder.join("state"), root).unwrap();
    for (id, value) in changes() {
        journal.set(&knob_of(&*plain, id), value).unwrap();
    }
    Stepping::wait("done");
    std::process::exit(3);
}

/// Starts the child and lets it go `steps` steps; it then waits to be killed.
fn child_at(scratch: &Scratch, steps: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
        .env(CHILD, &scratch.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut input = child.stdin.take().unwrap();
    for step in 0..=steps {
        let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("step "));
        line.unwrap_or_else(|| panic!("the child ended before step {step}"));
        if step < steps {
            writeln!(input, "go").unwrap();
        }
    }
    child.stdin = Some(input);
    child
}

/// Killed before or after any of its writes, a process leaves enough for the next start to restore every byte.
#[test]
fn a_killed_process_is_undone_at_any_step() {
    let steps = 2 * changes().len();
    for step in 0..=steps {
        let scratch = Scratch::new(&format!("kill-{step}"));
        let mut child = child_at(&scratch, step);
        let in_use = Journal::open(&scratch.state(), scratch.root()).unwrap_err();
        assert!(matches!(&in_use, JournalError::InUse { owner, .. } if owner.pid == child.id()), "{in_use}");
        let changed = scratch.changed().len();
        assert_eq!(changed == 0, step == 0, "step {step} changed {changed} files");
        child.kill().unwrap();
        child.wait().unwrap();
        let (journal, recovery) = Journal::open(&scratch.state(), scratch.root()).unwrap();
        assert_eq!(recovery.owner.unwrap().pid, child.id());
        let mut undone = recovery.undone.iter().map(|undone| &undone.outcome);
        assert!(undone.all(|outcome| matches!(outcome, UndoOutcome::Restored | UndoOutcome::Unchanged)));
        assert_eq!(scratch.changed(), Vec::<String>::new(), "killed at step {step}");
        assert!(journal.entries().is_empty());
    }
}

/// Closing, dropping and panicking restore every byte and leave no journal behind.
#[test]
fn orderly_ends_restore() {
    let scratch = Scratch::new("orderly");
    let set_all = || {
        let (mut journal, recovery) = Journal::open(&scratch.state(), scratch.root()).unwrap();
        assert_eq!(recovery.owner, None);
        for (id, value) in changes() {
            journal.set(&knob_of(&*scratch.root(), id), value).unwrap();
        }
        assert_eq!(scratch.changed().len(), 3);
        journal
    };
    let undone = set_all().close().unwrap();
    assert_eq!(undone.len(), 3);
    assert!(scratch.changed().is_empty());
    drop(set_all());
    assert!(scratch.changed().is_empty());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _journal = set_all();
        panic!("on purpose");
    }));
    assert!(panicked.is_err() && scratch.changed().is_empty());
}

/// A value that another program has set since is reported and left alone; the other settings are restored.
#[test]
fn another_writer_is_left_alone() {
    let scratch = Scratch::new("other");
    let root = scratch.root();
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::clone(&root)).unwrap();
    for (id, value) in changes() {
        journal.set(&knob_of(&*root, id), value).unwrap();
    }
    root.write(&format!("{ZONE}/constraint_0_power_limit_uw"), "77000000\n").unwrap();
    let undone = journal.close().unwrap();
    let other: Vec<_> = undone
        .iter()
        .filter(|undone| undone.outcome == UndoOutcome::ChangedByOther { found: "77000000".to_string() })
        .collect();
    assert_eq!(other.len(), 1);
    assert_eq!(scratch.changed(), [format!("{ZONE}/constraint_0_power_limit_uw")]);
}

/// A journal whose tail is cut off is read as far as it goes; the setting of the cut line is restored from the lines
/// before it, and the damage is told.
#[test]
fn a_cut_journal_is_read_as_far_as_it_goes() {
    let scratch = Scratch::new("cut");
    let mut child = child_at(&scratch, 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let file = scratch.journal_file();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 5);
    bytes.extend_from_slice(b"\nnot a line\n\xff\xfe\n");
    std::fs::write(&file, bytes).unwrap();
    let (_, recovery) = Journal::open(&scratch.state(), scratch.root()).unwrap();
    assert_eq!(recovery.lines_damaged, 3);
    assert!(scratch.changed().is_empty());
}

/// After a reboot the settings are the machine's own again: an old journal is reported and nothing is touched.
#[test]
fn a_journal_of_an_earlier_boot_is_not_applied() {
    let scratch = Scratch::new("boot");
    let mut child = child_at(&scratch, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let file = scratch.journal_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let body = format!("stillwatt-journal-1 {} 5 0000-other-boot", child.id());
    let first = format!("{:08x} {body}", crc32(body.as_bytes()));
    lines[0] = &first;
    std::fs::write(&file, lines.join("\n")).unwrap();
    let before = scratch.changed();
    let (journal, recovery) = Journal::open(&scratch.state(), scratch.root()).unwrap();
    assert!(recovery.is_other_boot && recovery.undone.is_empty() && journal.entries().is_empty());
    assert_eq!(scratch.changed(), before);
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

/// One setting that cannot be restored does not keep the others from it, and stays in the journal for the next start.
#[test]
fn undo_goes_on_past_failures() {
    let scratch = Scratch::new("failures");
    let memory = Arc::new(files().into_iter().collect::<MemoryRoot>());
    let root = Arc::clone(&memory) as Arc<dyn SysRoot>;
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::clone(&root)).unwrap();
    for (id, value) in changes() {
        journal.set(&knob_of(&*root, id), value).unwrap();
    }
    let broken = format!("{POLICY}/scaling_max_freq");
    memory.fail_write(&broken, 5);
    let undone = journal.close().unwrap();
    let failed: Vec<&str> =
        undone.iter().filter(|undone| undone.is_pending()).map(|u| u.path.as_str()).collect();
    assert_eq!(failed, [broken.as_str()]);
    assert_eq!(memory.read(&format!("{ZONE}/constraint_0_power_limit_uw")).unwrap(), "165000000\n");
    memory.heal(&broken);
    let (journal, recovery) = Journal::open(&scratch.state(), root).unwrap();
    assert_eq!(recovery.undone.len(), 1);
    assert_eq!(memory.read(&broken).unwrap(), "3900000\n");
    assert!(journal.entries().is_empty());
}

/// Without a snapshot on disk nothing is written: an unreadable old value or an unwritable folder refuse the change.
#[test]
fn no_snapshot_no_write() {
    let scratch = Scratch::new("refused");
    let memory = Arc::new(files().into_iter().collect::<MemoryRoot>());
    let knob = knob_of(&*memory, "powercap.package-0.limit");
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::clone(&memory) as Arc<dyn SysRoot>).unwrap();
    memory.fail_read(knob.path(), 13);
    assert!(matches!(journal.set(&knob, watts(90.0)), Err(JournalError::Snapshot { .. })));
    assert!(memory.take_writes().is_empty());
    std::fs::write(scratch.0.join("file"), "").unwrap();
    let error = Journal::open(&scratch.0.join("file/state"), memory).unwrap_err();
    assert!(error.to_string().contains("choose a state folder"), "{error}");
}

/// A lease that ends restores its setting alone; what the hardware made of a refused value is undone too.
#[test]
fn single_settings_and_refused_values() {
    let scratch = Scratch::new("single");
    let root = scratch.root();
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::clone(&root)).unwrap();
    let (limit, max) = (knob_of(&*root, "powercap.package-0.limit"), knob_of(&*root, "cpufreq.policy0.max"));
    journal.set(&limit, watts(90.0)).unwrap();
    journal.set(&max, gigahertz(2.0)).unwrap();
    assert_eq!(journal.restore(limit.path()).unwrap().unwrap().outcome, UndoOutcome::Restored);
    assert_eq!(journal.restore(limit.path()).unwrap(), None);
    assert_eq!(scratch.changed(), [max.path().to_string()]);
    assert!(journal.write(max.path(), "2100000").is_ok());
    journal.close().unwrap();
    assert!(scratch.changed().is_empty());
}

/// Many changes of one setting keep the journal small.
#[test]
fn the_journal_stays_small() {
    let scratch = Scratch::new("small");
    let memory = Arc::new(files().into_iter().collect::<MemoryRoot>());
    let root = Arc::clone(&memory) as Arc<dyn SysRoot>;
    let (mut journal, _) = Journal::open(&scratch.state(), root).unwrap();
    let path = format!("{ZONE}/constraint_0_power_limit_uw");
    let text = "9".repeat(Journal::BYTES_MAX / 8);
    for _ in 0..12 {
        journal.write(&path, &text).unwrap();
    }
    let length = std::fs::metadata(scratch.journal_file()).unwrap().len();
    assert!(length <= u64::try_from(Journal::BYTES_MAX + 3 * text.len()).unwrap(), "{length}");
    journal.close().unwrap();
    assert_eq!(memory.read(&path).unwrap(), "165000000\n");
}

/// A root that rounds what is written, as hardware with steps of its own does, and stops the program after it.
#[derive(Debug)]
struct Rounding(Arc<dyn SysRoot>);

impl SysRoot for Rounding {
    fn read(&self, path: &str) -> io::Result<String> {
        self.0.read(path)
    }
    fn write(&self, path: &str, _text: &str) -> io::Result<()> {
        self.0.write(path, "89500000\n")?;
        panic!("killed between the write and its record");
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn link_name(&self, path: &str) -> io::Result<String> {
        self.0.link_name(path)
    }
    fn perf_count(&self, event: &PerfEvent) -> io::Result<u64> {
        self.0.perf_count(event)
    }
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

/// A value that the hardware rounded in a way of its own, and whose record is missing because the program was killed
/// right after the write, is still ours to restore.
#[test]
fn a_rounded_value_without_its_record_is_restored() {
    let scratch = Scratch::new("rounded");
    let plain = scratch.root();
    let knob = knob_of(&*plain, "powercap.package-0.limit");
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::new(Rounding(Arc::clone(&plain)))).unwrap();
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| journal.set(&knob, watts(90.0))));
    assert!(killed.is_err());
    journal.leave();
    assert_eq!(scratch.changed().len(), 1);
    let (_, recovery) = Journal::open(&scratch.state(), plain).unwrap();
    assert_eq!(recovery.undone[0].outcome, UndoOutcome::Restored);
    assert!(scratch.changed().is_empty());
}

/// After a refused write, of a knob or of a plain text, the setting is not ours: what another program sets there later
/// stays.
#[test]
fn a_refused_write_claims_nothing() {
    for is_knob in [true, false] {
        let scratch = Scratch::new(&format!("refused-write-{is_knob}"));
        let memory = Arc::new(files().into_iter().collect::<MemoryRoot>());
        let root = Arc::clone(&memory) as Arc<dyn SysRoot>;
        let knob = knob_of(&*memory, "powercap.package-0.limit");
        let (mut journal, _) = Journal::open(&scratch.state(), root).unwrap();
        memory.fail_write(knob.path(), 16);
        if is_knob {
            assert!(matches!(journal.set(&knob, watts(90.0)), Err(JournalError::Knob(_))));
        } else {
            let error = journal.write(knob.path(), "80000000").unwrap_err();
            assert!(matches!(error, JournalError::Write { .. }), "{error}");
        }
        memory.heal(knob.path());
        memory.set(knob.path(), "77000000\n");
        journal.close().unwrap();
        assert_eq!(memory.read(knob.path()).unwrap(), "77000000\n", "{is_knob}");
    }
}

/// A text that does not stick is an error that says what is there, and is undone.
#[test]
fn a_text_that_does_not_stick_is_told() {
    let scratch = Scratch::new("stuck");
    let memory = Arc::new(files().into_iter().collect::<MemoryRoot>());
    let (mut journal, _) = Journal::open(&scratch.state(), Arc::clone(&memory) as Arc<dyn SysRoot>).unwrap();
    let path = format!("{ZONE}/constraint_0_power_limit_uw");
    memory.stick(&path);
    let error = journal.write(&path, "80000000").unwrap_err();
    assert!(error.to_string().contains("80000000") && error.to_string().contains("165000000"), "{error}");
}

/// A journal that others can write, or that is a symbolic link, is refused: it would say what root writes where.
#[test]
fn a_foreign_journal_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("foreign");
    let (mut journal, _) = Journal::open(&scratch.state(), scratch.root()).unwrap();
    journal.set(&knob_of(&*scratch.root(), "powercap.package-0.limit"), watts(90.0)).unwrap();
    journal.leave();
    let file = scratch.journal_file();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = Journal::open(&scratch.state(), scratch.root()).unwrap_err();
    assert!(error.to_string().contains("mode 666"), "{error}");
    assert_eq!(scratch.changed().len(), 1);
    let elsewhere = scratch.0.join("elsewhere");
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert!(matches!(Journal::open(&scratch.state(), scratch.root()), Err(JournalError::Storage { .. })));
    assert_eq!(scratch.changed().len(), 1);
}
