//! Serialized samples: what is read as a type can be written and is then read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::Endianness;
use rtps::cdr::{
    DdsType, Representation, from_payload, key_from_payload, key_hash_of_payload, to_payload_in,
};
use rtps::types::DynamicValue;
use rtps::types::object::TypeInformation;

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Inner", crate = ::rtps)]
struct Inner {
    label: String,
    numbers: Vec<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Part", extensibility = "appendable", crate = ::rtps)]
struct Part {
    count: Option<u64>,
    label: Option<String>,
}

macro_rules! outer {
    ($name:ident $extensibility:literal) => {
        #[derive(Clone, Debug, Default, PartialEq, DdsType)]
        #[dds(name = "fuzz::Outer", extensibility = $extensibility, crate = ::rtps)]
        struct $name {
            #[dds(key)]
            id: u32,
            is_on: bool,
            bytes: Vec<u8>,
            inner: Inner,
            list: Vec<Inner>,
            #[dds(key, id = 70000)]
            pair: [i64; 2],
            #[dds(must_understand, id = 5)]
            maybe: Option<Inner>,
            parts: Vec<Part>,
            last: Option<u8>,
        }
    };
}

outer!(Final "final");
outer!(Appendable "appendable");
outer!(Mutable "mutable");

fn check<T: DdsType + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let _ = (key_from_payload::<T>(bytes), key_hash_of_payload::<T>(bytes, false));
    let structure = T::structure();
    let fixed = from_payload::<T>(bytes);
    let dynamic = DynamicValue::from_payload(&structure, bytes);
    assert_eq!(fixed.is_ok(), dynamic.is_ok(), "{fixed:?} {dynamic:?}");
    if let (Ok(value), Ok(dynamic)) = (fixed, dynamic) {
        for representation in [Representation::Xcdr1, Representation::Xcdr2] {
            let (mut again, mut dynamic_again) = (Vec::new(), Vec::new());
            to_payload_in(&value, representation, &mut again).expect("what was read has no bounds to break");
            let written = dynamic.to_payload_in(representation, &mut dynamic_again);
            written.expect("what was read has no bounds to break");
            assert_eq!(again, dynamic_again);
            assert_eq!(from_payload::<T>(&again).expect("just written"), value);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Final>(bytes);
    check::<Appendable>(bytes);
    check::<Mutable>(bytes);
    for endianness in [Endianness::Little, Endianness::Big] {
        if let Ok(information) = TypeInformation::decode(bytes, endianness) {
            let again = information.to_bytes().expect("a few types");
            let _ = TypeInformation::decode(&again, Endianness::Little).expect("just written");
        }
    }
});
