//! A thread that publishes and a worker that parks never miss each other.

use super::*;

/// The submitter publishes, then looks for a sleeper; the worker announces, then looks for work.
///
/// Caught: no fence in `after_publishing`; none in `announce`.
#[test]
fn a_submitter_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.start_search();
        let worker = pool.spawn(|pool| pool.find(0));
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        pool.published();
        assert!(worker.join().unwrap());
    });
}

/// The same with the queue that submitters really push to.
///
/// Caught: no fence in `announce`.
#[test]
fn a_push_to_the_injector_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let pool = ModelPool::new(1, Injector::new());
        pool.idle.start_search();
        let worker = pool.spawn(|pool| pool.find(0));
        assert!(pool.inject());
        assert!(worker.join().unwrap());
    });
}

/// Two submitters, one sleeper: one of them wakes it, and the second job is not lost either.
///
/// Caught: no fence in `announce`.
#[test]
fn of_two_submitters_one_wakes_the_sleeper() {
    check(3, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.start_search();
        let other = pool.spawn(|pool| {
            turn();
            pool.queue.fetch_add(1, Ordering::Relaxed);
            pool.published();
        });
        let worker = pool.spawn(|pool| {
            assert!(pool.find(0));
            pool.idle.start_search();
            assert!(pool.find(0));
        });
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        pool.published();
        other.join().unwrap();
        worker.join().unwrap();
    });
}

/// A submitter that sees a searcher wakes no worker; that searcher finds other work, and must pass the wake-up on.
///
/// Caught: no fence in `stop_search`; `stop_search` that never asks for a look.
#[test]
fn the_last_searcher_that_finds_work_wakes_another() {
    check(3, || {
        let pool = ModelPool::new(2, AtomicUsize::new(1));
        pool.is_asleep(0, false);
        pool.idle.start_search();
        let sleeper = pool.spawn(|pool| {
            pool.parkers[0].park(None);
            pool.find(0)
        });
        let searcher = pool.spawn(|pool| pool.find(1));
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        pool.published();
        assert!(searcher.join().unwrap());
        assert!(sleeper.join().unwrap());
    });
}

/// A worker wakes no other for its lone child because a sleeper monitors the queues; the monitor stops, or only stands by.
fn lone_child_and_a_monitor_that<O: Order + 'static>(stops: fn(&ModelPool<Stealer<(), O>>)) {
    check(3, move || {
        let local = brigade_queue::Worker::<(), O>::new(4);
        let pool = ModelPool::new(2, local.stealer());
        pool.is_asleep(0, true);
        let monitor = pool.spawn(move |pool| {
            stops(pool);
            pool.find(0)
        });
        turn();
        local.push(()).unwrap();
        pool.accepted(|| local.len());
        assert!(monitor.join().unwrap());
    });
}

/// A worker wakes no other for a job that its poll has woken, because a sleeper stands by; that one stops.
///
/// Caught: no fence in `after_publishing`; none in `give_up_duty`.
#[test]
fn a_job_that_a_poll_wakes_and_a_standby_that_stops_never_miss_each_other() {
    check(3, || {
        let local = fifo::Worker::new(4);
        let pool = ModelPool::new(2, local.stealer());
        pool.is_asleep(0, true);
        assert!(pool.idle.take_up_duty(0, Duty::Standby));
        let standby = pool.spawn(|pool| {
            pool.sleep(0, true);
            pool.find(0)
        });
        turn();
        local.push(()).unwrap();
        pool.accepted_in_poll();
        assert!(standby.join().unwrap());
    });
}

/// Caught: no fence in `after_publishing`; none in `take_up_duty`; no look in `stand_by`.
#[test]
fn a_lone_child_and_a_monitor_that_only_stands_by_never_miss_each_other() {
    lone_child_and_a_monitor_that::<fifo::Fifo>(|pool| pool.stand_by(0));
}

/// Caught: no fence in `after_publishing`; none in `give_up_duty`.
#[test]
fn a_lone_child_and_a_monitor_that_stops_never_miss_each_other_lifo() {
    lone_child_and_a_monitor_that::<lifo::Lifo>(|pool| pool.sleep(0, true));
}

/// Caught: no fence in `after_publishing`; none in `give_up_duty`.
#[test]
fn a_lone_child_and_a_monitor_that_stops_never_miss_each_other_fifo() {
    lone_child_and_a_monitor_that::<fifo::Fifo>(|pool| pool.sleep(0, true));
}

/// The same with a worker that is about to monitor.
///
/// Caught: no fence in `after_publishing`; none in `give_up_duty`.
#[test]
fn a_lone_child_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let local = fifo::Worker::new(4);
        let pool = ModelPool::new(2, local.stealer());
        pool.idle.start_search();
        let worker = pool.spawn(|pool| pool.find(0));
        turn();
        local.push(()).unwrap();
        pool.accepted(|| local.len());
        assert!(worker.join().unwrap());
    });
}

/// The monitor is woken for something else, although submitters relied on it for a lone child; another worker stays parked.
///
/// Caught: no fence in `stop_search`; `pick` that leaves `MONITORED`.
#[test]
fn a_lone_child_whose_monitor_is_called_away_is_not_forgotten() {
    check(3, || {
        let local = fifo::Worker::new(4);
        let pool = ModelPool::new(3, (AtomicUsize::new(0), local.stealer()));
        pool.is_asleep(2, false);
        pool.is_asleep(0, true);
        let sleeper = pool.spawn(|pool| {
            pool.parkers[2].park(None);
            pool.find(2)
        });
        // The submitter, and then the monitor that it woke, on one thread, as one follows the other.
        let monitor = pool.spawn(|pool| {
            turn();
            pool.queue.0.fetch_add(1, Ordering::Relaxed);
            assert!(pool.idle.after_publishing().wants_help());
            assert_eq!(pool.idle.pick(usize::MAX, true).wake, Some(0));
            pool.find(0)
        });
        turn();
        local.push(()).unwrap();
        pool.accepted(|| local.len());
        assert!(monitor.join().unwrap());
        assert!(sleeper.join().unwrap());
    });
}

