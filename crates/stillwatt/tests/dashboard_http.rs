#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "I/O shell: test client of the dashboard's server"
)]
//! The dashboard's server seen from outside, byte by byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use stillwatt::snapshot::Snapshot;
use stillwatt::web::{Dashboard, Feed, PAGES_MAX, Severity, bind};

/// A hang ends the test; no answer is expected to take near this long.
const WATCHDOG: Duration = Duration::from_secs(30);

struct Server {
    feed: Arc<Feed>,
    port: u16,
    _dashboard: Dashboard,
}

impl Server {
    fn start() -> Self {
        let feed = Arc::new(Feed::new());
        let bound = bind(Some(0)).unwrap();
        let port = bound.port();
        let dashboard = Dashboard::start(bound, Arc::clone(&feed)).unwrap();
        Self { feed, port, _dashboard: dashboard }
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(WATCHDOG)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, request: &str) -> String {
        read_all(self.send(request))
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.port
        ))
    }

    fn follow(&self) -> BufReader<TcpStream> {
        let request = format!("GET /events HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", self.port);
        BufReader::new(self.send(&request))
    }
}

fn read_all(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // The server may reset after an answer to a broken request; what came before counts.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

fn snapshot(sequence: u64) -> Snapshot {
    let absent = r#"{"flags":[],"reason":"test"}"#;
    let text = format!(
        r#"{{"schema":"stillwatt.snapshot/1","time_unix_seconds":{sequence}.5,"sequence":{sequence},"node":"n1",
        "power":{absent},"frequency":{absent},"utilisation":{absent},"temperature":{absent},"memory":{{}},
        "bus":{{"domain":0,"participants":1,"topics":[],"samples_received_total":0,"samples_sent_total":0,
        "samples_lost_total":0,"malformed_datagrams_total":0}},
        "monitor":{{"history_series":0,"history_samples":0,"history_samples_per_series_max":1,"history_overwritten_total":0,
        "reports_lost_total":0,"recorded_total":0,"recording_lost_total":0}},
        "dashboard":{{"clients":0,"clients_max":32,"clients_refused_total":0,"messages_dropped_total":0}},"self":{{}}}}"#
    );
    Snapshot::from_json(&text).unwrap()
}

/// Reads lines of an event stream until one starts with `start`, and returns the rest of that line.
fn next_line(stream: &mut BufReader<TcpStream>, start: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended before {start:?}");
        if let Some(rest) = line.trim_end().strip_prefix(start) {
            return rest.to_owned();
        }
    }
}

/// The page and its parts are there, with a policy that forbids everything from elsewhere.
#[test]
fn page_is_served_with_a_strict_policy() {
    let server = Server::start();
    for path in ["/", "/style.css", "/app.js", "/uplot.js", "/uplot.css", "/favicon.svg"] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
        let head = answer.split("\r\n\r\n").next().unwrap();
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self';"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    }
    assert!(server.get("/elsewhere").starts_with("HTTP/1.1 404 "));
}

/// A browser that was led here under another name gets nothing (DNS rebinding).
#[test]
fn foreign_host_is_misdirected() {
    let server = Server::start();
    server.feed.publish(&snapshot(1)).unwrap();
    for host in ["evil.example", &format!("evil.example:{}", server.port), "127.0.0.1:1"] {
        for path in ["/", "/api/snapshot", "/events", "/none"] {
            let answer =
                server.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 421 "), "{host}{path}: {answer}");
            assert!(!answer.contains("stillwatt.snapshot"), "{answer}");
        }
    }
}

/// Nothing can be sent in: other methods are refused, HEAD answers without a body.
#[test]
fn only_reading_is_allowed() {
    let server = Server::start();
    let request = |method: &str| {
        format!(
            "{method} / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            server.port
        )
    };
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = server.ask(&request(method));
        assert!(answer.starts_with("HTTP/1.1 405 "), "{method}: {answer}");
        assert!(answer.to_lowercase().contains("\r\nallow: get, head\r\n"), "{answer}");
    }
    let head = server.ask(&request("HEAD"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body(&head), "");
}

