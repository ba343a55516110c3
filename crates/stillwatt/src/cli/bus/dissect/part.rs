//! A part of a message as it is shown: where it is, what it holds, what is wrong with it.

use serde_json::{Map, Value as Json, json};

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Where it starts, in octets from the start of the message.
    pub(super) offset: usize,
    /// Its octets.
    pub(super) length: usize,
    pub(super) name: String,
    pub(super) fields: Vec<(&'static str, Json)>,
    /// What a receiver would refuse it for.
    pub(super) malformed: Option<String>,
    pub(super) parts: Vec<Self>,
}

impl Part {
    pub(super) fn new(offset: usize, length: usize, name: impl Into<String>) -> Self {
        Self { offset, length, name: name.into(), ..Self::default() }
    }

    pub(super) fn field(&mut self, name: &'static str, value: impl Into<Json>) {
        self.fields.push((name, value.into()));
    }

    /// Whether anything in it is malformed.
    pub(super) fn has_fault(&self) -> bool {
        self.malformed.is_some() || self.parts.iter().any(Self::has_fault)
    }

    /// As JSON.
    pub(super) fn json(&self) -> Json {
        let mut object = Map::new();
        object.insert("offset".into(), self.offset.into());
        object.insert("length".into(), self.length.into());
        object.insert("name".into(), self.name.clone().into());
        object.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if let Some(reason) = &self.malformed {
            object.insert("malformed".into(), reason.clone().into());
        }
        if !self.parts.is_empty() {
            object.insert("parts".into(), self.parts.iter().map(Self::json).collect::<Vec<_>>().into());
        }
        json!(object)
    }

    /// Its lines, indented by `depth`.
    pub(super) fn lines(&self, depth: usize, lines: &mut Vec<String>) {
        let mut line = format!("{:>6}  {}{}", self.offset, "  ".repeat(depth), self.name);
        for (name, value) in &self.fields {
            let value = match value {
                Json::String(text) if text.chars().all(|c| c.is_ascii_graphic()) && !text.is_empty() => {
                    text.clone()
                }
                other => other.to_string(),
            };
            line.push_str(&format!(" {name}={value}"));
        }
        line.push_str(&format!(" ({} octets)", self.length));
        lines.push(line);
        if let Some(reason) = &self.malformed {
            lines.push(format!("{:>6}  {}MALFORMED: {reason}", "", "  ".repeat(depth + 1)));
        }
        self.parts.iter().for_each(|part| part.lines(depth + 1, lines));
    }
}

/// Octets in hexadecimal, cut after [`HEX_MAX`].
pub(super) fn hex(octets: &[u8]) -> String {
    let shown: String = octets.iter().take(HEX_MAX).map(|octet| format!("{octet:02x}")).collect();
    if octets.len() > HEX_MAX { shown + "…" } else { shown }
}

const HEX_MAX: usize = 64;
