#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: runs the program as a user would"
)]
//! The bus commands with types described in XML: `encode` and `decode`, and the cases about values.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.arg("bus").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn path(id: &str, file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../tests/cases", id, file].iter().collect();
    path.to_str().unwrap().to_owned()
}

fn case(id: &str, file: &str) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path(id, file)).unwrap()).unwrap()
}

/// A file of this test's own, with what stands within `<type>`.
fn types_file(name: &str, types: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let content = format!("<types xmlns='http://www.eprosima.com'>\n<type>{types}</type></types>");
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The octets of a value as hexadecimal text, or the exit code and what was told.
fn encoded(file: &str, name: &str, options: &[&str], value: &Json) -> Result<String, (i32, String)> {
    let arguments = [&["encode", "--types", file, "--type", name], options].concat();
    let output = run(&arguments, value.to_string().as_bytes());
    match output.status.code() {
        Some(0) => Ok(text(&output.stdout).trim().to_owned()),
        code => Err((code.unwrap(), text(&output.stderr).replace('\n', " "))),
    }
}

fn decoded(file: &str, name: &str, octets: &[u8]) -> Result<Json, (i32, String)> {
    let output = run(&["decode", "--json", "--types", file, "--type", name], octets);
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        code => Err((code.unwrap(), text(&output.stderr).replace('\n', " "))),
    }
}

/// Case A01: the value of the file gives the octets of another DDS, which give the value back.
#[test]
fn a_value_and_its_octets() {
    let (file, values) = (path("A01", "types.xml"), case("A01", "values.json"));
    let name = values["type"].as_str().unwrap();
    let expected = case("A01", "expected.json")["xcdr1_le_hex"].as_str().unwrap().to_owned();
    assert_eq!(encoded(&file, name, &[], &values["value"]).unwrap(), expected);
    assert_eq!(decoded(&file, name, expected.as_bytes()).unwrap(), values["value"]);
}

/// Case A01, mutated: every layout of another value comes back, from text and from octets.
#[test]
fn every_layout_of_another_value() {
    let (file, mut value) = (path("A01", "types.xml"), case("A01", "values.json")["value"].clone());
    value["zones"][1] = json!({"name": "psys", "energy_uj": u64::MAX});
    value["power"] = json!([1e300, -0.25]);
    let mut seen = Vec::new();
    for options in [
        &[][..],
        &["--big-endian"],
        &["--representation", "xcdr2"],
        &["--representation", "xcdr2", "--big-endian"],
    ] {
        let hex = encoded(&file, "NodeReport", options, &value).unwrap();
        assert_eq!(decoded(&file, "NodeReport", hex.as_bytes()).unwrap(), value);
        let raw = [&["encode", "--raw", "--types", &file, "--type", "NodeReport"], options].concat();
        let raw = run(&raw, value.to_string().as_bytes()).stdout;
        assert_eq!(raw.iter().map(|octet| format!("{octet:02x}")).collect::<String>(), hex);
        assert_eq!(decoded(&file, "NodeReport", &raw).unwrap(), value);
        seen.push(hex[..8].to_owned());
    }
    assert_eq!(seen, ["00010000", "00000000", "00070000", "00060000"]);
}

/// Case A04: strings up to the bound are encoded, longer ones refused with the bound.
#[test]
fn strings_up_to_the_bound() {
    let file = path("A04", "types.xml");
    for row in case("A04", "expected.json").as_array().unwrap() {
        let value = json!({"s": row["in"]});
        match encoded(&file, "Short", &[], &value) {
            Ok(hex) => {
                assert_eq!(row["ok"], true, "{row}");
                assert!(row["xcdr1_le_hex"].as_str().is_none_or(|expected| expected == hex), "{row}: {hex}");
                assert_eq!(decoded(&file, "Short", hex.as_bytes()).unwrap(), value);
            }
            Err((code, told)) => {
                assert!(row["ok"] == false && code == 2 && told.contains("bound of 15"), "{row}: {told}");
            }
        }
    }
}

