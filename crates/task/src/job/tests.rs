//! A job runs once or is dropped once, wherever its closure is stored.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use super::*;
use crate::JoinError;

const ASKED: Outcome = Outcome::Cancelled(Cause::Asked);

/// Runs `test` with a closure that is stored inside the job and with one that is boxed; with a handle, in a cell and in a box.
fn inline_and_boxed(test: impl Fn(&Arc<()>, Job)) {
    let count = Arc::new(());
    let (small, large) = (count.clone(), (count.clone(), [7_u64; 512]));
    let (in_cell, in_box) = (small.clone(), large.clone());
    test(&count, Job::new(move || drop(small)));
    test(&count, Job::new(move || drop(large)));
    test(&count, Job::with_handle(move || drop(in_cell)).0);
    test(&count, Job::with_handle(move || drop(in_box)).0);
}

#[test]
fn a_job_drops_its_captures_once_in_any_end() {
    for how in 0..3 {
        inline_and_boxed(|count, job| {
            let before = Arc::strong_count(count);
            match how {
                0 => assert_eq!(job.run(), Outcome::Returned),
                1 => assert_eq!(job.cancel(Cause::Evicted), Outcome::Cancelled(Cause::Evicted)),
                _ => drop(job),
            }
            assert_eq!(Arc::strong_count(count), before - 1);
        });
    }
}

/// Turns a closure into a job and back.
fn round_trip<F: FnOnce() + Send + 'static>(closure: F, handle: bool) -> F {
    let job = if handle { Job::with_handle(closure).0 } else { Job::new(closure) };
    let job = job.into_closure::<fn()>().expect_err("not a function pointer");
    job.into_closure::<F>().expect("the type it was made of")
}

