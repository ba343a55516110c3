//! XML profiles and types: whatever the text, it is loaded or refused without a panic, and what is told names a line of it.
#![no_main]

use bus::xml::{Document, Layout, Profiles, Types};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.lines().count() + 1;
    let environment = |name: &str| (name.len() < 4).then(|| format!("<{name}>"));
    let document = match Document::parse("f.xml", text, &environment) {
        Ok(document) => document,
        Err(error) => return assert!(error.place.line as usize <= lines && !error.remedy.is_empty()),
    };
    for layout in [Layout::Standard, Layout::FastDds2] {
        if let Err(error) = Types::load_as(std::slice::from_ref(&document), layout) {
            assert!((1..=lines).contains(&(error.place.line as usize)), "{error}");
        }
    }
    match Profiles::load(&[document]) {
        Ok(profiles) => {
            for finding in &profiles.findings {
                assert!((1..=lines).contains(&(finding.place.line as usize)), "{finding}");
            }
        }
        Err(error) => assert!((1..=lines).contains(&(error.place.line as usize)), "{error}"),
    }
});
