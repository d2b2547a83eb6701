//! How the single values of a run are distributed, beside the metrics that sum them up.

use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::distribution::Distribution;

/// Where a run leaves its distributions: one for each set of percentiles, in the order of the metrics.
#[derive(Clone, Copy)]
pub(crate) struct Samples(Option<&'static Mutex<Vec<Distribution>>>);

impl Samples {
    /// No place for values.
    pub(crate) const NONE: Self = Samples(None);

    /// Room for the values of one run. Leaked, as a run that was given up may still write to it.
    pub(crate) fn leak() -> Self {
        Samples(Some(Box::leak(Box::default())))
    }

    /// Adds the distribution of a set of percentiles.
    pub(crate) fn add(self, distribution: Distribution) {
        if let Some(kept) = self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(distribution);
        }
    }

    /// Takes all of them.
    pub(crate) fn take(self) -> Vec<Distribution> {
        let kept = self.0.map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| mem::take(&mut *kept)).unwrap_or_default()
    }
}
