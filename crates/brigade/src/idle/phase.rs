//! Phases: waiting for what was accepted before, while more comes in. `README.md` has the rule and the proof.

use brigade_sync::MutexGuard;
use brigade_sync::atomic::Ordering;

use super::crew::Crew;
use super::{Era, Idle, Snapshot};

/// The two inlets, as a phase needs them. Called under the crew's lock.
pub(crate) trait Doors {
    /// A phase begins in this era: closes the inlet that was open, then opens the other, which is empty.
    fn swap(&self, era: Era);
    /// Whether anything is queued at home in this era, or on a worker's own queue.
    fn has_old_work(&self, era: Era) -> bool;
}

/// What somebody is told who waits for what was accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wait {
    /// It has ended.
    Over,
    /// It will have in this era.
    Until(Era),
}

/// What a worker is told that is about to run later work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum GoesLate {
    /// It is late in this era.
    Late(Era),
    /// With it a phase has ended; the caller tells those who wait. What was later work is no longer.
    Ended,
    /// No phase is on.
    No,
}

impl Idle {
    /// The era as it was a moment ago.
    #[inline(always)]
    pub(crate) fn era(&self) -> Era {
        // Ordering: Acquire pairs with the Release in `publish`: who sees the end of a phase sees what its jobs did,
        // who sees its beginning sees the inlets changed.
        Era(self.era.load(Ordering::Acquire))
    }

    fn publish(&self, crew: &mut MutexGuard<'_, Crew>) {
        // Ordering: as in `era`.
        self.era.store(crew.era.0, Ordering::Release);
        self.change(crew, 0);
    }

    /// The era in which a submitter from outside is to try again whom an inlet has refused; `None` if they are shut.
    #[cold]
    pub(crate) fn era_of_open_doors(&self) -> Option<Era> {
        let crew = self.crew.lock();
        (!crew.shut).then_some(crew.era)
    }

    /// Nothing comes in from outside any more: `shut` closes both inlets, and no phase opens one again.
    pub(crate) fn shut(&self, shut: impl FnOnce()) {
        let mut crew = self.crew.lock();
        crew.shut = true;
        shut();
    }

    /// Calls with the era under the lock under which it changes; `None` if the pool has terminated, which it does under that
    /// lock too.
    #[cold]
    pub(crate) fn in_era<R>(&self, call: impl FnOnce(Era) -> R) -> Option<R> {
        let crew = self.crew.lock();
        (!crew.terminated).then(|| call(crew.era))
    }

    /// Whether everything accepted so far has ended.
    pub(crate) fn is_quiet(&self, doors: &impl Doors) -> bool {
        let crew = self.crew.lock();
        !crew.era.is_on() && crew.is_still() && !doors.has_old_work(crew.era)
    }

    /// Begins a phase for who waits for what has been accepted so far; during one, sees to it that another follows.
    pub(crate) fn begin_wait(&self, doors: &impl Doors) -> Wait {
        let mut crew = self.crew.lock();
        if crew.terminated {
            return Wait::Over;
        }
        if crew.era.is_on() {
            crew.again = true;
            return Wait::Until(crew.era.next().next().next());
        }
        if crew.is_still() && !doors.has_old_work(crew.era) {
            return Wait::Over;
        }
        crew.begin(doors);
        self.publish(&mut crew);
        Wait::Until(crew.era.next())
    }

    /// Whether that era has come, or the pool has terminated.
    pub(crate) fn has_come(&self, era: Era) -> bool {
        // Ordering: Acquire pairs with the change in `terminate`, as `era` does with the end of a phase.
        self.era() >= era || Snapshot(self.word.load(Ordering::Acquire)).terminated()
    }

    /// Ends a phase if what it waits for has ended; `true` if so, and the caller tells those who wait.
    ///
    /// Called after everything that may make it so: a worker that parks, goes late or leaves.
    #[must_use]
    pub(crate) fn end_wait(&self, doors: &impl Doors) -> bool {
        let mut crew = self.crew.lock();
        self.end_wait_in(&mut crew, doors)
    }

    fn end_wait_in(&self, crew: &mut MutexGuard<'_, Crew>, doors: &impl Doors) -> bool {
        let before = crew.era;
        // Under the lock nobody starts to run or to search who is still, and those alone take or add old work: so what
        // the queues show one after the other is true of all of them at once.
        while crew.era.is_on() && crew.is_still() && !doors.has_old_work(crew.era) {
            crew.era = crew.era.next();
            crew.late = 0;
            if core::mem::take(&mut crew.again) {
                crew.begin(doors);
            }
        }
        let ended = crew.era != before;
        if ended {
            self.publish(crew);
        }
        ended
    }

    /// A worker that has no old work in hand is to run later work, if a phase is on. A searcher goes on to search.
    pub(crate) fn go_late(&self, doors: &impl Doors) -> GoesLate {
        let mut crew = self.crew.lock();
        if !crew.era.is_on() {
            return GoesLate::No;
        }
        crew.late += 1;
        if self.end_wait_in(&mut crew, doors) {
            return GoesLate::Ended;
        }
        self.change(&mut crew, 0);
        GoesLate::Late(crew.era)
    }

    /// A worker that went late in this era may run old work from now on; `false` if it was late no more.
    pub(crate) fn come_back(&self, era: Era) -> bool {
        let mut crew = self.crew.lock();
        let was_late = crew.come_back(era);
        self.change(&mut crew, 0);
        was_late
    }
}

impl Crew {
    /// Whether nobody runs or looks for old work. Whose thread is just being started has none in hand, and comes to the
    /// lock before it looks for any.
    fn is_still(&self) -> bool {
        self.order.len() + self.late + self.coming_late() == self.live
    }

    fn begin(&mut self, doors: &impl Doors) {
        if !self.shut {
            doors.swap(self.era);
        }
        self.era = self.era.next();
    }

    /// Counts one late worker more, if a phase is on and what it is to run comes `from` outside or from a worker that went
    /// late in this very era; returns the era in which it is late.
    pub(super) fn count_late(&mut self, from: Option<Era>) -> Era {
        if !self.era.is_on() || from.is_some_and(|era| era != self.era) {
            return Era::default();
        }
        self.late += 1;
        self.era
    }

    /// Counts one late worker less, if it is late in this era and that is now.
    pub(super) fn come_back(&mut self, era: Era) -> bool {
        let was_late = era.is_on() && era == self.era;
        self.late -= usize::from(was_late);
        was_late
    }
}
