//! What becomes of a job for which there is no room: each policy, from outside the pool and from a job of it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Handle, JoinError, OnPanic, Pool, Queueing, Reason, Shutdown, WhenFull};

use crate::crowd::for_both_queueings;
use crate::full::{POLICIES, at_rest, busy, fill, full};
use crate::gate::{Gate, occupy};
use crate::quiet;
use crate::watchdog::{Watchdog, eventually};

/// The policies by which a worker runs the job itself.
const RUN_INSIDE: [WhenFull; 3] =
    [WhenFull::Block, WhenFull::BlockFor(Duration::MAX), WhenFull::RunInCaller];

#[test]
fn the_owner_panics_where_a_handle_gives_the_job_back() {
    let _dog = Watchdog::start(20);
    quiet::expected_panics();
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 1, WhenFull::Reject);
        let token = Arc::new(());
        let attempts: [&dyn Fn(Arc<()>); 3] = [
            &|token| pool.execute(move || drop(token)),
            &|token| _ = pool.submit(move || drop(token)),
            &|token| pool.execute_batch([move || drop(token)]),
        ];
        for attempt in attempts {
            let said = panic::catch_unwind(AssertUnwindSafe(|| attempt(token.clone())));
            let said = said.unwrap_err();
            assert!(quiet::text(&*said).unwrap().contains("try_execute"));
            assert_eq!(Arc::strong_count(&token), 1);
        }
        gate.open();
        assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
    });
}

#[test]
fn with_reject_a_job_of_the_pool_has_its_job_back_too() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).capacity(1).build().unwrap();
        let parent = pool.submit(|| {
            let here = Handle::current().unwrap();
            here.execute(|| ()).unwrap();
            let batch = here.execute_batch([|| (), || ()]).unwrap_err();
            assert_eq!((batch.reason(), batch.into_inner().len()), (Reason::Full, 2));
            here.execute(|| unreachable!()).unwrap_err().reason()
        });
        assert_eq!(parent.join().unwrap(), Reason::Full);
        assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
    });
}

#[test]
fn with_block_a_submission_from_outside_waits_until_there_is_room() {
    let _dog = Watchdog::start(20);
    for policy in [WhenFull::Block, WhenFull::BlockFor(Duration::MAX)] {
        for_both_queueings(|builder| {
            let (pool, gate) = full(builder, 1, policy);
            let accepted = AtomicUsize::new(0);
            thread::scope(|scope| {
                let submitter = scope.spawn(|| {
                    for _ in 0..100 {
                        pool.execute(|| ());
                        accepted.fetch_add(1, Ordering::SeqCst);
                    }
                    pool.execute_batch([|| (); 10]);
                    pool.submit(|| 42).join().unwrap()
                });
                thread::sleep(Duration::from_millis(2));
                assert_eq!(accepted.load(Ordering::SeqCst), 0);
                gate.open();
                assert_eq!(submitter.join().unwrap(), 42);
            });
            assert_eq!(at_rest(&pool), [113, 113, 0, 0, 0]);
        });
    }
}

#[test]
fn a_job_that_would_wait_for_its_own_pool_runs_the_new_one_itself() {
    let _dog = Watchdog::start(20);
    for policy in RUN_INSIDE {
        for_both_queueings(|builder| {
            let builder = builder.threads(1).capacity(1).when_full(policy);
            let pool = builder.build().unwrap();
            let parent = pool.submit(|| {
                let (here, ran) = (Handle::current().unwrap(), Arc::new(AtomicUsize::new(0)));
                here.execute(|| ()).unwrap();
                for _ in 0..10 {
                    let ran = ran.clone();
                    here.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed)).unwrap();
                }
                assert_eq!(ran.load(Ordering::Relaxed), 10, "each right where it was submitted");
                let place = || (thread::current().id(), Handle::current());
                let child = here.submit(place).unwrap();
                assert!(child.is_finished());
                assert_eq!(child.join().unwrap(), place());
            });
            parent.join().unwrap();
            assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0], "{policy:?}");
        });
    }
}

