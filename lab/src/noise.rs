//! Other work on this machine while the laboratory measures: readings before, between the rows and after, and the conclusion in
//! words.
//!
//! It judges the CPU time of other programs, and the time taken by a host or a quota. The load of the machine is none of these: the
//! targets are a part of it.

use std::ops::Range;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::pins::allowed;
use crate::usage::Usage;

/// Ticks of a second in the files of `/proc`: a promise of the kernel to programs, whatever the kernel's clock is.
const TICKS: f64 = 100.0;

/// The machine's work so far, as far as the kernel tells.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// When this was read.
    at: Instant,
    /// CPU seconds of all programs on the CPUs of this process, without interrupts.
    busy: Option<f64>,
    /// CPU seconds withheld from this machine by the host, on the same CPUs.
    stolen: Option<f64>,
    /// Seconds for which a quota stopped threads of a control group of this process.
    throttled: Option<f64>,
    /// CPU seconds of the laboratory and of its other processes.
    own: f64,
}

impl Reading {
    /// Reads it. Computing threads of the laboratory's other process are not told apart from other programs: with them nothing is known
    /// of these.
    fn now(kernel: &Kernel, has_hogs: bool) -> Self {
        let now = Reading::with(kernel, &allowed(), Usage::of_all().cpu(), Instant::now());
        Reading { busy: now.busy.filter(|_| !has_hogs), ..now }
    }

    /// The same, of a process with these CPUs and this CPU time.
    fn with(kernel: &Kernel, allowed: &[usize], own: f64, at: Instant) -> Self {
        let cpus = ticks(kernel, allowed);
        let seconds = |purposes: Range<usize>| {
            let known = cpus.iter().filter_map(|ticks| ticks.get(purposes.clone()));
            known.flatten().copied().reduce(|all, ticks| all + ticks).map(|all| all / TICKS)
        };
        // user, nice, system; idle, iowait, irq, softirq, steal.
        let (busy, stolen) = (seconds(0..3), seconds(7..8));
        Reading { at, busy, stolen, throttled: throttled(kernel), own }
    }
}

/// The ticks of each of these CPUs, or of all if none are known, by purpose.
fn ticks(kernel: &Kernel, allowed: &[usize]) -> Vec<Vec<f64>> {
    let is_ours = |name: &str| {
        let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
        number.is_some_and(|number| allowed.is_empty() || allowed.contains(&number))
    };
    let stat = kernel.text("proc/stat").unwrap_or_default();
    let lines = stat.lines().filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let ticks = rest.split_whitespace().map(|field| field.parse::<f64>().ok());
        is_ours(name).then(|| ticks.collect::<Option<Vec<_>>>()).flatten()
    });
    lines.collect()
}

/// Seconds for which the quotas of the control groups of this process stopped its threads: of the group that was stopped most.
fn throttled(kernel: &Kernel) -> Option<f64> {
    let seconds = kernel.groups().into_iter().filter_map(|group| {
        let stat = kernel.text(&format!("{group}/cpu.stat"))?;
        let micros = stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
        Some(micros.trim().parse::<f64>().ok()? / 1e6)
    });
    seconds.max_by(f64::total_cmp)
}

/// The work between two readings. CPUs are CPU seconds of a second; a value the kernel does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Span {
    /// The length.
    seconds: f64,
    /// CPUs used by other programs.
    other_cpus: Option<f64>,
    /// CPUs given to others by the host of a virtual machine.
    stolen_cpus: Option<f64>,
    /// Seconds for which a quota stopped threads of a control group of this process.
    throttled_seconds: Option<f64>,
}

impl Span {
    /// From a reading to a later reading.
    fn between(from: &Reading, to: &Reading) -> Self {
        let seconds = (to.at - from.at).as_secs_f64();
        let passed = |of: fn(&Reading) -> Option<f64>| Some((of(to)? - of(from)?).max(0.0));
        let share = |part: f64| part / seconds.max(f64::MIN_POSITIVE);
        let own = to.own - from.own;
        // Some containers have a file in which nothing is ever counted: a file that has not counted us says nothing of others.
        let busy = passed(|reading| reading.busy).filter(|busy| *busy >= own / 2.0 - RESOLUTION);
        Span {
            seconds,
            other_cpus: busy.map(|busy| share((busy - own).max(0.0))),
            stolen_cpus: passed(|reading| reading.stolen).map(share),
            throttled_seconds: passed(|reading| reading.throttled),
        }
    }

