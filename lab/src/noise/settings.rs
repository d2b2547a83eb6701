//! The settings of the machine that change what it can do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;

/// The settings before the run, after each row, and after the run. An unknown one is absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Settings {
    /// What governs the clocks of the CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    governor: Option<String>,
    /// The CPUs that the quota of a control group stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_cpus: Option<f64>,
}

impl Settings {
    /// Reads them.
    pub(super) fn now(kernel: &Kernel) -> Self {
        let governors = kernel.allowed().unwrap_or_default().into_iter().filter_map(|cpu| {
            kernel.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
        });
        let governors: Vec<_> = governors.collect::<BTreeSet<_>>().into_iter().collect();
        Settings {
            governor: (!governors.is_empty()).then(|| governors.join(", ")),
            quota_cpus: quota(kernel),
        }
    }

    /// The first setting that has changed, in words.
    pub(super) fn changes(&self, before: &Settings) -> Option<String> {
        let text = |settings: &Settings| {
            let governor = settings.governor.clone().unwrap_or_default();
            let quota =
                settings.quota_cpus.map_or("none".to_owned(), |cpus| format!("{cpus:.2} CPUs"));
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
