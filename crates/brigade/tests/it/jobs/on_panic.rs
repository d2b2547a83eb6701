//! What happens to a panic that no handle takes.

use std::any::Any;
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::support::busy::occupy;
use crate::support::roll_call::thread_ids;
use brigade::{JoinError, OnPanic, Pool};
use brigade_testkit::panics::text;
use brigade_testkit::{Gate, test};

/// A pool that sends the messages of its panics.
fn telling_pool() -> (Pool, Receiver<String>) {
    let (tell, told) = mpsc::channel();
    let call = move |payload: Box<dyn Any + Send>| {
        tell.send(text(&*payload).expect("a text").to_owned()).unwrap();
    };
    let pool = Pool::builder().threads(2).on_panic(OnPanic::Call(Arc::new(call)));
    (pool.build().unwrap(), told)
}

const LONG: Duration = Duration::from_secs(10);

/// Begins work that panics, and whose panic no handle takes.
type Lose = fn(&Pool);
const LOST: [(&str, Lose); 3] = [
    ("a job without a handle", |pool| pool.execute(|| panic!("expected: lost"))),
    ("a job whose handle is gone", |pool| drop(pool.submit(|| panic!("expected: lost")))),
    ("a future whose handle is gone", |pool| drop(pool.spawn(async { panic!("expected: lost") }))),
];

#[test((work, begin) in LOST)]
fn the_callback_gets_each_unclaimed_payload_once(begin: Lose) {
    let ((pool, told), gate) = (telling_pool(), Gate::closed());
    occupy(&pool, &gate);
    (0..100).for_each(|_| begin(&pool));
    gate.open();
    pool.wait_idle();
    assert_eq!(pool.metrics().panicked, 100);
    drop(pool);
    assert_eq!(told.iter().collect::<Vec<_>>(), ["expected: lost"; 100]);
}

#[test]
fn the_callback_gets_no_claimed_payload() {
    let (pool, told) = telling_pool();
    for _ in 0..100 {
        let outcome = pool.submit(|| panic!("expected: taken")).join();
        assert!(matches!(outcome, Err(JoinError::Panicked(_))));
    }
    drop(pool);
    assert_eq!(told.recv().ok(), None);
}

#[test]
fn a_panicking_callback_is_contained() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let call = move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("expected: the callback panics too");
    };
    let pool = Pool::builder().threads(2).on_panic(OnPanic::Call(Arc::new(call)));
    let pool = pool.build().unwrap();
    let before = thread_ids(&pool);
    (0..100).for_each(|_| pool.execute(|| panic!("expected")));
    pool.wait_idle();
    assert_eq!(calls.load(Ordering::Relaxed), 100);
    assert_eq!(thread_ids(&pool), before);
    assert_eq!(pool.metrics().panicked, 100);
}

/// It runs on a worker, and everything works there that works in a job.
#[test]
fn a_callback_may_submit_to_the_pool() {
    let (tell, told) = mpsc::channel();
    let call = move |_| {
        let tell = tell.clone();
        assert!(brigade::try_execute(move || tell.send(()).unwrap()).is_ok());
    };
    let pool = Pool::builder().threads(1).on_panic(OnPanic::Call(Arc::new(call)));
    let pool = pool.build().unwrap();
    for _ in 0..50 {
        pool.execute(|| panic!("expected"));
        told.recv_timeout(LONG).unwrap();
    }
}

/// The only test of this binary that replaces the hook, after [`quiet`] installed its own.
#[test(alone)]
fn the_default_policy_calls_the_hook_once_per_panic() {
    let reports = Arc::new(AtomicUsize::new(0));
    let (counted, before) = (Arc::clone(&reports), panic::take_hook());
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if text(info.payload()) == Some("expected: to be reported") {
            counted.fetch_add(1, Ordering::Relaxed);
        } else {
            before(info);
        }
    }));
    let pool = Pool::builder().threads(2).on_panic(OnPanic::Report).build().unwrap();
    (0..20).for_each(|_| pool.execute(|| panic!("expected: to be reported")));
    pool.wait_idle();
    assert_eq!(reports.load(Ordering::Relaxed), 20);
    assert_eq!(pool.metrics().panicked, 20);
}

#[test]
fn a_named_jobs_panic_says_the_name() {
    let (sender, payloads) = mpsc::channel();
    let tell = move |payload: Box<dyn Any + Send>| _ = sender.send(payload);
    let pool = Pool::builder().threads(1).capacity(9).on_panic(tell).build().unwrap();
    let named = || pool.job().name("resize 7");
    let fails = || -> u32 { panic!("expected: named") };
    let handles = [
        named().submit(fails).unwrap(),
        named().after(Duration::from_millis(1)).submit(fails).unwrap(),
        named().spawn(async move { fails() }).unwrap(),
        // A part of the job.
        named().submit(move || brigade::join(|| (), fails).1).unwrap(),
    ];
    for handle in handles {
        let error = handle.join().unwrap_err();
        assert_eq!(error.to_string(), "the job `resize 7` panicked: expected: named");
        assert_eq!(error.into_panic().downcast_ref(), Some(&"expected: named"));
    }
    let gate = Gate::closed();
    // A handle that is still there when its job panics takes the payload.
    occupy(&pool, &gate);
    named().execute(move || _ = fails()).unwrap();
    drop(named().spawn(async move { fails() }).unwrap());
    gate.open();
    for payload in payloads.iter().take(2) {
        assert_eq!(payload.downcast_ref(), Some(&"expected: named"));
    }
}
