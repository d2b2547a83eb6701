//! Runs cases beside each other, some of which never end.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

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

/// Calls `run` for each item, on so many threads, and collects what it returns.
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

/// Runs cases in this process, for so long each. Once several have not ended, so that their threads may compute, the others get
/// `later`.
pub(crate) fn run_here(
    cases: Vec<Case>,
    at_once: usize,
    limit: Duration,
    later: Duration,
) -> Failed {
    let count = AtomicUsize::new(0);
    each(cases, at_once, |case| {
        let name = case.name.clone();
        let limit = if count.load(Ordering::Relaxed) < at_once { limit } else { later };
        let failed = case.within(limit).err().map(|reason| (name, reason));
        count.fetch_add(failed.iter().len(), Ordering::Relaxed);
        failed.into_iter().collect()
    })
}

/// Names the cases of a child, one a line. By hand: `BRIGADE_TEST_CASES='NAME' cargo test .. a_child -- --nocapture` prints how each has
/// ended.
const NAMES: &str = "BRIGADE_TEST_CASES";

/// Begins the line of a case that has ended.
const ENDED: &str = "ended: ";

/// Runs groups of cases in a child process each, which is killed after so long.
pub(crate) fn run_in_children(groups: Vec<Vec<String>>, at_once: usize, limit: Duration) -> Failed {
    each(groups, at_once, |names| {
        let (mut child, begun) = (child(&names), Instant::now());
        let (told, tells) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        let reading = thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let ended = line.split_once(ENDED).and_then(|(_, ended)| ended.split_once(" # "));
                if let Some((name, reason)) = ended {
                    told.send((name.to_owned(), reason.to_owned())).unwrap();
                }
            }
        });
        let not_ended = |name| (name, String::new());
        let mut failed: Failed = names.into_iter().map(not_ended).collect();
        while let Ok((name, reason)) = tells.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            failed.remove(&name);
            if !reason.is_empty() {
                failed.insert(name, reason);
            }
        }
        _ = child.kill();
        let status = child.wait().unwrap();
        reading.join().unwrap();
        for reason in failed.values_mut().filter(|reason| reason.is_empty()) {
            *reason = format!("has not ended after {:?}, {status}", begun.elapsed());
        }
        failed
    })
}

fn child(names: &[String]) -> Child {
    let mut this = Command::new(env::current_exe().unwrap());
    let this = this.args(["--exact", "table::a_child_runs_the_named_cases", "--nocapture"]);
    let this = this.env(NAMES, names.join("\n")).stdout(Stdio::piped()).stderr(Stdio::null());
    this.spawn().unwrap()
}

/// In a child: runs the named cases, all at once.
pub(crate) fn run_named(cases: Vec<Case>) {
    let Ok(names) = env::var(NAMES) else { return };
    let names: Vec<_> = names.lines().collect();
    let cases: Vec<_> = cases.into_iter().filter(|case| names.contains(&&*case.name)).collect();
    let at_once = cases.len();
    each(cases, at_once, |case| {
        let name = case.name.clone();
        let ended = case.within(Duration::MAX);
        println!("{ENDED}{name} # {}", ended.err().unwrap_or_default());
        Failed::new()
    });
}
