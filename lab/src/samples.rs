//! The single values of a run, beside the metrics that sum them up.

use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::distribution::Distribution;

/// Where a run leaves how its single values are distributed, and these themselves if they are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Samples(Option<&'static Mutex<Kept>>);

/// What a run has left.
#[derive(Default)]
struct Kept {
    /// One for each set of percentiles, in the order of the metrics.
    distributions: Vec<Distribution>,
    /// The values, if they are wanted.
    values: Option<Vec<f64>>,
}

impl Samples {
    /// No place for values.
    pub(crate) const NONE: Self = Samples(None);

    /// Room for the values of one run. Leaked, as a run that was given up may still write to it.
    pub(crate) fn leak(are_wanted: bool) -> Self {
        let kept = Kept { values: are_wanted.then(Vec::new), ..Kept::default() };
        Samples(Some(Box::leak(Box::new(Mutex::new(kept)))))
    }

    /// Adds the values of a set of percentiles.
    pub(crate) fn keep(self, values: &[f64]) {
        self.add(Distribution::of(values));
        self.with(|kept| kept.values.iter_mut().for_each(|kept| kept.extend(values)));
    }

    /// Adds those of a set whose values are elsewhere.
    pub(crate) fn add(self, distribution: Distribution) {
        self.with(|kept| kept.distributions.push(distribution));
    }

    /// Takes all of it.
    pub(crate) fn take(self) -> (Vec<Distribution>, Vec<f64>) {
        let take = |kept: &mut Kept| {
            let values = kept.values.as_mut().map(mem::take).unwrap_or_default();
            (mem::take(&mut kept.distributions), values)
        };
        self.with(take).unwrap_or_default()
    }

    /// Lets `access` access what is kept.
    fn with<T>(self, access: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        let kept = self.0?;
        Some(access(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
