//! What driving allocates: nothing, once a thread has driven and every source has been waited for.

#![cfg(all(target_os = "linux", not(brigade_loom), not(brigade_portable)))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use brigade_io::{Driver, DriverSupply, UnixStream, pipe};
use brigade_testkit::Observed;
use futures_lite::{AsyncRead, AsyncWrite};

std::thread_local! {
    /// Of each thread apart: the harness has one of its own.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Observed = Observed::new(
    |_| {
        CALLS.set(CALLS.get() + 1);
        true
    },
    |_| (),
);

/// How often a body allocates on this thread.
fn allocated(body: impl FnOnce()) -> usize {
    let before = CALLS.get();
    body();
    CALLS.get() - before
}

/// A task, as far as a waker knows.
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Every reader waits, is written to, woken by one drive, and reads.
fn hop<R, W>(driver: &Driver, ends: &mut [(R, W)], waker: &Waker)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let context = &mut Context::from_waker(waker);
    let mut buffer = [0; 16];
    for (reader, writer) in ends.iter_mut() {
        assert!(Pin::new(reader).poll_read(context, &mut buffer).is_pending());
        assert!(Pin::new(writer).poll_write(context, b"x").is_ready());
    }
    let mut woken = 0;
    while woken < ends.len() {
        woken += driver.drive(Some(Duration::from_millis(1)), &mut Waker::wake).unwrap();
    }
    for (reader, _) in ends.iter_mut() {
        assert!(Pin::new(reader).poll_read(context, &mut buffer).is_ready());
    }
}

/// How often a hundred hops allocate, of 64 files at a time.
fn hops_allocate<R, W>(ends: impl Fn() -> io::Result<(R, W)>) -> usize
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let waker = &Waker::from(Arc::new(Task(AtomicUsize::new(0))));
    let driver = &Driver::new().unwrap();
    let mut ends: Vec<_> = driver.enter(|| (0..64).map(|_| ends().unwrap()).collect());
    hop(driver, &mut ends, waker);
    allocated(|| (0..100).for_each(|_| hop(driver, &mut ends, waker)))
}

#[test]
fn driving_and_entering_allocate_nothing() {
    assert_eq!(hops_allocate(pipe), 0, "by level");
    assert_eq!(hops_allocate(UnixStream::pair), 0, "by edge");
    let driver = Driver::new().unwrap();
    let notified = || {
        driver.notify();
        driver.drive(None, &mut drop).unwrap();
    };
    notified();
    assert_eq!(allocated(notified), 0);
    let made = driver.clone();
    let supply = DriverSupply::new(move || Ok(made.clone()));
    let entered = allocated(|| supply.enter(|| drop(Driver::current().unwrap())));
    assert_eq!(entered, 0);
}
