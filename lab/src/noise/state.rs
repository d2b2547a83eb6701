//! The machine at one moment, and its settings.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{pressure, ticks};
use crate::kernel::Kernel;

/// The machine at one moment: before the run, after each row, and after the run. What the kernel does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct State {
    /// The mean number of threads that ran or wanted to, over the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<f64>,
    /// The share of the last ten seconds in which some thread waited for a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pressure: Option<f64>,
    /// The share of all CPU time since the machine started that the host gave to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    stolen: Option<f64>,
    /// The mean clock of the CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    megahertz: Option<f64>,
    /// What governs the clocks of the CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    governor: Option<String>,
    /// The CPUs that the quota of a control group stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_cpus: Option<f64>,
}

impl State {
    /// Looks at the machine now.
    pub(super) fn now(kernel: &Kernel) -> Self {
        let load = kernel.text("proc/loadavg");
        let pressure = pressure(kernel).and_then(|pressure| {
            let percent: f64 = pressure.split("avg10=").nth(1)?.split(' ').next()?.parse().ok()?;
            Some(percent / 100.0)
        });
        let ticks = ticks(kernel);
        // The time of guests, behind the eighth, is part of the first two.
        let all: f64 = ticks.iter().flat_map(|cpu| cpu.iter().take(8)).sum();
        let stolen = ticks.iter().map(|cpu| cpu.get(7)).sum::<Option<f64>>();
        let cpus = kernel.allowed().unwrap_or_default();
        let setting = |cpu, name| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_{name}");
        let clocks: Vec<_> = cpus
            .iter()
            .filter_map(|cpu| Some(kernel.value::<f64>(&setting(cpu, "cur_freq"))? / 1e3))
            .collect();
        let mean = clocks.iter().sum::<f64>() / clocks.len() as f64;
        let governors: BTreeSet<_> =
            cpus.iter().filter_map(|cpu| kernel.text(&setting(cpu, "governor"))).collect();
        let governors = governors.into_iter().collect::<Vec<_>>().join(", ");
        State {
            load: load.and_then(|load| load.split(' ').next()?.parse().ok()),
            pressure,
            stolen: stolen.map(|stolen| stolen / all).filter(|share| share.is_finite()),
            megahertz: mean.is_finite().then_some(mean),
            governor: (!governors.is_empty()).then_some(governors),
            quota_cpus: quota(kernel),
        }
    }

    /// It in words.
    pub(super) fn words(&self) -> String {
        let percent = |share: f64, decimals| format!("{:.decimals$} %", share * 100.0);
        let parts = [
            self.load.map(|load| format!("load {load:.2}")),
            self.pressure.map(|share| format!("CPU pressure {}", percent(share, 0))),
            self.stolen.map(|share| format!("steal {} since it started", percent(share, 2))),
            self.megahertz.map(|clock| format!("{:.2} GHz", clock / 1e3)),
            self.governor.as_ref().map(|governor| format!("governor {governor}")),
            self.quota_cpus.map(|cpus| format!("a quota of {cpus:.2} CPUs")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// What of the settings is not as it was before, in words.
    pub(super) fn changes(&self, before: &State) -> Option<String> {
        let text = |state: &State| {
            let governor = state.governor.clone().unwrap_or_default();
            let quota =
                state.quota_cpus.map_or("none".to_owned(), |cpus| format!("{cpus:.2} CPUs"));
            [("governor", governor), ("CPU quota", quota)]
        };
        let changed = text(before).into_iter().zip(text(self)).find(|(old, new)| old != new);
        changed.map(|((name, old), (_, new))| format!("the {name} changed from {old} to {new}"))
    }
}

/// The CPUs that the tightest quota of the control groups of this process stands for.
pub(super) fn quota(kernel: &Kernel) -> Option<f64> {
    let groups = kernel.groups("cpu").into_iter().flatten();
    let quotas = groups.filter_map(|group| {
        let text = kernel.text(&format!("{group}/cpu.max")).or_else(|| {
            let part = |file: &str| kernel.text(&format!("{group}/cpu.cfs_{file}_us"));
            Some(format!("{} {}", part("quota")?, part("period")?))
        })?;
        // A group without a quota says `max`, or -1.
        let (quota, period) = text.split_once(' ')?;
        let cpus = quota.parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?;
        (cpus.is_finite() && cpus > 0.0).then_some(cpus)
    });
    quotas.min_by(f64::total_cmp)
}
