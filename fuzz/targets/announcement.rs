//! Discovery data: what is read can be written and is then read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::discovery::data::{EndpointData, ParticipantData};

fuzz_target!(|bytes: &[u8]| {
    let _ = (ParticipantData::decode_key(bytes), EndpointData::decode_key(bytes));
    if let Ok(data) = ParticipantData::decode(bytes) {
        let mut again = Vec::new();
        data.encode(&mut again);
        assert_eq!(ParticipantData::decode(&again), Ok(data));
    }
    if let Ok(data) = EndpointData::decode(bytes)
        && let Some(kind) = data.kind()
    {
        let mut again = Vec::new();
        data.encode(kind, &mut again);
        assert!(
            EndpointData::decode(&again)
                .is_ok_and(|again| again.guid == data.guid && again.topic == data.topic)
        );
    }
});
