//! The machine that a bench ran on, for its record. Reads `/proc` and `/sys`.

use ledger::RunRecord;
use node::{HostRoot, SysRoot};
use units::Timestamp;

use super::contestant::{Contestant, Programs};
use super::cpus;
use crate::report::Failure;

/// A record without tables: this machine, this program, now.
pub(crate) fn record(
    schema: &str,
    command: String,
    programs: &Programs,
    contestants: &[Contestant],
) -> Result<RunRecord, Failure> {
    let root = HostRoot::machine();
    let read = |path| root.read(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let processor = read("proc/cpuinfo");
    let processor = processor.lines().find(|line| line.starts_with("model name"));
    let processor = processor.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    let load = read("proc/loadavg");
    let mut peers = Vec::new();
    for contestant in contestants {
        let is_own =
            matches!(contestant, Contestant::Stillwatt | Contestant::StillwattBatched | Contestant::Floor);
        if !is_own {
            peers.push((contestant.name().to_owned(), programs.version(*contestant)?));
        }
    }
    let mut record = RunRecord {
        schema: schema.to_owned(),
        command,
        started: rfc3339(node::clock::wall()),
        host: read("proc/sys/kernel/hostname"),
        kernel: read("proc/sys/kernel/osrelease"),
        processor: processor.unwrap_or_default(),
        core_set: cpus::shown(&cpus::online_cpus()),
        governor: read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load_start: load.split_whitespace().next().and_then(|load| load.parse().ok()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        peers,
        ..RunRecord::default()
    };
    if cfg!(debug_assertions) {
        record.version.push_str(" (debug build)");
        record.remarks.push("our side is a debug build: its figures say nothing of the product".to_owned());
    }
    Ok(record)
}

/// A wall time as in RFC 3339, to the second, UTC. Days by the civil calendar (proleptic Gregorian).
fn rfc3339(time: Timestamp) -> String {
    let seconds = time.unix_nanos() / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the leap day is a year's last; 400 years have 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known instants, with leap days of all kinds.
    #[test]
    fn civil_dates() {
        let at = |seconds: u64| rfc3339(Timestamp::from_unix_nanos(seconds * 1_000_000_000));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
