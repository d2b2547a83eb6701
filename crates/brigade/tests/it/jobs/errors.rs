//! The errors: `?` works on each of them, and says why.

use std::cell::Cell;
use std::error::Error;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::full::full;
use brigade::time::{Elapsed, timeout};
use brigade::{
    Handle, JoinError, JoinHandle, Pool, Reason, Rejected, Shutdown, WhenFull, block_on,
};
use brigade_testkit::{Drops, Gate, panics, test};

type Any = Box<dyn Error + Send + Sync>;

/// A handle of a pool that is gone.
fn stale() -> Handle {
    Pool::new(1).handle()
}

/// A job that gets no result, since it has the handle of its own.
fn waits_for_itself(pool: &Pool) -> Result<(), JoinError> {
    let (gives, takes) = mpsc::channel::<JoinHandle<()>>();
    let (told, tells) = mpsc::channel();
    let job = pool.submit(move || told.send(takes.recv().unwrap().join()).unwrap());
    gives.send(job).unwrap();
    tells.recv().unwrap()
}

fn cancelled(pool: &Pool) -> Result<(), JoinError> {
    let job: JoinHandle<()> = pool.spawn(pending());
    job.cancel();
    job.join()
}

fn late(pool: &Pool) -> Result<(), JoinError> {
    pool.job().deadline(Instant::now()).submit(|| ()).unwrap().join()
}

fn panicked(pool: &Pool) -> Result<(), JoinError> {
    pool.submit(|| panic!("expected: lost")).join()
}

