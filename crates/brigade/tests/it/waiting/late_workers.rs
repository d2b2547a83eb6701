//! `wait_idle` while the threads that run later work block, leave, are started or never come back, and while a full pool
//! gives up jobs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::support::attempts::in_one_of_three_attempts;
use crate::support::crowd::{await_idle_workers, for_both_queueings, workers};
use crate::support::full::busy;
use crate::support::trees::Trees;
use brigade::{Builder, JoinHandle, NewThread, Pool, Queueing, TaskSet, Thread, WhenFull};
use brigade_testkit::{Gate, Watchdog, eventually};

/// Where a job waits, and whether it has come there.
#[derive(Clone, Default)]
struct Stop {
    began: Gate,
    gate: Gate,
}

impl Stop {
    fn here(&self) {
        self.began.open();
        self.gate.wait();
    }

    /// A job that waits there, on the pool by the time this returns.
    fn hold_a_thread(&self, pool: &Pool) {
        let stop = self.clone();
        pool.execute(move || stop.here());
        self.began.wait();
    }
}

/// A wait on a thread of its own.
struct Wait(Receiver<bool>);

impl Wait {
    /// Runs `body` beside a wait for what has been accepted, then opens the gates, whatever became of it.
    fn beside(
        pool: &Pool,
        gates: &[&Gate],
        body: impl FnOnce(&Self) -> Result<(), String>,
    ) -> Result<(), String> {
        thread::scope(|scope| {
            let (returned, returns) = mpsc::channel();
            let calls = Gate::closed();
            let caller = calls.clone();
            scope.spawn(move || {
                caller.open();
                returned.send(pool.wait_idle())
            });
            calls.wait();
            // If that is too short later work is old; hence three attempts.
            thread::sleep(Duration::from_millis(30));
            let result = body(&Self(returns));
            gates.iter().for_each(|gate| gate.open());
            result
        })
    }

    fn ends(&self) -> Result<(), String> {
        match self.0.recv_timeout(Duration::from_secs(1)) {
            Ok(true) => Ok(()),
            other => Err(format!("the wait has not ended: {other:?}")),
        }
    }

    fn goes_on(&self) {
        assert!(self.0.recv_timeout(Duration::from_millis(20)).is_err(), "it has ended early");
    }
}

/// Makes a claim that rests on time for each queueing.
fn in_three_attempts(claim: impl Fn(Builder) -> Result<(), String>) {
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        in_one_of_three_attempts(|| {
            claim(Pool::builder().queueing(queueing)).map_err(|why| format!("{why}, {queueing:?}"))
        });
    }
}

/// A job that runs itself again until told to stop.
fn chain(stop: Arc<AtomicBool>) {
    if !stop.load(Ordering::Relaxed) {
        let _ = brigade::execute(move || chain(stop));
    }
}

#[test]
fn a_later_job_that_a_busy_worker_runs_between_old_ones_does_not_delay_a_wait() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let (old, later) = (Stop::default(), Stop::default());
        let stop = Arc::new(AtomicBool::new(false));
        old.hold_a_thread(&pool);
        let stops = Arc::clone(&stop);
        pool.execute(move || chain(stops));
        Wait::beside(&pool, &[&later.gate, &old.gate], |wait| {
            later.hold_a_thread(&pool);
            stop.store(true, Ordering::Relaxed);
            // It takes what is left of the row.
            old.gate.open();
            wait.ends()
        })
    });
}

#[test]
fn a_wait_ends_while_a_later_job_is_blocked_and_another_has_its_place() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let pool = builder.threads(2).spare_threads(1).build().unwrap();
        let (old, later) = (Stop::default(), Stop::default());
        old.hold_a_thread(&pool);
        Wait::beside(&pool, &[&later.gate, &old.gate], |wait| {
            let stop = later.clone();
            pool.execute(move || brigade::blocking(|| stop.here()));
            later.began.wait();
            pool.submit(|| ()).join().unwrap();
            old.gate.open();
            wait.ends()
        })
    });
}

#[test]
fn a_wait_goes_on_while_an_old_job_is_blocked_and_another_runs_later_ones_in_its_place() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).spare_threads(1).build().unwrap();
        let old = Stop::default();
        let stop = old.clone();
        pool.execute(move || brigade::blocking(|| stop.here()));
        old.began.wait();
        Wait::beside(&pool, &[&old.gate], |wait| {
            (0..3).for_each(|_| pool.submit(|| ()).join().unwrap());
            wait.goes_on();
            old.gate.open();
            wait.ends()
        })
        .unwrap();
    });
}

