//! Whoever rings and whoever waits never miss each other.

use super::*;
use crate::bell::Bell;

/// A bell with a kernel that orders nothing.
#[derive(Default)]
struct House {
    bell: Bell,
    rung: AtomicBool,
    work: [AtomicBool; 2],
}

impl House {
    /// As `Driver::notify`, after something was left to be found.
    fn notify(&self, work: usize) {
        turn();
        self.work[work].store(true, Ordering::Relaxed);
        if self.bell.ring() {
            // An exchange, as loom may let the exchanges of the other side pass a store by for ever.
            self.rung.swap(true, Ordering::Relaxed);
        }
    }

    /// As `Driver::drive`.
    fn wait(&self) {
        turn();
        if self.bell.listen() {
            while !self.rung.swap(false, Ordering::Relaxed) {
                thread::yield_now();
            }
        }
        self.bell.heard();
    }

    fn has(&self, work: usize) -> bool {
        self.work[work].load(Ordering::Relaxed)
    }
}

/// Caught: Relaxed in `ring` or in `heard`; a `listen` that passes over a ring.
#[test]
fn what_was_done_before_a_notification_is_found_after_the_wait() {
    check(4, || {
        let house = Arc::new(House::default());
        let ringing = thread::spawn({
            let house = Arc::clone(&house);
            move || house.notify(0)
        });
        if !house.has(0) {
            house.wait();
            assert!(house.has(0));
        }
        ringing.join().unwrap();
    });
}

/// Caught: the same.
#[test]
fn of_two_notifications_none_is_lost() {
    check(4, || {
        let house = Arc::new(House::default());
        let ringing = [0, 1].map(|work| {
            let house = Arc::clone(&house);
            thread::spawn(move || house.notify(work))
        });
        while !(house.has(0) && house.has(1)) {
            house.wait();
        }
        for thread in ringing {
            thread.join().unwrap();
        }
    });
}
