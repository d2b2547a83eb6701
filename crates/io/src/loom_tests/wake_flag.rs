//! A notification and a wait never miss each other.

use super::*;
use crate::poll_lock::{PollGuard, PollLock};
use crate::wake_flag::WakeFlag;

fn locked(lock: &PollLock) -> PollGuard<'_> {
    loop {
        match lock.try_lock() {
            Some(guard) => return guard,
            None => thread::yield_now(),
        }
    }
}

/// A wake flag with a kernel that orders nothing.
#[derive(Default)]
struct Model {
    flag: WakeFlag,
    /// What the wait reads from the eventfd.
    notified: AtomicBool,
    work: [AtomicBool; 2],
}

impl Model {
    /// As `Driver::notify`, after some work was published.
    fn notify(&self, work: usize) {
        turn();
        self.work[work].store(true, Ordering::Relaxed);
        if self.flag.notify() {
            // An exchange, as loom may order a store after all exchanges of the other side, without
            // end.
            self.notified.swap(true, Ordering::Relaxed);
        }
    }

    /// As `Driver::drive`.
    fn wait(&self) {
        turn();
        if self.flag.begin_wait() {
            while !self.notified.swap(false, Ordering::Relaxed) {
                thread::yield_now();
            }
        }
        self.flag.end_wait();
    }

    fn has(&self, work: usize) -> bool {
        self.work[work].load(Ordering::Relaxed)
    }
}

/// Caught: Relaxed in `notify` or in `end_wait`; a `begin_wait` that overwrites a notification.
#[test]
fn writes_before_a_notification_are_visible() {
    check(4, || {
        let model = Arc::new(Model::default());
        let notifying = thread::spawn({
            let model = Arc::clone(&model);
            move || model.notify(0)
        });
        if !model.has(0) {
            model.wait();
            assert!(model.has(0));
        }
        notifying.join().unwrap();
    });
}

/// Caught: the same.
#[test]
fn of_two_notifications_none_is_lost() {
    check(4, || {
        let model = Arc::new(Model::default());
        let notifying = [0, 1].map(|work| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.notify(work))
        });
        while !(model.has(0) && model.has(1)) {
            model.wait();
        }
        for thread in notifying {
            thread.join().unwrap();
        }
    });
}

/// Caught: a look before the lock; none at all.
#[test]
fn a_consumed_notification_leaves_no_thread_waiting() {
    check(4, || {
        let (model, lock) = (Arc::new(Model::default()), Arc::new(PollLock::default()));
        let notifying = thread::spawn({
            let model = Arc::clone(&model);
            move || model.notify(0)
        });
        let other = thread::spawn({
            let (model, lock) = (Arc::clone(&model), Arc::clone(&lock));
            move || {
                turn();
                let _polls = locked(&lock);
                // Its timeout elapses.
                _ = model.flag.begin_wait();
                model.flag.end_wait();
            }
        });
        turn();
        let polls = locked(&lock);
        if model.flag.begin_wait() && !model.has(0) {
            while !model.notified.swap(false, Ordering::Relaxed) {
                thread::yield_now();
            }
        }
        model.flag.end_wait();
        drop(polls);
        notifying.join().unwrap();
        other.join().unwrap();
    });
}
