//! The jobs of observed pools: what watches over them, and what an observer sees of their pool.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::Arc;

use brigade_observe::{Job, Observer, Record, Site, Watcher};

use crate::engine::{CURRENT, Core, Worker, label_job};
use crate::key::Key;
use crate::registry::{At, reach};

/// The watcher of a job that is about to be submitted to that pool; `None` if the pool is not observed, or no longer exists.
#[inline]
pub(crate) fn watcher_of(
    key: Key,
    place: &'static Location<'static>,
    name: impl FnOnce() -> Option<Cow<'static, str>>,
) -> Option<Watcher> {
    if key.is_observed() { reach_watcher(key, place, name()) } else { None }
}

/// The same, where the pool is known.
#[inline]
pub(crate) fn watcher_at(
    at: At<'_>,
    place: &'static Location<'static>,
    name: impl FnOnce() -> Option<Cow<'static, str>>,
) -> Option<Watcher> {
    if at.is_observed() { new_watcher(at, place, name()) } else { None }
}

#[cold]
#[inline(never)]
fn reach_watcher(
    key: Key,
    place: &'static Location<'static>,
    name: Option<Cow<'static, str>>,
) -> Option<Watcher> {
    reach(key, |at| new_watcher(at, place, name))
}

#[cold]
#[inline(never)]
fn new_watcher(
    at: At<'_>,
    place: &'static Location<'static>,
    name: Option<Cow<'static, str>>,
) -> Option<Watcher> {
    at.core()?.config.observer.as_ref().map(|observer| Watcher::new(observer, place, name))
}

/// What the jobs of a pool with these settings share, if they are observed.
pub(crate) fn observer(
    settings: brigade_observe::Settings,
    name: Arc<str>,
    key: Key,
) -> Option<Arc<Observer>> {
    settings.observer(name, Observed(key))
}

/// A pool that is observed.
struct Observed(Key);

impl Site for Observed {
    fn is_here(&self) -> bool {
        self.0.is_here()
    }

    fn on_thread(&self, call: &mut dyn FnMut(usize, &Record)) {
        CURRENT.with(|worker| {
            let worker = worker.filter(|worker| worker.is_of(self.0));
            worker.into_iter().for_each(|worker| call(worker.index(), worker.record()));
        });
    }

    fn each(&self, call: &mut dyn FnMut(usize, &Record)) -> bool {
        // Not by `reach`: a thread that looks for stalls must not keep the memory of a pool that has been detached.
        Core::find(self.0).is_some_and(|core| core.each_record(call))
    }

    fn runs(&self, job: &Job) {
        label_job(job.name.as_ref(), Some(job.place));
    }

    fn hook_panicked(&self) {
        CURRENT.with(|worker| worker.into_iter().for_each(Worker::count_panic));
    }
}
