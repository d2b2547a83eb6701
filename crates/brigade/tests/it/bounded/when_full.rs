//! What happens to a job for which there is no room: the common rules, rejecting, and waiting.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::busy::open_once_closed;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, busy, full};
use brigade::{Builder, Handle, Pool, Reason, Shutdown, WhenFull};
use brigade_testkit::{BlockedThread, Halt, panics, test};

#[test(for_both_queueings)]
fn the_owner_panics_but_a_handle_returns_the_job(builder: Builder) {
    let (pool, gate) = full(builder, 1, WhenFull::Reject);
    let token = Arc::new(());
    let attempts: [&dyn Fn(Arc<()>); 3] = [
        &|token| pool.execute(move || drop(token)),
        &|token| _ = pool.submit(move || drop(token)),
        &|token| _ = pool.spawn(async move { drop(token) }),
    ];
    for attempt in attempts {
        let said = panic::catch_unwind(AssertUnwindSafe(|| attempt(token.clone())));
        let said = said.unwrap_err();
        let said = panics::text(&*said).unwrap();
        assert!(said.contains("not accepted") && said.contains("is full"), "{said}");
        assert_eq!(Arc::strong_count(&token), 1);
    }
    gate.open();
    assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
}

#[test(for_both_queueings)]
fn reject_returns_a_workers_submission_too(builder: Builder) {
    let builder = builder.threads(1).capacity(1).when_full(WhenFull::Reject);
    let pool = builder.build().unwrap();
    let parent = pool.submit(|| {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        let batch = here.job().execute_batch([|| (), || ()]).unwrap_err();
        assert_eq!((batch.reason(), batch.into_inner().len()), (Reason::Full, 2));
        here.job().execute(|| unreachable!()).unwrap_err().reason()
    });
    assert_eq!(parent.join().unwrap(), Reason::Full);
    assert_eq!(at_rest(&pool), [2, 2, 0, 0, 0]);
}

#[test(policy in [WhenFull::Block, WhenFull::BlockFor(Duration::MAX)], for_both_queueings)]
fn block_makes_an_outside_submission_wait(builder: Builder, policy: WhenFull) {
    let (pool, gate) = full(builder, 1, policy);
    let (accepted, blocked) = (AtomicUsize::new(0), BlockedThread::default());
    thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            blocked.is_this();
            for _ in 0..100 {
                pool.execute(|| ());
                accepted.fetch_add(1, Ordering::SeqCst);
            }
            pool.job().execute_batch([|| (); 10]).unwrap();
            pool.submit(|| 42).join().unwrap()
        });
        blocked.wait_until_blocked();
        assert_eq!(accepted.load(Ordering::SeqCst), 0);
        gate.open();
        assert_eq!(submitter.join().unwrap(), 42);
    });
    assert_eq!(at_rest(&pool), [113, 113, 0, 0, 0]);
}

#[test(policy in POLICIES, for_both_queueings)]
fn no_try_waits_runs_or_evicts(builder: Builder, policy: WhenFull) {
    let (pool, gate) = busy(builder, 2, policy);
    let queued = [0, 1].map(|number| pool.submit(move || number));
    let (own, told) = (pool.handle(), mpsc::channel());
    for _ in 0..3 {
        let full = pool.try_execute(|| unreachable!()).unwrap_err();
        assert_eq!(full.reason(), Reason::Full);
        let full = pool.try_submit(|| unreachable!()).unwrap_err();
        assert_eq!(full.reason(), Reason::Full);
    }
    gate.open();
    let [first, second] = queued.map(|handle| handle.join().unwrap());
    assert_eq!((first, second), (0, 1));
    pool.execute(move || {
        own.execute(|| ());
        own.execute(|| ());
        told.0.send(own.try_execute(|| unreachable!()).is_err()).unwrap();
    });
    assert!(told.1.recv().unwrap());
    assert_eq!(at_rest(&pool), [6, 6, 0, 0, 0]);
}

#[test]
fn a_draining_pool_applies_its_policy_to_its_jobs() {
    for (policy, ran, cancelled) in [
        (WhenFull::Reject, 2, 0),
        (WhenFull::RunInCaller, 4, 0),
        (WhenFull::Block, 4, 0),
        (WhenFull::DropOldest, 2, 2),
        (WhenFull::DropNewest, 2, 2),
    ] {
        for_both_queueings(|builder| {
            let builder = builder.threads(1).capacity(1).when_full(policy);
            let (pool, halt) = (builder.build().unwrap(), Halt::default());
            let parent = halt.clone();
            pool.execute(move || {
                parent.here();
                for number in 0..3 {
                    let accepted = brigade::job().execute(|| ());
                    assert_eq!(accepted.is_err(), policy == WhenFull::Reject && number > 0);
                }
            });
            halt.await_thread();
            open_once_closed(halt.gate(), pool.handle());
            let report = pool.shutdown(Shutdown::Drain);
            assert_eq!((report.ran, report.discarded), (ran, cancelled), "{policy:?}");
        });
    }
}

#[test(policy in POLICIES)]
fn a_discarded_pool_rejects_its_jobs_submissions(policy: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(policy).build().unwrap();
    let halt = Halt::default();
    let parent = halt.clone();
    let refused = pool.submit(move || {
        parent.here();
        brigade::job().execute(|| unreachable!()).unwrap_err().reason()
    });
    halt.await_thread();
    pool.execute(|| unreachable!());
    open_once_closed(halt.gate(), pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!((report.ran, report.discarded), (1, 1));
    assert_eq!(refused.join().unwrap(), Reason::Closed);
}
