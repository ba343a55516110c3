//! Any expression, any sample, any text.

use super::*;
use crate::cdr::{Extensibility, Representation};
use crate::types::{Member, Type};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use proptest::prelude::*;

/// Members of several sizes, so that what is passed over is aligned in every way.
fn structure(extensibility: Extensibility) -> Arc<StructType> {
    let list = |element: Type| Type::Sequence { element: Box::new(element), max: None };
    let members = vec![
        Member::new("o", list(Type::Byte)),
        Member::new("a", Type::Int16),
        Member::new("l", list(Type::Float64)),
        Member::new("b", Type::Float64),
        Member { is_optional: true, ..Member::new("c", Type::Int64) },
        Member::new("t", Type::String { max: None }),
        Member::new("u", list(Type::Uint16)),
        Member::new("d", Type::Uint8),
    ];
    StructType::extensible("T", extensibility, members).unwrap()
}

#[derive(Clone, Debug)]
struct Contents {
    octets: Vec<u8>,
    a: i16,
    floats: Vec<f64>,
    b: i16,
    c: Option<i64>,
    text: String,
    units: Vec<u16>,
    d: u8,
}

fn contents() -> impl Strategy<Value = Contents> {
    let lists = (
        prop::collection::vec(any::<u8>(), 0..5),
        prop::collection::vec(any::<f64>(), 0..3),
        prop::collection::vec(any::<u16>(), 0..4),
    );
    let scalars = (-3..3_i16, -3..3_i16, prop::option::of(-3..3_i64), "[ab]{0,4}", 0..3_u8);
    (lists, scalars).prop_map(|((octets, floats, units), (a, b, c, text, d))| Contents {
        octets,
        a,
        floats,
        b,
        c,
        text,
        units,
        d,
    })
}

impl Contents {
    fn value(&self, structure: Arc<StructType>) -> DynamicValue {
        let mut value = DynamicValue::zero(structure);
        let floats = self.floats.iter().copied().map(Value::Float64).collect();
        for (name, member) in [
            ("o", Value::Bytes(self.octets.clone())),
            ("a", Value::Int16(self.a)),
            ("l", Value::List(floats)),
            ("b", Value::Float64(f64::from(self.b) / 2.0)),
            ("c", self.c.map_or(Value::Absent, Value::Int64)),
            ("t", Value::String(self.text.clone())),
            ("u", Value::List(self.units.iter().copied().map(Value::Uint16).collect())),
            ("d", Value::Uint8(self.d)),
        ] {
            value.set(name, member).unwrap();
        }
        value
    }

    /// A number member, doubled, so that halves are whole.
    fn doubled(&self, member: char) -> Option<i64> {
        match member {
            'a' => Some(i64::from(self.a) * 2),
            'b' => Some(i64::from(self.b)),
            'c' => self.c.map(|value| value * 2),
            _ => Some(i64::from(self.d) * 2),
        }
    }
}

/// An expression with the answer that a plain reading of it gives.
#[derive(Clone, Debug)]
enum Model {
    Number { member: char, operator: &'static str, doubled: i64, is_turned: bool },
    Members { left: char, operator: &'static str, right: char },
    Text { operator: &'static str, text: String },
    Between { member: char, low: i64, high: i64, is_negated: bool },
    Not(Box<Model>),
    All(Vec<Model>),
    Any(Vec<Model>),
}

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

fn model() -> impl Strategy<Value = Model> {
    let member = || prop::sample::select(vec!['a', 'b', 'c', 'd']);
    let operator = || prop::sample::select(OPERATORS.to_vec());
    let leaf = prop_oneof![
        (member(), operator(), -6..6_i64, any::<bool>()).prop_map(
            |(member, operator, doubled, is_turned)| {
                Model::Number { member, operator, doubled, is_turned }
            }
        ),
        (member(), operator(), member()).prop_map(|(left, operator, right)| Model::Members {
            left,
            operator,
            right
        }),
        (operator(), "[ab]{0,3}").prop_map(|(operator, text)| Model::Text { operator, text }),
        (member(), -6..6_i64, -6..6_i64, any::<bool>())
            .prop_map(|(member, low, high, is_negated)| Model::Between { member, low, high, is_negated }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Model::Not(Box::new(inner))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Model::All),
            prop::collection::vec(inner, 2..4).prop_map(Model::Any),
        ]
    })
}

fn half(doubled: i64) -> String {
    if doubled % 2 == 0 { format!("{}", doubled / 2) } else { format!("{:.1}", doubled as f64 / 2.0) }
}

fn holds<T: PartialOrd>(left: T, operator: &str, right: T) -> bool {
    match operator {
        "=" => left == right,
        "<>" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    }
}

impl Model {
    fn write(&self) -> String {
        let joined = |parts: &[Self], word: &str| {
            let parts: Vec<String> = parts.iter().map(|part| format!("({})", part.write())).collect();
            parts.join(word)
        };
        match self {
            Self::Number { member, operator, doubled, is_turned: false } => {
                format!("{member}{operator}{}", half(*doubled))
            }
            Self::Number { member, operator, doubled, .. } => {
                format!("{} {operator} {member}", half(*doubled))
            }
            Self::Members { left, operator, right } => format!("{left} {operator} {right}"),
            Self::Text { operator, text } => format!("t {operator} '{text}'"),
            Self::Between { member, low, high, is_negated } => {
                let not = if *is_negated { "NOT " } else { "" };
                format!("{member} {not}BETWEEN {} AND {}", half(*low), half(*high))
            }
            Self::Not(inner) => format!("NOT ({})", inner.write()),
            Self::All(parts) => joined(parts, " AND "),
            Self::Any(parts) => joined(parts, " OR "),
        }
    }