#[test]
fn a_closure_comes_back_unchanged() {
    for handle in [false, true] {
        let (sender, receiver) = mpsc::channel();
        let (larger, other) = ([1_u64; 8], sender.clone());
        let (largest, third) = ([1_u64; 512], sender.clone());
        round_trip(move || sender.send(8_u64).unwrap(), handle)();
        round_trip(move || other.send(larger.iter().sum()).unwrap(), handle)();
        round_trip(move || third.send(largest.iter().sum()).unwrap(), handle)();
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [8, 8, 512]);
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
fn every_result_reaches_the_handle() {
    let (job, handle) = Job::with_handle(|| 5);
    assert_eq!(job.run(), Outcome::Returned);
    assert_eq!(handle.join().unwrap(), 5);

    let (job, handle) = Job::with_handle(|| -> u8 { std::panic::panic_any("as told") });
    assert_eq!(job.run(), Outcome::Panicked);
    assert_eq!(handle.join().unwrap_err().panic_message(), Some("as told"));

    let (job, handle) = Job::with_handle(|| 5);
    drop(job);
    let error = handle.join().unwrap_err();
    assert_eq!(error.to_string(), format!("the job was cancelled: {}", Cause::Ended));
}

/// Caught: a cause of one byte, for which a result is passed in memory.
#[test]
fn a_cause_makes_no_result_larger() {
    let sizes = [size_of::<JoinError>(), size_of::<Result<usize, JoinError>>()];
    assert_eq!(sizes, [2 * size_of::<usize>(); 2]);
    assert_eq!(size_of::<Cause>(), size_of::<usize>());
    assert_eq!(size_of::<Action>(), 1);
}

#[test]
fn a_joiner_runs_an_unclaimed_closure() {
    let (job, handle) = Job::with_handle(|| 5);
    assert_eq!(handle.settle_if_unclaimed(None), Some(Outcome::Returned));
    assert_eq!(handle.settle_if_unclaimed(None), None, "once");
    assert_eq!(handle.join().unwrap(), 5);
    assert_eq!(job.run(), Outcome::Stale);
}

#[test]
fn a_joiner_cancels_an_unclaimed_closure() {
    let count = Arc::new(());
    let captured = count.clone();
    let (job, handle) = Job::with_handle(move || drop(captured));
    assert_eq!(handle.settle_if_unclaimed(Some(Cause::Asked)), Some(ASKED));
    assert_eq!(Arc::strong_count(&count), 1);
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
    assert_eq!(job.run(), Outcome::Stale);
}

#[test]
fn a_job_claimed_by_its_handle_is_stale() {
    for stop in [None, Some(Cause::Asked)] {
        let (job, handle) = Job::with_handle(|| 5);
        assert!(!job.is_stale());
        assert!(handle.settle_if_unclaimed(stop).is_some());
        assert!(job.is_stale());
        assert_eq!(handle.join().is_ok(), stop.is_none());
        assert!(job.is_stale(), "also without the handle");
        assert_eq!(job.run(), Outcome::Stale);
    }
}

#[test]
fn a_job_run_by_its_joiner_is_stale() {
    let (report, reports) = mpsc::channel();
    let (go_on, gone_on) = mpsc::channel::<()>();
    let (job, handle) = Job::with_handle(move || {
        report.send(()).unwrap();
        gone_on.recv().unwrap();
    });
    let joiner = std::thread::spawn(move || handle.settle_if_unclaimed(None));
    reports.recv().unwrap();
    assert!(job.is_stale());
    go_on.send(()).unwrap();
    assert_eq!(joiner.join().unwrap(), Some(Outcome::Returned));
}

#[test]
fn a_job_without_its_handle_is_not_stale() {
    let (job, handle) = Job::with_handle(|| 5);
    drop(handle);
    assert!(!job.is_stale());
    assert_eq!(job.run(), Outcome::Returned);
}

#[test]
fn plain_closures_are_never_stale() {
    inline_and_boxed(|_, job| {
        assert!(!job.is_stale());
        assert_eq!(job.run(), Outcome::Returned);
    });
}

/// Work that is stale once a flag is set, stored inside the job or boxed.
struct Flagged<const WORDS: usize>(Arc<std::sync::OnceLock<()>>, [u64; WORDS]);

impl<const WORDS: usize> Work for Flagged<WORDS> {
    type Output = ();

    fn is_stale(&self) -> bool {
        self.0.get().is_some()
    }

    fn run(self) {}
}

#[test]
fn handleless_work_knows_if_it_is_stale() {
    fn body<const WORDS: usize>() {
        let flag = Arc::default();
        let job = Job::new(Flagged::<WORDS>(Arc::clone(&flag), [0; WORDS]));
        assert!(!job.is_stale());
        flag.set(()).unwrap();
        assert!(job.is_stale());
        assert!(job.is_stale(), "the work is still there");
        drop(job);
        assert_eq!(Arc::strong_count(&flag), 1);
    }
    body::<0>();
    body::<4>();
}

#[test]
fn only_a_claim_makes_work_with_a_handle_stale() {
    let flag = Arc::default();
    let (job, handle) = Job::with_handle(Flagged::<0>(Arc::clone(&flag), []));
    flag.set(()).unwrap();
    assert!(!job.is_stale(), "the handle may be about to take the work");
    assert_eq!(handle.settle_if_unclaimed(Some(Cause::Asked)), Some(ASKED));
    assert!(job.is_stale());
}

#[test]
#[should_panic = "has been run or dropped through its handle"]
fn a_closure_run_by_its_joiner_is_gone() {
    /// Has a parameter that names the closure's type.
    fn back<F: FnOnce() -> u8 + Send + 'static>(closure: F) -> F {
        let (job, handle) = Job::with_handle(closure);
        handle.settle_if_unclaimed(None);
        job.into_closure::<F>().unwrap()
    }
    let _unreachable = back(|| 5);
}

#[test]
fn a_taken_or_untaken_result_drops_once() {
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
fn a_handleless_panic_unwinds_out_of_run() {
    let (job, handle) = Job::with_handle(|| -> u8 { std::panic::panic_any(7_u8) });
    drop(handle);
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&7_u8));
}

