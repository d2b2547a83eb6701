//! The inbox of values: records the time of each, and keeps the receiving thread busy for a while.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Epoch;
use crate::tally::Tally;

/// A value: two numbers, so only the channel itself allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// The number of the burst.
    pub(crate) burst: u32,
    /// The number within the burst.
    pub(crate) index: u32,
}

/// The state shared by all receiving threads of a run; leaked, since a value may arrive late.
///
/// Receiving a value wakes no thread: it stores the time for the sending thread to read. The sending thread
/// sleeps in the meantime, and takes no CPU from a receiver.
pub(crate) struct Inbox {
    /// Counts the values.
    tally: &'static Tally,
    /// The origin of the times.
    pub(crate) epoch: Epoch,
    /// When each value of the current burst arrived, by number; 0 if it didn't.
    times: Box<[AtomicU64]>,
    /// How long a thread is busy after it has received a value.
    busy: Box<dyn Fn() + Send + Sync>,
    /// The number of finished values, over all bursts.
    done: AtomicU64,
}

impl Inbox {
    /// An inbox for bursts of this many values, each of which keeps a thread busy with `busy`.
    pub(crate) fn leak(
        tally: &'static Tally,
        messages: usize,
        busy: impl Fn() + Send + Sync + 'static,
    ) -> &'static Self {
        let times = (0..messages).map(|_| AtomicU64::new(0)).collect();
        let (done, busy) = (AtomicU64::new(0), Box::new(busy));
        Box::leak(Box::new(Inbox { tally, epoch: Epoch::new(), times, busy, done }))
    }

    /// Receives `value` on this thread, which is busy with it before this returns.
    #[inline]
    pub(crate) fn receive(&self, value: Value) {
        // First of all: this is the measured time. It can't be 0 unless the clock stands still, since the
        // value was sent after the epoch.
        let now = self.epoch.nanos().max(1);
        self.times[value.index as usize].store(now, Ordering::Relaxed);
        // A thread that sees the value counted also sees the time.
        self.tally.ran(value.index, value.burst);
        (self.busy)();
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the return of `value` to the sending thread; it is finished then.
    pub(crate) fn refuse(&self, value: Value) {
        self.tally.ran(value.index, value.burst);
    }

    /// Forgets the times of the burst before. Only after all of the burst's values have been received.
    pub(crate) fn clear(&self) {
        // Ordering: the channel's own synchronisation publishes this to the receiver of a later value.
        self.times.iter().for_each(|time| time.store(0, Ordering::Relaxed));
    }

    /// The arrival times of the burst's values so far, in nanoseconds since the epoch.
    pub(crate) fn times(&self) -> impl Iterator<Item = u64> {
        self.times.iter().map(|time| time.load(Ordering::Relaxed)).filter(|&time| time > 0)
    }

    /// The number of finished values, over all bursts.
    pub(crate) fn done(&self) -> u64 {
        // Nothing else is read because of it, so Relaxed is enough.
        self.done.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, Value};
    use crate::tally::{Sum, Tally};
    use brigade_testkit::{Gate, Watchdog};
    use std::thread;

    #[test]
    fn only_received_values_have_a_time() {
        let tally = Tally::leak();
        let inbox = Inbox::leak(tally, 3, || ());
        for burst in 0..2 {
            inbox.clear();
            let before = inbox.epoch.nanos();
            inbox.receive(Value { burst, index: 1 });
            inbox.refuse(Value { burst, index: 0 });
            inbox.receive(Value { burst, index: 2 });
            let times: Vec<_> = inbox.times().collect();
            assert!(times.len() == 2 && times.iter().all(|&time| time >= before), "{times:?}");
        }
        assert_eq!(inbox.done(), 4);
        tally.check(Sum::grid(3, 2)).expect("each value once");
    }

    #[test]
    fn a_counted_value_makes_its_thread_busy() {
        let (_watchdog, tally, gate) = (Watchdog::start(5), Tally::leak(), Gate::closed());
        let busy = gate.clone();
        let inbox = Inbox::leak(tally, 1, move || busy.wait());
        let thread = thread::spawn(|| inbox.receive(Value { burst: 0, index: 0 }));
        tally.wait_for(1).expect("received");
        assert_eq!(inbox.done(), 0);
        gate.open();
        thread.join().expect("done");
        assert_eq!(inbox.done(), 1);
    }
}
