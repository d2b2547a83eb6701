//! Models of the Line rule; `ci/loom.sh` runs them. Who waits for a place that nobody will tell it of sleeps for
//! ever, and loom reports a deadlock.

use std::sync::Arc;
use std::task::Waker;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::model::{check, turn};
use loom::thread;

use super::{Room, Spot, Waiting};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Waits for a place on a thread of its own, and gives it back.
fn waiter(room: &Arc<Room>) -> thread::JoinHandle<()> {
    let room = room.clone();
    thread::spawn(move || {
        turn();
        assert!(room.wait(None, || false).is_some());
    })
}

/// Caught: standing in line after the try instead of before it.
#[test]
fn whoever_waits_hears_of_a_place_that_is_given_back() {
    check(3, || {
        let room = Room::new(1);
        let place = room.try_take();
        let waiter = waiter(&room);
        turn();
        drop(place);
        waiter.join().unwrap();
    });
}

#[test]
fn two_who_wait_both_get_a_place() {
    check(3, || {
        let room = Room::new(1);
        let place = room.try_take();
        let waiters = [waiter(&room), waiter(&room)];
        turn();
        drop(place);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

/// Caught: nobody woken by who leaves.
#[test]
fn who_leaves_the_line_takes_nothing_from_the_others() {
    check(3, || {
        let room = Room::new(1);
        let place = room.try_take();
        let mut spot = Spot::new(room.clone());
        spot.stand(&Waker::from(Arc::new(Waiting::default())));
        let waiter = waiter(&room);
        let leaver = thread::spawn(move || {
            turn();
            drop(spot);
        });
        turn();
        drop(place);
        leaver.join().unwrap();
        waiter.join().unwrap();
    });
}

#[test]
fn whoever_waits_hears_that_it_is_over() {
    check(3, || {
        let room = Room::new(1);
        let place = room.try_take();
        let over = Arc::new(AtomicBool::new(false));
        let (other, seen) = (room.clone(), over.clone());
        let waiter = thread::spawn(move || {
            turn();
            // Ordering: Relaxed: the line's lock orders it.
            assert!(other.wait(None, || seen.load(Ordering::Relaxed)).is_none());
        });
        turn();
        over.store(true, Ordering::Relaxed);
        room.wake_outsiders();
        waiter.join().unwrap();
        drop(place);
    });
}
