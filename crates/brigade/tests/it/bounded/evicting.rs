//! A job for which there is no room, and one is dropped: the oldest or the newest.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::support::busy::occupy;
use crate::support::crowd::{Crowd, for_both_queueings};
use crate::support::full::{at_rest, busy, full};
use brigade::{
    Builder, Cause, Handle, JoinError, JoinHandle, Pool, Queueing, Reason, WhenFull, block_on,
};
use brigade_testkit::{Gate, Latch, test};

#[test(for_both_queueings)]
fn drop_oldest_cancels_the_oldest_job(builder: Builder) {
    let (pool, gate) = busy(builder, 3, WhenFull::DropOldest);
    let (sender, ran) = mpsc::channel();
    let handles: Vec<_> = (0..10)
        .map(|number| {
            let sender = sender.clone();
            pool.submit(move || sender.send(number).unwrap())
        })
        .collect();
    let evicted: Vec<_> = handles.iter().map(JoinHandle::is_finished).collect();
    assert_eq!(evicted, [[true; 7].as_slice(), &[false; 3]].concat(), "and heard so at once");
    assert_eq!(pool.metrics().evicted, 7);
    gate.open();
    for (number, handle) in handles.into_iter().enumerate() {
        assert_eq!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Evicted))), number < 7);
    }
    assert!(ran.try_iter().eq(7..10));
    assert_eq!(at_rest(&pool), [11, 4, 0, 7, 7]);
}

#[test]
fn drop_oldest_evicts_outside_jobs_before_a_workers() {
    let builder = Pool::builder().queueing(Queueing::Stealing);
    let builder = builder.threads(1).capacity(4).when_full(WhenFull::DropOldest);
    let (pool, gate, submitted) = (builder.build().unwrap(), Gate::closed(), Gate::closed());
    let (inner, told) = (gate.clone(), submitted.clone());
    let children = pool.submit(move || {
        let children = [0, 1].map(|number| brigade::submit(move || number));
        told.open();
        inner.wait();
        let last = brigade::submit(|| 2);
        (children, last)
    });
    submitted.wait();
    let outside = [0, 1].map(|number| pool.submit(move || number));
    gate.open();
    let ([first, second], last) = children.join().unwrap();
    let [evicted, kept] = outside;
    assert!(matches!(evicted.join(), Err(JoinError::Cancelled(Cause::Evicted))));
    assert_eq!(kept.join().unwrap(), 1);
    let children = [first, second, last].map(|child| child.join().unwrap());
    assert_eq!(children, [0, 1, 2]);
    assert_eq!(at_rest(&pool), [6, 5, 0, 1, 1]);
}

#[test(for_both_queueings)]
fn drop_oldest_evicts_a_workers_own_oldest(builder: Builder) {
    let builder = builder.threads(1).capacity(2).when_full(WhenFull::DropOldest);
    let pool = builder.build().unwrap();
    let children =
        pool.submit(|| (0..5).map(|number| brigade::submit(move || number)).collect::<Vec<_>>());
    let outcomes: Vec<_> =
        children.join().unwrap().into_iter().map(|child| child.join().ok()).collect();
    assert_eq!(outcomes, [None, None, None, Some(3), Some(4)]);
    assert_eq!(at_rest(&pool), [6, 3, 0, 3, 3]);
}

/// The entry of a cancelled job holds no permit, so the next job is evicted.
#[test(for_both_queueings)]
fn drop_oldest_ignores_completed_entries(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::DropOldest);
    for _ in 0..20 {
        assert!(pool.submit(|| ()).cancel());
    }
    let kept = [0, 1].map(|number| pool.submit(move || number));
    let newest = pool.submit(|| 2);
    gate.open();
    let [evicted, kept] = kept;
    assert!(matches!(evicted.join(), Err(JoinError::Cancelled(Cause::Evicted))));
    assert_eq!((kept.join().unwrap(), newest.join().unwrap()), (1, 2));
    assert_eq!(at_rest(&pool), [24, 3, 0, 21, 1]);
}