#[test]
fn what_waits_for_a_while_or_without_a_thread_runs_inside_too_whatever_the_policy() {
    let _dog = Watchdog::start(20);
    for policy in POLICIES {
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy);
        let pool = builder.build().unwrap();
        let parent = pool.submit(|| {
            let here = Handle::current().unwrap();
            here.try_execute(|| ()).unwrap();
            let nap = Duration::from_nanos(1);
            let ran = Arc::new(AtomicUsize::new(0));
            let job = || {
                let ran = ran.clone();
                move || _ = ran.fetch_add(1, Ordering::Relaxed)
            };
            here.execute_timeout(job(), nap).unwrap();
            assert!(here.submit_timeout(job(), Duration::MAX).unwrap().is_finished());
            crate::bell::block_on(here.execute_async(job())).unwrap();
            let later = Box::pin(here.submit_async(job()));
            assert!(crate::bell::block_on(later).unwrap().is_finished());
            assert_eq!(ran.load(Ordering::Relaxed), 4);
            let now_or_never = here.execute_timeout(job(), Duration::ZERO).unwrap_err();
            now_or_never.reason()
        });
        assert_eq!(parent.join().unwrap(), Reason::Full, "{policy:?}");
        assert_eq!(at_rest(&pool), [6, 6, 0, 0, 0]);
    }
}

#[test]
fn with_run_in_caller_a_full_pool_makes_the_submitter_work() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 2, WhenFull::RunInCaller);
        let here = (thread::current().id(), None);
        let place = || (thread::current().id(), Handle::current());
        let handle = pool.submit(place);
        assert!(handle.is_finished());
        assert_eq!(handle.join().unwrap(), here);
        assert_eq!(pool.handle().submit(place).unwrap().join().unwrap(), here);
        let (sender, ran) = mpsc::channel();
        pool.execute_batch((0..5).map(|number| {
            let sender = sender.clone();
            move || sender.send(number).unwrap()
        }));
        assert!(ran.try_iter().eq(0..5));
        let other = Pool::new(1);
        let (inner, reached) = (other.handle(), Arc::new(AtomicUsize::new(0)));
        let reaches = reached.clone();
        // The job that runs here may submit elsewhere, and here again.
        let again = pool.handle();
        pool.execute(move || {
            again.execute(move || _ = reaches.fetch_add(1, Ordering::Relaxed)).unwrap();
            inner.execute(|| ()).unwrap();
        });
        assert_eq!(reached.load(Ordering::Relaxed), 1);
        gate.open();
        assert_eq!(at_rest(&pool), [12, 12, 0, 0, 0]);
        assert_eq!(at_rest(&other)[1], 1);
    });
}

#[test]
fn a_job_that_the_submitter_runs_counts_as_running_meanwhile() {
    let _dog = Watchdog::start(20);
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let pool = Arc::new(pool);
    let inside = pool.clone();
    let seen = pool.submit(move || inside.metrics());
    let seen = seen.join().unwrap();
    assert_eq!((seen.accepted, seen.running, seen.queued, seen.returned), (3, 2, 1, 0));
    gate.open();
    assert_eq!(at_rest(&pool), [3, 3, 0, 0, 0]);
}

#[test]
fn a_job_that_a_worker_runs_for_want_of_room_counts_at_once() {
    let _dog = Watchdog::start(20);
    for policy in RUN_INSIDE {
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy);
        let pool = Arc::new(builder.build().unwrap());
        let inside = pool.clone();
        let seen = pool.submit(move || {
            (0..11).for_each(|_| inside.execute(|| ()));
            let again = inside.clone();
            inside.submit(move || again.metrics()).join().unwrap()
        });
        let seen = seen.join().unwrap();
        assert_eq!((seen.accepted, seen.running, seen.queued, seen.returned), (13, 2, 1, 10));
        assert_eq!(at_rest(&pool), [13, 13, 0, 0, 0], "{policy:?}");
    }
}

