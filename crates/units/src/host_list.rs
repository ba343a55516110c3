//! Lists of host names in the notation of Slurm (`node[001-016,020],login1`).

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Host names in the order in which they were first named, each once.
///
/// The text form is that of Slurm: names separated by commas or white space, of which a part may stand for many:
/// `node[001-016,020]` has seventeen. A number keeps the digits of the first of its range (`[008-010]` is `008`, `009`,
/// `010`), a name may have several brackets (`r[1-2]n[1-4]-ib0`), the last one turning fastest. `#` starts a comment up
/// to the end of its line. Names and IP addresses alike are taken as they are; the text of a host list cannot hold an
/// IPv6 address in brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList(Vec<String>);

/// Names that one list can hold: more than any machine has.
const HOSTS_MAX: usize = 65_536;
/// Octets of a name, as in the domain name system.
const NAME_MAX: usize = 253;
/// Brackets of a name.
const BRACKETS_MAX: usize = 8;
/// Digits of a number in brackets.
const DIGITS_MAX: usize = 9;

/// A text that is not a host list; names the part that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of hosts at {part:?}: {reason} (expected for example node[001-016,020],login1)")]
pub struct ParseHostListError {
    part: String,
    reason: &'static str,
}

impl HostList {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromStr for HostList {
    type Err = ParseHostListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut names, mut known) = (Vec::new(), BTreeSet::new());
        let without_comments = text.lines().map(|line| line.split('#').next().unwrap_or(""));
        for term in without_comments.flat_map(Terms) {
            for name in expand(term?)? {
                if known.insert(name.clone()) {
                    names.push(name);
                }
            }
            if names.len() > HOSTS_MAX {
                return Err(fault(text, "more than 65536 hosts"));
            }
        }
        Ok(Self(names))
    }
}

impl fmt::Display for HostList {
    /// Folds names that follow each other into brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let Some((first, others)) = rest.split_first() {
            f.write_str(separator)?;
            separator = ",";
            let follows = |offset: u32, name: &String| Numbered::of(first)?.is_at(offset, name).then_some(());
            let run = (1..).zip(others).take_while(|(offset, name)| follows(*offset, name).is_some()).count();
            match Numbered::of(first).filter(|_| run > 0) {
                Some(Numbered { stem, number, width }) => {
                    let last = number as usize + run;
                    write!(f, "{stem}[{number:0width$}-{last:0width$}]")?;
                }
                None => f.write_str(first)?,
            }
            rest = others.get(run..).unwrap_or_default();
        }
        Ok(())
    }
}

/// A name that ends in a number.
struct Numbered<'a> {
    stem: &'a str,
    number: u32,
    width: usize,
}

impl<'a> Numbered<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
        let digits = name.get(stem.len()..).filter(|digits| digits.len() <= DIGITS_MAX)?;
        Some(Self { stem, number: digits.parse().ok()?, width: digits.len() })
    }

    /// Whether `name` is the one that comes `offset` later.
    fn is_at(&self, offset: u32, name: &str) -> bool {
        let digits = name.strip_prefix(self.stem).unwrap_or_default();
        let expected = alloc::format!("{:0width$}", self.number + offset, width = self.width);
        digits == expected
    }
}

fn fault(part: &str, reason: &'static str) -> ParseHostListError {
    // What is shown of a long text must not be long itself.
    let shown = part.char_indices().nth(60).map_or(part, |(end, _)| part.get(..end).unwrap_or(part));
    ParseHostListError { part: shown.to_string(), reason }
}

/// The terms of one line: what is between commas and white space outside brackets.
struct Terms<'a>(&'a str);

impl<'a> Iterator for Terms<'a> {
    type Item = Result<&'a str, ParseHostListError>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_separator = |character: char| character == ',' || character.is_whitespace();
        let text = self.0.trim_start_matches(is_separator);
        if text.is_empty() {
            return None;
        }
        let mut is_inside = false;
        let end = text.find(|character| {
            match character {
                '[' => is_inside = true,
                ']' => is_inside = false,
                _ => {}
            }
            !is_inside && is_separator(character)
        });
        let (term, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        Some(if is_inside { Err(fault(term, "'[' without ']'")) } else { Ok(term) })
    }
}