#[test]
fn a_join_error_becomes_any_error() {
    let pool = Pool::new(1);
    type Case = (fn(&Pool) -> Result<(), JoinError>, ErrorKind, &'static str);
    let cases: [Case; 4] = [
        (panicked, ErrorKind::Other, "the job panicked: expected: lost"),
        (cancelled, ErrorKind::Other, "the job was cancelled: it was asked to stop"),
        (late, ErrorKind::TimedOut, "the job was cancelled: it had not started by its deadline"),
        (waits_for_itself, ErrorKind::Deadlock, "joining this job would deadlock"),
    ];
    for (job, kind, said) in cases {
        let boxed = || -> Result<(), Any> { Ok(job(&pool)?) };
        let boxed = boxed().unwrap_err();
        assert!(boxed.is::<JoinError>() && boxed.to_string().starts_with(said), "{boxed}");
        let outer = || -> io::Result<()> { Ok(job(&pool)?) };
        let outer = outer().unwrap_err();
        assert_eq!(outer.kind(), kind, "{said}");
        assert!(outer.to_string().starts_with(said), "{outer}");
        let inner = outer.into_inner().unwrap().downcast::<JoinError>().unwrap();
        assert_eq!(inner.is_panic(), said.contains("panicked"));
        assert_eq!(inner.is_cancelled(), said.contains("cancelled"));
        assert_eq!(inner.panic_message(), inner.is_panic().then_some("expected: lost"));
        assert!(!format!("{inner:?}").is_empty());
    }
}

#[test]
fn conversions_keep_the_panic_payload() {
    let pool = Pool::new(1);
    let drops = Drops::default();
    let token = drops.token();
    let job = pool.submit(move || std::panic::panic_any((Cell::new(42), token)));
    let fails = || -> io::Result<()> { Ok(job.join()?) };
    let error = fails().unwrap_err().into_inner().unwrap().downcast::<JoinError>().unwrap();
    assert!(error.is_panic() && error.panic_message().is_none());
    let JoinError::Panicked(panic) = *error else { panic!("it panicked") };
    assert_eq!(panic.message(), None);
    assert_eq!(panic.to_string(), "the job panicked");
    let payload = panic.into_payload().downcast::<(Cell<i32>, brigade_testkit::Token)>().unwrap();
    assert_eq!((payload.0.get(), drops.count()), (42, 0));
    drop(payload);
    assert_eq!(drops.count(), 1);
}

#[test]
fn only_a_panic_is_taken_for_a_panic() {
    let pool = Pool::new(1);
    let payload = panicked(&pool).unwrap_err().into_panic();
    assert_eq!(panics::text(&*payload), Some("expected: lost"));
    let (error, resumes) = (cancelled(&pool).unwrap_err(), panicked(&pool).unwrap_err());
    let said = std::panic::catch_unwind(|| drop(error.into_panic())).unwrap_err();
    assert_eq!(
        panics::text(&*said),
        Some("the job did not panic: the job was cancelled: it was asked to stop")
    );
    let JoinError::Panicked(panic) = resumes else { panic!("it panicked") };
    let resumed = std::panic::catch_unwind(|| panic.resume()).unwrap_err();
    assert_eq!(panics::text(&*resumed), Some("expected: lost"));
}

/// Neither a `Cell` nor a `Receiver` is `Sync`.
#[test]
fn a_rejected_job_becomes_any_error_without_sync() {
    let (_sender, receiver) = mpsc::channel::<()>();
    let cell = Cell::new(0);
    let closure = || -> Result<(), Any> { Ok(stale().try_execute(move || cell.set(1))?) };
    let boxed = closure().unwrap_err();
    assert_eq!(boxed.to_string(), Reason::Closed.to_string());
    let with_handle = || -> Result<(), Any> {
        stale().try_submit(move || receiver.recv())?;
        Ok(())
    };
    assert_eq!(with_handle().unwrap_err().to_string(), Reason::Closed.to_string());
    let cell = Cell::new(0);
    let future = || -> Result<(), Any> {
        stale().try_spawn(async move { cell.set(1) })?;
        Ok(())
    };
    assert_eq!(future().unwrap_err().to_string(), Reason::Closed.to_string());
    let batch = || -> Result<(), Any> {
        Ok(stale().job().execute_batch([Cell::new(0)].map(|cell| move || cell.set(1)))?)
    };
    assert_eq!(batch().unwrap_err().to_string(), Reason::Closed.to_string());
}

#[test]
fn a_rejected_job_becomes_an_io_error_and_drops() {
    let (bounded, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let threadless = Pool::builder().threads(0..=1).spawner(|_| Err(io::Error::other("none left")));
    let threadless = threadless.build().unwrap();
    let cases = [
        (stale(), Reason::Closed, ErrorKind::Other),
        (bounded.handle(), Reason::Full, ErrorKind::ResourceBusy),
        (threadless.handle(), Reason::NoThread, ErrorKind::Other),
    ];
    for (pool, reason, kind) in cases {
        let drops = Drops::default();
        let (token, cell) = (drops.token(), Cell::new(0));
        let submit = || -> io::Result<JoinHandle<()>> {
            Ok(pool.try_submit(move || {
                cell.set(1);
                drop(token);
            })?)
        };
        let error = submit().unwrap_err();
        assert_eq!((error.kind(), drops.count()), (kind, 1), "{reason:?}");
        let inner = error.into_inner().unwrap().downcast::<Reason>().unwrap();
        assert_eq!(*inner, reason);
        let alone = || -> io::Result<()> { Err(reason)? };
        assert_eq!(alone().unwrap_err().kind(), kind);
        let boxed = || -> Result<(), Any> { Err(reason)? };
        assert!(boxed().unwrap_err().is::<Reason>());
    }
    gate.open();
    assert_eq!(io::Error::from(Reason::Forked).kind(), ErrorKind::Unsupported);
}

/// A wait for room says so likewise.
#[test]
fn a_reason_comes_from_a_reservation() {
    let reserve = async { io::Result::Ok(stale().job().reserve().await?.execute(|| ())?) };
    let error = block_on(reserve).unwrap_err();
    assert_eq!(error.into_inner().unwrap().downcast_ref(), Some(&Reason::Closed));
}

#[test]
fn a_timeout_becomes_any_error() {
    let pool = Pool::new(1);
    let soon = Duration::from_millis(1);
    let slow = pool.block_on(async { io::Result::Ok(timeout(soon, pending::<()>()).await?) });
    let slow = slow.unwrap_err();
    assert_eq!(
        (slow.kind(), slow.to_string().as_str()),
        (ErrorKind::TimedOut, "the operation timed out")
    );
    let boxed =
        pool.block_on(async { Result::<(), Any>::Ok(timeout(soon, pending::<()>()).await?) });
    assert!(boxed.unwrap_err().is::<Elapsed>());
}

/// Each is an error in the sense of `std`, whatever the job is.
#[test]
fn a_rejected_job_shows_only_its_reason() {
    struct Opaque(#[expect(dead_code)] Rc<()>);
    fn shows<F>(rejected: &Rejected<F>) -> String {
        let error: &dyn Error = rejected;
        assert!(error.source().is_none());
        format!("{rejected:?}: {rejected}")
    }
    let rejected = stale().try_execute(|| ()).unwrap_err();
    let shown = shows(&rejected);
    assert!(shown.matches("the pool is closed").count() == 2, "{shown}");
    let _is_one_too: fn(&Rejected<Opaque>) -> String = shows;
}

#[test]
fn error_clones_share_the_payload() {
    let pool = Pool::new(1);
    let error = |payload: fn()| pool.submit(payload).join().unwrap_err();
    let text = error(|| panic!("expected: text"));
    let clone = text.clone();
    assert_eq!(clone.panic_message(), text.panic_message());
    assert_eq!(clone.into_panic().downcast_ref(), Some(&"expected: text".to_owned()), "a copy");
    assert_eq!(text.into_panic().downcast_ref(), Some(&"expected: text"), "itself");
    let number = error(|| std::panic::resume_unwind(Box::new(42)));
    let panic = number.clone().into_panic().downcast::<brigade::Panic>().unwrap();
    drop(number);
    assert_eq!(panic.into_payload().downcast_ref(), Some(&42));
}

#[test]
fn a_foreign_thread_gets_a_local_job_back() {
    let pool = Pool::new(1);
    let rejected = pool.enter(|| brigade::try_execute_locally(|| ())).unwrap_err();
    assert_eq!(rejected.reason(), Reason::NotAWorker);
    assert!(rejected.to_string().contains("not a worker"));
    assert_eq!(pool.metrics().accepted, 0, "the pool that was entered has none of it");
    let (sender, receiver) = mpsc::channel();
    let other = Pool::new(1);
    // On the worker of a pool, whatever it has entered.
    pool.submit(move || {
        other
            .enter(|| brigade::try_execute_locally(move || sender.send(Handle::current()).unwrap()))
    })
    .join()
    .unwrap()
    .unwrap();
    assert_eq!(receiver.recv(), Ok(Some(pool.handle())));
    let closed = pool.submit(|| {
        let here = Handle::current().expect("a worker");
        here.shutdown(Shutdown::Discard.timeout(Duration::ZERO));
        brigade::try_execute_locally(|| ()).map_err(|rejected| rejected.reason())
    });
    assert_eq!(closed.join().unwrap(), Err(Reason::Closed));
}

/// Caught: an owner's fast path that accepts what a closed pool gives back, or that gives nothing back.
#[test]
fn a_rejected_job_returns_to_its_owner() {
    let (told, tells) = mpsc::channel();
    let tell = |number| {
        let told = told.clone();
        move || told.send(number).unwrap()
    };
    let pool = Pool::new(1);
    assert!(pool.try_execute(tell(1)).is_ok());
    assert_eq!(tells.recv(), Ok(1));
    pool.close();
    let rejected = pool.try_execute(tell(2)).unwrap_err();
    assert_eq!(rejected.reason(), Reason::Closed);
    rejected.into_inner()();
    assert_eq!(tells.try_recv(), Ok(2));
    let full = Pool::builder().threads(1).capacity(1).when_full(WhenFull::DropNewest);
    let (pool, gate) = (full.build().unwrap(), Gate::closed());
    // It has released its permit when it runs, and not when it no longer counts as queued.
    occupy(&pool, &gate);
    assert!(pool.try_execute(|| ()).is_ok());
    // As a handle's, it rejects whatever the policy is.
    assert_eq!(pool.try_execute(tell(3)).unwrap_err().reason(), Reason::Full);
    gate.open();
}
