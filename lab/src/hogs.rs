//! Threads of another process that compute while the laboratory measures, to show the targets on a busy
//! machine.
//!
//! The process runs this program again. It reads a pipe that the laboratory holds open and never writes
//! to. However the laboratory ends (normally, by a signal, or killed), the kernel closes its end of the
//! pipe, and the process ends when it reads that.

use std::hint;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::thread::Builder;

use crate::program;
use crate::stop::Stop;
use crate::work::grind;

/// The subcommand of the process. `list` doesn't name it.
pub(crate) const COMMAND: &str = "hogs";

/// What the process prints when all its threads compute.
const READY: &str = "ready";

/// Arithmetic between two turns of a thread's loop.
const UNITS: u64 = 1_000_000;

/// The process, if there are to be any threads. It ends when this is dropped.
pub(crate) struct Hogs(Option<Child>);

impl Hogs {
    /// Starts this many threads and waits until all of them compute.
    pub(crate) fn start(count: u64) -> Result<Self, Stop> {
        if count == 0 {
            return Ok(Hogs(None));
        }
        let refused = |error| Stop::Refused(format!("{count} hogs could not start: {error}"));
        let mut command = program::this().map_err(refused)?;
        command.args([COMMAND, &count.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(refused)?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut said).map_err(refused)?;
        }
        let hogs = Hogs(Some(child));
        // Otherwise it has printed the reason on stderr.
        if said.trim() == READY { Ok(hogs) } else { Err(refused(io::Error::other("see above"))) }
    }

    /// The number of the process, if there is one.
    pub(crate) fn process(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            // One that was killed has ended too.
            let _ = child.wait();
        }
    }
}

/// The main function of the process: computes on this many threads until the laboratory has ended.
pub(crate) fn compute(count: u64) -> Result<(), Stop> {
    for _ in 0..count {
        let thread = Builder::new().name("hog".to_owned()).spawn(|| {
            loop {
                grind(hint::black_box(UNITS));
            }
        });
        thread.map_err(|error| Stop::Refused(format!("a hog could not start: {error}")))?;
    }
    let mut stdout = io::stdout();
    writeln!(stdout, "{READY}")?;
    stdout.flush()?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
