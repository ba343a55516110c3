//! Serialized samples: what is read as a type can be written and is then read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::cdr::{DdsType, from_payload, key_from_payload, key_hash_of_payload, to_payload};
use rtps::types::DynamicValue;

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Inner", crate = ::rtps)]
struct Inner {
    label: String,
    numbers: Vec<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "fuzz::Outer", crate = ::rtps)]
struct Outer {
    #[dds(key)]
    id: u32,
    is_on: bool,
    bytes: Vec<u8>,
    inner: Inner,
    list: Vec<Inner>,
    pair: [i64; 2],
}

fuzz_target!(|bytes: &[u8]| {
    let _ = (key_from_payload::<Outer>(bytes), key_hash_of_payload::<Outer>(bytes, false));
    let structure = Outer::structure();
    let fixed = from_payload::<Outer>(bytes);
    let dynamic = DynamicValue::from_payload(&structure, bytes);
    assert_eq!(fixed.is_ok(), dynamic.is_ok(), "{fixed:?} {dynamic:?}");
    if let (Ok(value), Ok(dynamic)) = (fixed, dynamic) {
        let (mut again, mut dynamic_again) = (Vec::new(), Vec::new());
        to_payload(&value, &mut again).expect("what was read has no bounds to break");
        dynamic.to_payload(&mut dynamic_again).expect("what was read has no bounds to break");
        assert_eq!(again, dynamic_again);
        assert_eq!(from_payload::<Outer>(&again).expect("just written"), value);
    }
});
