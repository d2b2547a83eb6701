//! A process for each run of a memory workload: the laboratory starts itself again.
//!
//! Memory once resident is seldom returned to the system, so in a second run in the same process the
//! tasks would seem to take none. The child measures one target once, reads the process's memory,
//! and prints the values to stdout for the parent.

use std::io::{Error, ErrorKind};
use std::process::Stdio;

use crate::failure::Failure;
use crate::fault::Fault;
use crate::kernel::Kernel;
use crate::program::{self, tell};
use crate::stats::Numbers;
use crate::stop::Stop;
use crate::target::Entry;
use crate::workload::{self, Bench, Outcome, Params};

/// The subcommand of the child, followed by the subcommand of the workload. `list` doesn't name it.
pub(crate) const COMMAND: &str = "once";

/// The resident parts of this process; `/proc/self/statm` may be off by some hundred
/// pages.
const PARTS: &str = "proc/self/smaps_rollup";

/// The address space of this process, and the peak of its resident memory, off by as much as `statm`. `getrusage` has the
/// peak too, but includes the parent's.
const STATUS: &str = "proc/self/status";

/// Resident bytes of this process.
pub(crate) const BYTES: Place = (PARTS, "Rss");

/// Bytes of the address space of this process: stacks are reserved long before they are in memory.
pub(crate) const RESERVED: Place = (STATUS, "VmSize");

/// The most resident bytes of this process so far.
pub(crate) const PEAK: Place = (STATUS, "VmHWM");

/// A file, and the name of a line.
type Place = (&'static str, &'static str);

/// The bytes in this line.
pub(crate) fn bytes((file, name): Place) -> Result<u64, Failure> {
    let said = Kernel::here().field(file, name);
    let kilobytes = said.and_then(|said| said.strip_suffix("kB")?.trim().parse::<u64>().ok());
    let kilobytes = kilobytes.ok_or_else(|| Failure::Told(format!("no {name} in /{file}")))?;
    Ok(kilobytes << 10)
}

/// Runs this workload with these options once on a fresh target in a separate process.
pub(crate) fn run(
    workload: &str,
    params: &Params,
    target: &'static Entry,
    bench: Bench,
) -> Outcome {
    let (mut child, name) = match target.elsewhere {
        None => (program::this().map_err(Failure::Refused)?, target.name),
        Some((file, name)) => {
            let failure = |error: Error| match target.is_peer {
                // The others go on without a target that is not built.
                true => Failure::Told(error.to_string()),
                false => Failure::Refused(error),
            };
            (program::beside(file).map_err(failure)?, name)
        }
    };
    let patience = bench.patience.as_secs().to_string();
    child.args([COMMAND, workload]).args(workload::words(params));
    child.args(["--patience", &patience, "--target", name]);
    if let Some(pin) = bench.pin {
        child.args(["--pin", &program::name(&pin)]);
    }
    if bench.fault != Fault::None {
        child.args(["--inject", &format!("{}:{name}", program::name(&bench.fault))]);
    }
    let output = child.stdin(Stdio::null()).output().map_err(Failure::Refused)?;
    let reason = program::reason(&output.stderr);
    match output.status.code() {
        Some(0) => serde_json::from_slice::<Numbers>(&output.stdout)
            .map(|numbers| numbers.0)
            .map_err(|error| Failure::Told(format!("its process said something else: {error}"))),
        Some(3) => Err(Failure::Refused(Error::new(ErrorKind::OutOfMemory, reason))),
        Some(_) => Err(Failure::Told(reason)),
        None => Err(Failure::Told(format!("its process died: {}", output.status))),
    }
}

/// The main function of the child: prints the result of `run`.
pub(crate) fn child(run: impl FnOnce() -> Outcome) -> Result<(), Stop> {
    // Nothing waits for it once the laboratory has ended.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    match run() {
        // The tasks wait forever: they end with the process.
        Ok(values) => tell(&values).map_err(Stop::from),
        Err(Failure::Refused(error)) => Err(Stop::Refused(error.to_string())),
        Err(failure) => Err(Stop::Failed(failure.to_string())),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{BYTES, PEAK, bytes};
    use std::hint::black_box;

    #[test]
    fn memory_is_resident_once_it_is_written() {
        const SIZE: usize = 64 << 20;
        let before = bytes(BYTES).expect("read");
        let mut block = black_box(Vec::<u8>::with_capacity(SIZE));
        let reserved = bytes(BYTES).expect("read");
        block.resize(SIZE, 1);
        let written = bytes(BYTES).expect("read");
        // Other tests of this process allocate some and free it.
        assert!(reserved < before + (SIZE as u64) / 2, "{before} {reserved}");
        assert!(written > reserved + (SIZE as u64) / 2, "{reserved} {written}");
        drop(black_box(block));
        // Freed memory remains in the peak, which is off by some pages.
        let most = bytes(PEAK).expect("read");
        assert!(most > before + (SIZE as u64) / 2, "{before} {most}");
    }
}