/// Work that starts only if `may_start` is set, and panics when it is dropped if `on_drop` is.
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

    fn may_start(&self) -> Result<(), Cause> {
        if self.may_start { Ok(()) } else { Err(Cause::Deadline) }
    }

    fn run(self) {
        assert!(self.may_start, "run although it may not start");
    }
}

impl Drop for Willing {
    fn drop(&mut self) {
        if let Some(message) = self.on_drop {
            println!("{message}");
            // Not allocated: the payload of a contained panic is leaked on purpose.
            std::panic::panic_any(());
        }
    }
}

#[test]
fn work_not_allowed_to_start_is_cancelled() {
    for (may_start, outcome) in
        [(true, Outcome::Returned), (false, Outcome::Cancelled(Cause::Deadline))]
    {
        assert_eq!(Job::new(Willing::new(may_start, None)).run(), outcome);
        let (job, handle) = Job::with_handle(Willing::new(may_start, None));
        assert_eq!(job.run(), outcome);
        assert_eq!(handle.join().is_ok(), may_start);
        let (job, handle) = Job::with_handle(Willing::new(may_start, None));
        assert_eq!(handle.settle_if_unclaimed(None), Some(outcome));
        assert_eq!(handle.join().is_ok(), may_start);
        assert_eq!(job.run(), Outcome::Stale);
    }
}

#[test]
fn work_panicking_before_its_start_is_cancelled() {
    let unwilling = || Willing::new(false, Some("expected: dropped"));
    assert_eq!(Job::new(unwilling()).run(), Outcome::Cancelled(Cause::Deadline));
    let (job, handle) = Job::with_handle(unwilling());
    assert_eq!(job.run(), Outcome::Cancelled(Cause::Deadline));
    assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Deadline))));
}

#[test]
fn work_comes_back_unchanged() {
    let back = Job::new(Willing::new(false, None)).into_closure::<Willing>().unwrap();
    assert!(back.may_start().is_err());
    let (job, handle) = Job::with_handle(back);
    assert!(job.into_closure::<Willing>().is_ok());
    assert!(handle.join().unwrap_err().is_cancelled());
}

#[test]
fn jobs_and_handles_are_send_with_send_results() {
    const fn send<T: Send>() {}
    const fn sync<T: Sync>() {}
    const {
        send::<Job>();
        send::<JoinHandle<Vec<u8>>>();
        sync::<JoinHandle<Vec<u8>>>();
    }
    /// Does not compile if `T` is `Send`: then there are two `check`s and no type to choose by.
    trait NotSend<A> {
        fn check() {}
    }
    impl<T> NotSend<()> for T {}
    impl<T: Send> NotSend<u8> for T {}
    <JoinHandle<Rc<u8>> as NotSend<_>>::check();
}

#[test]
fn a_job_is_not_sync() {
    /// Does not compile if `T` is `Sync`: then there are two `check`s and no type to choose by.
    trait NotSync<A> {
        fn check() {}
    }
    impl<T> NotSync<()> for T {}
    impl<T: Sync> NotSync<u8> for T {}
    <Job as NotSync<_>>::check();
}

#[test]
fn a_closure_sees_only_its_own_stop_request() {
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
        _ = outer.ask_to_stop(false);
        _ = outer.ask_to_stop(false);
        ask.send(()).unwrap();
        assert_eq!(runner.join().unwrap(), (Outcome::Returned, false));
        assert_eq!(outer.try_join().unwrap().unwrap(), [true, true]);
        assert_eq!(inner.try_join().unwrap().ok(), (!panics).then_some(false));
    }
    assert!(!crate::is_cancelled());
}

#[test]
fn a_stored_waker_is_woken_once_at_the_end() {
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
        assert!(handle.wake_when_finished(&waker), "replaces the first");
        if run {
            job.run()
        } else {
            job.cancel(Cause::Evicted)
        };
        assert_eq!(*count.0.lock(), 1);
        assert!(!handle.wake_when_finished(&waker));
        assert_eq!(handle.try_join().unwrap().is_ok(), run, "the result has not been taken");
        drop((handle, waker));
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
