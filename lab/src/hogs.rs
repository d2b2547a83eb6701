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

/// The process, if there are to be any threads. It ends when this is dropped.
pub(crate) struct Hogs(Option<Helper>);

impl Hogs {
    /// Starts this many threads and waits until all of them compute.
    pub(crate) fn start(count: u64) -> Result<Self, Stop> {
        if count == 0 {
            return Ok(Hogs(None));
        }
        let refused = |reason| Stop::Refused(format!("{count} hogs could not start: {reason}"));
        let helper = Helper::start(&[COMMAND, &count.to_string()]);
        let mut helper = helper.map_err(|error| refused(error.to_string()))?;
        match helper.hear() == Some(()) {
            true => Ok(Hogs(Some(helper))),
            false => Err(refused(helper.reason())),
        }
    }

    /// The number of the process, if any.
    pub(crate) fn process(&self) -> Option<u32> {
        self.0.as_ref().map(|helper| helper.child.id())
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
    tell(&())?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
