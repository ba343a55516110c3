#![expect(clippy::disallowed_methods, reason = "I/O shell: the one place where the product starts threads")]
//! The only function of the product that starts threads, so that each thread is named, counted and placed.
//! May touch: threads and their CPU affinity (`sched_setaffinity(2)`).

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::Builder;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use units::{CpuList, Instant};

use crate::clock;

/// Why a thread exists: its name (shown by `ps -L` and by [`list`]) and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    name: &'static str,
    reason: &'static str,
}

impl Role {
    /// The longest thread name that the kernel keeps, in bytes.
    pub const NAME_MAX: usize = 15;
    /// Every thread of the product has a name that begins so.
    pub const PREFIX: &'static str = "stw-";

    /// A role. Used in constants, where a bad name stops the build.
    ///
    /// # Panics
    /// When `name` does not begin with `stw-`, is longer than 15 bytes or has a NUL, or `reason` is empty.
    pub const fn new(name: &'static str, reason: &'static str) -> Self {
        let (bytes, prefix) = (name.as_bytes(), Self::PREFIX.as_bytes());
        assert!(bytes.len() > prefix.len(), "a thread name is `stw-` and at least one more byte");
        assert!(bytes.len() <= Self::NAME_MAX, "a thread name has at most 15 bytes");
        assert!(!reason.is_empty(), "a thread states its reason");
        let mut i = 0;
        while i < bytes.len() {
            assert!(bytes[i] != 0, "a thread name has no NUL");
            assert!(i >= prefix.len() || bytes[i] == prefix[i], "a thread name begins with `stw-`");
            i += 1;
        }
        Self { name, reason }
    }

    /// The thread's name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Why the thread exists.
    pub const fn reason(self) -> &'static str {
        self.reason
    }
}

/// Where a thread may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// On the CPUs of the thread that starts it.
    #[default]
    Inherit,
    /// Only on these CPUs.
    Cpus(CpuList),
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherit => f.write_str("inherited"),
            Self::Cpus(cpus) => write!(f, "{cpus}"),
        }
    }
}

/// A live thread started by [`spawn`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRecord {
    /// Name and reason.
    pub role: Role,
    /// Where it may run.
    pub placement: Placement,
    /// The kernel's thread id.
    pub tid: u32,
    /// When it started.
    pub started: Instant,
}

/// Starts a thread that runs `f`. Blocks until the thread has its name and its CPUs.
///
/// # Errors
/// When the system refuses another thread, when `placement` is an empty set or names a CPU above the kernel's set
/// size, or when the kernel refuses the set (none of its CPUs is online and allowed here); `f` then does not run.
pub fn spawn<F, T>(role: Role, placement: Placement, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let set = match &placement {
        Placement::Inherit => None,
        Placement::Cpus(cpus) => Some(cpu_set(cpus)?),
    };
    let (started, has_started) = mpsc::sync_channel(1);
    let handle = Builder::new().name(role.name.to_string()).spawn(move || {
        let placed = set.map_or(Ok(()), |set| sched_setaffinity(None, &set));
        if let Err(errno) = placed {
            // The receiver waits for exactly one message, so this cannot fail.
            let _ = started.send(Err(io::Error::from(errno)));
            return None;
        }
        let _registration = Registration::new(role, placement);
        let _ = started.send(Ok(()));
        Some(f())
    })?;
    match has_started.recv() {
        Ok(Ok(())) => Ok(JoinHandle { inner: handle }),
        Ok(Err(error)) => {
            let _ = handle.join();
            Err(io::Error::new(error.kind(), format!("thread {} cannot be placed: {error}", role.name)))
        }
        Err(_) => Err(io::Error::other(format!("thread {} ended before it started", role.name))),
    }
}

/// Every live thread that [`spawn`] started in this process, oldest first.
pub fn list() -> Vec<ThreadRecord> {
    registry().iter().map(|(_, record)| record.clone()).collect()
}