#[test]
fn a_wait_ends_when_the_last_old_job_does_although_its_worker_leaves_and_its_hook_takes_long() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let ([old, later], last) = (<[Stop; 2]>::default(), Stop::default());
        let (stopping, hook) = (Stop::default(), AtomicUsize::new(0));
        let stop = stopping.clone();
        let builder = builder.threads(3).on_stop(move |_| {
            // The second that leaves is the one that ran the old job.
            if hook.fetch_add(1, Ordering::SeqCst) == 1 {
                stop.here();
            }
        });
        let pool = builder.build().unwrap();
        old.hold_a_thread(&pool);
        Wait::beside(&pool, &[&stopping.gate, &old.gate, &later.gate, &last.gate], |wait| {
            later.hold_a_thread(&pool);
            last.hold_a_thread(&pool);
            pool.resize(1).unwrap();
            later.gate.open();
            eventually("one that was late has left", || workers(&pool) == 2);
            wait.goes_on();
            old.gate.open();
            stopping.began.wait();
            wait.ends()
        })
    });
}

#[test]
fn a_wait_ends_while_a_later_job_goes_on_that_has_run_an_old_one() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let [parent, grandchild, later] = <[Stop; 3]>::default();
        let (handles, handed) = mpsc::channel::<JoinHandle<()>>();
        let ([held, inner], begun) = ([&parent, &grandchild].map(Stop::clone), Gate::closed());
        let begins = begun.clone();
        pool.execute(move || {
            held.here();
            let child = move || {
                // Too many for the other worker to have taken all of them when this returns.
                for _ in 0..4 {
                    let grandchild = inner.clone();
                    brigade::execute(move || grandchild.here()).unwrap();
                }
                begun.open();
            };
            handles.send(brigade::submit(child).unwrap()).unwrap();
            // Its worker can't run the child itself.
            begins.wait();
        });
        let gates = [&parent, &grandchild, &later].map(|stop| &stop.gate);
        Wait::beside(&pool, &gates, |wait| {
            let (stop, asks) = (later.clone(), Gate::closed());
            let asked = asks.clone();
            pool.execute(move || {
                asked.open();
                handed.recv().unwrap().join().unwrap();
                stop.here();
            });
            asks.wait();
            parent.gate.open();
            later.began.wait();
            grandchild.gate.open();
            wait.ends()
        })
    });
}

/// All other workers are busy with later jobs when one runs an old job inside a later one, which leaves it a child.
#[test]
fn a_wait_waits_for_the_child_of_an_old_job_that_a_later_one_joins() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let [parent, child, grandchild, later] = <[Stop; 4]>::default();
        let (handles, handed) = mpsc::channel::<JoinHandle<()>>();
        let ([held, inner, innermost], begins) =
            ([&parent, &child, &grandchild].map(Stop::clone), child.began.clone());
        pool.execute(move || {
            held.here();
            let child = move || {
                inner.here();
                brigade::execute(move || innermost.here()).unwrap();
            };
            handles.send(brigade::submit(child).unwrap()).unwrap();
            begins.wait();
        });
        let gates = [&parent, &child, &grandchild, &later].map(|stop| &stop.gate);
        Wait::beside(&pool, &gates, |wait| {
            let asks = Gate::closed();
            let asked = asks.clone();
            pool.execute(move || {
                asked.open();
                handed.recv().unwrap().join().unwrap();
            });
            asks.wait();
            parent.gate.open();
            child.began.wait();
            later.hold_a_thread(&pool);
            child.gate.open();
            grandchild.began.wait();
            later.gate.open();
            wait.goes_on();
            grandchild.gate.open();
            wait.ends()
        })
    });
}

/// A spawner that starts one thread, and each other when the gate has opened.
fn slow_after_the_first(stop: &Stop) -> impl Fn(NewThread) -> io::Result<Thread> + 'static {
    let (stop, asked) = (stop.clone(), AtomicUsize::new(0));
    move |thread: NewThread| {
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            stop.here();
        }
        thread.start()
    }
}