/// Case A07: the fields of a bitset are packed as one number; a number that does not fit its field is refused.
#[test]
fn fields_are_packed() {
    let case = case("A07", "bitset.json");
    let member = "<struct name='S'><member name='m' type='nonBasic' nonBasicTypeName='B'/></struct>";
    let file = types_file("bitset.xml", &format!("{}{member}", case["xml"].as_str().unwrap()));
    let packed = case["packed_hex"].as_str().unwrap().trim_start_matches("0x");
    let value = json!({"m": case["value"]});
    let hex = encoded(&file, "S", &["--big-endian"], &value).unwrap();
    assert_eq!(hex, format!("00000000{packed}"));
    assert_eq!(decoded(&file, "S", hex.as_bytes()).unwrap(), value);
    let (code, told) = encoded(&file, "S", &[], &json!({"m": {"d": 2048}})).unwrap_err();
    assert!(code == 2 && told.contains("S.m.d") && told.contains("12 bits"), "{told}");
}

/// What is asked for wrongly is told with what would be right: no type, an unknown one, a file with a fault, a value that
/// is none, octets of another type.
#[test]
fn faults_are_explained() {
    let file = path("A12", "scoped.xml");
    let scoped = case("A12", "expected.json")["type_name"].as_str().unwrap().to_owned();
    assert_eq!(encoded(&file, &scoped, &[], &json!({"watts": 1.5})).unwrap(), "000100000000c03f");
    for (arguments, code, told) in [
        (&["encode", "--types", &file][..], 2, "--type"),
        (&["encode", "--types", &file, "--type", "Cap_"], 2, scoped.as_str()),
        (&["encode", "--type", "regale::Nothing"], 2, "--types"),
        (&["encode", "--types", "/nonexistent.xml", "--type", "T"], 2, "/nonexistent.xml"),
        (&["decode", "--types", &file, "--type", &scoped], 1, "neither hexadecimal"),
    ] {
        let output = run(arguments, b"nothing");
        let shown = text(&output.stderr).replace(['\n', '│'], " ");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
        assert!(shown.contains(told), "{arguments:?}: {shown}");
    }
    let (code, told) = decoded(&file, &scoped, b"00010000 0000").unwrap_err();
    assert!(code == 1 && told.contains("4 are needed"), "{told}");
    let loops = path("A14", "loop.xml");
    let (code, told) = encoded(&loops, "Loop", &[], &json!({})).unwrap_err();
    assert!(code == 2 && told.contains("loop.xml:3"), "{told}");
}

/// The product's own types need no file, and a key is encoded alone.
#[test]
fn own_types_need_no_file() {
    let output = run(&["encode", "--type", "regale::NmStatus"], b"{}");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let hex = text(&output.stdout);
    let decoded = run(&["decode", "--json", "--type", "regale::NmStatus"], hex.as_bytes());
    let value: Json = serde_json::from_slice(&decoded.stdout).unwrap();
    assert!(value.as_object().unwrap().contains_key("header"), "{value}");
    let file = types_file(
        "keyed.xml",
        "<struct name='K'><member name='id' type='uint16' key='true'/><member name='x' type='uint64'/></struct>",
    );
    assert_eq!(encoded(&file, "K", &["--key"], &json!({"id": 258, "x": 1})).unwrap(), "000100000201");
    let output = run(&["decode", "--key", "--json", "--types", &file, "--type", "K"], b"000100000201");
    assert_eq!(serde_json::from_slice::<Json>(&output.stdout).unwrap(), json!({"id": 258, "x": 0}));
}

fn fixture(file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../bus/tests/fixtures", file].iter().collect();
    path.to_str().unwrap().to_owned()
}

/// Every construct of the dialect is, in the layout of Fast DDS 2, octet for octet what Fast DDS 2.9 makes of the same
/// file; where it keeps to the standards, also without being asked to.
#[test]
fn samples_of_fast_dds_are_ours() {
    let file = fixture("xml/every_type.xml");
    let text = std::fs::read_to_string(fixture("fastdds_samples.json")).unwrap();
    let samples: Json = serde_json::from_str(&text).unwrap();
    for sample in samples["samples"].as_array().unwrap() {
        let (name, hex) = (sample["type"].as_str().unwrap(), sample["hex"].as_str().unwrap());
        let encoded_as = |options: &[&str]| encoded(&file, name, options, &sample["value"]);
        assert_eq!(encoded_as(&["--fast-dds-2"]).unwrap(), hex, "{name}");
        let arguments = ["decode", "--json", "--fast-dds-2", "--types", &file, "--type", name];
        let output = run(&arguments, hex.as_bytes());
        assert_eq!(serde_json::from_slice::<Json>(&output.stdout).unwrap(), sample["value"], "{name}");
        let is_same = encoded_as(&[]).is_ok_and(|ours| ours == hex);
        assert_eq!(Json::from(is_same), sample["is_standard"], "{name}");
    }
}

