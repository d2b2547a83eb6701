//! At most so many jobs of a view run, in order, and each runs once.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::thread;

use brigade::{Builder, Pool, Reason, WhenFull};
use brigade_testkit::{Gate, Meeting, eventually, test};

use crate::support::busy::occupy;
use crate::support::crowd::{Crowd, for_both_queueings};

#[test(for_both_queueings)]
fn at_most_so_many_jobs_run(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    for limit in 1..=3 {
        let (limited, crowd) = (pool.limited(limit), Crowd::default());
        let job = || {
            let crowd = crowd.clone();
            move || {
                let _inside = crowd.enter();
                thread::yield_now();
            }
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let submit = || {
                let submitted = (0..100).map(|_| limited.submit(job()));
                (0..100).for_each(|_| limited.execute(job()));
                submitted.collect::<Vec<_>>()
            };
            let threads = [(); 3].map(|()| scope.spawn(submit));
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        outcomes.into_iter().for_each(|job| job.join().unwrap());
        pool.wait_idle();
        assert!(crowd.most() <= limit, "{} of {limit}", crowd.most());
    }
    assert_eq!(pool.metrics().returned, 3 * 600);
}

/// Each waits for the others.
#[test(for_both_queueings)]
fn as_many_jobs_run_as_may(builder: Builder) {
    let pool = builder.threads(3).build().unwrap();
    let (limited, meeting) = (pool.limited(3), Arc::new(Meeting::of(3)));
    for _ in 0..10 {
        let jobs = [(); 3].map(|()| limited.submit(meeting.job()));
        for job in jobs {
            assert!(job.join().unwrap(), "they meet");
        }
    }
}

#[test(for_both_queueings)]
fn a_limit_of_one_keeps_the_order_of_submission(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (serial, log) = (pool.limited(1), Arc::new(Mutex::new(Vec::new())));
    let push = |number| {
        let log = log.clone();
        move || log.lock().unwrap().push(number)
    };
    for number in (0..300).step_by(3) {
        serial.execute(push(number));
        drop(serial.submit(push(number + 1)));
        let push = push(number + 2);
        drop(serial.spawn(async move { push() }));
    }
    serial.submit(|| ()).join().unwrap();
    assert!(log.lock().unwrap().iter().copied().eq(0..300));
}

/// The threads of the pool are free for its other jobs.
#[test(for_both_queueings)]
fn a_line_occupies_no_thread(builder: Builder) {
    let pool = builder.threads(2).spare_threads(0).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    (0..100).for_each(|_| limited.execute(gate.job()));
    for _ in 0..100 {
        pool.submit(|| ()).join().unwrap();
    }
    gate.open();
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 200);
}

#[test(for_both_queueings)]
fn views_do_not_share_their_limits(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (one, other, gate) = (pool.limited(1), pool.limited(1), Gate::closed());
    one.execute(gate.job());
    other.submit(|| ()).join().unwrap();
    gate.open();
}

#[test(for_both_queueings)]
fn a_panic_ends_its_job_alone(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let limited = pool.limited(1);
    for _ in 0..10 {
        limited.execute(|| panic!("expected"));
        assert!(limited.submit(|| panic!("expected")).join().is_err_and(|error| error.is_panic()));
        let polled = limited.spawn(async { panic!("expected") });
        assert!(polled.join().is_err_and(|error| error.is_panic()));
    }
    assert_eq!(limited.submit(|| 42).join().unwrap(), 42);
}

#[test]
fn a_limit_of_none_panics() {
    let pool = Pool::new(1);
    let made = panic::catch_unwind(AssertUnwindSafe(|| pool.limited(0)));
    assert!(made.is_err());
}

#[test]
fn a_closed_pool_returns_the_work() {
    let pool = Pool::new(1);
    let limited = pool.limited(1);
    pool.close();
    let rejected = limited.try_submit(|| 42).unwrap_err();
    assert_eq!(rejected.reason(), Reason::Closed);
    assert_eq!(rejected.into_inner()(), 42);
    assert!(limited.try_execute(|| ()).is_err());
    let rejected = limited.try_spawn(async { 42 }).unwrap_err();
    assert_eq!(brigade::block_on(rejected.into_inner()), 42);
    assert_eq!(pool.metrics().rejected, 3);
}

/// The first job takes the only room; the others wait in line, where they need none.
#[test(when_full in [WhenFull::Block, WhenFull::Reject, WhenFull::RunInCaller])]
fn an_admitted_job_takes_room(when_full: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(when_full).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    occupy(&pool, &gate);
    let jobs: Vec<_> = (0..10).map(|number| limited.submit(move || number)).collect();
    assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), Reason::Full);
    gate.open();
    assert!(jobs.into_iter().map(|job| job.join().unwrap()).eq(0..10));
    eventually("there is room", || pool.try_execute(|| ()).is_ok());
}

/// It never waits, and no job is rejected or dropped.
#[test(when_full in [WhenFull::Block, WhenFull::Reject, WhenFull::RunInCaller, WhenFull::DropNewest])]
fn a_full_pool_accepts_limited_jobs(when_full: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(when_full).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    pool.try_execute(|| ()).unwrap();
    let limited = pool.limited(2);
    let jobs: Vec<_> = (0..10).map(|number| limited.submit(move || number)).collect();
    gate.open();
    assert!(jobs.into_iter().map(|job| job.join().unwrap()).eq(0..10));
}
