#![expect(clippy::disallowed_methods, reason = "I/O shell: reads fixtures")]
//! Files with types: those of a public project and one with every construct load, mutated ones do no harm, and files made
//! to cost much are refused or loaded quickly.
#![allow(clippy::unwrap_used, reason = "the whole file is test code")]

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use bus::xml::{Document, Layout, Types, XmlError};
use proptest::prelude::*;
use rtps::cdr::{Extensibility, Representation};
use rtps::types::{DynamicValue, Type};

fn text(file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/xml", file].iter().collect();
    std::fs::read_to_string(path).unwrap()
}

fn load(text: &str, layout: Layout) -> Result<Types, XmlError> {
    Types::load_as(&[Document::parse("f.xml", text, &|_| None)?], layout)
}

/// Every type of the files loads in both layouts, and the default value of each struct comes back in every representation.
#[test]
fn files_load() {
    for (file, count) in [("types_profile.xml", 49), ("every_type.xml", 17)] {
        for layout in [Layout::Standard, Layout::FastDds2] {
            let types = load(&text(file), layout).unwrap();
            assert_eq!(types.iter().count(), count, "{file}");
            assert!(layout == Layout::FastDds2 || types.findings.is_empty(), "{:?}", types.findings);
            for (name, _) in types.iter().filter(|(_, ty)| matches!(ty, Type::Struct(_))) {
                let value = DynamicValue::zero(types.lookup(name).unwrap());
                for representation in [Representation::Xcdr1, Representation::Xcdr2] {
                    let mut payload = Vec::new();
                    value.to_payload_in(representation, &mut payload).unwrap();
                    let back = DynamicValue::from_payload(value.structure(), &payload).unwrap();
                    assert_eq!(back, value, "{name}");
                }
            }
        }
    }
}

/// What stands in `<types>`, the line of the fault, and what is told of it.
const FAULTS: [(&str, u32, [&str; 2]); 23] = [
    ("<type>\n<class name='A'/></type>", 2, ["<class>", "struct"]),
    ("<struct name='A'/>", 1, ["<struct>", "<type>"]),
    ("<type><module name='m'/></type>", 1, ["<module>", "scoped name"]),
    ("<type><struct name='A'/></type>", 1, ["A", "no members"]),
    ("<type><struct name='A'>\n<member name='m'/></struct></type>", 2, ["\"type\"", "\"m\""]),
    ("<type><struct name='A'>\n<member type='int8'/></struct></type>", 2, ["\"name\"", "add it"]),
    (
        "<type><struct name='A'><member name='m' type='int8' lenght='2'/></struct></type>",
        1,
        ["lenght", "known"],
    ),
    (
        "<type><struct name='A'><member name='m' type='int23'/></struct></type>",
        1,
        ["int23", "did you mean \"int"],
    ),
    (
        "<type><struct name='A'><member name='m' type='nonBasic'/></struct></type>",
        1,
        ["nonBasicTypeName", "\"m\""],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8' stringMaxLength='3'/></struct></type>",
        1,
        ["stringMaxLength", "no text"],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8' mapMaxLength='3'/></struct></type>",
        1,
        ["key_type", "\"m\""],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8' key_type='float32' mapMaxLength='3'/></struct></type>",
        1,
        ["key of map", "float"],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8'/>\n<member name='m' type='int8'/></struct></type>",
        2,
        ["more than one", "\"m\""],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8'/></struct></type>\n<type><enum name='A'><enumerator name='X'/></enum></type>",
        2,
        ["described twice", "f.xml:1"],
    ),
    (
        "<type><struct name='B' baseType='E'><member name='m' type='int8'/></struct><enum name='E'><enumerator name='X'/></enum></type>",
        1,
        ["baseType", "no struct"],
    ),
    (
        "<type><struct name='A'><member name='m' type='int8' key='yes'/></struct></type>",
        1,
        ["\"key\"", "yes"],
    ),
    ("<type><struct name='int8'><member name='m' type='int16'/></struct></type>", 1, ["int8", "basic type"]),
    (
        "<type><bitmask name='M' bit_bound='8'>\n<bit_value name='f' position='8'/></bitmask></type>",
        2,
        ["M.f", "8 bits"],
    ),
    ("<type><bitmask name='M' bit_bound='65'><bit_value name='f'/></bitmask></type>", 1, ["bit_bound", "65"]),
    ("<type><union name='U'><case/></union></type>", 1, ["<discriminator>", "\"U\""]),
    (
        "<type><union name='U'><discriminator type='int8'/>\n<case><member name='m' type='int8'/></case></union></type>",
        2,
        ["caseDiscriminator", "\"m\""],
    ),
    (
        "<type><union name='U'><discriminator type='int8'/><case><caseDiscriminator value='300'/><member name='m' type='int8'/></case></union></type>",
        1,
        ["300", "discriminator"],
    ),
    (
        "<type><union name='U'><discriminator type='float32'/><case><caseDiscriminator value='1'/><member name='m' type='int8'/></case></union></type>",
        1,
        ["float", "discriminator"],
    ),
];

/// What is not part of the dialect, contradicts itself or is missing is refused at its line, with the next thing to try.
#[test]
fn faults_are_told_with_their_line() {
    for (types, line, parts) in FAULTS {
        let error =
            load(&format!("<types xmlns='http://www.eprosima.com'>{types}</types>"), Layout::Standard);
        let error = error.unwrap_err();
        assert_eq!(error.place.line, line, "{types}: {error}");
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{types}: {error}");
    }
}

