//! Computing threads of another process while the laboratory measures, to show the targets on a busy
//! machine.
//!
//! The process runs this program again. It reads a pipe, which the laboratory holds open and never
//! writes to. However the laboratory ends (normally, by a signal, or killed), the kernel closes the
//! laboratory's end of the pipe, and the process ends when it reads the end.

use std::hint;
use std::io;
use std::thread::Builder;

use crate::program::{Helper, tell};
use crate::stop::Stop;
use crate::work::grind;

/// The subcommand of the process. `list` doesn't name it.
pub(crate) const COMMAND: &str = "hogs";

/// Arithmetic between two turns of a thread's loop.
const UNITS: u64 = 1_000_000;

/// Starts this many threads, if any, and waits until all of them compute. They end when this is dropped.
pub(crate) fn start(count: u64) -> Result<Option<Helper>, Stop> {
    if count == 0 {
        return Ok(None);
    }
    let refused = |reason| Stop::Refused(format!("{count} hogs could not start: {reason}"));
    let helper = Helper::start(&[COMMAND, &count.to_string()]);
    let mut helper = helper.map_err(|error| refused(error.to_string()))?;
    if helper.hear() == Some(()) { Ok(Some(helper)) } else { Err(refused(helper.reason())) }
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
    tell(&())?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