/// The CPUs on which the calling thread may run.
///
/// # Errors
/// When the kernel does not answer `sched_getaffinity(2)`, for example because it has more CPUs than the call's set.
pub fn allowed_cpus() -> io::Result<CpuList> {
    let set = sched_getaffinity(None)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// The owner's end of a thread started by [`spawn`]. Dropping it lets the thread run on.
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: std::thread::JoinHandle<Option<T>>,
}

impl<T> JoinHandle<T> {
    /// Blocks until the thread has ended and returns what its function returned.
    ///
    /// # Errors
    /// The panic's payload when the function panicked.
    pub fn join(self) -> std::thread::Result<T> {
        match self.inner.join() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Box::new("the thread ended before its function ran")),
            Err(payload) => Err(payload),
        }
    }

    /// Whether the thread's function has ended. Does not block.
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }
}

/// Takes the thread's record out of the list when the thread's function ends, also by a panic.
struct Registration {
    serial: u64,
}

impl Registration {
    fn new(role: Role, placement: Placement) -> Self {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        registry().push((serial, ThreadRecord { role, placement, tid, started: clock::monotonic() }));
        Self { serial }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        registry().retain(|(serial, _)| *serial != self.serial);
    }
}

static SERIAL: AtomicU64 = AtomicU64::new(0);
static REGISTRY: Mutex<Vec<(u64, ThreadRecord)>> = Mutex::new(Vec::new());

fn registry() -> MutexGuard<'static, Vec<(u64, ThreadRecord)>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cpu_set(cpus: &CpuList) -> io::Result<CpuSet> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if cpus.is_empty() {
        return Err(invalid("a thread cannot be placed on an empty CPU list".to_string()));
    }
    let mut set = CpuSet::new();
    for cpu in cpus.iter() {
        let index = usize::try_from(cpu).ok().filter(|&index| index < CpuSet::MAX_CPU);
        let index =
            index.ok_or_else(|| invalid(format!("CPU {cpu} is above the set's {}", CpuSet::MAX_CPU - 1)))?;
        set.set(index);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Role = Role::new("stw-probe", "shows where it runs");

    /// A placed thread has its name and runs only on its CPUs; it is listed while it lives and not afterwards.
    #[test]
    fn spawned_threads_are_named_placed_and_listed() {
        let cpu = allowed_cpus().unwrap().iter().next().unwrap();
        let one: CpuList = [cpu].into_iter().collect();
        let (release, released) = mpsc::channel::<()>();
        let handle = spawn(PROBE, Placement::Cpus(one.clone()), move || {
            released.recv().unwrap();
            (std::thread::current().name().map(str::to_string), allowed_cpus().unwrap())
        })
        .unwrap();
        let mine: Vec<_> =
            list().into_iter().filter(|t| t.placement == Placement::Cpus(one.clone())).collect();
        assert_eq!(mine.len(), 1);
        assert_eq!(mine[0].role, PROBE);
        release.send(()).unwrap();
        let (name, cpus) = handle.join().unwrap();
        assert_eq!(name.as_deref(), Some("stw-probe"));
        assert_eq!(cpus, one);
        assert!(!list().iter().any(|t| t.tid == mine[0].tid));
    }

    /// A placement that cannot be had is refused before the function runs.
    #[test]
    fn impossible_placements_are_refused() {
        for cpus in [CpuList::new(), [65_535].into_iter().collect(), [1_023].into_iter().collect()] {
            assert!(spawn(PROBE, Placement::Cpus(cpus), || panic!("must not run")).is_err());
        }
    }

    /// A panic in the thread reaches the caller of `join` and leaves no record behind.
    #[test]
    fn panics_reach_join() {
        const PANICS: Role = Role::new("stw-panics", "panics");
        let handle = spawn(PANICS, Placement::Inherit, || panic!("on purpose")).unwrap();
        assert!(handle.join().is_err());
        assert!(!list().iter().any(|t| t.role == PANICS));
    }
}