#[test]
fn a_panic_of_a_job_that_its_submitter_runs_is_the_jobs() {
    let _dog = Watchdog::start(20);
    quiet::expected_panics();
    for policy in RUN_INSIDE {
        let heard = Arc::new(AtomicUsize::new(0));
        let hears = heard.clone();
        let callback = OnPanic::Call(Arc::new(move |_| {
            hears.fetch_add(1, Ordering::Relaxed);
            panic!("expected: the callback's own");
        }));
        let builder = Pool::builder().threads(1).capacity(1).when_full(policy).on_panic(callback);
        let pool = builder.build().unwrap();
        let panics = |here: Handle| {
            here.execute(|| panic!("expected: detached")).unwrap();
            let joined = here.submit(|| panic!("expected: joined")).unwrap();
            let joined: Result<(), _> = joined.join();
            assert_eq!(joined.unwrap_err().message(), Some("expected: joined"));
        };
        let parent = pool.submit(move || {
            let here = Handle::current().unwrap();
            here.execute(|| ()).unwrap();
            panics(here);
        });
        parent.join().unwrap();
        pool.wait_idle();
        let mut expected = 1;
        if policy == WhenFull::RunInCaller {
            let gate = Gate::closed();
            occupy(&pool, &gate);
            assert_eq!(fill(&pool), 1);
            panics(pool.handle());
            gate.open();
            expected = 2;
            assert_eq!(at_rest(&pool), [8, 4, 4, 0, 0]);
        } else {
            assert_eq!(at_rest(&pool), [4, 2, 2, 0, 0]);
        }
        assert_eq!(heard.load(Ordering::Relaxed), expected, "{policy:?}");
    }
}

#[test]
fn with_run_in_caller_nothing_runs_in_the_caller_once_the_pool_is_closed() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 1, WhenFull::RunInCaller);
        let handle = pool.handle();
        let closing = thread::spawn(move || pool.shutdown(Shutdown::Drain));
        eventually("the pool closes", || handle.is_closed());
        for _ in 0..100 {
            assert_eq!(handle.execute(|| unreachable!()).unwrap_err().reason(), Reason::Closed);
        }
        gate.open();
        assert_eq!(closing.join().unwrap().ran, 2);
    });
}

#[test]
fn with_drop_oldest_the_oldest_is_cancelled_for_the_newest() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = busy(builder, 3, WhenFull::DropOldest);
        let (sender, ran) = mpsc::channel();
        let handles: Vec<_> = (0..10)
            .map(|number| {
                let sender = sender.clone();
                pool.submit(move || sender.send(number).unwrap())
            })
            .collect();
        let evicted = |handle: &brigade::JoinHandle<()>| handle.is_finished();
        let evicted: Vec<_> = handles.iter().map(evicted).collect();
        assert_eq!(evicted, [[true; 7].as_slice(), &[false; 3]].concat(), "and heard so at once");
        assert_eq!(pool.metrics().evicted, 7);
        gate.open();
        for (number, handle) in handles.into_iter().enumerate() {
            assert_eq!(matches!(handle.join(), Err(JoinError::Cancelled)), number < 7);
        }
        assert!(ran.try_iter().eq(7..10));
        assert_eq!(at_rest(&pool), [11, 4, 0, 7, 7]);
    });
}

#[test]
fn with_drop_oldest_what_came_from_outside_goes_before_what_a_worker_has() {
    let _dog = Watchdog::start(20);
    let builder = Pool::builder().queueing(Queueing::Stealing);
    let builder = builder.threads(1).capacity(4).when_full(WhenFull::DropOldest);
    let (pool, gate, submitted) = (builder.build().unwrap(), Gate::closed(), Gate::closed());
    let (inner, told) = (gate.clone(), submitted.clone());
    let children = pool.submit(move || {
        let children = [0, 1].map(|number| brigade::submit(move || number).unwrap());
        told.open();
        inner.wait();
        let last = brigade::submit(|| 2).unwrap();
        (children, last)
    });
    submitted.wait();
    let outside = [0, 1].map(|number| pool.submit(move || number));
    gate.open();
    let ([first, second], last) = children.join().unwrap();
    let [evicted, kept] = outside;
    assert!(matches!(evicted.join(), Err(JoinError::Cancelled)));
    assert_eq!(kept.join().unwrap(), 1);
    let children = [first, second, last].map(|child| child.join().unwrap());
    assert_eq!(children, [0, 1, 2]);
    assert_eq!(at_rest(&pool), [6, 5, 0, 1, 1]);
}