    /// The objections on a machine with so many CPUs, in words, if there are any.
    pub(crate) fn complaints(&self, cpus: usize) -> Option<String> {
        let much = (cpus as f64 * MUCH).max(LEAST);
        let is_much =
            |taken: &f64| *taken >= much && taken * self.seconds >= RESOLUTION * cpus as f64;
        let others = self.other_cpus.filter(is_much);
        let stolen = self.stolen_cpus.filter(is_much);
        let throttled = self.throttled_seconds.filter(|time| *time >= MUCH * self.seconds);
        let all = [
            others.map(|taken| format!("{taken:.1} of {cpus} CPUs were taken by other programs")),
            stolen.map(|taken| format!("the host kept {taken:.1} of {cpus} CPUs for others")),
            throttled.map(|time| format!("a CPU quota stopped it for {time:.1} s")),
        ];
        let all: Vec<_> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// The share of all CPUs from which on their loss matters.
const MUCH: f64 = 0.05;
/// CPUs from which on it matters on a small machine: less is the system's own work.
const LEAST: f64 = 0.1;
/// Seconds by which the count of a CPU may be off: two ticks.
const RESOLUTION: f64 = 2.0 / TICKS;

/// The machine's other work during a whole run, as a result file has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Record {
    /// From before the first row to after the last measured row.
    whole: Span,
    /// The objections, in words; none if the machine was quiet.
    pub(crate) busy: Option<String>,
}

/// The record of a run, and the means to write it.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    /// CPUs of this process.
    cpus: usize,
    /// Where all this is read.
    kernel: Kernel,
    /// Whether the laboratory has a computing process.
    has_hogs: bool,
    /// The first reading, and the reading before the current row.
    readings: [Reading; 2],
    /// The record so far.
    pub(crate) record: Record,
}

impl Noise {
    /// Nothing yet, of a machine with so many CPUs.
    pub(crate) fn new(kernel: Kernel, cpus: usize, has_hogs: bool) -> Self {
        Noise {
            cpus,
            has_hogs,
            readings: [Reading::now(&kernel, has_hogs); 2],
            record: Record::default(),
            kernel,
        }
    }

    /// The run begins.
    pub(crate) fn begin(&mut self) {
        self.readings = [Reading::now(&self.kernel, self.has_hogs); 2];
    }

    /// Whether there has been no other work since it began.
    pub(crate) fn is_quiet(&self) -> bool {
        let span = Span::between(&self.readings[0], &Reading::now(&self.kernel, self.has_hogs));
        span.complaints(self.cpus).is_none()
    }

    /// A row begins.
    pub(crate) fn open_row(&mut self) {
        self.readings[1] = Reading::now(&self.kernel, self.has_hogs);
    }

    /// The row has ended, or is cut short. Returns the work meanwhile.
    pub(crate) fn close_row(&mut self, is_cut: bool) -> Span {
        let mut now = Reading::now(&self.kernel, self.has_hogs);
        if is_cut {
            // The laboratory's running processes are not counted as its own: the kernel counts them when they have ended.
            now.busy = None;
        }
        let span = Span::between(&self.readings[1], &now);
        // The span of the rows before stays.
        if !is_cut || self.record.whole == Span::default() {
            self.record.whole = Span::between(&self.readings[0], &now);
        }
        let busy = self.record.whole.complaints(self.cpus);
        self.record.busy =
            busy.map(|why| format!("this machine was busy: {why}; treat ratios with caution"));
        span
    }
}

#[cfg(test)]
mod tests {
    use super::{Noise, Reading, Span, throttled};
    use crate::kernel::{Kernel, made_up};
    use std::fs;
    use std::time::{Duration, Instant};

    /// `/proc/stat` of two CPUs, with these ticks outside the kernel and these stolen ticks, on each.
    fn stat(user: u32, stolen: u32) -> String {
        let cpu = |name: &str| format!("{name} {user} 10 20 99 9 7 7 {stolen} 0 0\n");
        ["cpu ", "cpu0", "cpu1", "cpu7"].map(cpu).concat() + "intr 1 2\n"
    }

    /// Our CPUs.
    const ALLOWED: &[usize] = &[0, 1];

