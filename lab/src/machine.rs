//! The machine and the compiler of a measurement.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::system::uname;
use serde::Serialize;

use crate::pins::Pin;

/// The machine, as the result file describes it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// CPUs this process may use, quotas included.
    pub(crate) cpus: usize,
    /// Which CPUs it may run on, without looking at quotas, where the kernel tells.
    pub(crate) affinity: Option<String>,
    /// The model of the CPUs.
    pub(crate) cpu_model: String,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// Architecture of this program.
    pub(crate) arch: &'static str,
    /// The compiler that built it.
    pub(crate) rustc: &'static str,
    /// Whether it was built without optimisation, which makes its numbers worthless.
    pub(crate) debug: bool,
    /// Its version.
    pub(crate) version: &'static str,
    /// When it started, in UTC.
    pub(crate) date: String,
    /// Seed of the order of the targets.
    pub(crate) seed: u64,
    /// Threads of another process that compute during the measurements.
    pub(crate) hogs: u64,
    /// Where the threads of the runs are, unless the kernel decides that.
    pub(crate) pin: Option<&'static str>,
}

impl Machine {
    /// Describes this machine and its settings.
    pub(crate) fn read(seed: u64, hogs: u64, pin: Option<Pin>) -> Self {
        let kernel = uname();
        let words = [kernel.sysname(), kernel.release()].map(|word| word.to_string_lossy());
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Machine {
            cpus: cpus(),
            affinity: field("/proc/self/status", "Cpus_allowed_list"),
            cpu_model: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            kernel: words.join(" "),
            arch: std::env::consts::ARCH,
            rustc: env!("BRIGADE_LAB_RUSTC"),
            debug: cfg!(debug_assertions),
            version: env!("CARGO_PKG_VERSION"),
            date: utc(since_1970.as_secs()),
            seed,
            hogs,
            pin: pin.map(Pin::name),
        }
    }

    /// The machine in a few lines, for the head of the tables.
    pub(crate) fn describe(&self) -> String {
        let hogs = match self.hogs {
            0 => String::new(),
            hogs => format!("\nbeside {hogs} hogs: threads of another process that compute"),
        };
        let pin = self.pin.map_or(String::new(), |pin| format!("\nthreads pinned: {pin}"));
        let warning =
            if self.debug { "\nbuilt without optimisation: measure with --release" } else { "" };
        format!(
            "brigade-lab {} on {} × {}, {} {}\n{}, {}, seed {}{hogs}{pin}{warning}",
            self.version,
            self.cpus,
            self.cpu_model,
            self.kernel,
            self.arch,
            self.rustc,
            self.date,
            self.seed,
        )
    }
}

/// CPUs this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Where the kernel lists the states in which an idle CPU saves energy.
const IDLE: &str = "/sys/devices/system/cpu/cpu0/cpuidle";

/// A line about CPUs that are slow to wake, if these are some: what waits for a thread on an idle CPU waits for that CPU too.
pub(crate) fn slow_to_wake() -> Option<String> {
    let (latency, state) = slowest(IDLE)?;
    (latency >= SLOW_US).then(|| {
        format!(
            "an idle CPU takes up to {latency} µs to wake ({state}): the kernel's parameters `intel_idle.max_cstate=0` or \
             `processor.max_cstate=1` shorten that, and the times below"
        )
    })
}

/// Microseconds that are much beside the wake-up of a thread.
const SLOW_US: u64 = 20;

/// Microseconds to leave the deepest state that is in use, and its name.
fn slowest(folder: &str) -> Option<(u64, String)> {
    let states = fs::read_dir(folder).ok()?.filter_map(|state| {
        let state = state.ok()?.path();
        let read = |file: &str| fs::read_to_string(state.join(file)).ok();
        let is_off = read("disable").is_some_and(|off| off.trim() != "0");
        let latency = read("latency")?.trim().parse().ok()?;
        Some((latency, read("name")?.trim().to_owned())).filter(|_| !is_off)
    });
    states.max()
}

/// What the first line called `name` of this file says, where there is such a file.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Days in 400 years, after which the calendar repeats itself.
const DAYS_IN_ERA: u64 = 146_097;

/// `seconds` since 1970 as a date and a time.
fn utc(seconds: u64) -> String {
    // Years begin in March here, which puts the leap day at the end of the year.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / DAYS_IN_ERA, days % DAYS_IN_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / (DAYS_IN_ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + carry;
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{slowest, utc};
    use std::fs;

    #[test]
    fn the_deepest_state_that_is_in_use_is_the_slowest_to_leave() {
        let folder = tempfile::tempdir().expect("a folder");
        for (state, latency, off) in [("POLL", "0", "0"), ("C1", "2", "0"), ("C6", "133", "1")] {
            let files = folder.path().join(state);
            fs::create_dir(&files).expect("a state");
            for (file, text) in [("name", state), ("latency", latency), ("disable", off)] {
                fs::write(files.join(file), format!("{text}\n")).expect("a file");
            }
        }
        let path = folder.path().to_str().expect("a path");
        assert_eq!(slowest(path), Some((2, "C1".to_owned())));
        fs::remove_file(folder.path().join("C6/disable")).expect("older kernels have none");
        assert_eq!(slowest(path), Some((133, "C6".to_owned())));
        assert_eq!(slowest("/no/such/folder"), None);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
