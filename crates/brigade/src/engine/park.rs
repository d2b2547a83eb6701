//! How a worker goes to sleep, and how one of the sleepers watches.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::{AtomicBool, Ordering, fence};

use super::worker::Worker;
use crate::config::Idle as Policy;

/// How long the watcher sleeps between two looks. A job must be seen by two looks to count as stuck, and
/// a Linux timer comes up to 50 µs late, so a lone job waits 100 to 150 µs for it at most.
const WATCH_PERIOD: Duration = Duration::from_micros(25);

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

/// The right to look out, which one worker of a pool has at a time.
struct Lookout<'a> {
    /// For how much longer.
    left: Duration,
    spinner: &'a AtomicBool,
}

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        self.spinner.store(false, Ordering::Relaxed);
    }
}

impl Worker {
    /// Sleeps until there is something to search for; `true` if the pool has terminated.
    ///
    /// Called as a searcher, returns as a searcher.
    pub(super) fn park(&self) -> bool {
        let core = &*self.core;
        self.me.counters.parks.add(1);
        let announced = core.idle.announce(self.index);
        // The last look, at every source there is.
        if core.has_work() {
            self.withdraw();
            return false;
        }
        if announced.last {
            core.settle();
        }
        self.sleep(announced.watches);
        core.idle.snapshot().terminated()
    }

    /// Takes our announcement back, or the token of whoever has picked us already.
    fn withdraw(&self) {
        if !self.core.idle.withdraw(self.index) {
            self.me.parker.park(None);
            self.woken();
        }
    }

    fn woken(&self) {
        self.me.counters.wakes.add(1);
        let mut placed = self.me.placed.lock();
        if let (Some(all), Some(thread)) = (placed.restore.take(), placed.thread) {
            thread.set_affinity(&all);
        }
    }

    /// Sleeps until we are a searcher again, or the pool has terminated.
    fn sleep(&self, mut watches: bool) {
        let mut still = 0;
        let mut lookout = self.look_out();
        if watches {
            self.look();
        }
        loop {
            let period = watches.then_some(WATCH_PERIOD);
            let woken = match &mut lookout {
                Some(out) => {
                    let slice = period.map_or(out.left, |period| period.min(out.left));
                    out.left -= slice;
                    self.spin(Some(slice))
                }
                None => self.wait(period),
            };
            if woken {
                return self.woken();
            }
            if lookout.as_ref().is_some_and(|out| out.left.is_zero()) {
                lookout = None;
            }
            if !watches {
                continue;
            }
            let idle = &self.core.idle;
            match self.look() {
                Look::Stuck => return self.withdraw(),
                Look::Moving => still = 0,
                Look::Still => still += 1,
            }
            if still >= STILL_LOOKS || idle.running(idle.snapshot()) == 0 {
                watches = false;
                idle.unwatch(self.index);
                if self.core.has_work() {
                    return self.withdraw();
                }
            }
        }
    }

    /// Waits for a token; `false` if `timeout` is over.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        match self.core.config.idle {
            Policy::Spin => self.spin(timeout),
            _ => self.me.parker.park(timeout),
        }
    }

    /// Whether we may look out for a token before we sleep: if the pool's policy says so, nobody else does, and
    /// there is a processor to spare.
    fn look_out(&self) -> Option<Lookout<'_>> {
        let core = &*self.core;
        let Policy::SpinThenPark(left) = core.config.idle else { return None };
        if left.is_zero()
            || core.idle.running(core.idle.snapshot()) >= core.cpus
            || core.spinner.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        Some(Lookout { left, spinner: &core.spinner })
    }

    /// Looks out for a token; `false` if `patience` is over.
    fn spin(&self, patience: Option<Duration>) -> bool {
        let parker = &self.me.parker;
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if parker.try_take() {
                    return true;
                }
                brigade_sync::hint::spin_loop();
            }
            if patience.is_some_and(|patience| start.elapsed() >= patience) {
                return false;
            }
            if self.core.config.idle == Policy::Spin {
                // For ever is long: whoever else wants this core shall have it.
                brigade_sync::thread::yield_now();
            }
        }
    }

    /// Compares every queue with what it was at the last look.
    fn look(&self) -> Look {
        fence(Ordering::SeqCst);
        let mut marks = self.marks.borrow_mut();
        let mut seen = if self.core.inlet.is_empty() { Look::Still } else { Look::Stuck };
        for (peer, last) in self.core.peers.iter().zip(marks.iter_mut()) {
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
