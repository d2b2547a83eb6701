//! What is to be kept is kept: timers and files, which lie on nobody's queue.
//!
//! One timer stands for all of that. As with jobs, who fires it does nothing else for ever, and there are as many workers
//! as things to do: so what nobody comes for leaves somebody asleep, and loom reports a deadlock.

use super::lighthouse::{DUE, FAR, Got, Lighthouse, NONE};
use super::*;

/// The only worker parks, with nothing to keep yet or with less.
///
/// Caught: no fence in `after_publishing`; none in `announce`.
#[test]
fn who_sets_a_timer_and_a_parking_worker_never_miss_each_other() {
    for before in [NONE, FAR] {
        check(3, move || {
            let house = Lighthouse::full(1, before);
            house.idle.start_search();
            let worker = house.spawn(|house| house.hunt(0));
            house.set(DUE);
            assert_eq!(worker.join().unwrap(), Got::Timer);
        });
    }
}

/// Another runs for ever, and looks at no timer: the one that parks watches, keeps beside, and stops watching.
///
#[test]
fn who_sets_a_timer_and_a_watcher_never_miss_each_other() {
    for before in [NONE, FAR] {
        check(3, move || {
            let house = Lighthouse::full(2, before);
            house.idle.start_search();
            let worker = house.spawn(|house| house.hunt(0));
            house.set(DUE);
            assert_eq!(worker.join().unwrap(), Got::Timer);
        });
    }
}

/// Who sets a timer sees nobody keep, and picks another than the one that is just about to.
///
/// Caught: no fence in `keep`.
#[test]
fn a_worker_that_begins_to_keep_knows_of_what_was_set_before() {
    check(2, || {
        let house = Lighthouse::full(3, FAR);
        house.is_asleep(0, false);
        house.is_asleep(1, false);
        let keeper =
            house.spawn(|house| house.sleep(0, false, false).unwrap_or_else(|| house.hunt(0)));
        let other = house.spawn(|house| {
            house.parkers[1].park(None);
            house.hunt(1)
        });
        house.set(DUE);
        house.inject();
        let got = [keeper.join().unwrap(), other.join().unwrap()];
        assert!(got.contains(&Got::Timer) && got.contains(&Got::Job), "{got:?}");
    });
}

/// Who sets a timer sees a searcher and leaves it to that; it finds a job.
///
/// Caught: `found` that does not see to the keeper; no fence in `stop_search`.
#[test]
fn the_last_searcher_that_finds_work_leaves_the_timers_to_another() {
    check(3, || {
        let house = Lighthouse::full(3, NONE);
        house.jobs.store(1, Ordering::Relaxed);
        house.is_asleep(0, false);
        house.idle.start_search();
        let sleeper = house.spawn(|house| {
            house.parkers[0].park(None);
            house.hunt(0)
        });
        let searcher = house.spawn(|house| house.hunt(1));
        house.set(DUE);
        let got = [sleeper.join().unwrap(), searcher.join().unwrap()];
        assert!(got.contains(&Got::Timer) && got.contains(&Got::Job), "{got:?}");
    });
}

/// Who sets a timer sees somebody watch and leaves it to that; it is claimed for a job.
///
#[test]
fn who_claims_the_watcher_leaves_the_timers_to_another() {
    check(3, || {
        let house = Lighthouse::full(3, NONE);
        house.is_asleep(0, false);
        house.is_asleep(1, true);
        let sleeper = house.spawn(|house| {
            house.parkers[0].park(None);
            house.woken(0).unwrap_or_else(|| house.hunt(0))
        });
        let watcher =
            house.spawn(|house| house.sleep(1, true, false).unwrap_or_else(|| house.hunt(1)));
        house.set(DUE);
        house.dispatch();
        let got = [sleeper.join().unwrap(), watcher.join().unwrap()];
        assert!(got.contains(&Got::Job) && !house.is_wanted(), "{got:?}");
    });
}

/// Who sets a timer sees somebody keep, who leaves for good; another sleeps.
///
/// Caught: `retire` that does not see to the keeper; one without its fence.
#[test]
fn a_keeper_that_leaves_leaves_the_timers_to_another() {
    for watches in [false, true] {
        check(3, move || {
            let house = Lighthouse::new(
                Idle::new(Size { core: 1, max: 2, spare: 1 }, true),
                3,
                if watches { NONE } else { FAR },
            );
            for index in 0..2 {
                assert_eq!(house.idle.pick_another(true).start, Some(index));
                house.idle.arrive(index);
            }
            // A third, in the place of itself.
            house.idle.block();
            assert_eq!(house.idle.pick_another(true).start, Some(2));
            house.idle.arrive(2);
            house.is_asleep(1, false);
            house.is_asleep(0, watches);
            assert!(watches || house.idle.keep(0));
            let keeper = house.spawn(|house| house.retire(0));
            let other = house.spawn(|house| {
                house.parkers[1].park(None);
                house.hunt(1)
            });
            house.set(DUE);
            let left = keeper.join().unwrap();
            if left != Got::Nothing {
                // Each has something to do.
                house.inject();
            }
            let got = [left, other.join().unwrap()];
            assert!(got.contains(&Got::Timer), "{got:?}");
        });
    }
}

/// The keeper withdraws for an event while somebody picks it: one of the two takes it off the list.
///
#[test]
fn a_keeper_that_withdraws_is_picked_or_not() {
    check(3, || {
        let house = Lighthouse::full(1, FAR);
        house.idle.start_search();
        assert!(house.idle.announce(0, true).keeps);
        let worker = house.spawn(|house| house.withdraw(0).unwrap_or(Got::Nothing));
        turn();
        let picked = house.idle.pick_keeper();
        if let Some(index) = picked {
            house.parkers[index].unpark();
        }
        worker.join().unwrap();
        let word = house.idle.snapshot();
        assert_eq!((word.searching(), word.parked(), word.kept()), (1, 0, false));
        assert!(!house.parkers[0].try_take(), "the token was taken by whom it was for");
        assert!(house.idle.pick_keeper().is_none() && !house.idle.keep(0));
    });
}

/// A worker that sleeps elsewhere than on its parker: `Driver`, with a bell for all its events.
struct Dock {
    parker: Parker,
    at_driver: AtomicUsize,
    bell: Parker,
}

#[test]
fn a_token_wakes_a_worker_wherever_it_sleeps() {
    check(3, || {
        let dock = Arc::new(Dock {
            parker: Parker::new(),
            at_driver: AtomicUsize::new(0),
            bell: Parker::new(),
        });
        let worker = thread::spawn({
            let dock = dock.clone();
            // `Worker::keep`.
            move || {
                turn();
                dock.at_driver.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                let picked = dock.parker.try_take();
                if !picked {
                    dock.bell.park(None);
                }
                dock.at_driver.store(0, Ordering::Relaxed);
                assert!(picked || dock.parker.try_take(), "the bell was rung for a token");
            }
        });
        // `Core::unpark`.
        turn();
        dock.parker.unpark();
        fence(Ordering::SeqCst);
        if dock.at_driver.load(Ordering::Relaxed) == 1 {
            dock.bell.unpark();
        }
        worker.join().unwrap();
    });
}
