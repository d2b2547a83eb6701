//! How one of the sleepers watches the queues, for jobs about which nobody was told.

use core::time::Duration;

use brigade_sync::atomic::{Ordering, fence};

use super::worker::Worker;

/// How long the watcher sleeps between two looks, at first and while nothing moves. A job must be seen by two looks to count
/// as stuck, and a Linux timer comes up to 50 µs late, so a lone job waits 100 to 150 µs for it at most.
const WATCH_PERIOD: Duration = Duration::from_micros(25);

/// How long at most: each look that sees the queues move doubles the period up to here, and a lone job waits 900 µs at most.
/// On a virtual machine a look costs whoever runs on the same processor up to 25 µs, a quarter of a chain's time at the
/// short period and a twentieth at this.
const LONGEST_PERIOD: Duration = Duration::from_micros(400);

/// How many looks at which nothing has moved make the watcher stop. Afterwards a lone job costs its
/// submitter one wake, which about 2 ms of quiet have earned.
const STILL_LOOKS: u32 = 20;

/// What the watcher sees.
enum Look {
    /// A job has been waiting since the last look. (Where several wait, their submitter has said so.)
    Stuck,
    /// Queues have moved since the last look.
    Moving,
    /// Nothing is queued and nothing has moved.
    Still,
}

/// What the watcher remembers: for how many looks nothing has moved, and who kept.
pub(super) struct Watch {
    still: u32,
    /// How long it sleeps until the next look.
    pub(super) period: Duration,
    /// How often running workers had looked at what there is to keep.
    rounds: u64,
    /// Whether none of them has since the last look.
    pub(super) unkept: bool,
}

/// What a look of the watcher leads to.
pub(super) enum Watched {
    /// To go on watching.
    Nothing,
    /// To stop watching and sleep on.
    Enough,
    /// To search.
    Work,
}

impl Worker {
    /// Takes note of the queues as they are.
    pub(super) fn begin_watch(&self) -> Watch {
        self.look();
        Watch { still: 0, period: WATCH_PERIOD, rounds: self.core.keep.rounds(), unkept: false }
    }

    /// Looks at the queues once more, as the watcher.
    pub(super) fn watch(&self, watch: &mut Watch) -> Watched {
        let rounds = self.core.keep.rounds();
        watch.unkept = core::mem::replace(&mut watch.rounds, rounds) == rounds;
        match self.look() {
            Look::Stuck => return Watched::Work,
            Look::Moving => {
                watch.still = 0;
                watch.period = (watch.period * 2).min(LONGEST_PERIOD);
            }
            Look::Still => {
                watch.still += 1;
                watch.period = WATCH_PERIOD;
            }
        }
        let idle = &self.core.idle;
        if watch.still < STILL_LOOKS && idle.snapshot().running() > 0 {
            return Watched::Nothing;
        }
        idle.unwatch(self.index);
        if self.core.has_work() { Watched::Work } else { Watched::Enough }
    }

    /// Compares every queue with what it was at the last look.
    fn look(&self) -> Look {
        fence(Ordering::SeqCst);
        let mut marks = self.marks.borrow_mut();
        marks.resize(self.core.peers.len(), 0);
        let mut seen = if self.core.waiting() == 0 { Look::Still } else { Look::Stuck };
        for (index, last) in marks.iter_mut().enumerate() {
            let Some(peer) = self.core.peers.get(index) else { continue };
            let mark = peer.remote.mark();
            let moved = core::mem::replace(last, mark) != mark;
            if !moved && peer.remote.len() > 0 {
                seen = Look::Stuck;
            } else if moved && !matches!(seen, Look::Stuck) {
                seen = Look::Moving;
            }
        }
        seen
    }
}
