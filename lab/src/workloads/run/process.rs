//! A run of a command, from a separate process started by the laboratory.
//!
//! The kernel tells the greatest memory of the children of a process for all of them together, so each run has a parent without
//! other children. The parent reads a pipe, which the laboratory holds open and never writes to. However the laboratory ends, the
//! kernel closes the pipe, and the parent kills the command with all its descendants.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Bytes of stderr to keep: the last.
const TAIL: u64 = 240;

/// The words of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Process {
    /// The program, and the arguments.
    #[arg(last = true, required = true)]
    pub(super) words: Vec<OsString>,
}

impl Process {
    /// Runs it once, from a separate process: the values of the metrics of `run`, in their order.
    pub(super) fn run(&self, patience: Duration) -> Outcome {
        let mut parent = program::this()?;
        parent.args([COMMAND, "--patience", &patience.as_secs().to_string(), "--"]);
        parent.args(&self.words);
        // In a separate group no key of the terminal reaches it, so it is there to kill the command.
        parent.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut parent = parent.spawn()?;
        let held = parent.stdin.take();
        let output = parent.wait_with_output()?;
        drop(held);
        match serde_json::from_slice::<Result<Numbers, String>>(&output.stdout) {
            Ok(Ok(numbers)) => Ok(numbers.0),
            Ok(Err(reason)) => Err(Failure::Told(reason)),
            Err(_) => Err(Failure::Told(format!("its parent died: {}", output.status))),
        }
    }

    /// The main function of the separate process: runs the command, and prints the values or the reason why there are none.
    pub(crate) fn measure(&self, patience: Duration) -> Result<(), Stop> {
        tell(&self.measured(patience)).map_err(Stop::from)
    }

    /// The values of a run in this process, or the reason why there are none.
    fn measured(&self, patience: Duration) -> Result<Vec<f64>, String> {
        let [program, arguments @ ..] = &self.words[..] else { unreachable!("clap requires it") };
        let mut command = Command::new(program);
        // A file: a command with much output need not wait for a reader.
        let open = || tempfile::tempfile().and_then(|file| Ok((file.try_clone()?, file)));
        let (stderr, said) = open().map_err(|error| format!("no file for stderr: {error}"))?;
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        // All descendants are in this group, unless they choose another.
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
        let status = child.wait().map_err(|error| error.to_string())?;
        let wall = begun.elapsed().as_secs_f64();
        let usage = Usage::of_children();
        // Processes left running would disturb the next run.
        kill(group);
        if overdue.load(Ordering::Relaxed) {
            let seconds = patience.as_secs();
            return Err(format!(
                "killed after {seconds} s: --patience allows a run more than that"
            ));
        }
        if !status.success() {
            return Err(format!("{}{}", ending(status), tail(said)));
        }
        // The peak of a command is at least the starting process's: a lower peak is unknown.
        let peak = Some(usage.peak).filter(|peak| *peak > floor).unwrap_or(f64::NAN);
        let cpus = (usage.user + usage.system) / wall;
        Ok(vec![wall, usage.user, usage.system, peak, usage.switches(), cpus])
    }
}

/// Kills this group, if any.
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
        let is_overdue = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&time)) == Ok(0);
        noted.store(is_overdue, Ordering::Relaxed);
        kill(group);
        if !is_overdue {
            process::exit(1);
        }
    };
    thread::Builder::new().spawn(look).map(|_| overdue)
}

/// How a failed command has ended.
fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("died: {status}"),
    }
}

/// The last bytes printed on stderr by a command, as the end of a sentence.
fn tail(mut stderr: File) -> String {
    let mut bytes = Vec::new();
    // An unreadable file counts as empty.
    let end = stderr.seek(SeekFrom::End(0)).unwrap_or_default();
    let _ = stderr.seek(SeekFrom::Start(end.saturating_sub(TAIL)));
    let _ = stderr.take(TAIL).read_to_end(&mut bytes);
    match printable(String::from_utf8_lossy(&bytes).trim()) {
        text if text.is_empty() => ", and stderr is empty".to_owned(),
        text => format!(", and stderr ends with: {text}"),
    }
}