#[test]
fn a_wait_does_not_wait_for_a_thread_that_is_being_started_for_a_later_job() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let (old, starting) = (Stop::default(), Stop::default());
        let spawner = slow_after_the_first(&starting);
        let pool = builder.threads(1..=2).spawner(spawner).build().unwrap();
        await_idle_workers(&pool, 1);
        old.hold_a_thread(&pool);
        let handle = pool.handle();
        let (ended, result) = thread::scope(|scope| {
            let result = Wait::beside(&pool, &[&starting.gate, &old.gate], |wait| {
                scope.spawn(move || handle.execute(|| ()).unwrap());
                starting.began.wait();
                old.gate.open();
                wait.ends()
            });
            (pool.wait_idle(), result)
        });
        assert!(ended);
        result
    });
}

#[test]
fn during_a_wait_a_full_pool_gives_up_old_jobs_before_later_ones() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let (pool, gate) = busy(builder, 2, WhenFull::DropOldest);
        let submit = || pool.submit(|| ());
        let mut jobs = vec![submit(), submit()];
        assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
        for evicted in 1..=4 {
            jobs.push(submit());
            let left: Vec<_> = jobs.iter().map(JoinHandle::is_finished).collect();
            let expected: Vec<_> = (0..jobs.len()).map(|job| job < evicted).collect();
            assert_eq!(left, expected);
        }
        gate.open();
        assert!(pool.wait_idle());
    });
}

/// All workers are busy with later jobs, or gone, when the last old one is taken from its queue and does not run.
#[test]
fn a_wait_ends_when_the_last_old_job_is_evicted() {
    let _dog = Watchdog::start(60);
    in_three_attempts(|builder| {
        let builder = builder.threads(2).capacity(1).when_full(WhenFull::DropOldest);
        let (pool, later) = (builder.build().unwrap(), Stop::default());
        let (old, submitted) = (<[Stop; 2]>::default(), Gate::closed());
        let ([first, second], told) = (old.clone(), submitted.clone());
        pool.execute(move || {
            first.here();
            brigade::execute(|| unreachable!("it is evicted")).unwrap();
            told.open();
            second.here();
        });
        old[0].began.wait();
        Wait::beside(&pool, &[&later.gate, &old[0].gate, &old[1].gate], |wait| {
            later.hold_a_thread(&pool);
            pool.resize(1).unwrap();
            old[0].gate.open();
            submitted.wait();
            old[1].gate.open();
            eventually("its worker leaves a child behind", || workers(&pool) == 1);
            wait.goes_on();
            pool.execute(|| ());
            wait.ends()
        })
    });
}

#[test]
fn a_wait_waits_for_what_a_set_has_held_back() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let (pool, trees) = (builder.threads(2).build().unwrap(), Trees::default());
        for _ in 0..100 {
            let mut set = TaskSet::new(pool.handle()).limit(1);
            (0..5).for_each(|_| set.spawn(trees.job(1)).unwrap());
            assert!(pool.wait_idle());
            assert_eq!(trees.unfinished(), 0);
        }
    });
}

#[test]
fn a_pool_without_a_thread_is_idle_and_stays_without_one() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let pool = builder.threads(0..=2).keep_alive(Duration::ZERO).build().unwrap();
        for _ in 0..10 {
            assert!(pool.wait_idle() && pool.wait_idle_timeout(Duration::ZERO));
            assert_eq!(workers(&pool), 0);
            pool.execute(|| ());
            assert!(pool.wait_idle());
            eventually("its thread leaves", || workers(&pool) == 0);
        }
    });
}

#[test]
fn waits_that_give_up_while_all_threads_are_busy_do_not_spoil_those_that_stay() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let (pool, old) = (builder.threads(1).build().unwrap(), Stop::default());
        old.hold_a_thread(&pool);
        let ran = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            let gives_up = || pool.wait_idle_timeout(Duration::from_millis(20));
            let waits = [(); 3].map(|()| scope.spawn(gives_up));
            let stays = [(); 3].map(|()| {
                let counted = Arc::clone(&ran);
                pool.execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
                scope.spawn(|| pool.wait_idle())
            });
            assert!(waits.into_iter().all(|wait| !wait.join().unwrap()));
            old.gate.open();
            assert!(stays.into_iter().all(|wait| wait.join().unwrap()));
            assert_eq!(ran.load(Ordering::Relaxed), 3);
        });
    });
}
