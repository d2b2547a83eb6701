//! The machine and the compiler of a measurement.

use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::system::uname;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::Kernel;
use crate::pins::Pin;

/// The machine, as the result file describes it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Machine {
    /// CPUs this process may use, quotas included.
    pub(crate) cpus: usize,
    /// The model of the CPUs.
    pub(crate) cpu_model: String,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// Architecture of this program.
    pub(crate) arch: String,
    /// The compiler that built it.
    pub(crate) rustc: String,
    /// Whether it was built without optimisation, which makes its numbers worthless.
    pub(crate) debug: bool,
    /// Its version.
    pub(crate) version: String,
    /// When it started, in UTC.
    pub(crate) date: String,
    /// Threads of another process that compute during the measurements.
    pub(crate) hogs: u64,
    /// Where the threads of the runs are, unless the kernel decides that.
    pub(crate) pin: Option<String>,
    /// The rest, which is only shown, by name.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

impl Machine {
    /// It in a line, with what the laboratory was built from.
    pub(crate) fn origin(&self) -> String {
        let Machine { cpus, cpu_model, kernel, arch, rustc, version, date, .. } = self;
        let day = date.split('T').next().unwrap_or_default();
        let warning = if self.debug { " · built without optimisation" } else { "" };
        format!(
            "{cpus} × {cpu_model}, {kernel} {arch} · {rustc} · brigade-lab {version}, {day}{warning}"
        )
    }
}

impl Machine {
    /// Describes this machine and its settings.
    pub(crate) fn read(seed: u64, hogs: u64, pin: Option<Pin>) -> Self {
        let (system, kernel) = (uname(), Kernel::here());
        let words = [system.sysname(), system.release()].map(|word| word.to_string_lossy());
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let more = [
            // Which CPUs it may run on, without looking at quotas, where the kernel tells.
            ("affinity", kernel.field("proc/thread-self/status", "Cpus_allowed_list").into()),
            ("hypervisor", hypervisor(&kernel).into()),
            // What governs the clock of the first CPU.
            ("governor", kernel.text(GOVERNOR).into()),
            // Of the order of the targets.
            ("seed", seed.into()),
            // With `-modified` if the working tree had changes. Unknown without git or without optimisation.
            ("commit", env!("BRIGADE_LAB_COMMIT").into()),
            ("profile", env!("BRIGADE_LAB_PROFILE").into()),
            // The flags of `RUSTFLAGS` or of cargo's configuration: `-C target-cpu` stands here.
            ("rustflags", env!("BRIGADE_LAB_RUSTFLAGS").into()),
            ("target", env!("BRIGADE_LAB_TARGET").into()),
            // What the compiler could use of the CPU.
            ("target_features", env!("BRIGADE_LAB_TARGET_FEATURES").into()),
        ];
        Machine {
            cpus: cpus(),
            cpu_model: kernel
                .field("proc/cpuinfo", "model name")
                .unwrap_or_else(|| "unknown".to_owned()),
            kernel: words.join(" "),
            arch: std::env::consts::ARCH.to_owned(),
            rustc: env!("BRIGADE_LAB_RUSTC").to_owned(),
            debug: cfg!(debug_assertions),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: utc(since_1970.as_secs()),
            hogs,
            pin: pin.map(Pin::name),
            more: more
                .map(|(name, value): (&str, Value)| (name.to_owned(), value))
                .into_iter()
                .collect(),
        }
    }

    /// The machine in a few lines, for the head of the tables; in more if it is to be verbose.
    pub(crate) fn describe(&self, is_verbose: bool) -> String {
        let hogs = match self.hogs {
            0 => String::new(),
            hogs => format!("\nbeside {hogs} hogs: threads of another process that compute"),
        };
        let pin = self.pin.as_ref().map_or(String::new(), |pin| format!("\nthreads pinned: {pin}"));
        let warning =
            if self.debug { "\nbuilt without optimisation: measure with --release" } else { "" };
        let [commit, hypervisor, seed] = ["commit", "hypervisor", "seed"]
            .map(|name| self.more.get(name).map(words).unwrap_or_default());
        let commit = if commit.is_empty() { commit } else { format!(" ({commit})") };
        let hypervisor = match &*hypervisor {
            "" | "none" => String::new(),
            name => format!(", virtual ({name})"),
        };
        let more = self.more.iter().map(|(name, value)| (name, words(value)));
        let more = more.filter(|(_, value)| is_verbose && !value.is_empty());
        let more: String = more.map(|(name, value)| format!("\n{name}: {value}")).collect();
        format!(
            "brigade-lab {}{commit} on {} × {}, {} {}{hypervisor}\n{}, {}, seed {seed}{hogs}{pin}{warning}{more}",
            self.version, self.cpus, self.cpu_model, self.kernel, self.arch, self.rustc, self.date,
        )
    }
}

/// What there is to say of a machine, without the signs of JSON.
pub(crate) fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Where the governor of the first CPU stands.
const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// What runs this machine, if it is a virtual one: x86 has a bit for that, which the metal of a cloud does not set either.
fn hypervisor(kernel: &Kernel) -> Option<String> {
    let flags = kernel.field("proc/cpuinfo", "flags")?;
    if flags.split(' ').all(|flag| flag != "hypervisor") {
        return Some("none".to_owned());
    }
    let clock = kernel.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let names = [kernel.text("sys/hypervisor/type"), kernel.text("sys/class/dmi/id/product_name")];
    let known = clock.filter(|clock| clock.contains("kvm-clock")).map(|_| "KVM".to_owned());
    let mut named = names.into_iter().flatten().filter(|name| !name.is_empty());
    known.or_else(|| named.next()).or_else(|| Some("not named".to_owned()))
}

/// CPUs this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
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
    use super::{hypervisor, utc};
    use crate::kernel::made_up;

    #[test]
    fn a_hypervisor_is_named_by_what_there_is_of_it() {
        const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        const FLAGS: (&str, &str) =
            ("proc/cpuinfo", "model name\t: x\nflags\t\t: fpu hypervisor sse\n");
        type Files = &'static [(&'static str, &'static str)];
        let cases: [(Files, Option<&str>); 6] = [
            (&[], None),
            (&[("proc/cpuinfo", "Features\t: fp asimd\n")], None),
            (&[("proc/cpuinfo", "flags\t: fpu sse\n")], Some("none")),
            (&[FLAGS], Some("not named")),
            (&[FLAGS, (CLOCKS, "tsc kvm-clock\n")], Some("KVM")),
            (&[FLAGS, ("sys/hypervisor/type", "xen\n")], Some("xen")),
        ];
        for (files, expected) in cases {
            let (_folder, kernel) = made_up(files);
            assert_eq!(hypervisor(&kernel).as_deref(), expected, "{files:?}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
