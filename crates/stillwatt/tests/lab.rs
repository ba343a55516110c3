#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "I/O shell: runs the program as a user would and reads its files; a failure in a helper is a failed test"
)]
//! `lab` from outside: that a study writes what it measured. No figure is judged here.

use std::fs;
use std::process::Command;

use serde_json::Value;

/// A study of the smallest size writes its tables, the figures that have data in both formats, and a record that names
/// what was left out; the command in it repeats it.
#[test]
fn regale_transports_writes_files() {
    let folder = std::env::temp_dir().join(format!("stillwatt-lab-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_stillwatt"));
    command.args(["lab", "regale", "transports", "--quick", "--runs", "1", "--processes-max", "2"]);
    command.args(["--peer", "floor,stillwatt", "--domain", "91", "--out"]).arg(&folder);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    let table = text("table2.csv");
    assert!(
        table.starts_with("transport,nodes,subscribers_per_node,contestant,runs,latency_seconds,"),
        "{table}"
    );
    assert!(table.contains("udp,1,1,floor,1,") && table.contains("tcp,1,1,floor,1,"), "{table}");
    for name in ["table2-1", "figure5"] {
        assert!(text(&format!("{name}.svg")).starts_with("<svg "), "{name}");
        assert!(read(&format!("{name}.pdf")).starts_with(b"%PDF-"), "{name}");
    }
    // Nothing of figure 6 fits into two processes.
    assert!(!folder.join("figure6.svg").exists());
    let record: Value = serde_json::from_str(&text("record.json")).unwrap();
    assert_eq!(record["schema"], "stillwatt.lab-regale-transports/1");
    let remarks = record["remarks"].to_string();
    assert!(remarks.contains("figure6: UDP with 4 x 10 subscribers left out"), "{remarks}");
    assert!(
        record["command"]
            .as_str()
            .unwrap()
            .contains("--quick --peer floor,stillwatt --runs 1 --processes-max 2")
    );
    fs::remove_dir_all(&folder).unwrap();
}
