//! The machine and the compiler of a measurement.

use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::system::uname;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kernel::Kernel;
use crate::pins::Pin;

/// The machine, as the result file describes it. What is not read back, a report shows by its name.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Machine {
    /// CPUs this process may use, quotas included.
    pub(crate) cpus: usize,
    /// Which CPUs it may run on, without looking at quotas, where the kernel tells.
    #[serde(skip_deserializing)]
    pub(crate) affinity: Option<String>,
    /// The model of the CPUs.
    pub(crate) cpu_model: String,
    /// The caches of the first CPU, where the kernel tells.
    #[serde(skip_deserializing)]
    caches: Vec<Cache>,
    /// What runs this machine, if it is a virtual one: `none` if it is not, and nothing where that is not known.
    #[serde(skip_deserializing)]
    hypervisor: Option<String>,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
    /// Architecture of this program.
    pub(crate) arch: String,
    /// The compiler that built it.
    pub(crate) rustc: String,
    /// Whether it was built without optimisation, which makes its numbers worthless.
    pub(crate) debug: bool,
    /// How else it was built.
    #[serde(skip_deserializing)]
    build: Build,
    /// The crates that it depends on, the peers among them, and their versions.
    #[serde(skip_deserializing)]
    versions: Map<String, Value>,
    /// Its version.
    pub(crate) version: String,
    /// When it started, in UTC.
    pub(crate) date: String,
    /// Seed of the order of the targets.
    #[serde(skip_deserializing)]
    pub(crate) seed: u64,
    /// Threads of another process that compute during the measurements.
    pub(crate) hogs: u64,
    /// Where the threads of the runs are, unless the kernel decides that.
    pub(crate) pin: Option<String>,
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

/// A cache of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Cache {
    /// 1 is the nearest.
    level: u32,
    /// `Data`, `Instruction` or `Unified`.
    kind: String,
    /// Its size, as the kernel writes it: `32K`.
    size: String,
    /// The CPUs that share it: `0-1`.
    cpus: String,
}

/// How the laboratory was built.
#[derive(Clone, Debug, Default, Serialize)]
struct Build {
    /// The commit, with `-modified` if the working tree had changes. Unknown without git or without optimisation.
    commit: Option<&'static str>,
    /// The profile, and its level of optimisation.
    profile: &'static str,
    /// The flags of `RUSTFLAGS` or of cargo's configuration: `-C target-cpu` stands here.
    rustflags: &'static str,
    /// The triple.
    target: &'static str,
    /// What the compiler could use of the CPU.
    target_features: &'static str,
}

impl Build {
    /// That of this program.
    fn of_this() -> Self {
        Build {
            commit: Some(env!("BRIGADE_LAB_COMMIT")).filter(|commit| !commit.is_empty()),
            profile: env!("BRIGADE_LAB_PROFILE"),
            rustflags: env!("BRIGADE_LAB_RUSTFLAGS"),
            target: env!("BRIGADE_LAB_TARGET"),
            target_features: env!("BRIGADE_LAB_TARGET_FEATURES"),
        }
    }
}

impl Machine {
    /// Describes this machine and its settings.
    pub(crate) fn read(seed: u64, hogs: u64, pin: Option<Pin>) -> Self {
        let (system, kernel) = (uname(), Kernel::here());
        let words = [system.sysname(), system.release()].map(|word| word.to_string_lossy());
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let versions = env!("BRIGADE_LAB_VERSIONS").split(',').filter_map(|one| {
            let (name, version) = one.split_once(' ')?;
            Some((name.to_owned(), version.into()))
        });
        Machine {
            cpus: cpus(),
            affinity: kernel.field("proc/self/status", "Cpus_allowed_list"),
            cpu_model: kernel
                .field("proc/cpuinfo", "model name")
                .unwrap_or_else(|| "unknown".to_owned()),
            caches: caches(&kernel),
            hypervisor: hypervisor(&kernel),
            kernel: words.join(" "),
            arch: std::env::consts::ARCH.to_owned(),
            rustc: env!("BRIGADE_LAB_RUSTC").to_owned(),
            debug: cfg!(debug_assertions),
            build: Build::of_this(),
            versions: versions.collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: utc(since_1970.as_secs()),
            seed,
            hogs,
            pin: pin.map(|pin| pin.name().to_owned()),
        }
    }

