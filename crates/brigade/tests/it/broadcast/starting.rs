//! Threads that are being started, and those that can't be.

use std::sync::{Arc, Mutex};
use std::{io, thread};

use super::join_all;
use crate::support::crowd::workers;
use crate::support::full::at_rest;
use crate::support::staging::{numbered, refused};
use brigade::{NewThread, Pool};
use brigade_testkit::{Gate, Halt, eventually, panics, test};

#[test]
fn a_broadcast_starts_the_core_and_at_least_one() {
    for (threads, before, reached) in [(3..=8, 1, 3), (0..=4, 0, 1)] {
        let pool = Pool::builder().threads(threads.clone()).build().unwrap();
        assert_eq!(workers(&pool), before, "{threads:?}");
        assert!(join_all(pool.broadcast(|index| index)).into_iter().eq(0..reached), "{threads:?}");
        assert_eq!(workers(&pool), reached, "{threads:?}");
    }
}

#[test]
fn a_start_hook_delays_the_threads_share() {
    let gate = Gate::closed();
    let wait = gate.clone();
    let hook = move |index| {
        if index == 1 {
            wait.wait();
        }
    };
    let pool = Pool::builder().threads(2).on_start(hook).build().unwrap();
    let mut shares = pool.broadcast(|index| index);
    assert_eq!(shares.len(), 2);
    let second = shares.pop().unwrap();
    assert_eq!(shares.pop().unwrap().join().unwrap(), 0);
    assert!(!second.is_finished());
    gate.open();
    assert_eq!(second.join().unwrap(), 1);
}

#[test]
fn refused_threads_have_no_share() {
    let spawner = numbered(|number, thread| match number {
        0 | 1 => thread.start(),
        2 => refused(),
        _ => panic!("expected: the spawner panics"),
    });
    let pool = Pool::builder().threads(4).spawner(spawner).build().unwrap();
    for _ in 0..3 {
        assert_eq!(join_all(pool.broadcast(|index| index)), [0, 1]);
    }
}

#[test]
fn a_pool_unable_to_start_threads_refuses_it() {
    let pool = Pool::builder().threads(0..=1).spawner(|_| refused()).build().unwrap();
    let refused = std::panic::catch_unwind(|| pool.broadcast(|index| index)).unwrap_err();
    let text = panics::text(&*refused).unwrap();
    assert!(text.contains("no thread"), "{text}");
    assert_eq!(pool.metrics().accepted, 0);
}

/// The thread is another thread's to start, and fails after the broadcast.
#[test(drops in [false, true])]
fn a_failed_start_cancels_the_threads_share(drops: bool) {
    let (start, kept) = (Halt::default(), Arc::new(Mutex::new(None)));
    let (halts, keeps) = (start.clone(), Arc::clone(&kept));
    let spawner = numbered(move |number, new| match number {
        1 => {
            halts.here();
            if drops {
                // Neither started nor refused: the pool learns that when it is dropped.
                *keeps.lock().unwrap() = Some(new);
                return thread_of_nothing();
            }
            drop(new);
            refused()
        }
        _ => new.start(),
    });
    let pool = Pool::builder().threads(2).spare_threads(0).spawner(spawner).build().unwrap();
    let handle = pool.handle();
    let starter = thread::spawn(move || handle.submit(|| ()).join().unwrap());
    start.await_thread();
    let mut shares = pool.broadcast(|index| index);
    assert_eq!(shares.len(), 2);
    let second = shares.pop().unwrap();
    assert_eq!(shares.pop().unwrap().join().unwrap(), 0);
    assert!(!second.is_finished());
    start.release();
    if drops {
        eventually("the spawner has returned", || kept.lock().unwrap().is_some());
        drop(kept.lock().unwrap().take());
    }
    assert!(second.join().unwrap_err().is_cancelled());
    starter.join().unwrap();
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
    assert_eq!(join_all(pool.broadcast(|index| index)), [0, 1], "a later start works");
}

/// A thread of another pool.
fn thread_of_nothing() -> io::Result<brigade::Thread> {
    let taken = Arc::new(Mutex::new(None));
    let takes = Arc::clone(&taken);
    let spawner = move |new: NewThread| {
        *takes.lock().unwrap() = Some(new.start()?);
        Err(io::Error::other("expected: taken"))
    };
    drop(Pool::builder().threads(1).spawner(spawner).build());
    let thread = taken.lock().unwrap().take();
    Ok(thread.unwrap())
}
