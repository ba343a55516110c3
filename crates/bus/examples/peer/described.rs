//! The matrix's types described in XML, and its samples as values of them.

use std::path::Path;
use std::sync::Arc;

use bus::xml::Layout;
use bus::xml::read::read_types;
use rtps::types::{DynamicValue, StructType, Value};

use super::{Item, Plain};

/// The struct that a file describes.
pub(crate) fn structure(file: &str, name: &str) -> Result<Arc<StructType>, String> {
    let types = read_types(&[Path::new(file)], Layout::Standard).map_err(|error| error.to_string())?;
    types.lookup(name).map_err(|error| error.to_string())
}

/// A sample of a derived type as a value of the one described in XML, and back.
pub(crate) trait Described: Sized {
    /// The name of the type.
    const NAME: &'static str;
    /// Its members by name.
    fn members(self) -> Vec<(&'static str, Value)>;
    /// The sample that a value is.
    fn of(value: &DynamicValue) -> Self;
}

impl Described for Item {
    const NAME: &'static str = "bench::Item";

    fn members(self) -> Vec<(&'static str, Value)> {
        vec![
            ("id", Value::Uint32(self.id)),
            ("value", Value::Float64(self.value)),
            ("name", Value::String(self.name)),
            ("arr", Value::List(self.arr.into_iter().map(Value::Uint32).collect())),
        ]
    }

    fn of(value: &DynamicValue) -> Self {
        let arr = if let Some(Value::List(items)) = value.get("arr") { items.as_slice() } else { &[] };
        Self {
            id: number(value.get("id")),
            value: value.get("value").and_then(Value::as_f64).unwrap_or(f64::NAN),
            name: value.get("name").and_then(Value::as_str).unwrap_or_default().into(),
            arr: arr.iter().map(|item| number(Some(item))).collect(),
        }
    }
}

impl Described for Plain {
    const NAME: &'static str = "bench::Plain";

    fn members(self) -> Vec<(&'static str, Value)> {
        vec![
            ("id", Value::Uint32(self.id)),
            ("seq", Value::Uint32(self.seq)),
            ("data", Value::Bytes(self.data)),
        ]
    }

    fn of(value: &DynamicValue) -> Self {
        let data = if let Some(Value::Bytes(bytes)) = value.get("data") { bytes.clone() } else { Vec::new() };
        Self { id: number(value.get("id")), seq: number(value.get("seq")), data }
    }
}

fn number(value: Option<&Value>) -> u32 {
    value.and_then(Value::as_number).and_then(|number| number.try_into().ok()).unwrap_or(u32::MAX)
}

/// A sample as a value.
pub(crate) fn value<T: Described>(structure: &Arc<StructType>, sample: T) -> DynamicValue {
    let mut value = DynamicValue::zero(Arc::clone(structure));
    for (name, member) in sample.members() {
        if let Err(error) = value.set(name, member) {
            eprintln!("peer: {error}");
        }
    }
    value
}