/// Every construct comes back in the standard layout of both representations, with what stands in the fixture.
#[test]
fn every_construct_comes_back() {
    let file = fixture("xml/every_type.xml");
    for (name, value) in [
        ("power::Wide", json!({"letter": "€", "text": "a€𝄞", "quad": "0x4000921fb54442d18469898cc51701b8"})),
        (
            "power::Bits",
            json!({
                "flags": ["LOCKED", 7],
                "register": {"units": 7, "enabled": 1, "limit": 1023, "offset": -2048},
                "long_register": {"units": 0, "enabled": 0, "limit": 0, "offset": 0, "window": 127},
            }),
        ),
        (
            "power::Collections",
            json!({
                "grid": [[1, 2, 3], [4, 5, 6]], "rows": [[1, -1], [2, -2], [3, -3]], "list": [i64::MIN],
                "lists": [["a", ""], []], "by_number": {"-5": 0.5, "6": 1.5}, "by_name": {"1": {"x": 1, "y": -1}},
                "zones": [{"index": 1, "domain": "DRAM", "limit": 1.0}, {"index": 2, "domain": 77, "limit": 2.0}],
                "pairs": [[], [1, 2, 3]],
            }),
        ),
        (
            "power::Report",
            json!({
                "host": "n1", "sequence": 1, "time": -1, "setting": {"_d": 2, "zone": {"index": 0, "domain": "PSYS", "limit": 0.5}},
                "other": {"_d": 99, "watts": 1.5},
            }),
        ),
    ] {
        for options in
            [&[][..], &["--representation", "xcdr2"], &["--big-endian", "--representation", "xcdr2"]]
        {
            let hex = encoded(&file, name, options, &value).unwrap();
            assert_eq!(decoded(&file, name, hex.as_bytes()).unwrap(), value, "{name} {options:?} {hex}");
        }
    }
}

/// `check` shows every type of a file with its members, and refuses a file with a type that cannot be.
#[test]
fn check_shows_types() {
    let output = run(&["check", "--json", &fixture("xml/every_type.xml")], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown: Json = serde_json::from_slice(&output.stdout).unwrap();
    let types = &shown["types"];
    assert_eq!(types.as_object().unwrap().len(), 17);
    assert_eq!(types["power::Domain"]["enumerators"], json!({"DRAM": 4, "PACKAGE": 0, "PSYS": 5}));
    assert_eq!(types["power::Limit"]["resolved"], "double");
    assert_eq!(types["power::Report"]["base"], "power::Base");
    assert_eq!(types["power::Report"]["members"][2]["name"], "time");
    assert_eq!(types["power::LongRegister"]["bits"], 37);
    assert_eq!(types["power::Setting"]["cases"][1]["labels"], json!([1, 2]));
    let output = run(&["check", &path("A14", "loop.xml")], b"");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    assert!(text(&output.stderr).contains("loop.xml:3"), "{}", text(&output.stderr));
}

/// `echo` shows what `pub` writes of a type that only a file describes, with its key; a type of another name stays away.
#[test]
fn echo_shows_what_pub_writes() {
    let file = fixture("xml/every_type.xml");
    let ends = ["--domain", "77", "--types", &file, "--type", "power::Report"];
    let mut echo = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    echo.args(["bus", "echo", "lab/report", "--count", "2", "--for", "30 s", "--json"]).args(ends);
    echo.args(["--where", "host LIKE 'n%' AND sequence BETWEEN 3 AND 4"]);
    let echo = echo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sample = json!({"host": "n7", "sequence": 3, "setting": {"name": "psys"}});
    let publish =
        ["pub", "lab/report", &sample.to_string(), "--count", "2", "--period", "10 ms", "--wait", "20 s"];
    let output = run(&[&publish[..], &ends[..]].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = echo.wait_with_output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    let lines: Vec<Json> =
        text(&shown.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["data"]["setting"], json!({"_d": 7, "name": "psys"}));
    assert_eq!(lines[1]["data"]["host"], "n7");
}

/// `echo` refuses an expression that is none on the type, and says where and what would do.
#[test]
fn echo_refuses_a_wrong_expression() {
    let output =
        run(&["echo", "regale/mon/node", "--domain", "78", "--where", "node = 'n1'", "--for", "5 s"], b"");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    let shown = text(&output.stderr);
    assert!(shown.contains("at character 1") && shown.contains("header, window_start_ns"), "{shown}");
}
