//! Watchers of jobs in observed pools, and the observer's view of a pool.

use std::borrow::Cow;
use std::panic::Location;

use brigade_observe::{Job, JobLabel, Record, Site, Watcher};

use crate::engine::{Key, Shared, Worker, class_here, label_job, reach, with_worker};
use crate::values::Priority;

/// Returns the watcher of a job about to be submitted to the pool `key`, with this class, or that of the submitting job.
/// Must be called on the submitting thread. It watches nothing if the pool is not observed, or no longer exists.
#[inline]
pub(crate) fn watcher_of(
    key: Key,
    place: &'static Location<'static>,
    name: Option<&Cow<'static, str>>,
    class: Option<Priority>,
) -> Watcher {
    if key.is_observed() { new_watcher(key, place, name, class) } else { Watcher::default() }
}

#[cold]
#[inline(never)]
fn new_watcher(
    key: Key,
    place: &'static Location<'static>,
    name: Option<&Cow<'static, str>>,
    class: Option<Priority>,
) -> Watcher {
    let class = match class.unwrap_or_else(|| class_here(key)) {
        Priority::High => "high",
        Priority::Normal => "normal",
        Priority::Low => "low",
    };
    let mut watcher = Watcher::default();
    reach(key, &mut |at| {
        if let Some(observer) = at.shared().and_then(|shared| shared.config.observer.as_ref()) {
            let label = JobLabel { name: name.cloned(), place, class };
            watcher = Watcher::new(observer, label);
        }
    });
    watcher
}

impl Site for Key {
    fn is_here(&self) -> bool {
        Self::is_here(*self)
    }

    fn on_thread(&self, other: &Record, call: &mut dyn FnMut(Option<usize>, &Record)) {
        with_worker(|worker| match worker {
            Some(own) if own.is_of(*self) => call(Some(own.index), own.record()),
            _ => call(None, other),
        });
    }

    fn each(&self, call: &mut dyn FnMut(usize, &Record)) -> bool {
        // Not by `reach`: a thread searching for stalls must not keep the memory of a detached pool.
        Shared::find(*self).is_some_and(|shared| shared.each_record(call))
    }

    fn runs(&self, job: &Job) {
        label_job(job.label.name.as_ref(), Some(job.label.place));
    }

    fn hook_panicked(&self) {
        with_worker(|own| _ = own.map(Worker::count_panic));
    }
}
