//! System-wide perf events (`perf_event_open(2)`): their name, and this machine's counters. Touches perf counters,
//! which it opens and closes.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use perf_event::events::Event;
use perf_event::{Builder, Counter};
use perf_event_open_sys::bindings::perf_event_attr;

/// One event of a performance monitoring unit, counted on one CPU for all processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerfEvent {
    /// The unit's name below `sys/bus/event_source/devices`.
    pub unit: String,
    /// The event's name in the unit's `events` folder.
    pub name: String,
    /// The unit's number, from its `type` file.
    pub kind: u32,
    /// What to count, from the event's file.
    pub config: u64,
    /// The CPU that counts, from the unit's `cpumask`.
    pub cpu: u32,
}

/// The counters of this machine that were started, by their events.
#[derive(Default)]
pub(super) struct PerfCounters {
    open: Mutex<BTreeMap<PerfEvent, Counter>>,
}

impl PerfCounters {
    /// More counters than this are refused; a machine with RAPL needs five a package.
    const COUNTERS_MAX: usize = 1024;

    /// The count since the first call for this event, which starts the counter.
    pub(super) fn count(&self, event: &PerfEvent) -> io::Result<u64> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(event) {
            if open.len() >= Self::COUNTERS_MAX {
                return Err(io::Error::other(format!("more than {} perf counters", Self::COUNTERS_MAX)));
            }
            open.insert(event.clone(), start(event)?);
        }
        let Some(counter) = open.get_mut(event) else { return Err(io::ErrorKind::NotFound.into()) };
        let count = counter.read();
        if count.is_err() {
            // The CPU went offline: the counter has to be opened anew when it is back.
            open.remove(event);
        }
        count
    }
}

impl fmt::Debug for PerfCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(open.keys()).finish()
    }
}

/// Puts the event's numbers into the system call's structure.
struct Raw {
    kind: u32,
    config: u64,
}

impl Event for Raw {
    fn update_attrs(self, attrs: &mut perf_event_attr) {
        attrs.type_ = self.kind;
        attrs.config = self.config;
    }
}

fn start(event: &PerfEvent) -> io::Result<Counter> {
    let cpu = usize::try_from(event.cpu).map_err(io::Error::other)?;
    let mut builder = Builder::new(Raw { kind: event.kind, config: event.config });
    // Units outside the cores refuse to leave the kernel's or the hypervisor's share out.
    let mut counter = builder.any_pid().one_cpu(cpu).include_kernel().include_hv().build()?;
    counter.enable()?;
    Ok(counter)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock;

    /// The kernel's own CPU clock counts nanoseconds on CPU 0, or the kernel says that this user may not.
    #[test]
    fn a_software_event_counts_or_is_refused() {
        let event =
            PerfEvent { unit: "software".into(), name: "cpu-clock".into(), kind: 1, config: 0, cpu: 0 };
        let counters = PerfCounters::default();
        match counters.count(&event) {
            Ok(first) => {
                clock::sleep(Duration::from_millis(5));
                assert!(counters.count(&event).unwrap() > first);
            }
            Err(error) => {
                let kinds =
                    [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported, io::ErrorKind::NotFound];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
        }
    }

    /// A unit that does not exist is an error of the kernel, not a count.
    #[test]
    fn unknown_units_are_errors() {
        let event = PerfEvent { unit: "x".into(), name: "y".into(), kind: 0x7fff_fff0, config: 2, cpu: 0 };
        assert!(PerfCounters::default().count(&event).is_err());
    }
}
