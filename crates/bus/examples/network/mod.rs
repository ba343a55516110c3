//! Which transports an example uses: `--transports udp,udpm,udp6,shm,tcp` (`udpm`: data by multicast), `--listen
//! ADDRESS`, `--connect ADDRESS`, and `--tls FOLDER` with `certificate.pem`, `key.pem` and `ca.pem`; `--server-name
//! NAME` for what the server's must be for.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use bus::{TcpTransport, TlsFiles, Transports};

/// Reads them from the values of the options.
pub(crate) fn transports(values: &BTreeMap<String, Vec<String>>) -> Result<Transports, String> {
    let all = |name: &str| values.get(name).cloned().unwrap_or_default();
    let addresses = |name: &str| -> Result<Vec<SocketAddr>, String> {
        all(name).iter().map(|one| one.parse().map_err(|error| format!("--{name} {one}: {error}"))).collect()
    };
    let Some(names) = all("transports").pop() else { return Ok(Transports::default()) };
    let has = |name: &str| names.split(',').any(|one| one == name);
    let tls = all("tls").pop().map(|folder| {
        let file = |name: &str| Path::new(&folder).join(name);
        TlsFiles {
            certificate: file("certificate.pem"),
            key: file("key.pem"),
            ca: file("ca.pem"),
            server_name: all("server-name").pop(),
        }
    });
    let tcp = TcpTransport { listen: addresses("listen")?, connect: addresses("connect")?, tls };
    Ok(Transports {
        udp_v4: has("udp") || has("udpm") || has("shm"),
        udp_v6: has("udp6"),
        shared_memory: has("shm"),
        multicast_data: has("udpm"),
        tcp: has("tcp").then_some(tcp),
        ..Transports::default()
    })
}