#[test(for_both_queueings)]
fn evicted_captures_may_submit_and_panic(builder: Builder) {
    struct Last(Handle, Arc<AtomicUsize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let counted = self.1.clone();
            let _ = self.0.try_execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
            panic!("expected: dropped");
        }
    }
    let (pool, gate) = busy(builder, 1, WhenFull::DropOldest);
    let ran = Arc::new(AtomicUsize::new(0));
    let last = Last(pool.handle(), ran.clone());
    pool.execute(move || drop(last));
    pool.execute(|| ());
    gate.open();
    // The released permit goes to the new job, and the job that the drop submits is rejected.
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 1]);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[test(for_both_queueings)]
fn drop_newest_accepts_and_cancels_the_new_job(builder: Builder) {
    let (pool, gate) = full(builder, 2, WhenFull::DropNewest);
    let token = Arc::new(());
    let captured = token.clone();
    pool.execute(move || drop(captured));
    assert_eq!(Arc::strong_count(&token), 1, "dropped at once");
    assert!(matches!(pool.submit(|| ()).join(), Err(JoinError::Cancelled(Cause::Evicted))));
    pool.job().execute_batch([|| unreachable!(), || unreachable!()]).unwrap();
    assert_eq!(pool.metrics().evicted, 4);
    gate.open();
    assert_eq!(at_rest(&pool), [7, 3, 0, 4, 4]);
    let inside = pool.submit(|| {
        brigade::execute(|| ());
        brigade::execute(|| ());
        brigade::submit(|| ()).join().map_err(|error| error.to_string())
    });
    assert!(inside.join().unwrap().unwrap_err().contains("cancelled"));
    assert_eq!(at_rest(&pool), [11, 6, 0, 5, 5]);
}

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A job of which the drop is told to `depths`, and submits the next.
fn evicted_chain(pool: Handle, left: usize, depths: Arc<Crowd>) -> Box<dyn FnOnce() + Send> {
    let submits = OnDrop(move || {
        let _inside = depths.enter();
        if left > 0 {
            pool.execute(evicted_chain(pool, left - 1, depths.clone()));
        }
    });
    Box::new(move || mem::forget(submits))
}

#[test(for_both_queueings)]
fn a_submission_inside_an_eviction_evicts_nothing(builder: Builder) {
    let (pool, gate) = busy(builder, 20, WhenFull::DropOldest);
    let depths = Arc::new(Crowd::default());
    for _ in 0..20 {
        pool.execute(evicted_chain(pool.handle(), 1, depths.clone()));
    }
    pool.execute(|| ());
    assert_eq!((depths.most(), pool.metrics().evicted), (1, 1));
    gate.open();
    assert_eq!(at_rest(&pool), [23, 22, 0, 1, 1]);
}

#[test(for_both_queueings)]
fn evicted_captures_may_join_a_future(builder: Builder) {
    let pool = builder.threads(1).capacity(1).when_full(WhenFull::DropOldest);
    let pool = pool.build().unwrap();
    let latch = Latch::default();
    let future = pool.spawn(latch.wait());
    pool.wait_idle();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    latch.open();
    let (opens, mut future) = (gate.clone(), Some(future));
    let waits = OnDrop(move || {
        opens.open();
        future.take().into_iter().for_each(|future| future.join().unwrap());
    });
    pool.execute(move || mem::forget(waits));
    // Finds the future first, which has no room to give.
    pool.execute(|| ());
    assert_eq!(at_rest(&pool), [4, 3, 0, 1, 1]);
}

/// Caught: the submission never returned.
#[test(for_both_queueings)]
fn drop_oldest_rejects_if_all_room_is_reserved(builder: Builder) {
    let builder = builder.threads(1).capacity(2).when_full(WhenFull::DropOldest);
    let pool = builder.build().unwrap();
    let reserve = |pool: Handle| block_on(pool.job().reserve()).unwrap();
    let rooms = [(); 2].map(|()| reserve(pool.handle()));
    let refusal = |pool: Handle| pool.job().execute(|| ()).map_err(|refused| refused.reason());
    let handle = pool.handle();
    assert_eq!(refusal(handle), Err(Reason::Full));
    let inside = pool.job().on_worker(0).submit(move || refusal(handle)).unwrap();
    assert_eq!(inside.join().unwrap(), Err(Reason::Full));
    let [used, kept] = rooms;
    used.execute(|| ()).unwrap();
    pool.wait_idle();
    // Now there is something to evict.
    let gate = Gate::closed();
    pool.job().on_worker(0).execute(gate.job()).unwrap();
    let first = pool.submit(|| ());
    let second = pool.submit(|| ());
    assert!(matches!(first.join(), Err(JoinError::Cancelled(_))));
    drop(kept);
    gate.open();
    second.join().unwrap();
    assert_eq!(at_rest(&pool), [5, 4, 0, 1, 1]);
}

const WAITS_FOR_ROOM: [fn(Handle); 3] = [
    |pool| drop(block_on(pool.job().reserve())),
    |pool| thread::spawn(move || pool.execute(|| ())).join().unwrap(),
    |pool| _ = brigade::join(|| pool.execute(|| ()), || ()),
];

/// Caught: the room of the evicted job was free only when its captures had been dropped.
#[test(wait in WAITS_FOR_ROOM, for_both_queueings)]
fn evicted_captures_may_wait_for_room(builder: Builder, wait: fn(Handle)) {
    let (pool, gate) = busy(builder, 1, WhenFull::DropOldest);
    let handle = pool.handle();
    let waits = OnDrop(move || {
        gate.open();
        wait(handle);
    });
    pool.execute(move || mem::forget(waits));
    pool.execute(|| ());
    assert!(pool.metrics().evicted > 0);
}