    /// The same with the versions of programs that are no crates.
    pub(crate) fn with_versions(
        mut self,
        versions: impl Iterator<Item = (String, String)>,
    ) -> Self {
        self.versions.extend(versions.map(|(name, version)| (name, version.into())));
        self
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
        let commit = self.build.commit.map_or(String::new(), |commit| format!(" ({commit})"));
        let hypervisor = match self.hypervisor.as_deref() {
            None | Some("none") => String::new(),
            Some(name) => format!(", virtual ({name})"),
        };
        let more = if is_verbose { self.more() } else { String::new() };
        format!(
            "brigade-lab {}{commit} on {} × {}, {} {}{hypervisor}\n{}, {}, seed {}{hogs}{pin}{warning}{more}",
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

    /// The rest of it, a line for each kind.
    fn more(&self) -> String {
        let Build { profile, rustflags, target, .. } = &self.build;
        let flags = if rustflags.is_empty() { "none" } else { rustflags };
        let cache = |cache: &Cache| {
            let Cache { level, kind, size, cpus } = cache;
            format!("L{level} {} {size} (CPUs {cpus})", kind.to_lowercase())
        };
        let caches: Vec<_> = self.caches.iter().map(cache).collect();
        let version = |(name, version): (&String, &Value)| {
            format!("{name} {}", version.as_str().unwrap_or_default())
        };
        let versions: Vec<_> = self.versions.iter().map(version).collect();
        let lines = [
            ("CPUs allowed", self.affinity.clone().unwrap_or_default()),
            ("caches", caches.join(", ")),
            ("build", format!("{profile}, for {target}, flags: {flags}")),
            ("versions", versions.join(", ")),
        ];
        let lines = lines.into_iter().filter(|(_, text)| !text.is_empty());
        lines.map(|(name, text)| format!("\n{name}: {text}")).collect()
    }
}

/// Where the kernel lists the caches of the first CPU.
const CACHES: &str = "sys/devices/system/cpu/cpu0/cache";

/// The caches of the first CPU, the nearest first.
fn caches(kernel: &Kernel) -> Vec<Cache> {
    let read = |folder: String| {
        let text = |file: &str| kernel.text(&format!("{folder}/{file}"));
        Some(Cache {
            level: text("level")?.parse().ok()?,
            kind: text("type")?,
            size: text("size")?,
            cpus: text("shared_cpu_list")?,
        })
    };
    kernel.folders(CACHES).into_iter().filter_map(read).collect()
}

/// Words in the names of virtual machines by their firmware, and the hypervisors.
const FIRMWARE: [(&str, &str); 8] = [
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("Xen", "Xen"),
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("Amazon EC2", "Amazon EC2"),
];

/// Words in the names of clocks, and the hypervisors that offer these.
const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];

/// What runs this machine, if it is a virtual one.
fn hypervisor(kernel: &Kernel) -> Option<String> {
    let named = |text: Option<String>, names: &[(&str, &str)]| {
        let text = text?;
        let found = names.iter().find(|(word, _)| text.contains(word))?;
        Some(found.1.to_owned())
    };
    // x86 has a bit for it, which the metal of a cloud does not set either.
    let flags = kernel.field("proc/cpuinfo", "flags");
    let is_set = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if is_set == Some(false) {
        return Some("none".to_owned());
    }
    let dmi = |file: &str| kernel.text(&format!("sys/class/dmi/id/{file}")).unwrap_or_default();
    let firmware = format!("{} {}", dmi("sys_vendor"), dmi("product_name"));
    let clocks = kernel.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    kernel
        .text("sys/hypervisor/type")
        .filter(|name| !name.is_empty())
        .or_else(|| named(Some(firmware), &FIRMWARE))
        .or_else(|| named(clocks, &CLOCKS))
        .or_else(|| is_set.map(|_| "not named".to_owned()))
}

/// CPUs this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Where the kernel lists the states in which an idle CPU saves energy.
const IDLE: &str = "sys/devices/system/cpu/cpu0/cpuidle";

/// A line about CPUs that are slow to wake, if these are some: what waits for a thread on an idle CPU waits for that CPU too.
pub(crate) fn slow_to_wake() -> Option<String> {
    let (latency, state) = slowest(&Kernel::here())?;
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
fn slowest(kernel: &Kernel) -> Option<(u64, String)> {
    let states = kernel.folders(IDLE).into_iter().filter_map(|state| {
        let text = |file: &str| kernel.text(&format!("{state}/{file}"));
        let is_off = text("disable").is_some_and(|off| off != "0");
        Some((text("latency")?.parse().ok()?, text("name")?)).filter(|_| !is_off)
    });
    states.max()
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

/// The build script, which has no tests of its own.
#[cfg(test)]
#[path = "../build.rs"]
#[allow(dead_code)]
mod build_script;

#[cfg(test)]
mod tests {
    use super::build_script::versions;
    use super::{Machine, caches, hypervisor, slowest, utc};
    use crate::kernel::made_up;
    use std::fs;

    #[test]
    fn the_deepest_state_that_is_in_use_is_the_slowest_to_leave() {
        let state =
            |name: &str, file: &str| format!("sys/devices/system/cpu/cpu0/cpuidle/{name}/{file}");
        let mut files = Vec::new();
        for (name, latency, off) in [("POLL", "0", "0"), ("C1", "2", "0"), ("C6", "133", "1")] {
            for (file, text) in [("name", name), ("latency", latency), ("disable", off)] {
                files.push((state(name, file), text));
            }
        }
        let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        let (folder, kernel) = made_up(&files);
        assert_eq!(slowest(&kernel), Some((2, "C1".to_owned())));
        fs::remove_file(folder.path().join(state("C6", "disable")))
            .expect("older kernels have none");
        assert_eq!(slowest(&kernel), Some((133, "C6".to_owned())));
        assert_eq!(slowest(&made_up(&[]).1), None);
    }

    #[test]
    fn caches_are_those_that_the_kernel_describes_wholly() {
        let index = |number: u32, file: &str| {
            format!("sys/devices/system/cpu/cpu0/cache/index{number}/{file}")
        };
        let mut files = Vec::new();
        for (number, level, kind) in
            [(0, "1", "Data"), (1, "1", "Instruction"), (2, "x", "Unified")]
        {
            for (file, text) in
                [("level", level), ("type", kind), ("size", "32K"), ("shared_cpu_list", "0-1")]
            {
                files.push((index(number, file), text));
            }
        }
        files.push((index(3, "level"), "3"));
        let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        let (_folder, kernel) = made_up(&files);
        let found = caches(&kernel);
        let kinds: Vec<_> = found.iter().map(|cache| (cache.level, cache.kind.as_str())).collect();
        assert_eq!(kinds, [(1, "Data"), (1, "Instruction")]);
        assert_eq!((found[0].size.as_str(), found[0].cpus.as_str()), ("32K", "0-1"));
        assert!(caches(&made_up(&[]).1).is_empty());
    }

    #[test]
    fn a_hypervisor_is_named_by_what_there_is_of_it() {
        const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        const FLAGS: (&str, &str) =
            ("proc/cpuinfo", "model name\t: x\nflags\t\t: fpu hypervisor sse\n");
        type Files = &'static [(&'static str, &'static str)];
        let cases: [(Files, Option<&str>); 8] = [
            (&[], None),
            (&[("proc/cpuinfo", "Features\t: fp asimd\n")], None),
            (&[("proc/cpuinfo", "flags\t: fpu sse\n")], Some("none")),
            (&[FLAGS], Some("not named")),
            (&[FLAGS, (CLOCKS, "tsc kvm-clock\n")], Some("KVM")),
            (&[FLAGS, ("sys/hypervisor/type", "xen\n")], Some("xen")),
            (&[FLAGS, ("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n")], Some("VMware")),
            (&[("sys/class/dmi/id/product_name", "KVM Virtual Machine\n")], Some("KVM")),
        ];
        for (files, expected) in cases {
            let (_folder, kernel) = made_up(files);
            assert_eq!(hypervisor(&kernel).as_deref(), expected, "{files:?}");
        }
    }

    #[test]
    fn versions_are_those_of_the_crates_that_the_laboratory_depends_on() {
        let lock = "version = 4\n\n[[package]]\nname = \"brigade-lab\"\nversion = \"0.1.0\"\ndependencies = [\n \
            \"brigade\",\n \"nix 0.30.1\",\n \"rayon\",\n \"st3 0.4.1\",\n \
            \"st3 0.4.1 (registry+https://x)\",\n \"lost\",\n]\n\n[[package]]\nname = \"brigade\"\n\
            version = \"0.1.0\"\n\n[[package]]\nname = \"nix\"\nversion = \"0.29.0\"\nsource = \"r\"\n\n\
            [[package]]\nname = \"nix\"\nversion = \"0.30.1\"\nsource = \"r\"\n\n[[package]]\nname = \"rayon\"\n\
            version = \"1.12.0\"\nsource = \"r\"\ndependencies = [\n \"nix 0.29.0\",\n]\n\n[[package]]\n\
            name = \"st3\"\nversion = \"0.4.1\"\n\n[[package]]\nname = \"st3\"\nversion = \"0.4.1\"\nsource = \"r\"\n";
        assert_eq!(versions(lock), ["nix 0.30.1", "rayon 1.12.0", "st3 0.4.1"]);
        assert!(versions("").is_empty() && versions("[[package]]\nname").is_empty());
        let machine = Machine::read(1, 0, None);
        assert!(
            machine.versions.contains_key("rayon") && !machine.versions.contains_key("brigade")
        );
        let head = machine.describe(true);
        assert!(head.contains("\nversions: ") && head.contains("opt-level"), "{head}");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