/// All names that a term stands for.
fn expand(term: &str) -> Result<Vec<String>, ParseHostListError> {
    let mut names = Vec::from([String::new()]);
    let mut rest = term;
    let mut brackets = 0;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((inside, behind)) = after.split_once(']') else {
            return Err(fault(term, "'[' without ']'"));
        };
        brackets += 1;
        if brackets > BRACKETS_MAX {
            return Err(fault(term, "more than 8 brackets"));
        }
        let numbers = expand_numbers(term, inside)?;
        if names.len().saturating_mul(numbers.len()) > HOSTS_MAX {
            return Err(fault(term, "more than 65536 hosts"));
        }
        names = append(&names, before, &numbers);
        rest = behind;
    }
    let names = append(&names, rest, &[String::new()]);
    let is_sound = |character: char| character.is_ascii_alphanumeric() || "-._:%".contains(character);
    for name in &names {
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(fault(term, "a name has 1 to 253 octets"));
        }
        if !name.chars().all(is_sound) {
            return Err(fault(term, "a character that no host name has"));
        }
    }
    Ok(names)
}

fn append(names: &[String], text: &str, numbers: &[String]) -> Vec<String> {
    let mut longer = Vec::with_capacity(names.len() * numbers.len());
    for name in names {
        longer.extend(numbers.iter().map(|number| [name, text, number].concat()));
    }
    longer
}

/// The numbers inside brackets, with their leading zeros.
fn expand_numbers(term: &str, inside: &str) -> Result<Vec<String>, ParseHostListError> {
    let mut numbers = Vec::new();
    for range in inside.split(',').map(str::trim) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| {
            let is_number =
                (1..=DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| is_number).ok_or_else(|| fault(term, "not a number"))
        };
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(fault(term, "range runs backwards"));
        }
        if (to - from) as usize >= HOSTS_MAX.saturating_sub(numbers.len()) {
            return Err(fault(term, "more than 65536 hosts"));
        }
        numbers.extend((from..=to).map(|number| alloc::format!("{number:0width$}", width = first.len())));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.parse::<HostList>().unwrap().0
    }

    /// Ranges, leading zeros, several brackets, suffixes, comments and repetitions.
    #[test]
    fn reads_the_notation_of_slurm() {
        assert_eq!(names("node[001-003,020]"), ["node001", "node002", "node003", "node020"]);
        assert_eq!(names("a[8-11]"), ["a8", "a9", "a10", "a11"]);
        assert_eq!(names("a[08-10]"), ["a08", "a09", "a10"]);
        assert_eq!(names("r[1-2]n[1,3]-ib0"), ["r1n1-ib0", "r1n3-ib0", "r2n1-ib0", "r2n3-ib0"]);
        assert_eq!(
            names("login1,node[1-2] x.example.org\n# all\nnode2 # again\n"),
            ["login1", "node1", "node2", "x.example.org"]
        );
        assert_eq!(names("10.0.0.[1-2],fe80::1%eth0"), ["10.0.0.1", "10.0.0.2", "fe80::1%eth0"]);
        assert_eq!(names(" \n"), Vec::<String>::new());
        assert_eq!(names("n[001-65536]").len(), 65_536);
    }

    /// Reading what was printed gives the same names; what follows each other is folded.
    #[test]
    fn prints_folded() {
        for (text, folded) in [
            ("node001,node002,node003,node020", "node[001-003],node020"),
            ("a9,a10,a11,b", "a[9-11],b"),
            ("a09,a10,a1,2", "a[09-10],a1,2"),
            ("x,y", "x,y"),
            ("", ""),
            ("n999999999", "n999999999"),
            ("n99999999999", "n99999999999"),
        ] {
            let list: HostList = text.parse().unwrap();
            assert_eq!(list.to_string(), folded);
            assert_eq!(folded.parse::<HostList>().unwrap(), list);
        }
    }

    /// Damaged text is refused and named, and a short text cannot stand for an unbounded list.
    #[test]
    fn refuses_damaged_text() {
        for text in [
            "n[1-2",
            "n]",
            "n[]",
            "n[a]",
            "n[3-1]",
            "n[1-]",
            "n[-1]",
            "n[1--2]",
            "n[[1]]",
            "n;m",
            "n[0-65536]",
            "n[0-999999999]",
            "n[0-999][0-999]",
            "n[1][1][1][1][1][1][1][1][1]",
            "n[0000000000001]",
            "[1-3,+4]",
        ] {
            let error = text.parse::<HostList>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        let long = "n".repeat(NAME_MAX + 1);
        assert!(long.parse::<HostList>().unwrap_err().to_string().len() < 200);
        let many = "a[1-40000],b[1-40000]";
        assert!(many.parse::<HostList>().is_err());
    }
}