    /// Two seconds in which each CPU computes for `busy` ticks and we for `own` seconds.
    fn span(busy: u32, stolen: u32, own: f64) -> Span {
        let (folder, kernel) = made_up(&[("proc/stat", &stat(1_000, 50))]);
        let begun = Instant::now();
        let before = Reading::with(&kernel, ALLOWED, 3.0, begun);
        fs::write(folder.path().join("proc/stat"), stat(1_000 + busy, 50 + stolen))
            .expect("a file");
        let after = Reading::with(&kernel, ALLOWED, 3.0 + own, begun + Duration::from_secs(2));
        Span::between(&before, &after)
    }

    #[test]
    fn cpu_time_not_ours_is_of_others() {
        let round = |cpus: Option<f64>| cpus.map(|cpus| (cpus * 100.0).round() / 100.0);
        // Both CPUs computed for all of two seconds, of which we had 1.4 CPU seconds.
        let busy = span(200, 20, 1.4);
        assert_eq!((round(busy.other_cpus), round(busy.stolen_cpus)), (Some(1.3), Some(0.2)));
        let line =
            "1.3 of 2 CPUs were taken by other programs; the host kept 0.2 of 2 CPUs for others";
        assert_eq!(busy.complaints(2).as_deref(), Some(line));
        assert!(busy.complaints(64).is_none(), "much of two CPUs is little of 64");
        let alone = span(200, 0, 3.95);
        assert!(alone.complaints(2).is_none(), "{alone:?}");
        assert_eq!(round(span(200, 0, 4.5).other_cpus), Some(0.0), "ticks are not exact");
    }

    #[test]
    fn a_file_without_counts_says_nothing() {
        assert_eq!(span(0, 0, 1.4).other_cpus, None);
        let nothing = made_up(&[]).1;
        let reading = Reading::with(&nothing, &[], 1.0, Instant::now());
        assert_eq!((reading.busy, reading.stolen), (None, None));
        for damaged in ["", "cpu0", "cpu0 1 x 3", "cpu0 \u{0} 1", "cpux 1 2 3"] {
            let (_folder, kernel) = made_up(&[("proc/stat", damaged)]);
            assert_eq!(Reading::with(&kernel, &[], 1.0, Instant::now()).busy, None, "{damaged}");
        }
        // A kernel too old to count stolen time.
        let (_folder, kernel) = made_up(&[("proc/stat", "cpu0 100 0 100 7\n")]);
        let reading = Reading::with(&kernel, &[], 1.0, Instant::now());
        assert_eq!((reading.busy, reading.stolen), (Some(2.0), None));
    }

    #[test]
    fn throttling_is_read_in_seconds() {
        let (_folder, kernel) = made_up(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/c\n0::/a/b\n"),
            ("sys/fs/cgroup/a/cpu.stat", "nr_throttled 3\nthrottled_usec 2000000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nthrottled_usec 500000\n"),
        ]);
        let reading = Reading::with(&kernel, &[], 0.0, Instant::now());
        assert_eq!(reading.throttled, Some(2.0));
        for damaged in ["throttled_usec", "throttled_usec x", "throttled_usec 1 2", "\u{0}"] {
            let (_folder, kernel) =
                made_up(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.stat", damaged)]);
            assert_eq!(throttled(&kernel), None, "{damaged}");
        }
        let stopped = Span { seconds: 10.0, throttled_seconds: Some(1.0), ..Span::default() };
        assert_eq!(stopped.complaints(2).as_deref(), Some("a CPU quota stopped it for 1.0 s"));
    }

    #[test]
    fn a_busy_machine_is_one_line_and_no_files_are_quiet() {
        let (_folder, kernel) = made_up(&[]);
        let mut noise = Noise::new(kernel, 1, false);
        noise.begin();
        noise.open_row();
        assert_eq!(noise.close_row(false).complaints(1), None);
        assert_eq!(noise.record.busy.as_deref(), None);
        let whole = Span { seconds: 9.0, other_cpus: Some(1.26), ..Span::default() };
        let line = whole.complaints(1);
        assert_eq!(line.as_deref(), Some("1.3 of 1 CPUs were taken by other programs"));
        noise.record = super::Record { whole, busy: line };
        let json = serde_json::to_value(&noise.record).expect("JSON");
        let read: super::Record = serde_json::from_value(json.clone()).expect("what it wrote");
        assert_eq!(serde_json::to_value(read).expect("JSON"), json);
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let mut noise = Noise::new(Kernel::here(), 2, false);
        noise.begin();
        assert_eq!(Reading::now(&noise.kernel, false).busy.is_some(), cfg!(target_os = "linux"));
    }
}
