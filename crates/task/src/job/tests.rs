//! A job runs once or is dropped once, wherever its closure lies.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use super::*;
use crate::JoinError;

/// Does `test` with a closure that lies inside the job and with one that does not.
fn inline_and_boxed(test: impl Fn(&Arc<()>, Job)) {
    let count = Arc::new(());
    let (small, large) = (count.clone(), (count.clone(), [7_u64; 4]));
    test(&count, Job::new(move || drop(small)));
    test(&count, Job::new(move || drop(large)));
}

#[test]
fn a_job_drops_its_captures_once_when_run_cancelled_or_dropped() {
    for how in 0..3 {
        inline_and_boxed(|count, job| {
            let before = Arc::strong_count(count);
            match how {
                0 => assert_eq!(job.run(), Ran::Returned),
                1 => assert_eq!(job.cancel(), Ran::Cancelled),
                _ => drop(job),
            }
            assert_eq!(Arc::strong_count(count), before - 1);
        });
    }
}

/// Makes a closure into a job and back.
fn round_trip<F: FnOnce() + Send + 'static>(closure: F, handle: bool) -> F {
    let job = if handle { Job::with_handle(closure).0 } else { Job::new(closure) };
    let job = job.into_closure::<fn()>().expect_err("not a function pointer");
    job.into_closure::<F>().expect("the type it was made of")
}

#[test]
fn a_closure_comes_back_as_what_it_was() {
    for handle in [false, true] {
        let (sender, receiver) = mpsc::channel();
        let (large, other) = ([1_u64; 8], sender.clone());
        round_trip(move || sender.send(8_u64).unwrap(), handle)();
        round_trip(move || other.send(large.iter().sum()).unwrap(), handle)();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [8, 8]);
    }
}

#[test]
fn closures_of_any_alignment_run() {
    #[repr(align(64))]
    struct Wide(u8);
    let (sender, receiver) = mpsc::channel();
    let wide = Wide(3);
    Job::new(move || {
        let wide = wide;
        assert_eq!(ptr::from_ref(&wide).addr() % 64, 0);
        sender.send(wide.0).unwrap();
    })
    .run();
    assert_eq!(receiver.recv(), Ok(3));
}

#[test]
fn every_outcome_reaches_the_handle() {
    let (job, handle) = Job::with_handle(|| 5);
    assert_eq!(job.run(), Ran::Returned);
    assert_eq!(handle.join().unwrap(), 5);

    let (job, handle) = Job::with_handle(|| -> u8 { std::panic::panic_any("as told") });
    assert_eq!(job.run(), Ran::Panicked);
    assert_eq!(handle.join().unwrap_err().message(), Some("as told"));

    let (job, handle) = Job::with_handle(|| 5);
    drop(job);
    assert_eq!(handle.join().unwrap_err().to_string(), "the job was cancelled before it ran");
}

#[test]
fn a_joiner_runs_what_nobody_began() {
    let (job, mut handle) = Job::with_handle(|| 5);
    assert_eq!(handle.settle_if_unclaimed(true), Some(Ran::Returned));
    assert_eq!(handle.settle_if_unclaimed(true), None, "once");
    assert_eq!(handle.join().unwrap(), 5);
    assert_eq!(job.run(), Ran::Elsewhere);
}

#[test]
fn a_joiner_cancels_what_nobody_began() {
    let count = Arc::new(());
    let captured = count.clone();
    let (job, mut handle) = Job::with_handle(move || drop(captured));
    assert_eq!(handle.settle_if_unclaimed(false), Some(Ran::Cancelled));
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    assert_eq!(job.run(), Ran::Elsewhere);
}

#[test]
#[should_panic = "has been run by the one who waits"]
fn a_closure_that_its_joiner_ran_does_not_come_back() {
    /// Names the closure's type.
    fn back<F: FnOnce() -> u8 + Send + 'static>(closure: F) -> F {
        let (job, mut handle) = Job::with_handle(closure);
        handle.settle_if_unclaimed(true);
        job.into_closure::<F>().unwrap()
    }
    let _unreachable = back(|| 5);
}

#[test]
fn an_outcome_is_dropped_once_wherever_the_handle_goes() {
    let count = Arc::new(());
    for (run_first, taken) in [(false, false), (true, false), (true, true)] {
        let value = count.clone();
        let (job, mut handle) = Job::with_handle(move || value);
        if run_first {
            job.run();
            if taken {
                drop(handle.try_join().unwrap());
                assert!(handle.try_join().is_none());
            }
            drop(handle);
        } else {
            drop(handle);
            job.run();
        }
        assert_eq!(Arc::strong_count(&count), 1);
    }
}

#[test]
fn a_panic_that_nobody_waits_for_goes_up() {
    let (job, handle) = Job::with_handle(|| -> u8 { std::panic::panic_any(7_u8) });
    drop(handle);
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&7_u8));
}