    fn answer(&self, contents: &Contents) -> Option<bool> {
        match self {
            Self::Number { member, operator, doubled, is_turned } => {
                let value = contents.doubled(*member)?;
                let (left, right) = if *is_turned { (*doubled, value) } else { (value, *doubled) };
                Some(holds(left, operator, right))
            }
            Self::Members { left, operator, right } => {
                Some(holds(contents.doubled(*left)?, operator, contents.doubled(*right)?))
            }
            Self::Text { operator, text } => Some(holds(&contents.text, operator, text)),
            Self::Between { member, low, high, is_negated } => {
                Some((*low..=*high).contains(&contents.doubled(*member)?) != *is_negated)
            }
            Self::Not(inner) => inner.answer(contents).map(|answer| !answer),
            Self::All(parts) => {
                let answers: Vec<_> = parts.iter().map(|part| part.answer(contents)).collect();
                if answers.contains(&Some(false)) {
                    Some(false)
                } else {
                    answers.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
                }
            }
            Self::Any(parts) => {
                let answers: Vec<_> = parts.iter().map(|part| part.answer(contents)).collect();
                if answers.contains(&Some(true)) {
                    Some(true)
                } else {
                    answers.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
                }
            }
        }
    }
}

/// The plain way to match a pattern.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, _) => text.is_empty(),
        (Some(('%', rest)), _) => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        (Some((wanted, rest)), Some((letter, text))) => {
            (*wanted == '_' || wanted == letter) && is_like(text, rest)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// An expression means what a plain reading of it says, of values and of their octets in every layout.
    #[test]
    fn expressions_mean_what_they_say(model in model(), contents in contents()) {
        let text = model.write();
        for extensibility in [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable] {
            let structure = structure(extensibility);
            let filter = Filter::new::<&str>(&structure, &text, &[]).unwrap();
            let value = contents.value(structure);
            let expected = model.answer(&contents) == Some(true);
            prop_assert_eq!(filter.is_met(&value), expected, "{}", text);
            for representation in [Representation::Xcdr1, Representation::Xcdr2] {
                let mut payload = Vec::new();
                value.to_payload_in(representation, &mut payload).unwrap();
                prop_assert_eq!(filter.is_met_by(&payload), Ok(expected), "{} {:?}", text, representation);
            }
        }
    }

    /// `LIKE` finds what trying everything finds.
    #[test]
    fn patterns_match_plainly(text in "[ab]{0,8}", pattern in "[ab%_]{0,8}") {
        let contents = Contents {
            octets: vec![], a: 0, floats: vec![], b: 0, c: None, text: text.clone(), units: vec![], d: 0,
        };
        let structure = structure(Extensibility::Final);
        let filter = Filter::new(&structure, "t LIKE %0", &[format!("'{pattern}'")]).unwrap();
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(filter.is_met(&contents.value(structure)), is_like(&letters(&text), &letters(&pattern)));
    }

    /// Text of any kind is a filter or a fault at one of its characters.
    #[test]
    fn any_text_is_judged(text in any::<String>(), parameter in any::<String>()) {
        let structure = structure(Extensibility::Final);
        if let Err(error) = Filter::new(&structure, &text, &[parameter]) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.position), "{}", error);
        }
    }

    /// So is text made of the language's own words.
    #[test]
    fn any_words_are_judged(
        words in prop::collection::vec(prop::sample::select(vec![
            "a", "t", "l", "[0]", ".", "(", ")", "NOT", "AND", "or", "BETWEEN", "LIKE", "=", "<", "1", "-2.5e1", "'x",
            "'y'", "%0", "%1", "true", "0x", "%", "é",
        ]), 0..12),
        is_spaced in any::<bool>(),
    ) {
        let text = words.join(if is_spaced { " " } else { "" });
        let structure = structure(Extensibility::Final);
        if let Err(error) = Filter::new(&structure, &text, &["1"]) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.position), "{}", error);
        }
    }

    /// Octets of any kind are judged or refused.
    #[test]
    fn any_octets_are_judged(mut payload in prop::collection::vec(any::<u8>(), 0..80), form in 0..12_u8) {
        if let Some(octet) = payload.get_mut(1) {
            *octet = form;
        }
        for extensibility in [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable] {
            let filter = Filter::new::<&str>(&structure(extensibility), "d > 0 OR c > 0", &[]).unwrap();
            let _ = filter.is_met_by(&payload);
        }
    }
}