#[test]
fn with_drop_oldest_a_worker_gives_up_the_oldest_of_its_own() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let builder = builder.threads(1).capacity(2).when_full(WhenFull::DropOldest);
        let pool = builder.build().unwrap();
        let children = pool.submit(|| {
            (0..5).map(|number| brigade::submit(move || number).unwrap()).collect::<Vec<_>>()
        });
        let outcomes: Vec<_> =
            children.join().unwrap().into_iter().map(|child| child.join().ok()).collect();
        assert_eq!(outcomes, [None, None, None, Some(3), Some(4)]);
        assert_eq!(at_rest(&pool), [6, 3, 0, 3, 3]);
    });
}

/// What a cancelled job leaves in the queue holds no place, so the next one has to go.
#[test]
fn with_drop_oldest_what_is_left_of_cancelled_jobs_does_not_count() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = busy(builder, 2, WhenFull::DropOldest);
        for _ in 0..20 {
            assert!(pool.submit(|| ()).cancel());
        }
        let kept = [0, 1].map(|number| pool.submit(move || number));
        let newest = pool.submit(|| 2);
        gate.open();
        let [evicted, kept] = kept;
        assert!(matches!(evicted.join(), Err(JoinError::Cancelled)));
        assert_eq!((kept.join().unwrap(), newest.join().unwrap()), (1, 2));
        assert_eq!(at_rest(&pool), [24, 3, 0, 21, 1]);
    });
}

#[test]
fn the_captures_of_an_evicted_job_may_submit_and_panic() {
    struct Last(Handle, Arc<AtomicUsize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let counted = self.1.clone();
            let _ = self.0.try_execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
            panic!("expected: dropped");
        }
    }
    let _dog = Watchdog::start(20);
    quiet::expected_panics();
    for_both_queueings(|builder| {
        let (pool, gate) = busy(builder, 1, WhenFull::DropOldest);
        let ran = Arc::new(AtomicUsize::new(0));
        let last = Last(pool.handle(), ran.clone());
        pool.execute(move || drop(last));
        pool.execute(|| ());
        gate.open();
        // The job of the drop took the place, and went in its turn.
        assert_eq!(at_rest(&pool), [4, 2, 0, 2, 2]);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn with_drop_newest_the_new_job_is_accepted_and_cancelled() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = full(builder, 2, WhenFull::DropNewest);
        let token = Arc::new(());
        let captured = token.clone();
        pool.execute(move || drop(captured));
        assert_eq!(Arc::strong_count(&token), 1, "dropped at once");
        assert!(matches!(pool.submit(|| ()).join(), Err(JoinError::Cancelled)));
        pool.execute_batch([|| unreachable!(), || unreachable!()]);
        assert_eq!(pool.metrics().evicted, 4);
        gate.open();
        assert_eq!(at_rest(&pool), [7, 3, 0, 4, 4]);
        let inside = pool.submit(|| {
            brigade::execute(|| ()).unwrap();
            brigade::execute(|| ()).unwrap();
            brigade::submit(|| ()).unwrap().join().map_err(|error| error.to_string())
        });
        assert!(inside.join().unwrap().unwrap_err().contains("cancelled"));
        assert_eq!(at_rest(&pool), [11, 6, 0, 5, 5]);
    });
}

