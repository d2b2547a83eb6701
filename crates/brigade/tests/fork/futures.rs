//! Futures in a child: its own, and those of its parent.

use std::cell::RefCell;
use std::future::{Future as _, poll_fn};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use brigade::time::sleep;
use brigade::{JoinHandle, Pool, block_on, spawn_local, yield_now};
use brigade_testkit::on_wake;

use crate::child::{End, assert_in_child, await_end, claim, fork_here};
use crate::jobs::read_all;
use crate::pools::{is_cancelled, is_forked, ready, refuses, works_still};

/// A future that waits, on some worker or on one of its own; its handle and its waker.
fn waiting(
    pool: &Pool,
    opened: &Arc<AtomicBool>,
    capture: &Arc<()>,
    is_local: bool,
) -> (JoinHandle<u32>, Waker) {
    let (opened, capture, (send, receive)) = (opened.clone(), capture.clone(), mpsc::channel());
    let future = poll_fn(move |context| {
        let _capture = &capture;
        if opened.load(Ordering::SeqCst) {
            return Poll::Ready(42);
        }
        send.send(context.waker().clone()).unwrap();
        Poll::Pending
    });
    let job = match is_local {
        false => pool.spawn(future),
        true => {
            let spawned = pool.submit(|| {
                let here = Rc::new(());
                spawn_local(async move {
                    let value = future.await;
                    drop(here);
                    value
                })
            });
            spawned.join().unwrap()
        }
    };
    (job, receive.recv().unwrap())
}

pub(crate) fn futures_of_the_parent_are_left_alone_in_a_child() {
    let (pool, opened, capture) = (ready(2), Arc::<AtomicBool>::default(), Arc::new(()));
    let waits = [false, true].map(|is_local| waiting(&pool, &opened, &capture, is_local));
    pool.wait_idle();
    let held = Arc::strong_count(&capture);
    let waits = RefCell::new(waits);
    let handle = pool.handle();
    assert_in_child(vec![
        claim("a handle gives the future back", || is_forked(handle.try_spawn(async { 42 }))),
        claim("the owner refuses", || refuses(|| drop(pool.spawn(async { 42 })))),
        claim("cancel does nothing", || {
            waits.borrow_mut().iter_mut().all(|(job, _)| !job.cancel())
        }),
        claim("nor does a wake", || {
            waits.borrow().iter().for_each(|(_, waker)| {
                waker.wake_by_ref();
                drop(waker.clone());
            });
            Arc::strong_count(&capture) == held
        }),
        claim("it counts as cancelled", || {
            waits.borrow_mut().iter_mut().all(|(job, _)| is_cancelled(job.try_join().unwrap()))
        }),
        claim("a thread may wait for a future", || {
            block_on(async {
                yield_now().await;
                42
            }) == 42
        }),
        claim("and the child's own pool polls one", || {
            let own = ready(1);
            block_on(own.spawn(async { brigade::spawn(async { 42 }).await.unwrap() })).unwrap()
                == 42
        }),
        claim("nothing has been dropped", || Arc::strong_count(&capture) == held),
    ]);
    opened.store(true, Ordering::SeqCst);
    for (job, waker) in waits.into_inner() {
        waker.wake();
        assert_eq!(job.join().unwrap(), 42);
    }
    assert!(works_still(&pool));
}

/// The child does not continue as the worker: neither the pool's panic handler nor a hook runs in
/// it.
pub(crate) fn a_local_future_that_forks_and_then_waits_ends_the_child_with_a_reason() {
    let (told, tells) = mpsc::channel();
    let (said, says) = UnixStream::pair().unwrap();
    let pool = ready(1);
    pool.execute(move || {
        drop(spawn_local(poll_fn(move |_| match fork_here() {
            0 => {
                // SAFETY: both are open files.
                unsafe { libc::dup2(says.as_raw_fd(), 2) };
                Poll::Pending
            }
            pid => {
                told.send(pid).unwrap();
                Poll::Ready(())
            }
        })));
    });
    assert_eq!(await_end(tells.recv().unwrap()), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
    let message = read_all(said);
    assert!(message.contains("must call exec or _exit"), "{message}");
    assert!(!message.contains("panicked"), "{message}");
}

/// A parked worker calls the waker. Caught: the child slept forever in place of the worker.
pub(crate) fn a_waker_that_returns_in_a_child_it_forked_ends_the_child() {
    let (pool, (told, tells)) = (ready(1), mpsc::channel());
    let waker = on_wake(move || match fork_here() {
        // Its output is not needed.
        // SAFETY: it is an open file, or none, and nothing else uses it here.
        0 => _ = unsafe { libc::close(2) },
        pid => told.send(pid).unwrap(),
    });
    let mut sleep = pin!(sleep(Duration::from_millis(1)));
    let poll = || sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
    assert!(pool.handle().enter(poll));
    assert_eq!(await_end(tells.recv().unwrap()), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}
