//! SIGINT and SIGTERM end the laboratory; the results so far are written and marked as incomplete.
//!
//! A separate thread handles them, since the others may be blocked: in a peer's shutdown, or
//! asleep.

use std::io::{self, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::report::book::SharedBook;
use crate::stop::Stop;

/// A shell's exit code for a program that a signal ended is this plus the signal.
const SIGNALLED: i32 = 128;

/// Listens from now on.
pub(crate) fn install(book: SharedBook) -> Result<(), Stop> {
    let listen = || -> io::Result<()> {
        let ending = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second signal finds the flag set by the first, and ends at once.
            flag::register_conditional_shutdown(signal, SIGNALLED + signal, Arc::clone(&ending))?;
            flag::register(signal, Arc::clone(&ending))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        Builder::new().name("signals".to_owned()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end(&book, signal);
            }
        })?;
        Ok(())
    };
    listen().map_err(|error| Stop::Refused(format!("can't listen for signals: {error}")))
}

/// Writes the results so far and ends the process.
fn end(book: &SharedBook, signal: i32) {
    if let Err(stop) = book.finish(false) {
        stop.explain();
    }
    let _ = writeln!(io::stderr(), "brigade-lab: interrupted");
    process::exit(SIGNALLED + signal);
}
