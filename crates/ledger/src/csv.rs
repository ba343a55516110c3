//! Comma-separated values (RFC 4180), lines ended by LF.

/// A field, quoted where its text needs it.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Lines of fields that are ready to be written.
pub(crate) fn lines(rows: impl Iterator<Item = Vec<String>>) -> String {
    rows.map(|row| row.join(",") + "\n").collect()
}
