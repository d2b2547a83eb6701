//! What one worker sleeps on, and what others do to wake it.

use core::time::Duration;
use std::time::Instant;

use brigade_burst::Slot;
use brigade_sync::Mutex;
use brigade_sync::affinity::{CpuSet, ThreadRef, current_cpu};
use brigade_task::Job;

use super::events::Driving;
use super::park_spot::ParkSpot;
use crate::priority::Priority;

/// What one worker sleeps on.
pub(super) struct Sleeper {
    pub(super) spot: ParkSpot,
    /// A job for this worker alone and its class, by the Hand-off rule of [`dispatch`](super::dispatch).
    pub(super) slot: Slot<(Priority, Job)>,
    placed: Mutex<Placed>,
}

/// Where the worker's thread runs when it is woken.
#[derive(Default)]
struct Placed {
    /// The thread, while it runs the worker.
    thread: Option<ThreadRef>,
    /// The affinity to restore, if it has been narrowed for a wake.
    all: Option<CpuSet>,
    /// When it was woken and on which CPU its waker ran, if that is [watched](crate::idle::Wake::Watched).
    woken: Option<(Instant, Option<usize>)>,
}

impl Sleeper {
    pub(super) fn new() -> Self {
        Self { spot: ParkSpot::new(), slot: Slot::new(), placed: Mutex::default() }
    }

    /// Notes that the calling thread runs the worker from now on.
    pub(super) fn set_thread(&self) {
        self.placed.lock().thread = Some(ThreadRef::current());
    }

    /// Notes that no thread does: the kernel may soon reuse its thread id.
    pub(super) fn unset_thread(&self) {
        self.placed.lock().thread = None;
    }

    /// Sets the token for the worker, wherever it sleeps.
    pub(super) fn unpark(&self, driver: &Driving) {
        if Driving::CAN_BE_MADE {
            self.spot.unpark(|| driver.notify());
        } else {
            self.spot.parker.unpark();
        }
    }

    /// Notes that the calling thread is about to wake the worker, on a CPU that the kernel chooses.
    pub(super) fn is_woken_at(&self, now: Instant) {
        self.placed.lock().woken = Some((now, current_cpu()));
    }

    /// Keeps the worker's thread off the CPU of the calling thread, until it [runs](Self::runs).
    pub(super) fn keep_off_this_cpu(&self) {
        let mut placed = self.placed.lock();
        let Some(thread) = placed.thread.filter(|_| placed.all.is_none()) else { return };
        let (Some(all), Some(here)) = (thread.affinity(), current_cpu()) else { return };
        let narrow = all.without(here);
        if all.contains(here) && !narrow.is_empty() && thread.set_affinity(&narrow) {
            placed.all = Some(all);
        }
    }

    /// Restores the thread's affinity; returns how long the thread has waited for the CPU of its waker, if that is where it runs and
    /// that is watched. Only the worker calls this, before it runs a job.
    #[inline(never)]
    pub(super) fn runs(&self, now: Instant) -> Option<Duration> {
        let mut placed = self.placed.lock();
        if let (Some(all), Some(thread)) = (placed.all.take(), placed.thread) {
            thread.set_affinity(&all);
        }
        let (woken_at, cpu) = placed.woken.take()?;
        (cpu == current_cpu()).then(|| now.saturating_duration_since(woken_at))
    }
}
