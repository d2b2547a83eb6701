//! Runs cases beside each other, some of which never end.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use brigade_testkit::this_program;

/// A claim about one call.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Whether it needs a process of its own.
    pub(crate) is_alone: bool,
    run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl Case {
    pub(crate) fn new(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), is_alone: false, run: Box::new(run) }
    }

    pub(crate) fn alone(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self { is_alone: true, ..Self::new(name, run) }
    }

    /// Runs it on a thread of its own, for so long at most. A case that does not end in time keeps its thread.
    fn within(self, limit: Duration) -> Result<(), String> {
        let (told, tells) = mpsc::channel();
        let thread = thread::Builder::new().name(self.name);
        thread.spawn(move || _ = told.send((self.run)())).map_err(|error| error.to_string())?;
        match tells.recv_timeout(limit) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Timeout) => Err(format!("has not ended after {limit:?}")),
            Err(RecvTimeoutError::Disconnected) => Err("panicked".into()),
        }
    }
}

/// The reasons of the cases that failed.
pub(crate) type Failed = BTreeMap<String, String>;

/// Calls `run` for each item, on so many threads, and collects the failures.
fn each<T: Send>(items: Vec<T>, at_once: usize, run: impl Fn(T) -> Failed + Sync) -> Failed {
    let (queue, failed) = (Mutex::new(items.into_iter()), Mutex::new(Failed::new()));
    let next = || queue.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(item) = next() {
                    let mut of_item = run(item);
                    failed.lock().unwrap().append(&mut of_item);
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

/// How long cases may take once several have not ended: their threads may compute for ever.
const LATER: Duration = Duration::from_secs(4);

/// Runs cases in this process, for so long each.
pub(crate) fn run_here(cases: Vec<Case>, at_once: usize, limit: Duration) -> Failed {
    let count = AtomicUsize::new(0);
    each(cases, at_once, |case| {
        let name = case.name.clone();
        let limit = if count.load(Ordering::Relaxed) < at_once { limit } else { LATER };
        let failed = case.within(limit).err().map(|reason| (name, reason));
        count.fetch_add(failed.iter().len(), Ordering::Relaxed);
        failed.into_iter().collect()
    })
}

/// Names the case of a child. By hand: `BRIGADE_TEST_CASE='NAME' cargo test .. a_child -- --nocapture` prints how it ends.
const NAME: &str = "BRIGADE_TEST_CASE";

/// Begins the line that says why the case has failed; nothing follows if it has not.
const ENDED: &str = "ended: ";

/// Runs each named case in a child process, which is killed after so long.
pub(crate) fn run_in_children(names: Vec<String>, at_once: usize, limit: Duration) -> Failed {
    each(names, at_once, |name| {
        let mut child = child(&name);
        let (told, tells) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        let reading = thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let ended = line.split_once(ENDED);
                ended.into_iter().for_each(|(_, reason)| told.send(reason.to_owned()).unwrap());
            }
        });
        let ended = tells.recv_timeout(limit);
        _ = child.kill();
        let status = child.wait().unwrap();
        reading.join().unwrap();
        let reason = ended.unwrap_or_else(|_| format!("has not ended within {limit:?}, {status}"));
        Some((name, reason)).into_iter().filter(|(_, reason)| !reason.is_empty()).collect()
    })
}

fn child(name: &str) -> Child {
    let mut this = this_program();
    let this = this.args(["--exact", "table::a_child_runs_the_named_case", "--nocapture"]);
    let this = this.env(NAME, name).stdout(Stdio::piped()).stderr(Stdio::null());
    this.spawn().unwrap()
}

/// In a child: runs the named case.
pub(crate) fn run_named(cases: Vec<Case>) {
    let Ok(name) = env::var(NAME) else { return };
    for case in cases.into_iter().filter(|case| case.name == name) {
        println!("{ENDED}{}", case.within(Duration::MAX).err().unwrap_or_default());
    }
}
