//! The machine and the compiler of a measurement.

use std::thread;

use rustix::system::uname;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::kernel::Kernel;
use crate::pins::Pin;
use crate::program::{name, word};

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
    /// The compiler of the laboratory.
    pub(crate) rustc: String,
    /// Whether it was built without optimisation, which makes the numbers worthless.
    pub(crate) debug: bool,
    /// The version of the laboratory.
    pub(crate) version: String,
    /// When it started, in UTC.
    pub(crate) date: String,
    /// Computing threads of another process during the measurements.
    pub(crate) hogs: u64,
    /// Where the threads of the runs are, unless the kernel decides.
    pub(crate) pin: Option<String>,
    /// The rest, which is only shown, by name.
    #[serde(flatten)]
    pub(crate) more: Map<String, Value>,
}

impl Machine {
    /// Describes this machine and the settings.
    pub(crate) fn read(seed: u64, hogs: u64, pin: Option<Pin>) -> Self {
        let (system, kernel) = (uname(), Kernel::here());
        let words = [system.sysname(), system.release()].map(|word| word.to_string_lossy());
        let flags = kernel.field("proc/cpuinfo", "flags");
        let is_virtual = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        let cpu_model = kernel.field("proc/cpuinfo", "model name");
        let more = [
            // Which CPUs it may run on, without looking at quotas, where the kernel tells.
            ("affinity", kernel.field("proc/thread-self/status", "Cpus_allowed_list").into()),
            // Whether x86 reports a hypervisor, which the metal of a cloud does not report either.
            ("virtual", is_virtual.into()),
            // The governor of the first CPU's clock.
            ("governor", kernel.text(GOVERNOR).into()),
            // Of the order of the targets.
            ("seed", seed.into()),
            // With `-modified` if the working tree had changes. Unknown without git or without optimisation.
            ("commit", env!("BRIGADE_LAB_COMMIT").into()),
            ("profile", env!("BRIGADE_LAB_PROFILE").into()),
            // The flags of `RUSTFLAGS` or of cargo's configuration: `-C target-cpu` stands here.
            ("rustflags", env!("BRIGADE_LAB_RUSTFLAGS").into()),
        ];
        let more = more.map(|(name, value): (&str, Value)| (name.to_owned(), value));
        Machine {
            cpus: cpus(),
            cpu_model: cpu_model.unwrap_or_else(|| "unknown".to_owned()),
            kernel: words.join(" "),
            arch: std::env::consts::ARCH.to_owned(),
            rustc: env!("BRIGADE_LAB_RUSTC").to_owned(),
            debug: cfg!(debug_assertions),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: now(),
            hogs,
            pin: pin.map(|pin| name(&pin)),
            more: more.into_iter().collect(),
        }
    }

    /// The machine in a few lines, with all that is known of it if verbose.
    pub(crate) fn describe(&self, is_verbose: bool) -> Vec<String> {
        let Machine { cpus, cpu_model, kernel, arch, rustc, version, date, hogs, .. } = self;
        let is_known = |value: &Value| !value.is_null() && value != "";
        let known = |name: &str| self.more.get(name).filter(|value| is_known(value)).map(word);
        let commit = known("commit").map_or(String::new(), |commit| format!(" ({commit})"));
        let seed = known("seed").map_or(String::new(), |seed| format!(", seed {seed}"));
        let host = known("virtual").filter(|known| known == "true").map_or("", |_| ", virtual");
        let mut lines = vec![
            format!("brigade-lab {version}{commit} on {cpus} × {cpu_model}, {kernel} {arch}{host}"),
            format!("{rustc}, {date}{seed}"),
        ];
        if *hogs > 0 {
            lines.push(format!("beside {hogs} hogs: threads of another process that compute"));
        }
        lines.extend(self.pin.iter().map(|pin| format!("threads pinned: {pin}")));
        if self.debug {
            lines.push("built without optimisation: measure with --release".to_owned());
        }
        let more = self.more.iter().filter(|(_, value)| is_verbose && is_known(value));
        lines.extend(more.map(|(name, value)| format!("{name}: {}", word(value))));
        lines
    }
}

/// Where the governor of the first CPU stands.
const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// CPUs this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// This moment in UTC, to the second.
fn now() -> String {
    let now = OffsetDateTime::now_utc();
    now.replace_nanosecond(0).unwrap_or(now).format(&Rfc3339).unwrap_or_default()
}
