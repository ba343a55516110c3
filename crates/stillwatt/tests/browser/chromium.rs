//! A headless Chromium, driven over the DevTools protocol (version 1.3, domains Page, Runtime, Log, Input,
//! Emulation, Target) through its WebSocket on loopback. Touches a child process, a socket and a temporary folder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// A hang ends the test; nothing is expected to take near this long.
const WATCHDOG: Duration = Duration::from_secs(60);
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page. It ends when this is dropped.
pub(crate) struct Browser {
    child: Child,
    profile: PathBuf,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    id: u64,
    complaints: Vec<String>,
}

/// Starts a browser, or counts the test as skipped when there is none.
pub(crate) fn start(test: &str) -> Option<Browser> {
    let Some(program) = PROGRAMS.iter().find(|program| is_there(program)) else {
        peers::skip(test, &peers::Skip::new("no Chromium (apt-get install chromium)"));
        return None;
    };
    Some(Browser::launch(program, test))
}

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

impl Browser {
    fn launch(program: &str, test: &str) -> Self {
        let profile = std::env::temp_dir().join(format!("stillwatt-{test}-{}", std::process::id()));
        fs::create_dir_all(&profile).unwrap();
        let mut child = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking", "--lang=en-GB"])
            .args([
                "--remote-debugging-port=0",
                &format!("--user-data-dir={}", profile.display()),
                "about:blank",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("Chromium says where it listens");
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let host = address.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(WATCHDOG)).unwrap();
        let (socket, _) = tungstenite::client(address.as_str(), stream).unwrap();
        let mut browser = Self { child, profile, socket, session: None, id: 0, complaints: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    /// Opens `url` in a window of this size and colour scheme.
    pub(crate) fn open(&mut self, url: &str, (width, height): (u32, u32), scheme: &str) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", feature);
        self.call("Page.navigate", json!({"url": url}));
    }

    /// The value of a JavaScript expression, awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", arguments);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// The text shown in the first element that matches.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let value = self.evaluate(&format!("document.querySelector({}).innerText", json!(selector)));
        value.as_str().unwrap_or_else(|| panic!("{selector} has no text: {value}")).trim().to_owned()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.evaluate(&format!("Boolean({expression})")) != json!(true) {
            assert!(start.elapsed() < WATCHDOG, "never came true: {expression}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Presses and releases the mouse in the middle of an element, as a person would.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses and releases a key, given by its DOM name and its code.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
        if key == "Enter" {
            self.call("Input.dispatchKeyEvent", json!({"type": "char", "text": "\r"}));
        }
    }

    /// Types text into the focused field.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// The window as a PNG, in base64.
    pub(crate) fn screenshot(&mut self) -> String {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        answer["data"].as_str().unwrap().to_owned()
    }

    /// What the page complained about: exceptions, console errors, breaches of its security policy.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.evaluate("1");
        std::mem::take(&mut self.complaints)
    }

    fn call(&mut self, method: &str, arguments: Value) -> Value {
        self.id += 1;
        let mut request = json!({"id": self.id, "method": method, "params": arguments});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let mut message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == json!(self.id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let is_complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => params["type"] == "error",
            Some("Log.entryAdded") => params["entry"]["level"] == "error",
            _ => false,
        };
        if is_complaint {
            self.complaints.push(params.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
