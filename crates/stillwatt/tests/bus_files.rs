#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: runs the program as a user would"
)]
//! The bus commands that read files: `check`, `match` and `dissect`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.arg("bus").args(arguments).env("NODE", "n042").stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn case(id: &str, file: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../tests/cases", id, file].iter().collect();
    path.to_str().unwrap().to_owned()
}

/// A file of this test's own.
fn file(name: &str, content: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// `check` prints what a file means as JSON, with this process's environment in it, and tells on stderr, with the line,
/// what has no effect.
#[test]
fn check_resolves() {
    let path = file(
        "check.xml",
        "<dds xmlns='http://www.eprosima.com'><profiles>\n<participant profile_name='p'><rtps>\n\
         <name>${NODE}</name>\n<listenSocketBufferSize>9</listenSocketBufferSize></rtps></participant></profiles></dds>",
    );
    let output = run(&["check", &path]);
    assert_eq!(output.status.code(), Some(0));
    let result = json(&output);
    assert_eq!(result["participants"]["p"]["name"], "n042");
    assert_eq!(result["participants"]["p"]["transports"]["udp_v4"], true);
    assert_eq!(result["findings"][0]["line"], 4);
    let told = text(&output.stderr);
    assert!(told.starts_with(&format!("{path}:4: warning: <listenSocketBufferSize>")), "{told}");
}

/// A file that hardly means what it says is shown and still ends with 2; one that cannot be used shows nothing.
#[test]
fn check_refuses() {
    let output = run(&["check", "--json", &case("A63", "lookup.xml")]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json(&output)["writers"]["cap"]["qos"]["reliability"], "reliable");
    let broken = file("broken.xml", "<dds>\n<profiles>\n<writer/></profiles></dds>");
    for path in [broken.as_str(), "/nonexistent.xml"] {
        let output = run(&["check", path]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    }
    let told = text(&run(&["check", &broken]).stderr).replace('\n', " ");
    assert!(told.contains("broken.xml:3") && told.contains("did you mean <data_writer>?"), "{told}");
}

/// `match` names every policy and partition that stands against a match, from profiles and from options.
#[test]
fn match_explains() {
    let lookup = case("A63", "lookup.xml");
    let (writer, reader) = (format!("{lookup}#cap"), format!("{lookup}#b"));
    let ends = ["match", "--json", "--writer", &writer, "--reader", &reader];
    let output = run(&ends);
    assert_eq!((output.status.code(), &json(&output)["match"]), (Some(0), &json!(true)));
    let qos =
        ["--writer-qos", "best-effort", "--reader-qos", "reliable,deadline=1 s", "--reader-partition", "a"];
    let output = run(&[&ends[..], &qos].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(result["incompatible_policies"], json!(["RELIABILITY", "DEADLINE"]));
    assert_eq!(result["matching_partitions"], json!([]));
    let output = run(&[&["match"], &ends[2..], &qos].concat());
    let shown = text(&output.stdout);
    assert!(shown.contains("the writer offers less") && shown.contains("no name matches another"), "{shown}");
}

/// The rule for two names with wildcards is the caller's choice.
#[test]
fn match_knows_both_rules() {
    for (rule, expected) in [("fastdds", 0), ("dds", 1)] {
        let names = ["--writer-partition", "a*", "--reader-partition", "a*"];
        let output = run(&[&["match", "--rule", rule][..], &names].concat());
        assert_eq!(output.status.code(), Some(expected), "{rule}");
    }
    assert_eq!(run(&["match", "--writer", "nowhere"]).status.code(), Some(2));
    assert_eq!(run(&["match", "--writer-qos", "quick"]).status.code(), Some(2));
}

/// `dissect` shows messages of hexadecimal text and of octets alike, names what is malformed, and fails when there is no
/// message.
#[test]
fn dissect_shows_messages() {
    let good = case("A45", "mixed.hex");
    let output = run(&["dissect", &good]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(shown.contains("SRTPS_POSTFIX") && shown.contains("value=udpv4://127.0.0.1:7410"), "{shown}");
    let output = run(&["dissect", "--json", &good]);
    let whole = json(&output);
    let content = std::fs::read_to_string(&good).unwrap();
    let digits: String =
        content.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect();
    let octets: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap())
        .collect();
    let raw = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mixed.bin");
    std::fs::write(&raw, &octets).unwrap();
    let raw = run(&["dissect", "--json", raw.to_str().unwrap()]);
    assert_eq!(json(&raw)["message"], whole["message"]);
    let output = run(&["dissect", "--json", "--malformed", &case("A50", "hb_rev.hex")]);
    assert_eq!(json(&output)["message"]["parts"][0]["malformed"], "last number below the first");
    let output = run(&["dissect", "--malformed", &good]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), ""));
    for content in ["", "52 5g", "ffff"] {
        let path = file("no_message.hex", content);
        assert_eq!(run(&["dissect", &path]).status.code(), Some(1), "{content:?}");
    }
    assert_eq!(run(&["dissect", "/nonexistent"]).status.code(), Some(2));
}
