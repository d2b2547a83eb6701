//! Faults of the engine that are not mended yet. Programs lack the verbs that show them, so that they find other faults.

use std::env;
use std::sync::OnceLock;

/// A fault, named after the part of a program that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gap {
    /// Jobs that compute for long beside timers and I/O.
    LateEvents,
    /// More jobs that wait than may lie on each other.
    Crowds,
    /// Waits in a hook for outcomes.
    WaitsInHooks,
    /// Threads that are lost some time after their start.
    LostStarts,
}

impl Gap {
    /// Whether programs may have it. The variable of the environment names faults that are tried although they are not mended.
    pub(crate) fn is_open(self) -> bool {
        static TRIED: OnceLock<String> = OnceLock::new();
        let tried = TRIED.get_or_init(|| env::var("BRIGADE_SEEDED_TRY").unwrap_or_default());
        tried.split(',').any(|name| name == format!("{self:?}"))
    }
}
