//! Lists of logical CPUs in the kernel's notation (`0-3,8`).

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A set of logical CPU numbers, in ascending order.
///
/// The text form is the kernel's list format: comma-separated numbers and ranges, and `first-last:used/group` for
/// every group of `group` CPUs the first `used`. An empty text is the empty set, never "all".
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuList(BTreeSet<u32>);

/// A CPU number above this is refused: no kernel supports as many, so the text is damaged.
const CPU_MAX: u32 = 65_535;

/// A text that is not a CPU list; names the part that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a CPU list at {part:?}: {reason} (expected for example 0-3,8)")]
pub struct ParseCpuListError {
    part: String,
    reason: &'static str,
}

impl CpuList {
    /// The empty set.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: u32) {
        self.0.insert(cpu);
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    fn insert_range(&mut self, part: &str) -> Result<(), ParseCpuListError> {
        let fault = |reason| ParseCpuListError { part: part.to_string(), reason };
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(cpu) if cpu <= CPU_MAX => Ok(cpu),
            Ok(_) => Err(fault("number too large")),
            Err(_) => Err(fault("not a number")),
        };
        let (range, group) = match part.split_once(':') {
            Some((range, group)) => (range, Some(group)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        if first > last {
            return Err(fault("range runs backwards"));
        }
        let (used, size) = match group {
            None => (1, 1),
            Some(group) => {
                let (used, size) = group.split_once('/').ok_or_else(|| fault("group without '/'"))?;
                (number(used)?, number(size)?)
            }
        };
        if size == 0 || used == 0 || used > size {
            return Err(fault("group must be used/size with 0 < used <= size"));
        }
        self.0.extend((first..=last).filter(|cpu| (cpu - first) % size < used));
        Ok(())
    }
}

impl FromStr for CpuList {
    type Err = ParseCpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = Self::new();
        for part in text.split([',', ' ', '\n', '\t']).filter(|part| !part.is_empty()) {
            list.insert_range(part)?;
        }
        Ok(list)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading and printing are inverse, and groups follow the kernel's document.
    #[test]
    fn reads_the_kernel_notation() {
        for (text, canonical) in
            [("0-3,8\n", "0-3,8"), ("", ""), ("3,1,2", "1-3"), ("0-7:2/4", "0-1,4-5"), ("5", "5")]
        {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.to_string(), canonical, "{text:?}");
        }
    }

    /// Damaged text is refused and named.
    #[test]
    fn refuses_damaged_text() {
        for text in ["a", "3-1", "1-", "0-3:1", "0-3:5/4", "99999999999", "0-4294967295"] {
            let error = text.parse::<CpuList>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
