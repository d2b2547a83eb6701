//! A pool that ends in the code that starts its threads.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use brigade::{Builder, NewThread, Pool, Shutdown};
use brigade_testkit::test;

/// How a pool ends.
const ENDS: [fn(Pool); 3] =
    [drop, |pool| _ = pool.shutdown(Shutdown::Drain), |pool| _ = pool.shutdown(Shutdown::Discard)];

/// The code that makes a call whenever it starts a thread.
type Place = fn(Builder, Box<dyn Fn() + Send + Sync>) -> Builder;

const PLACES: [(&str, Place); 2] = [
    ("spawner", |builder, call| {
        builder.spawner(move |thread: NewThread| {
            call();
            thread.start()
        })
    }),
    ("name function", |builder, call| {
        builder.name(move |index| {
            call();
            format!("worker {index}")
        })
    }),
];

/// The job is returned, runs, or is dropped with the pool; nothing waits forever.
#[test((place, set) in PLACES, end in ENDS)]
fn a_pool_may_end_in_its_own_spawner(set: Place, end: fn(Pool)) {
    let slot: Arc<Mutex<Option<Pool>>> = Arc::default();
    let taken = slot.clone();
    let call = move || {
        let pool = taken.lock().unwrap().take();
        pool.into_iter().for_each(end);
    };
    let pool = set(Pool::builder().threads(0..=1), Box::new(call)).build().unwrap();
    let (handle, (told, tells)) = (pool.handle(), mpsc::channel::<()>());
    *slot.lock().unwrap() = Some(pool);
    let submits = thread::spawn(move || _ = handle.job().execute(move || drop(told)));
    submits.join().unwrap();
    assert!(tells.recv().is_err(), "the closure is gone");
    assert!(slot.lock().unwrap().is_none());
}