#[test]
fn a_try_waits_runs_and_drops_nothing_whatever_the_policy() {
    let _dog = Watchdog::start(20);
    for policy in POLICIES {
        for_both_queueings(|builder| {
            let (pool, gate) = busy(builder, 2, policy);
            let queued = [0, 1].map(|number| pool.try_submit(move || number).unwrap());
            let (own, told) = (pool.handle(), mpsc::channel());
            for _ in 0..3 {
                let full = pool.try_execute(|| unreachable!()).unwrap_err();
                assert_eq!(full.reason(), Reason::Full);
                let full = pool.try_submit(|| unreachable!()).unwrap_err();
                assert_eq!(full.reason(), Reason::Full);
            }
            gate.open();
            let [first, second] = queued.map(|handle| handle.join().unwrap());
            assert_eq!((first, second), (0, 1), "{policy:?}");
            pool.execute(move || {
                own.try_execute(|| ()).unwrap();
                own.try_execute(|| ()).unwrap();
                told.0.send(own.try_execute(|| unreachable!()).is_err()).unwrap();
            });
            assert!(told.1.recv().unwrap());
            assert_eq!(at_rest(&pool), [6, 6, 0, 0, 0], "{policy:?}");
        });
    }
}

#[test]
fn a_draining_pool_treats_what_its_jobs_submit_as_ever() {
    let _dog = Watchdog::start(20);
    for (policy, ran, cancelled) in [
        (WhenFull::Reject, 2, 0),
        (WhenFull::RunInCaller, 4, 0),
        (WhenFull::Block, 4, 0),
        (WhenFull::DropOldest, 2, 2),
        (WhenFull::DropNewest, 2, 2),
    ] {
        for_both_queueings(|builder| {
            let builder = builder.threads(1).capacity(1).when_full(policy);
            let (pool, gate) = (builder.build().unwrap(), Gate::closed());
            let (inner, (sender, begun)) = (gate.clone(), mpsc::channel());
            pool.execute(move || {
                sender.send(()).unwrap();
                inner.wait();
                for number in 0..3 {
                    let accepted = brigade::execute(|| ());
                    assert_eq!(accepted.is_err(), policy == WhenFull::Reject && number > 0);
                }
            });
            begun.recv().unwrap();
            gate.open_once_closed(pool.handle());
            let report = pool.shutdown(Shutdown::Drain);
            assert_eq!((report.ran, report.discarded), (ran, cancelled), "{policy:?}");
        });
    }
}

#[test]
fn a_discarded_pool_refuses_what_its_jobs_submit_whether_it_is_full_or_not() {
    let _dog = Watchdog::start(20);
    for policy in POLICIES {
        let (pool, gate) =
            (Pool::builder().threads(1).capacity(1).when_full(policy), Gate::closed());
        let pool = pool.build().unwrap();
        let (inner, (sender, begun)) = (gate.clone(), mpsc::channel());
        let refused = pool.submit(move || {
            sender.send(()).unwrap();
            inner.wait();
            brigade::execute(|| unreachable!()).unwrap_err().reason()
        });
        begun.recv().unwrap();
        pool.try_execute(|| unreachable!()).unwrap();
        gate.open_once_closed(pool.handle());
        let report = pool.shutdown(Shutdown::Discard);
        assert_eq!((report.ran, report.discarded), (1, 1), "{policy:?}");
        assert_eq!(refused.join().unwrap(), Reason::Closed);
    }
}

#[test]
fn evictions_from_many_threads_lose_nothing() {
    let _dog = Watchdog::start(60);
    for policy in [WhenFull::DropOldest, WhenFull::DropNewest] {
        for_both_queueings(|builder| {
            let builder = builder.threads(2).capacity(4).when_full(policy);
            let pool = builder.build().unwrap();
            let begun = Instant::now();
            let outcomes: Vec<_> = thread::scope(|scope| {
                let submit = || (0..2000).map(|_| pool.submit(|| ())).collect::<Vec<_>>();
                let submitters = [(); 4].map(|()| scope.spawn(submit));
                submitters.into_iter().flat_map(|submitter| submitter.join().unwrap()).collect()
            });
            let cancelled = outcomes.into_iter().filter_map(|job| job.join().err()).count() as u64;
            let returned = 8000 - cancelled;
            assert_eq!(at_rest(&pool), [8000, returned, 0, cancelled, cancelled]);
            println!("{cancelled} of 8000 in {:?}", begun.elapsed());
        });
    }
}
