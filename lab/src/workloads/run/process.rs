//! One run of a command, from a process of its own that the laboratory starts for it.
//!
//! The kernel tells the greatest memory of the children of a process for all of them together, so each run has a parent that has no
//! other child. The parent reads a pipe that the laboratory holds open and never writes to. However the laboratory ends, the kernel
//! closes that pipe, and the parent kills the command with all that it has started.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::failure::Failure;
use crate::program::{self, tell};
use crate::stats::Numbers;
use crate::stop::{Stop, printable};
use crate::usage::Usage;
use crate::workload::Outcome;

/// The subcommand of the process. `list` doesn't name it.
pub(crate) const COMMAND: &str = "process";

/// Bytes of stderr that are kept: the last ones.
const TAIL: usize = 800;

/// Characters of these that are shown: control characters have several.
const SHOWN: usize = 400;

/// Lines of these that are shown.
const LINES: usize = 5;

/// How long to wait for the rest of stderr, which a process that the command has started may hold open.
const REST: Duration = Duration::from_millis(500);

/// The words of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Process {
    /// The program, and its arguments.
    #[arg(last = true, required = true)]
    pub(super) words: Vec<OsString>,
}

impl Process {
    /// Runs it once, from a process of its own: the values of the metrics of `run`, in their order.
    pub(super) fn run(&self, patience: Duration) -> Outcome {
        let mut parent = program::this().map_err(Failure::Refused)?;
        parent.args([COMMAND, "--patience", &patience.as_secs().to_string(), "--"]);
        parent.args(&self.words);
        // In a group of its own no key of the terminal reaches it, so that it is there to kill the command.
        parent.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut parent = parent.spawn().map_err(Failure::Refused)?;
        let held = parent.stdin.take();
        let output = parent.wait_with_output().map_err(Failure::Refused)?;
        drop(held);
        match serde_json::from_slice::<Result<Numbers, String>>(&output.stdout) {
            Ok(Ok(numbers)) => Ok(numbers.0),
            Ok(Err(reason)) => Err(Failure::Told(reason)),
            Err(_) => Err(Failure::Told(format!("its parent died: {}", output.status))),
        }
    }

    /// The main function of that process: runs the command, and prints the values or the reason why there are none.
    pub(crate) fn measure(&self, patience: Duration) -> Result<(), Stop> {
        tell(&self.measured(patience)).map_err(Stop::from)
    }

    /// The values of a run in this process, or the reason why there are none.
    fn measured(&self, patience: Duration) -> Result<Vec<f64>, String> {
        let [program, arguments @ ..] = &self.words[..] else { unreachable!("clap requires it") };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // All that it starts is in this group, unless it wants to be in another.
        command.process_group(0);
        let begun = Instant::now();
        let child = command.spawn();
        let floor = Usage::now().peak;
        let name = program.to_string_lossy();
        let mut child = child.map_err(|error| format!("`{name}` can't be started: {error}"))?;
        let group = Pid::from_child(&child);
        let overdue = watch(group, patience).map_err(|error| {
            kill(group);
            let _ = child.wait();
            error.to_string()
        })?;
        let tail = child.stderr.take().map(Tail::read);
        let status = child.wait().map_err(|error| error.to_string())?;
        let wall = begun.elapsed().as_secs_f64();
        let usage = Usage::of_children();
        // What it has left running would disturb the next run.
        kill(group);
        if overdue.load(Ordering::Relaxed) {
            let seconds = patience.as_secs();
            return Err(format!(
                "killed after {seconds} s: --patience allows a run more than that"
            ));
        }
        if !status.success() {
            let said = tail.map(Tail::take).unwrap_or_default();
            return Err(format!("{}{said}", ending(status)));
        }
        // The peak of a command is at least that of the process that starts it: one below that is not told.
        let peak = Some(usage.peak).filter(|peak| *peak > floor).unwrap_or(f64::NAN);
        let cpus = (usage.user + usage.system) / wall;
        Ok(vec![wall, usage.user, usage.system, peak, usage.switches(), cpus])
    }
}

/// Kills this group, if there is one.
fn kill(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
}

/// Kills this group when the time is over, which the result says then, or when the laboratory has ended, and this process with it.
fn watch(group: Pid, patience: Duration) -> io::Result<Arc<AtomicBool>> {
    let overdue = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&overdue);
    let look = move || {
        let stdin = io::stdin();
        let time = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&time)) {
            Ok(0) => {
                noted.store(true, Ordering::Relaxed);
                kill(group);
            }
            _ => {
                kill(group);
                process::exit(1);
            }
        }
    };
    thread::Builder::new().spawn(look).map(|_| overdue)
}

/// How a command that failed has ended.
fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("died: {status}"),
    }
}

/// The end of what a command prints on stderr.
struct Tail {
    /// The last bytes.
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when there are no more.
    all: Receiver<()>,
}

impl Tail {
    /// Reads all of it and keeps the end.
    fn read(mut stderr: impl Read + Send + 'static) -> Self {
        let bytes: Arc<Mutex<VecDeque<u8>>> = Arc::default();
        let (end, all) = mpsc::channel();
        let kept = Arc::clone(&bytes);
        // Without this thread a command that prints much would wait forever; one that can't be started closes the pipe.
        let _ = thread::Builder::new().spawn(move || {
            let _end = end;
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..read]);
                let excess = kept.len().saturating_sub(TAIL);
                kept.drain(..excess);
            }
        });
        Tail { bytes, all }
    }

    /// The last lines, as the end of a sentence.
    fn take(self) -> String {
        let _ = self.all.recv_timeout(REST);
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(bytes.make_contiguous()).into_owned();
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match &lines[lines.len().saturating_sub(LINES)..] {
            [] => ", and stderr is empty".to_owned(),
            lines => {
                let text = printable(&lines.join(" | "));
                let excess = text.chars().count().saturating_sub(SHOWN);
                let text: String = text.chars().skip(excess).collect();
                format!(", and stderr ends with: {text}")
            }
        }
    }
}
