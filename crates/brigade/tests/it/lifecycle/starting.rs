//! A pool can be reached as soon as its first thread runs.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use brigade::{Builder, Handle, JoinHandle, Pool, spawn_local};
use brigade_testkit::test;

/// Pools whose first thread runs its hook while others are still being started, and one that has no others.
fn pools() -> impl Iterator<Item = Builder> {
    let many = (0..20).map(|_| Pool::builder().threads(64).prestart(64));
    many.chain((0..20).map(|_| Pool::builder().threads(1)))
}

/// A future that another thread wakes as soon as it waits.
fn woken_elsewhere() -> impl Future<Output = i32> + Send + 'static {
    let waits: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
    let wakes = waits.clone();
    thread::spawn(move || {
        loop {
            let waker = {
                let mut state = wakes.lock().unwrap();
                state.0 = state.1.is_some();
                state.1.take()
            };
            match waker {
                Some(waker) => return waker.wake(),
                None => thread::yield_now(),
            }
        }
    });
    poll_fn(move |context| {
        let mut state = waits.lock().unwrap();
        if state.0 {
            return Poll::Ready(42);
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    })
}

/// What a start hook begins, with the help of another thread.
type Begin = fn() -> Option<JoinHandle<i32>>;
const BEGINS: [(&str, Begin); 3] = [
    ("a job by a handle that the hook gives away", || {
        let handle = Handle::current().unwrap();
        thread::spawn(move || handle.try_submit(|| 42).ok()).join().unwrap()
    }),
    ("a future", || Some(Handle::current().unwrap().spawn(woken_elsewhere()))),
    ("a local future", || Some(spawn_local(woken_elsewhere()))),
];

#[test((what, begin) in BEGINS, builder in pools())]
fn a_pool_in_its_start_hook_is_reachable(builder: Builder, begin: Begin) {
    let (told, tells) = mpsc::channel();
    let hook = move |index| {
        if index == 0 {
            told.send(begin()).unwrap();
        }
    };
    let pool = builder.on_start(hook).build().unwrap();
    pool.execute(|| ());
    let begun = tells.recv().unwrap().expect("it is accepted");
    assert_eq!(begun.join().unwrap(), 42);
}
