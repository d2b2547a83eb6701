//! Priority follows a wait: the awaited job gets the class of the job that waits for it.

use brigade_task::{Job, JobHandle, Woken};

use crate::engine::{At, Key, drop_off_pool, reach_once, with_worker};
use crate::values::Priority;

/// Raises a job of the pool `key` to the class of the pool's job that is about to wait for it on this thread. `PRIORITIES.md` says
/// how.
pub(crate) fn raise(job: &JobHandle, key: Key) {
    if let Some(class) = class_of_waits(key) {
        raise_to(job, key, class);
    }
}

/// The class to which this thread's waits raise jobs of the pool `key`; `None` if there is nothing to raise.
#[inline]
pub(crate) fn class_of_waits(key: Key) -> Option<Priority> {
    with_worker(|own| own.filter(|own| own.is_of(key))?.class_of_waits())
}

/// Raises a job to a class.
#[cold]
#[inline(never)]
pub(crate) fn raise_to(job: &JobHandle, key: Key, class: Priority) {
    if class <= Priority::of_number(job.class()) || job.is_finished() {
        return;
    }
    let Some(further) = Job::raised(job, class.raised()) else { return };
    let refused = reach_once(key, |at| match at {
        At::Worker(worker) => {
            worker.leaves_old_entry();
            worker.resume(class, further, Woken::Idle)
        }
        At::Outside(_) | At::Gone(_) => Err(further),
    });
    // The pool ends, and has cancelled the job.
    if let Err(job) = refused {
        drop_off_pool(key, job);
    }
}
