//! The page, in a browser, which a driver of the WebDriver protocol controls: <https://www.w3.org/TR/webdriver2/>.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use hyper::Method;
use serde_json::{Value, json};
use thumbnails::client::Client;

use crate::support::{Folder, POOL, Service, eventually, quick};

/// A browser with a page.
struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
}

impl Browser {
    fn open(url: &str, profile: &Folder) -> Self {
        let mut driver = Command::new("chromedriver");
        let driver = driver.arg("--port=0").stdout(Stdio::piped()).spawn();
        let mut driver = driver.expect("a driver is installed: `apt-get install chromium-driver`");
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap()));
        let mut browser = Self { driver, address, session: String::new() };
        let profile = format!("--user-data-dir={}", profile.path().display());
        let options = json!({ "args": ["--headless", "--no-sandbox", "--disable-gpu", profile] });
        let wanted = json!({ "alwaysMatch": { "goog:chromeOptions": options } });
        let session = browser.say("session", &json!({ "capabilities": wanted }));
        browser.session = format!("session/{}", session["sessionId"].as_str().unwrap());
        browser.say("url", &json!({ "url": url }));
        browser
    }

    fn say(&self, command: &str, what: &Value) -> Value {
        let path = format!("/{}/{command}", self.session).replace("//", "/");
        let answer = POOL.block_on(async {
            let mut driver = Client::connect(self.address).await?;
            driver.ask(Method::POST, &path, None, what.to_string().into()).await
        });
        let answer: Value = serde_json::from_slice(answer.unwrap().body()).unwrap();
        assert!(answer["value"]["error"].is_null(), "{answer}");
        answer["value"].clone()
    }

    /// The value of an expression of JavaScript.
    fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression}");
        self.say("execute/sync", &json!({ "script": script, "args": [] }))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // With the driver alone, the browser would stay.
        let quit = format!("/{}", self.session);
        _ = POOL.block_on(async {
            let mut driver = Client::connect(self.address).await?;
            driver.ask(Method::DELETE, &quit, None, "".into()).await
        });
        _ = self.driver.kill();
        _ = self.driver.wait();
    }
}

#[test]
#[ignore = "needs chromium and its driver"]
fn the_page_takes_images_and_shows_results_before_and_live() {
    let service = Service::start(&[]);
    let folder = Folder::new();
    service.post("wait_ms=60000", "early", &quick(1));
    let page = Browser::open(&format!("http://{}/", service.address), &folder);
    eventually("counts", || {
        page.value("document.querySelectorAll('dt').length").as_u64() >= Some(3)
    });

    service.post("", "live", &quick(1));
    let shown = "[...document.querySelectorAll('li')].map(item => item.textContent + !!item.querySelector('img'))";
    let results = json!(["live: donetrue", "early: donetrue"]);
    eventually("a result", || page.value(shown) == results);

    let file = folder.path().join("essay.png");
    fs::write(&file, "an essay").unwrap();
    let input = page.say("element", &json!({ "using": "css selector", "value": "input" }));
    let input = input.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
    page.say(&format!("element/{input}/value"), &json!({ "text": file }));
    eventually("a failure", || {
        page.value(shown)[0]
            .as_str()
            .is_some_and(|text| text.starts_with("essay.png: ") && text.contains("not an image"))
    });
    let counts = "[...document.querySelectorAll('dt')].map(name => name.textContent + name.nextSibling.textContent)";
    eventually("both are counted", || {
        let counts = page.value(counts);
        let has = |count: &str| counts.as_array().unwrap().contains(&count.into());
        has("done2") && has("failed1") && has("queued0")
    });
    if let Some(picture) = env::var_os("SERVICE_PICTURE") {
        let shot = POOL.block_on(async {
            let mut driver = Client::connect(page.address).await?;
            let path = format!("/{}/screenshot", page.session);
            driver.ask(Method::GET, &path, None, "".into()).await
        });
        let shot: Value = serde_json::from_slice(shot.unwrap().body()).unwrap();
        use base64::prelude::{BASE64_STANDARD, Engine};
        fs::write(picture, BASE64_STANDARD.decode(shot["value"].as_str().unwrap()).unwrap())
            .unwrap();
    }

    service.end();
    eventually("the page says that the service is gone", || {
        page.value("document.querySelector('output').textContent") == "The service does not answer."
    });
}
