//! The parkers, as a scheduler of one's own uses them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use brigade_testkit::test;
use executors::parker::{DynParker, ParkResult, Parker, ThreadData, dynamic, large, small};

/// Checks a parker of each kind.
fn on_each(check: impl Fn(&str, DynParker)) {
    check("small", small().dynamic().unwrap());
    check("large", large().dynamic().unwrap());
    check("dynamic", dynamic().dynamic().unwrap());
}

/// Starts threads that prepare to sleep, tell that, and park. Each tells its number when it has been woken.
fn sleepers(parker: &DynParker, numbers: impl Iterator<Item = usize>) -> Receiver<usize> {
    let ((ready, readies), (told, tells)) = (channel(), channel());
    let mut count = 0;
    for number in numbers {
        let (parker, ready, told) = (parker.clone(), ready.clone(), told.clone());
        thread::spawn(move || {
            parker.init(number);
            parker.prepare_park(number);
            ready.send(()).unwrap();
            parker.park(number);
            told.send(number).unwrap();
        });
        count += 1;
    }
    (0..count).for_each(|_| readies.recv().unwrap());
    tells
}

#[test]
fn unpark_one_wakes_sleepers_one_by_one() {
    on_each(|name, parker| {
        parker.unpark_one(); // Of none.
        let tells = sleepers(&parker, [3, 0, 31].into_iter());
        let mut woken: Vec<_> = (0..3)
            .map(|_| {
                assert!(tells.try_recv().is_err(), "{name}: one at a time");
                parker.unpark_one();
                tells.recv().unwrap()
            })
            .collect();
        woken.sort_unstable();
        assert_eq!(woken, [0, 3, 31], "{name}");
    });
}

#[test]
fn unpark_all_wakes_all_sleepers() {
    on_each(|name, parker| {
        let most = parker.max_threads().unwrap_or(80);
        let tells = sleepers(&parker, 0..most);
        parker.unpark_all();
        let mut woken: Vec<_> = tells.iter().collect();
        woken.sort_unstable();
        assert!(woken.into_iter().eq(0..most), "{name}");
    });
}

#[test]
fn a_wake_before_the_sleep_is_not_slept_through() {
    on_each(|name, parker| {
        parker.prepare_park(7);
        parker.unpark_one();
        assert!(matches!(parker.park(7), ParkResult::Abort), "{name}");
        parker.prepare_park(7);
        parker.unpark_all();
        assert!(matches!(parker.park(7), ParkResult::Abort), "{name}");
        parker.prepare_park(7);
        parker.unpark_one();
        parker.init(7);
        assert!(matches!(parker.park(7), ParkResult::Abort), "{name}: it is not prepared");
    });
}

/// Caught: a wake that is absorbed by a thread that does not sleep after all, as the original's is.
#[test]
fn a_wake_of_a_busy_thread_wakes_another() {
    on_each(|name, parker| {
        parker.prepare_park(0);
        let tells = sleepers(&parker, [1].into_iter());
        parker.unpark_one(); // The first, which is about to sleep.
        parker.abort_park(0);
        assert_eq!(tells.recv(), Ok(1), "{name}");
    });
}

#[test]
fn all_awake_says_if_a_wake_finds_a_thread() {
    fn check(data: &dyn Fn(&str) -> bool, parker: &impl Parker) {
        assert!(data("none"));
        parker.prepare_park(0);
        assert!(!data("prepared"));
        parker.abort_park(0);
        assert!(data("aborted"));
        parker.prepare_park(0);
        parker.unpark_one();
        assert!(data("woken"));
    }
    /// The data of a parker, which only an own `ThreadData` shows.
    #[derive(Clone, Debug)]
    struct Own(Arc<Mutex<Vec<usize>>>);
    impl Own {
        fn all_awake(&self) -> bool {
            self.0.lock().unwrap().is_empty()
        }
    }
    impl Parker for Own {
        fn max_threads(&self) -> Option<usize> {
            Some(1)
        }
        fn init(&self, thread_id: usize) {
            self.abort_park(thread_id);
        }
        fn prepare_park(&self, thread_id: usize) {
            self.0.lock().unwrap().push(thread_id);
        }
        fn abort_park(&self, thread_id: usize) {
            self.0.lock().unwrap().retain(|&id| id != thread_id);
        }
        fn park(&self, _thread_id: usize) -> ParkResult {
            ParkResult::Retry
        }
        fn unpark_one(&self) {
            self.0.lock().unwrap().pop();
        }
        fn unpark_all(&self) {
            self.0.lock().unwrap().clear();
        }
    }
    let own = Own(Arc::default());
    check(&|_| own.all_awake(), &own);
    // A pool takes it for its number of threads.
    use executors::Executor;
    use executors::crossbeam_workstealing_pool::ThreadPool;
    let (told, tells) = channel();
    ThreadPool::new(1, own.clone()).execute(move || told.send(42).unwrap());
    assert_eq!(tells.recv(), Ok(42));
    assert!(catch_unwind(AssertUnwindSafe(|| ThreadPool::new(2, own))).is_err());
    fn is_object(_: Option<&dyn ThreadData>) {}
    is_object(None);
}

#[test]
fn a_number_beyond_the_parkers_is_a_panic() {
    let parks = |parker: &dyn Fn(usize), number| catch_unwind(AssertUnwindSafe(|| parker(number)));
    assert!(parks(&|number| small().prepare_park(number), 31).is_ok());
    assert!(parks(&|number| small().prepare_park(number), 32).is_err());
    assert!(parks(&|number| large().init(number), 63).is_ok());
    assert!(parks(&|number| large().init(number), 64).is_err());
    assert!(parks(&|number| dynamic().abort_park(number), usize::MAX).is_ok());
}

/// The scheduler of the documentation: nothing that was added is slept through.
#[test]
fn parking_threads_take_all_added_jobs() {
    const THINGS: usize = 20_000;
    on_each(|name, parker| {
        let (queue, (told, tells)) = (Arc::new(Mutex::new(VecDeque::new())), channel());
        for number in 0..3 {
            let (parker, queue, told) = (parker.clone(), Arc::clone(&queue), told.clone());
            let take = move || queue.lock().unwrap().pop_front();
            thread::spawn(move || {
                loop {
                    let thing = take().or_else(|| {
                        parker.prepare_park(number);
                        let thing = take();
                        match thing {
                            Some(_) => parker.abort_park(number),
                            None => _ = parker.park(number),
                        }
                        thing
                    });
                    match thing {
                        Some(Some(thing)) => told.send(thing).unwrap(),
                        Some(None) => break,
                        None => {}
                    }
                }
            });
        }
        drop(told);
        for thing in 0..THINGS {
            queue.lock().unwrap().push_back(Some(thing));
            parker.unpark_one();
        }
        for _ in 0..3 {
            queue.lock().unwrap().push_back(None);
            parker.unpark_all();
        }
        assert_eq!(tells.iter().sum::<usize>(), THINGS * (THINGS - 1) / 2, "{name}");
    });
}