/// Beyond the dialect, what DDS-XML says of a struct and its members is taken; what does not change what travels is told
/// to have no effect.
#[test]
fn members_have_identifiers_and_may_be_absent() {
    let text = "<types xmlns='http://www.eprosima.com'><type><struct name='A' extensibility='mutable' nested='true'>\
                <member name='a' type='int8' id='7' optional='true'/><member name='b' type='int8' mustUnderstand='true'/>\
                <member name='c' type='int8' key='true'/></struct><struct name='B' baseType='A'/></type></types>";
    let types = load(text, Layout::Standard).unwrap();
    for name in ["A", "B"] {
        let structure = types.structure(name).unwrap();
        assert_eq!(structure.extensibility(), Extensibility::Mutable);
        let members: Vec<_> = structure
            .identified()
            .map(|(id, member)| (id, member.is_optional, member.must_understand, member.key))
            .collect();
        assert_eq!(members, [(7, true, false, false), (8, false, true, false), (9, false, false, true)]);
    }
    let told = types.findings.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told, ["f.xml:1: warning: attribute \"nested\" of <struct> \"A\" has no effect"]);
    assert!(!load(text, Layout::FastDds2).unwrap().structure("A").unwrap().is_keyed());
    let other = text.replace("baseType='A'", "baseType='A' extensibility='final'");
    assert!(load(&other, Layout::Standard).unwrap_err().what.contains("as extensible as its base"));
}

/// Labels may be the names of enumerators, booleans and characters; `default` may stand beside them.
#[test]
fn labels_are_values_of_the_discriminator() {
    for (discriminator, label, expected) in [
        ("nonBasic' nonBasicTypeName='E", "Y", 5),
        ("E", "5", 5),
        ("boolean", "true", 1),
        ("char8", "x", 120),
        ("char16", "\u{e9}", 233),
        ("int64", "-9223372036854775808", i64::MIN),
    ] {
        let union = format!(
            "<types xmlns='http://www.eprosima.com'><type><enum name='E'><enumerator name='X'/><enumerator name='Y' value='5'/>\
             </enum><union name='U'><discriminator type='{discriminator}'/><case><caseDiscriminator value='{label}'/>\
             <caseDiscriminator value='default'/><member name='m' type='int8'/></case></union></type></types>"
        );
        let types = load(&union, Layout::Standard).unwrap();
        let Some(Type::Union(union)) = types.get("U") else { continue };
        assert_eq!(
            (union.cases()[0].labels.as_slice(), union.cases()[0].is_default),
            ([expected].as_slice(), true)
        );
    }
}

/// Long chains of names, bases and members are refused or loaded without exhausting stack or memory.
#[test]
fn costly_files_are_bounded() {
    let chain = |count: usize, link: &dyn Fn(usize) -> String, last: &str| {
        let mut text = String::from("<types xmlns='http://www.eprosima.com'><type>");
        (0..count).for_each(|at| text.push_str(&link(at)));
        write!(text, "{last}</type></types>").unwrap();
        text
    };
    let alias = |at: usize| format!("<typedef name='T{at}' type='T{}'/>", at + 1);
    let backwards = |at: usize| match at {
        0 => "<typedef name='T0' type='int8'/>".to_owned(),
        _ => format!("<typedef name='T{at}' type='T{}'/>", at - 1),
    };
    let base = |at: usize| {
        format!("<struct name='T{at}' baseType='T{}'><member name='m{at}' type='int8'/></struct>", at + 1)
    };
    let double = |at: usize| {
        let inner = at + 1;
        format!(
            "<struct name='T{at}'><member name='a' type='T{inner}'/><member name='b' type='T{inner}'/></struct>"
        )
    };
    let end = |count: usize| format!("<struct name='T{count}'><member name='e' type='int8'/></struct>");
    for (text, what) in [
        (chain(20_000, &alias, &end(20_000)), "within more than"),
        (chain(20_000, &backwards, ""), "nested deeper"),
        (chain(60, &base, &end(60)), "nested deeper"),
        (chain(31, &double, &end(31)), "fixed part above"),
    ] {
        let error = load(&text, Layout::Standard).unwrap_err();
        assert!(error.what.contains(what), "{error}");
    }
    let types = load(&chain(20, &double, &end(20)), Layout::Standard).unwrap();
    let value = DynamicValue::zero(Arc::clone(&types.structure("T10").unwrap()));
    let mut payload = Vec::new();
    value.to_payload(&mut payload).unwrap();
    assert_eq!(payload.len(), 4 + (1 << 10));
}

proptest! {
    /// Files with octets changed, cut out and doubled are loaded or refused.
    #[test]
    fn mutated_files_do_no_harm(
        is_foreign in any::<bool>(),
        edits in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u8>(), 0_u8..4), 1..12),
    ) {
        let mut bytes = text(if is_foreign { "types_profile.xml" } else { "every_type.xml" }).into_bytes();
        for (at, length, octet, edit) in edits {
            let at = at as usize % bytes.len().max(1);
            let end = (at + length as usize % 200).min(bytes.len());
            match edit {
                0 => bytes[at] = octet,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => bytes[at] = b'0' + octet % 10,
            }
            if bytes.is_empty() {
                bytes.push(b'<');
            }
        }
        for layout in [Layout::Standard, Layout::FastDds2] {
            if let Ok(types) = load(&String::from_utf8_lossy(&bytes), layout) {
                let structs = types.iter().filter_map(|(name, _)| types.structure(name));
                for structure in structs {
                    let _ = DynamicValue::zero(structure).to_payload(&mut Vec::new());
                }
            }
        }
    }
}