/// A worker's batch from the injector is briefly not visible; a worker that parked in the meantime is woken.
///
/// Caught: no fence in `after_publishing`; none in `give_up_duty`.
#[test]
fn a_batch_on_its_way_to_a_worker_is_not_forgotten() {
    check(3, || {
        let injector = Injector::new();
        injector.push(()).unwrap();
        injector.push(()).unwrap();
        let local = fifo::Worker::new(4);
        let pool = ModelPool::new(2, (injector, local.stealer()));
        pool.idle.start_search();
        let worker = pool.spawn(|pool| pool.find(1));
        // `Worker::refill`.
        turn();
        assert!(pool.queue.0.pop_batch_into(&local, Limit::AtMost(2)).is_some());
        if local.len() > 0 {
            pool.accepted(|| local.len());
        }
        assert!(worker.join().unwrap());
    });
}

/// So are the jobs that a thief steals.
///
/// Caught: `stop_search` that never asks for a look.
#[test]
fn what_a_thief_carries_away_is_not_forgotten() {
    check(3, || {
        let (victim, local) = (lifo::Worker::new(4), lifo::Worker::new(4));
        victim.push(()).unwrap();
        victim.push(()).unwrap();
        // The victim is a third worker, which runs all the time.
        let pool = ModelPool::new(3, (victim.stealer(), local.stealer()));
        pool.idle.start_search();
        pool.idle.start_search();
        let worker = pool.spawn(|pool| pool.find(1));
        turn();
        let stolen = loop {
            match pool.queue.0.steal_batch_and_pop(&local, Limit::AtMost(2), 0) {
                Err(StealError::Busy) => brigade_sync::hint::spin_loop(),
                other => break other,
            }
        };
        assert!(stolen.is_ok(), "the other takes one of two");
        pool.found();
        assert!(worker.join().unwrap());
    });
}

/// Exactly one takes the sleeper off the list: the worker itself, or the thread that picks it, with a token.
///
/// Caught: `withdraw` that does not check whether the worker is still on the list.
#[test]
fn a_worker_that_withdraws_is_picked_or_not() {
    check(3, || {
        let pool = ModelPool::new(1, AtomicUsize::new(0));
        pool.idle.start_search();
        let _ = pool.idle.announce(0, false);
        let worker = pool.spawn(|pool| pool.withdraw(0));
        turn();
        let picked = pool.idle.pick(usize::MAX, true).wake;
        if let Some(index) = picked {
            pool.parkers[index].unpark();
        }
        worker.join().unwrap();
        let state = pool.idle.snapshot();
        assert_eq!((state.searching(), state.parked()), (1, 0));
        assert!(!pool.parkers[0].try_take(), "the worker has taken its token");
        assert!(pool.idle.pick(usize::MAX, true).wake.is_none());
    });
}

/// A monitor that withdraws, is picked, or gives its duty up leaves no duty behind.
///
/// Caught: `pick` that leaves `MONITORED`.
#[test]
fn a_duty_ends_with_the_sleep_of_its_holder() {
    check(3, || {
        let pool = ModelPool::new(2, AtomicUsize::new(0));
        pool.is_asleep(0, true);
        let monitor = pool.spawn(|pool| {
            turn();
            pool.idle.give_up_duty(0);
            pool.withdraw(0);
        });
        turn();
        pool.published();
        monitor.join().unwrap();
        let state = pool.idle.snapshot();
        assert_eq!((state.searching(), state.parked(), state.monitored()), (1, 0, false));
    });
}

/// A worker that has announced itself sees a job whose submitter woke no worker, as this one was searching. Before it withdraws
/// it is claimed to run another job. It must have another worker woken for what it saw.
///
/// Caught: `withdraw` that wakes no other worker when it comes too late.
#[test]
fn work_in_sight_of_a_worker_that_is_claimed_is_not_forgotten() {
    check(3, || {
        let pool = ModelPool::new(2, AtomicUsize::new(0));
        pool.is_asleep(0, false);
        pool.idle.start_search();
        let handed = Arc::new(AtomicUsize::new(usize::MAX));
        // Finds a job or is handed one.
        let work = |index| {
            let handed = handed.clone();
            move |pool: &ModelPool<AtomicUsize>| {
                // Ordering: Relaxed, here and below: the token orders it.
                while handed.load(Ordering::Relaxed) != index {
                    if pool.queue.take() {
                        return pool.found();
                    }
                    assert!(!pool.park(index));
                }
            }
        };
        let (sleeps_first, searches) = (work(0), work(1));
        let sleeper = pool.spawn(move |pool| {
            pool.parkers[0].park(None);
            sleeps_first(pool);
        });
        let searcher = pool.spawn(searches);
        turn();
        pool.queue.fetch_add(1, Ordering::Relaxed);
        pool.published();
        // `dispatch`, and the handling of a job that is returned.
        turn();
        match pool.idle.claim() {
            Some(claimed) => {
                handed.store(claimed.index, Ordering::Relaxed);
                pool.parkers[claimed.index].unpark();
            }
            None => {
                pool.queue.fetch_add(1, Ordering::Relaxed);
                pool.published();
            }
        }
        searcher.join().unwrap();
        sleeper.join().unwrap();
    });
}