/// Garbage, half a request and a huge header end the connection and nothing else.
#[test]
fn bad_requests_do_not_harm() {
    let server = Server::start();
    for request in ["\0\0\0\0", "GET", "GET / HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n", "RTPS\x02\x01 x y\r\n\r\n"] {
        let stream = server.send(request);
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = read_all(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{request:?}: {answer}");
    }
    let huge = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(1 << 20));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    // The server may close before all is written.
    let _ = stream.write_all(huge.as_bytes());
    assert!(server.get("/").starts_with("HTTP/1.1 200 "));
}

/// The latest snapshot is exactly the text that `publish` returned, which is what `up --json` prints.
#[test]
fn snapshot_is_the_published_text() {
    let server = Server::start();
    assert!(server.get("/api/snapshot").starts_with("HTTP/1.1 503 "));
    server.feed.publish(&snapshot(1)).unwrap();
    let text = server.feed.publish(&snapshot(2)).unwrap();
    assert_eq!(body(&server.get("/api/snapshot")), &*text);
}

/// The history holds the last 600 snapshots and says how many went.
#[test]
fn history_is_bounded() {
    let server = Server::start();
    for sequence in 1..=603 {
        server.feed.publish(&snapshot(sequence)).unwrap();
    }
    server.feed.record(1.0, Severity::Info, "test", "a \"quoted\" </script> message").unwrap();
    let answer = server.get("/api/history");
    let history: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(history["dropped_total"], 3);
    assert_eq!(history["snapshots"].as_array().unwrap().len(), 600);
    assert_eq!(history["snapshots"][0]["sequence"], 4);
    let answer = server.get("/api/events");
    let events: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(events["events"][0]["message"], "a \"quoted\" </script> message");
}

/// A page that follows gets each snapshot and each event once, in order.
#[test]
fn stream_carries_snapshots_and_events() {
    let server = Server::start();
    let mut page = server.follow();
    next_line(&mut page, "retry: ");
    let first = server.feed.publish(&snapshot(1)).unwrap();
    let event = server.feed.record(1.0, Severity::Warning, "test", "hello").unwrap();
    let second = server.feed.publish(&snapshot(2)).unwrap();
    assert_eq!(next_line(&mut page, "event: "), "snapshot");
    assert_eq!(next_line(&mut page, "data: "), *first);
    assert_eq!(next_line(&mut page, "event: "), "record");
    assert_eq!(next_line(&mut page, "data: "), *event);
    assert_eq!(next_line(&mut page, "event: "), "snapshot");
    assert_eq!(next_line(&mut page, "data: "), *second);
}

/// One page too many is told so, and the place of a page that left is free again.
#[test]
fn pages_are_bounded() {
    let server = Server::start();
    let mut pages: Vec<_> = (0..PAGES_MAX).map(|_| server.follow()).collect();
    for page in &mut pages {
        next_line(page, "retry: ");
    }
    assert!(server.get("/events").starts_with("HTTP/1.1 503 "));
    assert_eq!(server.feed.activity().clients_refused_total, 1);
    drop(pages);
    // The server notices when it next writes.
    let start = std::time::Instant::now();
    while server.feed.activity().clients > 0 {
        assert!(start.elapsed() < WATCHDOG, "it never noticed that pages left");
        server.feed.record(1.0, Severity::Info, "test", "x").unwrap();
        std::thread::yield_now();
    }
    next_line(&mut server.follow(), "retry: ");
}

/// A page that stops reading loses the oldest messages and learns how many, while another loses none.
#[test]
fn slow_page_loses_messages_and_learns_it() {
    let server = Server::start();
    let mut slow = server.follow();
    next_line(&mut slow, "retry: ");
    let mut quick = server.follow();
    next_line(&mut quick, "retry: ");
    // Far more than the kernel's socket buffers and the feed's queue hold.
    let text = "x".repeat(60_000);
    for _ in 0..500 {
        server.feed.record(1.0, Severity::Info, "test", &text).unwrap();
        assert!(next_line(&mut quick, "data: ").contains(&text));
    }
    assert_eq!(next_line(&mut slow, "event: lag"), "");
    let lag: serde_json::Value = serde_json::from_str(&next_line(&mut slow, "data: ")).unwrap();
    let dropped = lag["messages_dropped"].as_u64().unwrap();
    assert!(dropped > 0);
    assert_eq!(server.feed.activity().messages_dropped_total, dropped);
}
