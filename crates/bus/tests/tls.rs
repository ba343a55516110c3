#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes in private networks; a failure in a helper is a failed test"
)]
//! TCP secured by TLS: who has a certificate of the authority takes part, and who has not is told why.

mod probe;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use bus::{JoinError, Participant, TcpError, TcpTransport, TlsError, TlsFiles, Transports};
use peers::{Link, Namespace, skip};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use probe::{Probe, example};

/// A certificate authority.
type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A folder with files for one process.
struct Folder(PathBuf);

impl Folder {
    /// `certificate.pem` and `key.pem` for `name`, signed by `by`, and the authority that it trusts in `ca.pem`.
    fn new(name: &str, by: &Authority, trusts: &Authority) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("stillwatt-tls-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_string()]).unwrap().signed_by(&key, by).unwrap();
        std::fs::write(folder.join("certificate.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(folder.join("ca.pem"), trusts.pem()).unwrap();
        Self(folder)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(host: &Namespace, program: &str, tail: &[&str]) -> Probe {
    Probe::start(host.command(example(program)), tail)
}

fn link(test: &str) -> Option<Link> {
    Link::create(2).map_err(|reason| skip(test, &reason)).ok()
}

/// Server and client whose certificates are of one authority exchange big samples in both directions; the server's
/// address is in its certificate.
#[test]
fn both_sides_are_known() {
    let Some(link) = link("both_sides_are_known") else { return };
    let [here, there] = link.hosts() else { panic!("two hosts") };
    let root = authority("root");
    let (server, client) = (Folder::new("10.77.0.1", &root, &root), Folder::new("client", &root, &root));
    let tail = ["--transports", "tcp", "--topic", "t", "--type", "Big", "--count", "20"];
    for (verb, other) in [("pub", "sub"), ("sub", "pub")] {
        let listen = [&[verb, "--listen", "0.0.0.0:7400", "--tls", server.path()], &tail[..]].concat();
        let connect = [&[other, "--connect", "10.77.0.1:7400", "--tls", client.path()], &tail[..]].concat();
        let (mut first, mut second) = (start(here, "peer", &listen), start(there, "peer", &connect));
        let subscriber = if verb == "sub" { &mut first } else { &mut second };
        for k in 0..20 {
            let line = subscriber.sample();
            assert_eq!((line["seq"].as_u64(), line["length"].as_u64()), (Some(k), Some(200_000)), "{line}");
        }
    }
}

/// Runs a server and a client that must not meet; returns what each says about it.
fn refused(hosts: &[Namespace], server: &[&str], client: &[&str]) -> (String, String) {
    let [here, there] = hosts else { panic!("two hosts") };
    let tail = ["--transports", "tcp", "--expect", "1", "--seconds", "2"];
    let listen = [&["discover", "--listen", "0.0.0.0:7400"], &tail[..], server].concat();
    let connect = [&["discover", "--connect", "10.77.0.1:7400"], &tail[..], client].concat();
    let (mut server, mut client) = (start(here, "probe", &listen), start(there, "probe", &connect));
    let (at_server, at_client) = (server.line(), client.line());
    assert_eq!((at_server["participants"].as_u64(), at_client["participants"].as_u64()), (Some(0), Some(0)));
    (at_server["refused"].to_string(), at_client["failing"].to_string())
}

/// A client with a certificate of a stranger, or without TLS, a server with a certificate of a stranger or for another
/// name, or without TLS: nobody meets, and both sides say why.
#[test]
fn strangers_are_refused_with_reasons() {
    let Some(link) = link("strangers_are_refused_with_reasons") else { return };
    let (root, stranger) = (authority("root"), authority("stranger"));
    let server = Folder::new("10.77.0.1", &root, &root);
    let client = Folder::new("client", &root, &root);
    let (with_server, with_client) = (["--tls", server.path()], ["--tls", client.path()]);

    let foreign = Folder::new("foreign-client", &stranger, &root);
    let (at_server, at_client) = refused(link.hosts(), &with_server, &["--tls", foreign.path()]);
    assert!(at_server.contains("UnknownIssuer"), "{at_server}");
    assert!(at_client.contains("the peer refuses us"), "{at_client}");

    let (at_server, at_client) = refused(link.hosts(), &with_server, &[]);
    assert!(at_server.contains("does not speak TLS"), "{at_server}");
    assert!(at_client.contains("speaks TLS"), "{at_client}");

    let foreign = Folder::new("10.77.0.1", &stranger, &root);
    let (at_server, at_client) = refused(link.hosts(), &["--tls", foreign.path()], &with_client);
    assert!(at_server.contains("the peer refuses us"), "{at_server}");
    assert!(at_client.contains("UnknownIssuer"), "{at_client}");

    let (at_server, at_client) =
        refused(link.hosts(), &with_server, &[&with_client[..], &["--server-name", "head.example"]].concat());
    assert!(at_server.contains("the peer refuses us"), "{at_server}");
    assert!(at_client.contains("not valid for name") && at_client.contains("head.example"), "{at_client}");

    let (at_server, at_client) = refused(link.hosts(), &[], &with_client);
    assert!(at_server.contains("speaks TLS"), "{at_server}");
    assert!(at_client.contains("closed the connection"), "{at_client}");
}

fn join(files: TlsFiles) -> TlsError {
    let tcp = TcpTransport { tls: Some(files), ..TcpTransport::default() };
    match Participant::builder().domain(230).transports(Transports::tcp(tcp)).build() {
        Err(JoinError::Tcp { source: TcpError::Tls(error), .. }) => error,
        other => panic!("{other:?}"),
    }
}

/// Files that are missing, have something else in them or do not belong together are named before anybody joins.
#[test]
fn wrong_files_are_named() {
    let root = authority("root");
    let (one, other) = (Folder::new("one", &root, &root), Folder::new("other", &root, &root));
    let file = |folder: &Folder, name: &str| folder.0.join(name);
    let good = TlsFiles {
        certificate: file(&one, "certificate.pem"),
        key: file(&one, "key.pem"),
        ca: file(&one, "ca.pem"),
        server_name: None,
    };
    let missing = join(TlsFiles { ca: PathBuf::from("/nowhere/ca.pem"), ..good.clone() });
    assert!(matches!(&missing, TlsError::Read { path, .. } if path == Path::new("/nowhere/ca.pem")));
    let swapped = join(TlsFiles { key: good.certificate.clone(), ..good.clone() });
    assert!(matches!(&swapped, TlsError::Pem { path, what: "private key" } if *path == good.certificate));
    let foreign = join(TlsFiles { key: file(&other, "key.pem"), ..good.clone() });
    assert!(matches!(&foreign, TlsError::Refused { path, .. } if *path == good.certificate), "{foreign}");
    let no_name = join(TlsFiles { server_name: Some("no name".into()), ..good });
    assert!(matches!(no_name, TlsError::ServerName { .. }));
}
