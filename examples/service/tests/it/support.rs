//! Programs that run for a test: the service, and a NATS server.

use std::fs;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brigade::Pool;
use hyper::{Method, Response};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::Value;
use thumbnails::client::{Client, Failure};

/// The clients'.
pub static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(2));

/// Waits for a condition, and fails after a minute.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A folder that goes with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("thumbnails-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A process of the service. It is killed when this is dropped.
pub struct Service {
    child: Child,
    pub address: SocketAddr,
    /// The lines of its log.
    log: Arc<Mutex<String>>,
    stdout: BufReader<std::process::ChildStdout>,
    /// The store.
    pub folder: Option<Folder>,
}

impl Service {
    /// Starts one with these settings, and a folder of its own as the store.
    pub fn start(settings: &[&str]) -> Self {
        let folder = Folder::new();
        let store = folder.path().to_str().unwrap().to_owned();
        let mut service = Self::try_start(&[&["--store", &store], settings].concat()).unwrap();
        service.folder = Some(folder);
        service
    }

    /// Starts one with these settings alone. If it ends, returns what it has printed.
    pub fn try_start(settings: &[&str]) -> Result<Self, String> {
        // A file that is too large is an error, and no signal.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_thumbnails")]);
        command.args(["--listen", "127.0.0.1:0"]).args(settings);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (log, mut stderr) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let kept = log.clone();
        let reader = thread::spawn(move || {
            for line in BufReader::new(&mut stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        match line.trim().strip_prefix("listening at http://") {
            Some(address) => {
                let address = address.parse().unwrap();
                Ok(Self { child, address, log, stdout, folder: None })
            }
            None => {
                let status = child.wait().unwrap();
                reader.join().unwrap();
                assert_eq!(status.code(), Some(1));
                Err(log.lock().unwrap().clone())
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// A request on a connection of its own.
    pub fn ask(&self, method: Method, path: &str, body: &[u8]) -> Response<Value> {
        self.try_ask(method, path, None, body).unwrap()
    }

    pub fn get(&self, path: &str) -> Response<Value> {
        self.ask(Method::GET, path, b"")
    }

    pub fn try_ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &[u8],
    ) -> Result<Response<Value>, Failure> {
        let answer = POOL.block_on(async {
            let mut client = Client::connect(self.address).await?;
            client.ask(method, path, key, body.to_vec().into()).await
        })?;
        Ok(answer.map(|body| {
            let text = || String::from_utf8_lossy(&body).into_owned();
            serde_json::from_slice(&body).unwrap_or_else(|_| text().into())
        }))
    }

    /// Posts a job with this id.
    pub fn post(&self, query: &str, id: &str, body: &[u8]) -> Response<Value> {
        self.try_ask(Method::POST, &format!("/jobs?{query}"), Some(id), body).unwrap()
    }

    /// The state of a job.
    pub fn state(&self, id: &str) -> String {
        let answer = self.get(&format!("/jobs/{id}"));
        answer.body()["state"].as_str().unwrap_or("none").to_owned()
    }

    pub fn wait_for(&self, id: &str, state: &str) {
        eventually(&format!("{id} is {state}"), || self.state(id) == state);
    }

    pub fn signal(&self, signal: &str) {
        signal_process(self.pid(), signal);
    }

    /// Waits for the end; returns its last line, too.
    pub fn wait(&mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }

    /// Ends it with SIGTERM.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub fn signal_process(pid: u32, signal: &str) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
    assert!(status.unwrap().success());
}

/// A NATS server with a store of its own. It is killed when this is dropped.
pub struct Nats {
    child: Child,
    folder: Folder,
    port: u16,
}

impl Nats {
    pub fn start() -> Self {
        let folder = Folder::new();
        let mut nats = Self { child: Self::run(&folder, -1), folder, port: 0 };
        // The server writes its port, which is any free one, into a file there.
        eventually("the NATS server listens", || {
            let files = fs::read_dir(nats.folder.path()).unwrap().flatten();
            let ports =
                files.filter(|file| file.path().extension().is_some_and(|end| end == "ports"));
            let text = ports.filter_map(|file| fs::read(file.path()).ok()).next();
            let ports = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            let address = ports.as_ref().and_then(|ports| ports["nats"][0].as_str());
            let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
            nats.port = port.unwrap_or(0);
            nats.port != 0
        });
        nats
    }

    fn run(folder: &Folder, port: i32) -> Child {
        let mut command = Command::new("nats-server");
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]).arg(folder.path());
        command.arg("--ports_file_dir").arg(folder.path());
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("nats-server is installed: `apt-get install nats-server`")
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// With the same store, at the same port.
    pub fn start_again(&mut self) {
        self.child = Self::run(&self.folder, self.port.into());
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn png(width: u32, height: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let image = RgbImage::from_fn(width, height, |x, y| Rgb(colour(x, y)));
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// An image that takes no time, unlike those of other seeds.
pub fn quick(seed: u32) -> Vec<u8> {
    png(8, 8, |x, y| (seed + x * y).to_be_bytes()[1..].try_into().unwrap())
}

/// An image that takes a second or so.
pub fn slow() -> &'static [u8] {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| plain(8000, 5000));
    &FILE
}

/// An image that is small as a file.
pub fn plain(width: u32, height: u32) -> Vec<u8> {
    png(width, height, |_, _| [7; 3])
}

/// An image that does not get smaller.
pub fn noise(side: u32) -> Vec<u8> {
    png(side, side, |_, _| std::array::from_fn(|_| fastrand::u8(..)))
}
