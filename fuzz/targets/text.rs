//! Text from outside: partition names, CPU lists.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtps::partition::{PartitionRule, is_matched};

fuzz_target!(|text: &str| {
    let (one, other) = text.split_once('\n').unwrap_or((text, "*"));
    let (one, other) = ([one.to_string()], [other.to_string()]);
    // Matching is by both names, so their order does not matter.
    for rule in [PartitionRule::FastDds, PartitionRule::Dds] {
        assert_eq!(is_matched(rule, &one, &other), is_matched(rule, &other, &one));
    }
    if let Ok(cpus) = text.parse::<units::CpuList>() {
        assert_eq!(cpus.to_string().parse::<units::CpuList>().as_ref(), Ok(&cpus));
    }
});
