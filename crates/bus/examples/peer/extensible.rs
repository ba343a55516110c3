//! The extensible types of the interoperability matrix, and older versions of them.

use bus::{Cdr, DdsType};

#[derive(Cdr, Clone, Copy, Debug, Default)]
#[dds(name = "bench::Grade")]
pub(crate) enum Grade {
    #[default]
    Low = 0,
    Middle = 5,
    High = 6,
}

#[derive(Cdr, Clone, Debug, Default)]
#[dds(name = "bench::Part", extensibility = "appendable")]
pub(crate) struct Part {
    count: u16,
    share: Option<f64>,
}

#[derive(Cdr, Clone, Debug, Default)]
#[dds(name = "bench::Slot")]
pub(crate) struct Slot {
    #[dds(key)]
    shelf: u64,
    color: u8,
}

/// What the matrix does with samples of an extensible type.
pub(crate) trait Extensible: DdsType {
    /// Sample number `k`.
    fn sample(k: u32) -> Self;
    /// Its members as one JSON object.
    fn show(&self) -> String;
    /// Its number, which is a part of its key.
    fn id(&self) -> u32;
}

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Appendable", extensibility = "appendable")]
pub(crate) struct Appendable {
    step: u8,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(key, id = 50)]
    slot: Slot,
    value: f64,
    name: String,
    note: Option<String>,
    parts: Vec<Part>,
    grades: Vec<Grade>,
    grid: Vec<[Part; 2]>,
}

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Mutable", extensibility = "mutable")]
pub(crate) struct Mutable {
    step: u8,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(key, id = 50)]
    slot: Slot,
    #[dds(must_understand)]
    value: f64,
    name: String,
    #[dds(id = 70_000)]
    note: Option<String>,
    parts: Vec<Part>,
    grades: Vec<Grade>,
    grid: Vec<[Part; 2]>,
}

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Flat", extensibility = "mutable")]
pub(crate) struct Flat {
    step: u8,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(key, id = 50)]
    slot: Slot,
    #[dds(must_understand)]
    value: f64,
    name: String,
    #[dds(id = 70_000)]
    note: Option<String>,
    grades: Vec<Grade>,
}

/// A version of [`Appendable`] from before the members after `name`.
#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Appendable", extensibility = "appendable")]
pub(crate) struct OldAppendable {
    step: u8,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(key, id = 50)]
    slot: Slot,
    value: f64,
    name: String,
}

/// A version of [`Mutable`] with fewer members, another one, and in another order.
#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "bench::Mutable", extensibility = "mutable")]
pub(crate) struct OldMutable {
    #[dds(id = 52)]
    name: String,
    #[dds(id = 51)]
    value: f64,
    #[dds(key, id = 50)]
    slot: Slot,
    #[dds(key, id = 70)]
    id: u32,
    #[dds(id = 90)]
    former: Option<Vec<String>>,
    #[dds(id = 0)]
    step: u8,
}

/// All that any of the types has.
#[derive(Clone, Debug, Default)]
struct Content {
    step: u8,
    id: u32,
    slot: Slot,
    value: f64,
    name: String,
    note: Option<String>,
    parts: Vec<Part>,
    grades: Vec<Grade>,
    grid: Vec<[Part; 2]>,
}

impl Content {
    fn sample(k: u32) -> Self {
        let grade = |j: u32| [Grade::Low, Grade::Middle, Grade::High][j as usize % 3];
        let whole = Part { count: u16::try_from(k).unwrap_or(0), share: Some(0.5) };
        Self {
            step: u8::try_from(k % 256).unwrap_or(0),
            id: k % 3,
            slot: Slot { shelf: (1 << 40) + u64::from(k % 3), color: u8::try_from(k % 7).unwrap_or(0) },
            value: 1.5 * f64::from(k),
            name: format!("stillwatt-{k}"),
            note: if k.is_multiple_of(2) { Some(format!("note-{k}")) } else { None },
            parts: (0..k % 4).map(part).collect(),
            grades: (0..k % 5).map(grade).collect(),
            grid: vec![[whole, Part { count: 1, share: None }]],
        }
    }

    fn show(&self) -> String {
        let note = self.note.as_ref().map_or_else(|| "null".to_string(), |note| format!("\"{note}\""));
        let grades: Vec<u32> = self.grades.iter().map(|grade| *grade as u32).collect();
        let grid: Vec<String> = self.grid.iter().map(|row| format!("[{}]", show_parts(row))).collect();
        format!(
            "{{\"step\": {}, \"id\": {}, \"slot\": [{}, {}], \"value\": {:?}, \"name\": \"{}\", \"note\": {note}, \
             \"parts\": [{}], \"grades\": {grades:?}, \"grid\": [{}], \"state\": \"alive\"}}",
            self.step,
            self.id,
            self.slot.shelf,
            self.slot.color,
            self.value,
            self.name,
            show_parts(&self.parts),
            grid.join(", "),
        )
    }
}

fn part(j: u32) -> Part {
    let share = if j.is_multiple_of(2) { Some(0.25 * f64::from(j)) } else { None };
    Part { count: u16::try_from(j).unwrap_or(0), share }
}

fn show_parts(parts: &[Part]) -> String {
    let show = |part: &Part| {
        let share = part.share.map_or_else(|| "null".to_string(), |share| format!("{share:?}"));
        format!("[{}, {share}]", part.count)
    };
    parts.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// A type's samples have the content's members that it names; the others have their default.
macro_rules! extensible {
    ($($name:ident { $($member:ident),* };)*) => {$(
        impl Extensible for $name {
            fn sample(k: u32) -> Self {
                let content = Content::sample(k);
                let mut value = Self::default();
                $(value.$member = content.$member;)*
                value
            }

            fn show(&self) -> String {
                let value = self.clone();
                let mut content = Content::default();
                $(content.$member = value.$member;)*
                content.show()
            }

            fn id(&self) -> u32 {
                self.id
            }
        }
    )*};
}

extensible! {
    Appendable { step, id, slot, value, name, note, parts, grades, grid };
    Mutable { step, id, slot, value, name, note, parts, grades, grid };
    Flat { step, id, slot, value, name, note, grades };
    OldAppendable { step, id, slot, value, name };
    OldMutable { step, id, slot, value, name };
}
