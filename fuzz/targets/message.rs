//! RTPS messages: every submessage and what hangs on it is read without a panic, and no set is larger than its bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::message::{MessageReader, Submessage, sole_destination};

fuzz_target!(|bytes: &[u8]| {
    let _ = sole_destination(bytes);
    let Ok((_, submessages)) = MessageReader::new(bytes) else { return };
    for submessage in submessages.flatten() {
        match submessage {
            Submessage::AckNack(acknack) => assert!(acknack.missing.iter().count() <= 256),
            Submessage::NackFrag(nack) => assert!(nack.missing.iter().count() <= 256),
            Submessage::Gap(gap) => assert!(gap.list.iter().count() <= 256),
            Submessage::Data(data) => {
                if let Some(inline) = data.inline_qos {
                    let _ = (inline.key_hash(), inline.status_info(), inline.iter().count());
                }
            }
            Submessage::DataFrag(frag) => assert!(frag.bytes.len() <= bytes.len()),
            _ => {}
        }
    }
});
