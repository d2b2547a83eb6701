//! A worker waits for timers and I/O events, which are on no queue.
//!
//! One timer stands for all of them. As with jobs, a worker that fires it does nothing else. There are as many workers as jobs
//! and timers. So if no worker is woken for one of these, a worker stays parked, and loom reports a deadlock.

use super::driver_pool::{DUE, DriverPool, FAR, Got, NONE};
use super::*;

/// The only worker parks, with no timer yet or with a later one.
///
/// Caught: no fence in `after_publishing`; none in `announce`.
#[test]
fn a_timer_that_is_set_and_a_parking_worker_never_miss_each_other() {
    for before in [NONE, FAR] {
        check(3, move || {
            let pool = DriverPool::full(1, before);
            pool.idle.start_search();
            let worker = pool.spawn(|pool| pool.hunt(0));
            pool.set(DUE);
            assert_eq!(worker.join().unwrap(), Got::Timer);
        });
    }
}

/// Another worker runs forever, and polls no timer: the one that parks monitors the queues, then stops and holds the driver.
#[test]
fn a_timer_that_is_set_and_a_monitor_that_stops_never_miss_each_other() {
    for before in [NONE, FAR] {
        check(3, move || {
            let pool = DriverPool::full(2, before);
            pool.idle.start_search();
            let worker = pool.spawn(|pool| pool.hunt(0));
            pool.set(DUE);
            assert_eq!(worker.join().unwrap(), Got::Timer);
        });
    }
}

/// The same with a monitor that stands by for the timer and then stops.
///
/// Caught: no fence in `give_up_duty`.
#[test]
fn a_timer_that_is_set_and_a_worker_that_stands_by_never_miss_each_other() {
    check(3, || {
        let pool = DriverPool::full(2, NONE);
        pool.is_asleep(0, true);
        let worker = pool.spawn(|pool| {
            turn();
            let duty = pool.idle.take_up_duty(0, Duty::Standby).then_some(Duty::Standby);
            pool.sleep(0, duty).unwrap_or_else(|| pool.hunt(0))
        });
        pool.set(DUE);
        assert_eq!(worker.join().unwrap(), Got::Timer);
    });
}

/// The thread that sets a timer sees no driver holder, and picks a worker other than the one that is about to hold the driver.
///
/// Caught: no fence in `take_up_duty`.
#[test]
fn a_worker_that_takes_up_the_driver_knows_of_what_was_set_before() {
    check(2, || {
        let pool = DriverPool::full(3, FAR);
        pool.is_asleep(0, false);
        pool.is_asleep(1, false);
        let holder = pool.spawn(|pool| pool.sleep(0, None).unwrap_or_else(|| pool.hunt(0)));
        let other = pool.spawn(|pool| {
            pool.parkers[1].park(None);
            pool.hunt(1)
        });
        pool.set(DUE);
        pool.inject();
        let got = [holder.join().unwrap(), other.join().unwrap()];
        assert!(got.contains(&Got::Timer) && got.contains(&Got::Job), "{got:?}");
    });
}

/// The thread that sets a timer sees a searcher and relies on it, but that searcher finds a job.
///
/// Caught: `found` that does not call `see_to_driver`; no fence in `stop_search`.
#[test]
fn the_last_searcher_that_finds_work_leaves_the_timers_to_another() {
    check(3, || {
        let pool = DriverPool::full(3, NONE);
        pool.jobs.store(1, Ordering::Relaxed);
        pool.is_asleep(0, false);
        pool.idle.start_search();
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.hunt(0)
        });
        let searcher = pool.spawn(|pool| pool.hunt(1));
        pool.set(DUE);
        let got = [sleeper.join().unwrap(), searcher.join().unwrap()];
        assert!(got.contains(&Got::Timer) && got.contains(&Got::Job), "{got:?}");
    });
}

/// The thread that sets a timer sees a monitor and relies on it, but that monitor is claimed for a job.
#[test]
fn a_thread_that_claims_the_monitor_leaves_the_timers_to_another() {
    check(3, || {
        let pool = DriverPool::full(3, NONE);
        pool.is_asleep(0, false);
        pool.is_asleep(1, true);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.woken(0).unwrap_or_else(|| pool.hunt(0))
        });
        let monitor =
            pool.spawn(|pool| pool.sleep(1, Some(Duty::Monitor)).unwrap_or_else(|| pool.hunt(1)));
        pool.set(DUE);
        pool.dispatch();
        let got = [sleeper.join().unwrap(), monitor.join().unwrap()];
        assert!(got.contains(&Got::Job) && !pool.is_wanted(), "{got:?}");
    });
}

/// The thread that sets a timer sees a holder of a duty, which leaves for good; another worker sleeps.
///
/// Caught: `retire` that does not call `see_to_driver`; one without its fence.
#[test]
fn a_worker_on_duty_that_leaves_leaves_the_timers_to_another() {
    for monitors in [false, true] {
        check(3, move || {
            let pool = DriverPool::new(idle(1, 2, 1), 3, if monitors { NONE } else { FAR });
            for index in 0..2 {
                assert_eq!(pool.idle.pick_another(true).start, Some(index));
                pool.idle.arrive(index);
            }
            // A third worker, as its own replacement.
            pool.idle.block(false);
            assert_eq!(pool.idle.pick_another(true).start, Some(2));
            pool.idle.arrive(2);
            pool.idle.unblock(false);
            pool.is_asleep(1, false);
            pool.is_asleep(0, monitors);
            assert!(monitors || pool.idle.take_up_duty(0, Duty::Driver));
            let holder = pool.spawn(|pool| pool.retire(0));
            let other = pool.spawn(|pool| {
                pool.parkers[1].park(None);
                pool.hunt(1)
            });
            pool.set(DUE);
            let left = holder.join().unwrap();
            if left != Got::Nothing {
                // One job or timer for each worker.
                pool.inject();
            }
            let got = [left, other.join().unwrap()];
            assert!(got.contains(&Got::Timer), "{got:?}");
        });
    }
}

/// The holder of the driver withdraws for an event while another thread picks it: one of the two takes it off the list.
#[test]
fn a_holder_that_withdraws_is_picked_or_not() {
    check(3, || {
        let pool = DriverPool::full(1, FAR);
        pool.idle.start_search();
        assert_eq!(pool.idle.announce(0, true).duty, Some(Duty::Driver));
        let worker = pool.spawn(|pool| pool.withdraw(0).unwrap_or(Got::Nothing));
        turn();
        let picked = pool.idle.pick_driver_holder();
        if let Some(index) = picked {
            pool.parkers[index].unpark();
        }
        worker.join().unwrap();
        let state = pool.idle.snapshot();
        assert_eq!((state.searching(), state.parked(), state.driver_held()), (1, 0, false));
        assert!(!pool.parkers[0].try_take(), "the worker has taken its token");
        assert!(
            pool.idle.pick_driver_holder().is_none() && !pool.idle.take_up_duty(0, Duty::Driver)
        );
    });
}
