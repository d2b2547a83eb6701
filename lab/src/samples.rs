//! The single values of a run, beside the metrics that sum them up.

use std::mem;
use std::sync::{Mutex, PoisonError};

/// Where a run leaves its single values, if they are wanted, and how many there are in any case.
#[derive(Clone, Copy)]
pub(crate) struct Samples(Option<&'static Mutex<Kept>>);

/// What a run has left.
#[derive(Default)]
struct Kept {
    /// How many values are behind its percentiles.
    count: u64,
    /// The values, if they are wanted.
    values: Option<Vec<f64>>,
}

impl Samples {
    /// No place for values.
    pub(crate) const NONE: Self = Samples(None);

    /// Room for the values of one run. Leaked, as a run that was given up may still write to it.
    pub(crate) fn leak(are_wanted: bool) -> Self {
        let kept = Kept { count: 0, values: are_wanted.then(Vec::new) };
        Samples(Some(Box::leak(Box::new(Mutex::new(kept)))))
    }

    /// Adds these.
    pub(crate) fn keep(self, values: &[f64]) {
        self.with(|kept| {
            kept.count += values.len() as u64;
            kept.values.iter_mut().for_each(|kept| kept.extend(values));
        });
    }

    /// Adds this many, which are elsewhere.
    pub(crate) fn count(self, values: u64) {
        self.with(|kept| kept.count += values);
    }

    /// Takes those that there are, and says how many there were.
    pub(crate) fn take(self) -> (u64, Vec<f64>) {
        let take = |kept: &mut Kept| {
            let values = kept.values.as_mut().map(mem::take).unwrap_or_default();
            (mem::take(&mut kept.count), values)
        };
        self.with(take).unwrap_or_default()
    }

    /// Lets `access` access what is kept.
    fn with<T>(self, access: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        let kept = self.0?;
        Some(access(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
