//! The single values of a run, beside the metrics that sum them up.

use std::mem;
use std::sync::{Mutex, PoisonError};

/// Where a run leaves its single values, if they are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Samples(Option<&'static Mutex<Vec<f64>>>);

impl Samples {
    /// No place for values.
    pub(crate) const NONE: Self = Samples(None);

    /// Room for the values of one run. Leaked, as a run that was given up may still write to it.
    pub(crate) fn leak() -> Self {
        Samples(Some(Box::leak(Box::default())))
    }

    /// Adds these.
    pub(crate) fn keep(self, values: &[f64]) {
        if let Some(samples) = self.0 {
            samples.lock().unwrap_or_else(PoisonError::into_inner).extend(values);
        }
    }

    /// Takes those that there are.
    pub(crate) fn take(self) -> Vec<f64> {
        let lock = self.0.map(|samples| samples.lock().unwrap_or_else(PoisonError::into_inner));
        lock.map(|mut samples| mem::take(&mut *samples)).unwrap_or_default()
    }
}
