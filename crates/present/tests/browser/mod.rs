//! A headless Chromium that is spoken to over its debugging pipe: JSON messages, each ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Names of the browser, as distributions and vendors call it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// More than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page; it ends when this is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    number: u64,
    /// Every event since the page was made.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// The browser's path, where there is one.
pub fn find() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

impl Browser {
    /// Starts the browser, its page being so many pixels wide.
    pub fn start(program: &Path, width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The shell hands the pipes on as the descriptors that Chromium wants, 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .args(["--no-first-run", "--disable-extensions", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            // It puts directories there that it does not remove when it is killed.
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut browser = Browser {
            child,
            to,
            from: reader(out),
            session: String::new(),
            number: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            browser.call(domain, json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Gives the page another size.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.next("the page to load");
            self.events.push(message);
        }
    }

    /// What an expression gives in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self
            .call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true, "awaitPromise": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
    }

    /// Presses and releases the left button.
    pub fn click(&mut self, x: f64, y: f64) {
        self.point(x, y);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Presses and releases a key that writes nothing, as `ArrowRight`, or `Enter`.
    pub fn press(&mut self, key: &str) {
        // What Enter does, it does as the character that it writes.
        let (down, text) = if key == "Enter" { ("keyDown", "\r") } else { ("rawKeyDown", "") };
        for kind in [down, "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key, "text": text}));
        }
    }

    /// Sends a command and waits for its answer; events meanwhile are kept.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut message = json!({"id": number, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = self.next(method);
            if answer["id"] == number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn next(&self, wanted: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("no answer from Chromium to {wanted}: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.to.flush();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads messages in the background, so that none waits for ever.
fn reader(out: ChildStdout) -> Receiver<Value> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        loop {
            let mut line = Vec::new();
            match out.read_until(0, &mut line) {
                Ok(length) if length > 0 => {}
                _ => return,
            }
            line.pop();
            if serde_json::from_slice(&line).is_ok_and(|message| send.send(message).is_err()) {
                return;
            }
        }
    });
    receive
}