/// Work that runs if it is told that it may, and panics when it is dropped if it is told so.
struct Willing {
    may_start: bool,
    on_drop: Option<&'static str>,
    _size: [u64; 3],
}

impl Willing {
    fn new(may_start: bool, on_drop: Option<&'static str>) -> Self {
        Self { may_start, on_drop, _size: [0; 3] }
    }
}

impl Work for Willing {
    type Output = ();

    fn may_start(&self) -> bool {
        self.may_start
    }

    fn run(self) {
        assert!(self.may_start, "though it was not to");
    }
}

impl Drop for Willing {
    fn drop(&mut self) {
        if let Some(message) = self.on_drop {
            println!("{message}");
            // Nothing that is allocated: what a contained panic carries is leaked on purpose.
            std::panic::panic_any(());
        }
    }
}

#[test]
fn work_that_may_not_start_is_cancelled_whoever_would_run_it() {
    for (may_start, ran) in [(true, Ran::Returned), (false, Ran::Cancelled)] {
        assert_eq!(Job::new(Willing::new(may_start, None)).run(), ran);
        let (job, handle) = Job::with_handle(Willing::new(may_start, None));
        assert_eq!(job.run(), ran);
        assert_eq!(handle.join().is_ok(), may_start);
        let (job, mut handle) = Job::with_handle(Willing::new(may_start, None));
        assert_eq!(handle.settle_if_unclaimed(true), Some(ran));
        assert_eq!(handle.join().is_ok(), may_start);
        assert_eq!(job.run(), Ran::Elsewhere);
    }
}

#[test]
fn work_that_may_not_start_and_panics_as_it_is_dropped_is_cancelled_all_the_same() {
    let unwilling = || Willing::new(false, Some("expected: dropped"));
    assert_eq!(Job::new(unwilling()).run(), Ran::Cancelled);
    let (job, handle) = Job::with_handle(unwilling());
    assert_eq!(job.run(), Ran::Cancelled);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
}

#[test]
fn work_comes_back_as_what_it_was() {
    let back = Job::new(Willing::new(false, None)).into_closure::<Willing>().unwrap();
    assert!(!back.may_start());
    let (job, handle) = Job::with_handle(back);
    assert!(job.into_closure::<Willing>().is_ok());
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
}

#[test]
fn jobs_and_handles_are_send_but_need_send_outcomes() {
    const fn send<T: Send>() {}
    const fn sync<T: Sync>() {}
    const {
        send::<Job>();
        send::<JoinHandle<Vec<u8>>>();
        sync::<JoinHandle<Vec<u8>>>();
    }
    /// Has two `check`s, and no type to choose by, if `T` is `Send`.
    trait NotSend<A> {
        fn check() {}
    }
    impl<T> NotSend<()> for T {}
    impl<T: Send> NotSend<u8> for T {}
    <JoinHandle<Rc<u8>> as NotSend<_>>::check();
}

#[test]
fn a_closure_sees_its_own_handle_ask_and_no_other() {
    for panics in [false, true] {
        let (inside, mut inner) = Job::with_handle(move || {
            assert!(!panics, "expected");
            crate::is_cancelled()
        });
        let (ask, asks) = mpsc::channel();
        let (job, mut outer) = Job::with_handle(move || {
            asks.recv().unwrap();
            let before = crate::is_cancelled();
            inside.run();
            [before, crate::is_cancelled()]
        });
        let runner = std::thread::spawn(move || (job.run(), crate::is_cancelled()));
        outer.ask_to_stop();
        outer.ask_to_stop();
        ask.send(()).unwrap();
        assert_eq!(runner.join().unwrap(), (Ran::Returned, false));
        assert_eq!(outer.try_join().unwrap().unwrap(), [true, true]);
        assert_eq!(inner.try_join().unwrap().ok(), (!panics).then_some(false));
    }
    assert!(!crate::is_cancelled());
}

#[test]
fn a_waker_that_was_left_hears_of_the_end_once() {
    struct Count(brigade_sync::Mutex<u32>);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            *self.0.lock() += 1;
        }
    }
    for run in [false, true] {
        let count = Arc::new(Count(brigade_sync::Mutex::new(0)));
        let waker = std::task::Waker::from(count.clone());
        let (job, mut handle) = Job::with_handle(|| 5);
        assert!(handle.wake_when_finished(&waker));
        assert!(handle.wake_when_finished(&waker), "in its place");
        if run {
            job.run()
        } else {
            job.cancel()
        };
        assert_eq!(*count.0.lock(), 1);
        assert!(!handle.wake_when_finished(&waker));
        assert_eq!(handle.try_join().unwrap().is_ok(), run, "the outcome has not been taken");
        drop((handle, waker));
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
