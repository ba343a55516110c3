//! `${NAME}` in element text. A name has upper case letters, digits and underscores and does not start with a digit;
//! anything else stays as it is. Values are not expanded again.

/// `text` with its variables replaced by what `lookup` says. Names without a value become nothing and are handed to
/// `undefined`. `_`, in which shells keep the path of the running program, never has a value.
pub fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    mut undefined: impl FnMut(&str),
) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        expanded.push_str(before);
        match name(from) {
            Some(name) => {
                match Some(name).filter(|name| *name != "_").and_then(lookup) {
                    Some(value) => expanded.push_str(&value),
                    None => undefined(name),
                }
                rest = from.get(name.len() + "${}".len()..).unwrap_or_default();
            }
            None => {
                expanded.push_str("${");
                rest = from.get("${".len()..).unwrap_or_default();
            }
        }
    }
    expanded.push_str(rest);
    expanded
}

/// The name in `from`, which starts with `${`. Looks no further than a name could go.
fn name(from: &str) -> Option<&str> {
    let after = from.strip_prefix("${")?;
    let is_named = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let (name, rest) = after.split_at(after.find(|c| !is_named(c))?);
    let is_good = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
    (is_good && rest.starts_with('}')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values are taken as they are, even if they look like variables; broken forms stay and cost nothing.
    #[test]
    fn expands_once() {
        let lookup = |name: &str| (name == "A").then(|| "${A}".to_owned());
        let mut missing = Vec::new();
        assert_eq!(expand("${A}-${${A}${B}", &lookup, |name| missing.push(name.to_owned())), "${A}-${${A}");
        assert_eq!(missing, ["B"]);
        let many = "${A".repeat(1_000_000);
        assert_eq!(expand(&many, &lookup, |_| ()), many);
    }
}
