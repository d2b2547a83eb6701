//! Waiting for what was accepted before, while more comes in: what the engine does for it. The rule and its proof are
//! in `idle/README.md`.

use core::cell::Cell;
use std::time::{Duration, Instant};

use brigade_task::Job;

use super::inlet::Inlet;
use super::{Core, Worker};
use crate::idle::{Doors, Era, GoesLate, Wait};

/// What a worker knows of the job that it runs.
#[derive(Default)]
pub(super) struct Lateness {
    /// The era in which the worker went late, if it has not come back; it is late in that era only.
    era: Cell<Era>,
    /// Whether old work may lie on its own queue nevertheless: then it comes back before it takes any.
    has_own: Cell<bool>,
    /// Whether later work comes before old at its next turn to look elsewhere.
    later_first: Cell<bool>,
}

impl Lateness {
    /// The era in which the worker went late, if it has not come back.
    pub(super) fn era(&self) -> Era {
        self.era.get()
    }
}

impl Doors for Core {
    fn swap(&self, era: Era) {
        // In this order: were both open, one producer might use them in the wrong one.
        self.inlets[era.outside()].close();
        self.inlets[era.next().outside()].reopen();
    }

    fn has_old_work(&self, era: Era) -> bool {
        !self.inlets[era.home()].is_empty()
            || self.peers.iter().any(|peer| peer.remote.len() > 0)
            || self.has_mail()
    }
}

impl Core {
    /// Waits until everything accepted so far has ended, for `timeout` at most; `false` if it is over.
    pub(crate) fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        self.end_wait();
        if timeout == Some(Duration::ZERO) {
            // Not worth a phase, which would go on when we have left.
            return self.idle.is_quiet(self);
        }
        // A deadline too far to be written down is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let Wait::Until(era) = self.idle.begin_wait(self) else { return true };
        let mut waits = self.waits.lock();
        while !self.idle.has_come(era) {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            waits = self.changed.wait(waits, left);
        }
        true
    }

    /// Ends a phase if what it waits for has ended, and tells those who wait.
    pub(super) fn end_wait(&self) {
        if self.idle.snapshot().quiet_wanted() && self.idle.end_wait(self) {
            self.tell_waiters();
        }
    }

    /// Tells those who wait that a phase has ended, or the pool.
    pub(super) fn tell_waiters(&self) {
        // Between their look and their sleep nobody can hear.
        drop(self.waits.lock());
        self.changed.notify_all();
    }
}

impl Worker {
    /// The inlet of old work, and of what old jobs submit.
    pub(super) fn home(&self) -> &Inlet {
        &self.core.inlets[self.core.idle.era().home()]
    }

    /// The era in which this worker is late, if it is.
    ///
    /// It may be over, as the one that it is compared with: then it names an inlet for later work that is home now.
    pub(super) fn is_late(&self) -> Option<Era> {
        let era = self.lateness.era.get();
        (era.is_on() && era == self.core.idle.era()).then_some(era)
    }

    /// Where the job that runs here submits to during a phase; `None` for the worker's own queue, as always.
    pub(super) fn later_inlet(&self) -> Option<&Inlet> {
        self.is_late().map(|era| &self.core.inlets[era.outside()])
    }

    /// The era in which jobs submitted here were later ones; of no phase if they are not.
    pub(crate) fn tag(&self) -> Era {
        self.lateness.era.get()
    }

    /// As a late worker: one more later job, if there is no old one. Else we are late no more.
    pub(super) fn next_later(&self) -> Option<Job> {
        if let Some(era) = self.is_late() {
            // A look and no more: what is claimed here is claimed by somebody who is not late.
            if !self.core.has_old_work(era) {
                if let Some(job) = self.core.inlets[era.outside()].pop(&self.cursor) {
                    return Some(job);
                }
            }
        }
        self.come_back();
        None
    }

    /// As a searcher that has found no old work: goes late and looks for later work. If that ends a phase, what was
    /// later work is no longer, and we search again.
    pub(super) fn search_later(&self) -> Option<Job> {
        if !self.core.idle.snapshot().quiet_wanted() {
            return None;
        }
        match self.go_late() {
            GoesLate::Late(era) => self.core.inlets[era.outside()].pop(&self.cursor),
            GoesLate::Ended => self.search(),
            GoesLate::No => None,
        }
    }

    /// Is late from now on, if a phase is on that does not end with this.
    fn go_late(&self) -> GoesLate {
        let goes = self.core.idle.go_late(&*self.core);
        match goes {
            GoesLate::Late(era) => self.lateness.era.set(era),
            GoesLate::Ended => self.core.tell_waiters(),
            GoesLate::No => {}
        }
        goes
    }

    /// Takes note that who claimed us has counted us as late in this era, of no phase if it has not.
    pub(super) fn set_lateness(&self, era: Era) {
        self.lateness.era.set(era);
    }

    /// Is late no more, if we were.
    pub(super) fn come_back(&self) -> bool {
        let era = self.lateness.era.take();
        era.is_on() && self.core.idle.come_back(era)
    }

    /// The era that we went late in, which is forgotten: for who is about to tell [`Idle`](crate::idle::Idle).
    pub(super) fn take_lateness(&self) -> Era {
        self.lateness.era.take()
    }

    /// After a job that was not taken from our own queue: we are not late if the next one is.
    #[inline(always)]
    pub(super) fn returns_to_its_own(&self) {
        if self.lateness.has_own.get() {
            self.return_to_its_own();
        }
    }

    #[cold]
    fn return_to_its_own(&self) {
        // What follows takes a lock, which in a forked child nobody may ever release.
        self.end_if_orphan();
        self.lateness.has_own.set(false);
        self.come_back();
    }

    /// The job that has waited longest. During a phase old and later work take turns: a pool whose old jobs go on for
    /// ever has to run later ones too.
    #[cold]
    pub(super) fn waiting_longest(&self) -> Option<Job> {
        let era = self.core.idle.era();
        if self.is_late().is_some() {
            return None;
        }
        let old = || self.core.inlets[era.home()].pop(&self.cursor);
        let job = if era.is_on() {
            let later_first = !self.lateness.later_first.get();
            self.lateness.later_first.set(later_first);
            if later_first {
                self.guest(era).or_else(old)
            } else {
                old().or_else(|| self.guest(era))
            }
        } else {
            old()
        };
        job.or_else(|| self.me.remote.steal().ok())
    }

    /// One later job, for whose time we are late with old work on our own queue.
    fn guest(&self, era: Era) -> Option<Job> {
        // Not before what the same producer has submitted earlier.
        if !self.core.inlets[era.home()].has_given_out_what_was_sealed() {
            return None;
        }
        let job = self.core.inlets[era.outside()].pop(&self.cursor)?;
        self.lateness.has_own.set(true);
        // In hand already: if a phase ends with this, the job is old work to the next.
        let _ = self.go_late();
        Some(job)
    }

    /// Does with a job what the joiner of a job does: runs or drops it here, inside the one that runs. If the outer one
    /// is later work and the inner one perhaps not, then not as later work.
    pub(crate) fn inside<R>(&self, tag: Era, settle: impl FnOnce() -> R) -> R {
        match self.is_late() {
            Some(era) if era != tag => {}
            _ => return settle(),
        }
        let was_late = self.come_back();
        let result = settle();
        if was_late {
            // The inner one may have left something here. However long the outer one takes, others steal that.
            self.lateness.has_own.set(self.lateness.has_own.get() || self.local.len() > 0);
            let _ = self.go_late();
        }
        result
    }
}
