//! The times in which a worker has nothing to do between two parallel steps.
//!
//! Between the last part of a step and the first one of the next there are a few microseconds, in which the thread that runs the steps
//! goes from one to the next. A worker that slept then would begin its part of each step some 30 µs late, and cost its wake-up.
//! So a worker that has run parts, or whose forks another worker has run, [watches](super::brief) for work before it sleeps if its
//! last gap was brief. Meanwhile it is a searcher: what comes wakes no other worker, and it acts as any searcher when it finds a job
//! or gives up.

use core::cell::Cell;

use super::Worker;
use super::brief::Waiting;

pub(super) struct Gaps {
    /// The number of forks that had been stolen when the last search began.
    stolen: Cell<u64>,
    /// Whether the worker has run parts since then.
    has_run_parts: Cell<bool>,
    /// Whether the last gap was brief.
    was_brief: Cell<bool>,
}

/// A gap, if this is one: a time without work after parts.
pub(super) struct Gap(Option<Waiting>);

impl Gaps {
    pub(super) fn new() -> Self {
        Self { stolen: Cell::new(0), has_run_parts: Cell::new(false), was_brief: Cell::new(true) }
    }

    /// Notes that the worker runs parts.
    pub(super) fn run_parts(&self) {
        self.has_run_parts.set(true);
    }

    /// Begins a search; `stolen` changes whenever a fork has been stolen.
    pub(super) fn begin(&self, stolen: u64) -> Gap {
        let were_stolen = self.stolen.replace(stolen) != stolen;
        let is_gap = self.has_run_parts.take() || were_stolen;
        Gap(is_gap.then(|| Waiting::begin(self.was_brief.get())))
    }

    /// Ends a search.
    pub(super) fn end(&self, Gap(gap): Gap) {
        gap.into_iter().for_each(|gap| self.was_brief.set(gap.is_brief()));
    }
}

impl Worker {
    /// Watches for work, as a searcher; `false` if there is none.
    pub(super) fn watch_for_work(&self, Gap(gap): &Gap) -> bool {
        gap.as_ref().is_some_and(|gap| gap.watch(|| self.sees_work()))
    }

    fn sees_work(&self) -> bool {
        self.core.queues.has_work() || !self.me.mailbox.is_empty()
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_time_after_parts_or_stolen_forks_is_a_gap() {
        let gaps = Gaps::new();
        let is_gap = |stolen| gaps.begin(stolen).0.is_some();
        assert!(!is_gap(0));
        gaps.run_parts();
        assert!(is_gap(0) && !is_gap(0));
        assert!(is_gap(3) && !is_gap(3));
    }

    #[test]
    fn a_gap_is_watched_unless_the_one_before_was_long() {
        let gaps = Gaps::new();
        let next = |stolen| {
            let Gap(gap) = gaps.begin(stolen);
            gap.unwrap_or_else(|| unreachable!("a fork was stolen"))
        };
        let first = next(1);
        assert!(first.is_watched, "nothing is known of those before");
        std::thread::sleep(Duration::from_micros(100));
        gaps.end(Gap(Some(first)));
        assert!(!next(2).is_watched);
        // On a busy machine a gap may be long however soon it ends.
        let is_watched_again = (3..10_000).any(|stolen| {
            let gap = next(stolen);
            let is_watched = gap.is_watched;
            gaps.end(Gap(Some(gap)));
            is_watched
        });
        assert!(is_watched_again);
    }
}
