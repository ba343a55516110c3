#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "I/O shell: a test that drives a browser"
)]
//! The dashboard in a real browser.

mod chromium;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use chromium::Browser;
use serde_json::json;
use stillwatt::snapshot::{
    BusActivity, FrequencyReading, MemoryReading, MonitorActivity, PowerReading, Quality, SCHEMA, SelfCost,
    Snapshot, TemperatureReading, TopicActivity, UtilisationReading,
};
use stillwatt::web::{Dashboard, Feed, Severity, bind};

/// What the dashboard shows is what `up --json` printed under the same number; a click on a topic shows its details.
/// With `STILLWATT_WRITE_SCREENSHOT=1` the picture in the documentation is made anew.
#[test]
fn dashboard_shows_what_up_prints() {
    let Some(mut browser) = chromium::start("dashboard_shows_what_up_prints") else { return };
    let is_picture_wanted = std::env::var_os("STILLWATT_WRITE_SCREENSHOT").is_some_and(|value| value == "1");
    // The picture is of a domain in which no other test can be.
    let domain = if is_picture_wanted { "58" } else { "54" };
    let mut up = Up::start(&["--simulated", "xeon-8260-2s", "--domain", domain]);
    browser.open(&up.address, DESKTOP, "light");
    browser.wait("Number(document.getElementById('main')?.dataset.sequence) >= 3");
    if is_picture_wanted {
        // A picture of a full window; each wait is shorter than the watchdog.
        for sequence in (40..=300).step_by(40) {
            browser.wait(&format!("Number(document.getElementById('main').dataset.sequence) >= {sequence}"));
        }
    }
    browser.click("#pause");
    let sequence =
        browser.evaluate("Number(document.getElementById('main').dataset.sequence)").as_u64().unwrap();
    let printed = up.snapshot(sequence);
    let raw = |name: &str| {
        format!("document.querySelector('[data-reading={name}] [data-part=value]').dataset.value")
    };
    for (name, value) in [
        ("power", printed.power.value_watts),
        ("utilisation", printed.utilisation.value_ratio),
        ("frequency", printed.frequency.value_hertz),
        ("temperature", printed.temperature.value_celsius),
    ] {
        let shown: f64 = browser.evaluate(&raw(name)).as_str().unwrap().parse().unwrap();
        assert_eq!(Some(shown), value, "{name} of snapshot {sequence}");
    }
    let watts = format!("{:.1}", printed.power.value_watts.unwrap());
    assert_eq!(browser.text("[data-reading=power] [data-part=value]"), watts);
    assert_eq!(browser.text("#bus-participants"), printed.bus.participants.to_string());
    assert_eq!(browser.text("#node"), printed.node);
    let topic = printed.bus.topics.iter().find(|topic| topic.name == "regale/mon/node").unwrap();
    browser.click("[data-topic='regale/mon/node']");
    let facts = browser.text(".topic-detail .facts");
    assert!(facts.contains(&topic.type_name), "{facts}");
    assert!(facts.contains(&topic.samples_total.unwrap().to_string()), "{facts}");
    if is_picture_wanted {
        browser.click("[data-topic='regale/mon/node']");
        browser.click("#pause");
        browser
            .evaluate("document.querySelector('.bus .scroll').scrollTop = 0; document.activeElement.blur()");
        let picture = browser.screenshot();
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        std::fs::create_dir_all(docs).unwrap();
        std::fs::write(format!("{docs}/dashboard.png"), base64(&picture)).unwrap();
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A running `up --json`.
struct Up {
    child: Child,
    address: String,
    lines: Receiver<String>,
}

impl Up {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stillwatt"))
            .args(["up", "--json"])
            .args(arguments)
            .env("STATE_DIRECTORY", concat!(env!("CARGO_TARGET_TMPDIR"), "/browser"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = said.find_map(|line| line.strip_prefix("dashboard: ").map(str::to_owned)).unwrap();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Printed lines must not fill their pipe either.
        let (keep, printed) = std::sync::mpsc::channel();
        std::thread::spawn(move || lines.map_while(|line| keep.send(line).ok()).for_each(drop));
        Self { child, address, lines: printed }
    }

    /// The snapshot of this number, which must not have been asked for before.
    fn snapshot(&mut self, sequence: u64) -> Snapshot {
        let mut snapshots = self.lines.iter().map(|line| Snapshot::from_json(&line).unwrap());
        snapshots.find(|snapshot| snapshot.sequence >= sequence).unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The octets of base64 text (RFC 4648 section 4).
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|digit| ALPHABET.iter().position(|known| *known == digit));
    let digits: Vec<usize> = digits.collect();
    let group = |group: &[usize]| {
        let bits = group.iter().chain([0; 3].iter()).take(4).fold(0, |bits, digit| bits << 6 | digit);
        bits.to_be_bytes()[5..5 + group.len() * 6 / 8].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

fn serve_feed() -> (Arc<Feed>, Dashboard) {
    let feed = Arc::new(Feed::new());
    let bound = bind(Some(0)).unwrap();
    let dashboard = Dashboard::start(bound, Arc::clone(&feed)).unwrap();
    (feed, dashboard)
}

fn topic(name: &str, samples_total: u64, lost_total: u64) -> TopicActivity {
    TopicActivity {
        name: name.to_owned(),
        type_name: format!("{name}::Type"),
        writers: 2,
        readers: 3,
        samples_total: Some(samples_total),
        samples_per_second: Some(1.5),
        lost_total: Some(lost_total),
    }
}

fn snapshot(sequence: u64) -> Snapshot {
    let watts = 40.0 + sequence as f64;
    Snapshot {
        schema: SCHEMA.to_owned(),
        time_unix_seconds: 1_700_000_000.0 + sequence as f64,
        sequence,
        node: "n<b>1</b>".to_owned(),
        simulated: Some("xeon-8260-2s".to_owned()),
        power: PowerReading::present(watts, (20.0, 90.0), Quality::Modelled, "model:test"),
        frequency: FrequencyReading::present(2.4e9, (2.4e9, 2.4e9), Quality::Measured, "cpufreq"),
        utilisation: UtilisationReading::present(0.25, (0.25, 0.25), Quality::Measured, "/proc/stat"),
        temperature: TemperatureReading::absent("no thermal zone"),
        memory: MemoryReading { used_bytes: Some(3 << 30), total_bytes: Some(8 << 30), reason: None },
        bus: BusActivity {
            domain: 7,
            participants: 4,
            topics: vec![topic("a/one", sequence, 0), topic("b/two", 2 * sequence, 5)],
            samples_received_total: 3 * sequence,
            samples_sent_total: 1234,
            samples_lost_total: 5,
            malformed_datagrams_total: 0,
        },
        monitor: MonitorActivity { history_series: 1, history_samples: sequence, ..Default::default() },
        dashboard: Default::default(),
        own: SelfCost { cpu_seconds_total: Some(0.1), threads: Some(5), resident_bytes: Some(1 << 23) },
    }
}

fn wait_for_sequence(browser: &mut Browser, sequence: u64) {
    browser.wait(&format!("document.getElementById('main')?.dataset.sequence === '{sequence}'"));
}

/// What is shown is what was published: value, unit, quality and bounds, and the reason where there is no value.
#[test]
fn readings_are_shown_with_quality_and_reason() {
    let Some(mut browser) = chromium::start("readings_are_shown_with_quality_and_reason") else { return };
    let (feed, dashboard) = serve_feed();
    feed.publish(&snapshot(1)).unwrap();
    browser.open(dashboard.address(), DESKTOP, "light");
    wait_for_sequence(&mut browser, 1);
    feed.publish(&snapshot(2)).unwrap();
    wait_for_sequence(&mut browser, 2);
    let tile = |name: &str, part: &str| format!("[data-reading={name}] [data-part={part}]");
    assert_eq!(browser.text(&tile("power", "value")), "42.0");
    assert_eq!(browser.text(&tile("power", "unit")), "W");
    assert_eq!(browser.text(&tile("power", "quality")), "modelled");
    assert_eq!(browser.text(&tile("power", "detail")), "bounds 20.0\u{2009}–\u{2009}90.0\u{a0}W");
    assert_eq!(browser.text(&tile("frequency", "value")), "2.400");
    assert_eq!(browser.text(&tile("frequency", "unit")), "GHz");
    assert_eq!(browser.text(&tile("utilisation", "value")), "25.0");
    assert_eq!(browser.text(&tile("memory", "value")), "3.00");
    assert_eq!(browser.text(&tile("temperature", "value")), "–");
    assert_eq!(browser.text(&tile("temperature", "quality")), "no reading");
    assert_eq!(browser.text(&tile("temperature", "detail")), "no thermal zone");
    assert_eq!(browser.text("[data-chart=temperature] [data-part=absent]"), "No reading: no thermal zone");
    assert_eq!(browser.text("#simulated"), "simulated xeon-8260-2s");
    assert_eq!(browser.text("#node"), "n<b>1</b>");
    assert_eq!(browser.text("#bus-sent"), "1,234");
    assert!(browser.screenshot().starts_with("iVBORw0KGgo"), "a PNG in base64");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A click on a topic opens its details with live numbers, a second click closes them; the keyboard does the same.
#[test]
fn topic_details_open_and_close() {
    let Some(mut browser) = chromium::start("topic_details_open_and_close") else { return };
    let (feed, dashboard) = serve_feed();
    feed.publish(&snapshot(1)).unwrap();
    browser.open(dashboard.address(), DESKTOP, "dark");
    wait_for_sequence(&mut browser, 1);
    let row = "[data-topic='b/two']";
    assert_eq!(browser.evaluate("document.querySelectorAll('.topic-detail').length"), json!(0));
    browser.click(row);
    assert!(browser.text(".topic-detail .facts").contains("b/two::Type"));
    assert_eq!(
        browser.evaluate(&format!("document.querySelector(\"{row} button\").ariaExpanded")),
        json!("true")
    );
    feed.publish(&snapshot(21)).unwrap();
    wait_for_sequence(&mut browser, 21);
    assert!(browser.text(".topic-detail .facts").contains("42"));
    browser.click(row);
    assert_eq!(browser.evaluate("document.querySelectorAll('.topic-detail').length"), json!(0));
    browser.evaluate("document.querySelector(\"[data-topic='a/one'] button\").focus()");
    browser.press("Enter", 13);
    assert!(browser.text(".topic-detail .facts").contains("a/one::Type"));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Pause holds what is shown while readings go on; Resume jumps to the newest.
#[test]
fn pause_holds_and_resume_jumps() {
    let Some(mut browser) = chromium::start("pause_holds_and_resume_jumps") else { return };
    let (feed, dashboard) = serve_feed();
    feed.publish(&snapshot(1)).unwrap();
    browser.open(dashboard.address(), PHONE, "light");
    wait_for_sequence(&mut browser, 1);
    browser.click("#pause");
    assert_eq!(browser.text("#pause"), "Resume");
    for sequence in 2..=4 {
        feed.publish(&snapshot(sequence)).unwrap();
    }
    browser.wait("document.getElementById('live-text').textContent === 'paused, 3 newer'");
    assert_eq!(browser.text("[data-reading=power] [data-part=value]"), "41.0");
    browser.click("#pause");
    wait_for_sequence(&mut browser, 4);
    assert_eq!(browser.text("[data-reading=power] [data-part=value]"), "44.0");
    let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert_eq!(overflow, json!(0), "the page is wider than a phone");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A server that stops is noticed and said; when it is there again, the page goes on with what it has now.
#[test]
fn lost_connection_is_said_and_mended() {
    let Some(mut browser) = chromium::start("lost_connection_is_said_and_mended") else { return };
    let (feed, dashboard) = serve_feed();
    for sequence in 1..=3 {
        feed.publish(&snapshot(sequence)).unwrap();
    }
    browser.open(dashboard.address(), DESKTOP, "light");
    wait_for_sequence(&mut browser, 3);
    assert_eq!(browser.evaluate("document.getElementById('notice').hidden"), json!(true));
    let port: u16 = dashboard.address().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    drop(dashboard);
    browser.wait("document.getElementById('live').dataset.state === 'lost'");
    assert!(browser.text("#notice").contains("does not answer"));
    // A new process begins its numbers anew.
    let feed = Arc::new(Feed::new());
    feed.publish(&snapshot(1)).unwrap();
    let _dashboard = Dashboard::start(bind(Some(port)).unwrap(), Arc::clone(&feed)).unwrap();
    wait_for_sequence(&mut browser, 1);
    feed.publish(&snapshot(2)).unwrap();
    wait_for_sequence(&mut browser, 2);
    assert_eq!(browser.evaluate("document.getElementById('live').dataset.state"), json!("live"));
    assert_eq!(browser.evaluate("document.getElementById('notice').hidden"), json!(true));
}

/// Events are filtered by words and by severity, and markup in them is text.
#[test]
fn events_are_filtered() {
    let Some(mut browser) = chromium::start("events_are_filtered") else { return };
    let (feed, dashboard) = serve_feed();
    feed.publish(&snapshot(1)).unwrap();
    feed.record(1.0, Severity::Info, "bus", "joined domain 7").unwrap();
    feed.record(2.0, Severity::Error, "bus", "<img src=x onerror=alert(1)> broke").unwrap();
    browser.open(dashboard.address(), DESKTOP, "light");
    wait_for_sequence(&mut browser, 1);
    feed.record(3.0, Severity::Warning, "monitor", "lost 2 samples").unwrap();
    browser.wait("document.querySelectorAll('#events li').length === 3");
    assert!(browser.text("#events li:nth-child(2)").contains("<img src=x onerror=alert(1)> broke"));
    browser.click("#events-filter");
    browser.type_text("LOST monitor");
    assert_eq!(browser.evaluate("document.querySelectorAll('#events li').length"), json!(1));
    assert_eq!(browser.text("#events-count"), "1 of 3");
    browser.evaluate(
        "(() => { const f = document.getElementById('events-filter'); f.value = ''; \
        f.dispatchEvent(new Event('input')); const s = document.getElementById('events-severity'); \
        s.value = 'error'; s.dispatchEvent(new Event('change')); })()",
    );
    assert_eq!(browser.text("#events-count"), "1 of 3");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The theme follows the system, can be chosen, and a chosen one outlives a reload; the window is chosen by a click.
#[test]
fn theme_and_window_are_chosen() {
    let Some(mut browser) = chromium::start("theme_and_window_are_chosen") else { return };
    let (feed, dashboard) = serve_feed();
    feed.publish(&snapshot(1)).unwrap();
    browser.open(dashboard.address(), DESKTOP, "dark");
    wait_for_sequence(&mut browser, 1);
    let background = "getComputedStyle(document.body).backgroundColor";
    let dark = browser.evaluate(background);
    browser.click("#theme");
    assert_eq!(browser.text("#theme"), "Theme: light");
    let light = browser.evaluate(background);
    assert_ne!(dark, light);
    browser.open(dashboard.address(), DESKTOP, "dark");
    wait_for_sequence(&mut browser, 1);
    assert_eq!(browser.evaluate(background), light);
    assert_eq!(browser.evaluate("document.querySelector('[name=window]:checked').value"), json!("300"));
    browser.click("[name=window][value='60']");
    assert_eq!(browser.evaluate("document.querySelector('[name=window]:checked').value"), json!("60"));
    assert_eq!(browser.complaints(), [""; 0]);
}
