//! Partition matching: which writers and readers of a topic may talk (DDS 1.4, 2.2.3.13).
//!
//! A pattern is a POSIX `fnmatch` pattern without escape: `*` stands for any octets, `?` for one, `[a-c]` and `[!a]`
//! for one of a set. `/` and a leading dot are ordinary. Character classes such as `[:alpha:]` are not understood.

/// Who may match whom when names have wildcards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionRule {
    /// Either name, taken as a pattern, may match the other, also when both have wildcards.
    #[default]
    FastDds,
    /// The OMG's: two names that both have wildcards never match.
    Dds,
}

/// Whether a writer and a reader share a partition. No partition is the partition with the empty name.
///
/// Compares every pair. One pair costs at most the product of the two lengths, whatever the pattern.
pub fn is_matched<W: AsRef<str>, R: AsRef<str>>(rule: PartitionRule, writer: &[W], reader: &[R]) -> bool {
    or_default(writer).any(|writer| or_default(reader).any(|reader| is_name_matched(rule, writer, reader)))
}

fn or_default<T: AsRef<str>>(names: &[T]) -> impl Iterator<Item = &str> {
    let default = names.is_empty().then_some("");
    names.iter().map(AsRef::as_ref).chain(default)
}

fn is_name_matched(rule: PartitionRule, writer: &str, reader: &str) -> bool {
    if rule == PartitionRule::Dds && has_wildcards(writer) && has_wildcards(reader) {
        return false;
    }
    is_pattern_matched(writer, reader) || is_pattern_matched(reader, writer)
}

fn has_wildcards(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Matches with one point to return to: the last `*`. An earlier one never needs to take more than it did, because
/// the last can take whatever the earlier would have.
fn is_pattern_matched(pattern: &str, name: &str) -> bool {
    let mut pattern = Pattern::new(pattern);
    let mut name = name.as_bytes();
    let mut retry: Option<(Pattern<'_>, &[u8])> = None;
    loop {
        match (pattern.next(), name.split_first()) {
            (Some(Token::Any), _) => {
                retry = Some((pattern, name));
                continue;
            }
            (Some(token), Some((first, rest))) if token.is_matched(*first) => {
                name = rest;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        // Let the last `*` take one octet more.
        let Some((after_star, [_, rest @ ..])) = retry else { return false };
        (pattern, name) = (after_star, rest);
        retry = Some((after_star, rest));
    }
}

/// What is left of a pattern.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    rest: &'a [u8],
    /// How much of the rest is there when the pattern's last closing bracket has been read; the pattern has none when
    /// `None`. It tells in one step whether a bracket closes.
    after_last_close: Option<usize>,
}

/// One step of a pattern.
enum Token<'a> {
    /// `*`
    Any,
    /// `?`
    One,
    /// A plain octet.
    Literal(u8),
    /// The inside of brackets.
    Set { members: &'a [u8], negated: bool },
}

impl<'a> Iterator for Pattern<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match first {
            b'*' => Token::Any,
            b'?' => Token::One,
            // Brackets that never close are plain octets.
            b'[' => self.set().unwrap_or(Token::Literal(b'[')),
            literal => Token::Literal(*literal),
        })
    }
}

impl<'a> Pattern<'a> {
    fn new(pattern: &'a str) -> Self {
        let after_last_close = pattern.rfind(']').map(|position| pattern.len() - position - 1);
        Self { rest: pattern.as_bytes(), after_last_close }
    }

    fn set(&mut self) -> Option<Token<'a>> {
        let (negated, inside) = match self.rest {
            [b'!' | b'^', inside @ ..] => (true, inside),
            inside => (false, inside),
        };
        // A closing bracket that comes first is a member, so there must be one after it.
        self.after_last_close.filter(|after| after + 1 < inside.len())?;
        let close = 1 + inside.get(1..)?.iter().position(|octet| *octet == b']')?;
        let (members, rest) = inside.split_at_checked(close)?;
        self.rest = rest.get(1..)?;
        Some(Token::Set { members, negated })
    }
}

impl Token<'_> {
    fn is_matched(&self, octet: u8) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Literal(literal) => *literal == octet,
            Self::Set { members, negated } => is_member(members, octet) != *negated,
        }
    }
}

fn is_member(mut members: &[u8], octet: u8) -> bool {
    loop {
        members = match members {
            [] => return false,
            [low, b'-', high, ..] if (*low..=*high).contains(&octet) => return true,
            [_, b'-', _, rest @ ..] => rest,
            [member, ..] if *member == octet => return true,
            [_, rest @ ..] => rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec;

    fn matches(pattern: &str, name: &str) -> bool {
        is_pattern_matched(pattern, name)
    }

    /// Stars, question marks, sets, ranges and negation behave as in `fnmatch` without escape.
    #[test]
    fn patterns_follow_fnmatch() {
        for (pattern, name) in [
            ("", ""),
            ("*", ""),
            ("a*c*e", "abcde"),
            ("**b", "ab"),
            ("n?", "n1"),
            ("[a-c]x", "bx"),
            ("[!a]", "b"),
            ("[^a]", "b"),
            ("[]a]", "]"),
            ("[a-]", "-"),
            ("[", "["),
            ("[]", "[]"),
            ("a\\*", "a\\b"),
            ("*/cpu", "rack1/n2/cpu"),
            (".*", ".x"),
        ] {
            assert!(matches(pattern, name), "{pattern:?} should match {name:?}");
        }
        for (pattern, name) in [
            ("?", ""),
            ("a*c", "abcd"),
            ("[a-c]", "d"),
            ("[!a]", "a"),
            ("[!a]", ""),
            ("[c-a]", "b"),
            ("[a", "a"),
            ("[]", "]"),
        ] {
            assert!(!matches(pattern, name), "{pattern:?} should not match {name:?}");
        }
    }

    /// A pattern made to make backtracking explode is decided in bounded steps (the test would not end otherwise).
    #[test]
    fn hostile_patterns_end() {
        let pattern = "*a".repeat(127) + "*b";
        let brackets = "*[".repeat(127);
        let name = "a".repeat(256);
        assert!(!matches(&pattern, &name));
        assert!(!matches(&brackets, &name));
    }

    /// The OMG rule refuses two wildcard names; the Fast DDS rule does not.
    #[test]
    fn rules_differ_on_two_wildcards() {
        let (writer, reader) = (vec![String::from("p*")], vec![String::from("p*")]);
        assert!(is_matched(PartitionRule::FastDds, &writer, &reader));
        assert!(!is_matched(PartitionRule::Dds, &writer, &reader));
    }
}
