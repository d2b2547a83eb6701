//! SIGINT, SIGTERM and the end of the CPU time (`RLIMIT_CPU`) end the laboratory; the results so far are written and marked as incomplete, and their tables are printed.
//!
//! A separate thread handles them, since the others may be blocked: in a peer's shutdown, or
//! asleep.

use std::io::{self, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::Builder;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXCPU};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::book::SharedBook;
use crate::report::Reporter;
use crate::stop::Stop;

/// A shell's exit code for a program ended by a signal is this plus the signal.
const SIGNALLED: i32 = 128;

/// The signals that end the laboratory.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGXCPU];

/// How long the tables may take: nothing may read them, and the measuring thread may have the output locked.
const TABLES: Duration = Duration::from_secs(1);

/// Listens from now on.
pub(crate) fn install(book: SharedBook, reporter: Arc<Reporter>) -> Result<(), Stop> {
    let listen = || -> io::Result<()> {
        // Before the flags: a signal in between would set a flag, and end nothing.
        let mut signals = Signals::new(SIGNALS)?;
        let ending = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            // In this order: the second signal finds the flag set by the first, and ends at once.
            flag::register_conditional_shutdown(signal, SIGNALLED + signal, Arc::clone(&ending))?;
            flag::register(signal, Arc::clone(&ending))?;
        }
        Builder::new().name("signals".to_owned()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end(book, reporter, signal);
            }
        })?;
        Ok(())
    };
    listen().map_err(|error| Stop::Refused(format!("can't listen for signals: {error}")))
}

/// Writes the results so far, prints their tables and ends the process.
fn end(book: SharedBook, reporter: Arc<Reporter>, signal: i32) {
    let written = book.lock().finish(false);
    if let Err(stop) = written {
        stop.explain();
    }
    let (done, printed) = mpsc::channel();
    let tables = Builder::new().name("tables".to_owned()).spawn(move || {
        let rest = book.lock().rest();
        // The process ends whether they can be printed or not.
        let _ = if rest.is_empty() { Ok(()) } else { reporter.print(&rest) };
        let _ = done.send(());
    });
    if tables.is_ok() {
        let _ = printed.recv_timeout(TABLES);
    }
    let _ = writeln!(io::stderr(), "brigade-lab: interrupted");
    process::exit(SIGNALLED + signal);
}
