//! A pool that ends in the code that starts its threads.

use std::sync::{Arc, Mutex, mpsc};
use std::{io, thread};

use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_testkit::test;

/// How a pool ends.
const ENDS: [fn(Pool); 3] =
    [drop, |pool| _ = pool.shutdown(Shutdown::Drain), |pool| _ = pool.shutdown(Shutdown::Discard)];

#[test]
fn a_pool_that_ends_in_its_own_spawner_returns_and_so_does_the_submission() {
    for end in ENDS {
        let slot: Arc<Mutex<Option<Pool>>> = Arc::default();
        let taken = slot.clone();
        let spawner = move |thread: NewThread| -> io::Result<Thread> {
            let pool = taken.lock().unwrap().take();
            pool.into_iter().for_each(end);
            thread.start()
        };
        let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
        check(pool, &slot);
    }
}

#[test]
fn a_pool_that_ends_in_its_own_name_function_returns_and_so_does_the_submission() {
    for end in ENDS {
        let slot: Arc<Mutex<Option<Pool>>> = Arc::default();
        let taken = slot.clone();
        let name = move |index: usize| {
            let pool = taken.lock().unwrap().take();
            pool.into_iter().for_each(end);
            format!("worker {index}")
        };
        let pool = Pool::builder().threads(0..=1).name(name).build().unwrap();
        check(pool, &slot);
    }
}

/// The job is returned, runs, or is dropped with the pool; nothing waits forever.
fn check(pool: Pool, slot: &Mutex<Option<Pool>>) {
    let (handle, (told, tells)) = (pool.handle(), mpsc::channel::<()>());
    *slot.lock().unwrap() = Some(pool);
    let submits = thread::spawn(move || {
        let _ = handle.job().execute(move || drop(told));
    });
    submits.join().unwrap();
    assert!(tells.recv().is_err(), "the closure is gone");
    assert!(slot.lock().unwrap().is_none());
}
