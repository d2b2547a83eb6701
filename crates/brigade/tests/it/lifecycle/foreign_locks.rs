//! Futures that other code wakes under a lock, which their drops take, too, as those of a channel do: no wake drops a future. Nor do their
//! drops wait for ever.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use brigade::{Handle, JoinHandle, LocalPool, Pool, Shutdown, TaskSet, spawn_local};
use brigade_testkit::{Drops, Latch, OnDrop, Token, case, eventually, test};

/// The wakers of the two sides of a channel.
type Wakers = Arc<Mutex<[Option<Waker>; 2]>>;

/// Calls `wake_all` on this thread or on another.
type Wakes = Arc<dyn Fn(&Wakers) + Send + Sync>;

/// One side: it waits for ever, and its drop wakes the other.
struct Side {
    wakers: Wakers,
    number: usize,
    wakes: Wakes,
    _token: Token,
}

impl Future for Side {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.wakers.lock().unwrap()[self.number] = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        (self.wakes)(&self.wakers);
        drop(self.wakers.lock());
    }
}

fn wake_all(wakers: &Wakers) {
    wakers.lock().unwrap().iter_mut().filter_map(Option::take).for_each(Waker::wake);
}

type Wake = fn(&Wakers);

/// The thread that wakes the other side.
const PLACES: [(&str, Wake); 2] = [
    ("here", wake_all),
    ("elsewhere", |wakers| {
        let wakers = wakers.clone();
        thread::spawn(move || wake_all(&wakers)).join().unwrap();
    }),
];

/// Spawns both sides; what it returns must outlive the pool.
type Spawn = fn(Handle, [Side; 2]) -> Option<TaskSet<()>>;

const KINDS: [(&str, Spawn); 6] = [
    ("futures", |pool, sides| {
        sides.into_iter().for_each(|side| drop(pool.spawn(side)));
        None
    }),
    ("a set", |pool, sides| {
        let mut set = TaskSet::new(pool);
        sides.into_iter().for_each(|side| _ = set.spawn(side));
        Some(set)
    }),
    ("a scope", |pool, sides| {
        let sides = sides.into_iter();
        pool.execute(|| brigade::scope(|s| sides.for_each(|side| drop(s.spawn(side)))));
        None
    }),
    ("local futures", |pool, sides| {
        pool.execute(|| sides.into_iter().for_each(|side| drop(spawn_local(side))));
        None
    }),
    ("a local future and a future", |pool, [one, other]| {
        pool.execute(|| drop(spawn_local(one)));
        drop(pool.spawn(other));
        None
    }),
    ("a timer and a future", |pool, [one, other]| {
        // As if it waited.
        one.wakers.lock().unwrap()[one.number] = Some(Waker::noop().clone());
        let timer = pool.job().after(Duration::from_secs(3600)).execute(move || drop(one));
        drop(timer.unwrap());
        drop(pool.spawn(other));
        None
    }),
];

/// Two sides of one channel.
fn sides(drops: &Drops, wakes: &Wakes) -> (Wakers, [Side; 2]) {
    let wakers = Wakers::default();
    let side = |number| {
        let (wakers, wakes) = (wakers.clone(), wakes.clone());
        Side { wakers, number, wakes, _token: drops.token() }
    };
    (wakers.clone(), [side(0), side(1)])
}

fn both_wait(wakers: &Wakers) -> bool {
    wakers.lock().unwrap().iter().all(Option::is_some)
}

/// Caught: the waker dropped the future, whose drop waited for the lock under which the waker was called.
#[test]
fn no_wake_beside_the_end_drops_a_future() {
    type End = fn(Pool);
    let ends: [(&str, End); 3] = [
        ("drop", drop),
        ("Drain", |pool| assert_eq!(pool.shutdown(Shutdown::Drain).still_running, 0)),
        ("Discard", |pool| assert_eq!(pool.shutdown(Shutdown::Discard).still_running, 0)),
    ];
    for (place, wakes) in PLACES {
        for (kind, spawn) in KINDS {
            for (way, end) in ends {
                for threads in [1, 2] {
                    case(&format!("{kind}, {way}, woken {place}, {threads} threads"), || {
                        let (pool, drops) = (Pool::new(threads), Drops::default());
                        let (wakers, sides) = sides(&drops, &(Arc::new(wakes) as Wakes));
                        let set = spawn(pool.handle(), sides);
                        eventually("both wait", || both_wait(&wakers));
                        end(pool);
                        assert_eq!(drops.count(), 2);
                        drop(set);
                    });
                }
            }
        }
    }
}

/// Caught: as above, on the worker that runs the job.
#[test]
fn a_discarding_pools_job_drops_no_future_it_wakes() {
    for (kind, spawn) in KINDS.into_iter().filter(|(kind, _)| !kind.contains("local")) {
        case(kind, || {
            let (pool, drops) = (Pool::new(3), Drops::default());
            let ((ask, asked), (reply, replies)) =
                (mpsc::channel::<Wakers>(), mpsc::channel::<()>());
            pool.execute(move || {
                asked.into_iter().for_each(|wakers| {
                    wake_all(&wakers);
                    _ = reply.send(());
                });
            });
            let job = Mutex::new((ask, replies));
            let wakes: Wakes = Arc::new(move |wakers| {
                // The second side is dropped in time for its drop to find the job, or another one's asks.
                let job = job.lock().unwrap();
                job.0.send(wakers.clone()).unwrap();
                job.1.recv().unwrap();
            });
            let (wakers, sides) = sides(&drops, &wakes);
            drop(wakes);
            let set = spawn(pool.handle(), sides);
            eventually("both wait", || both_wait(&wakers));
            assert_eq!(pool.shutdown(Shutdown::Discard).still_running, 0);
            assert_eq!(drops.count(), 2);
            drop(set);
        });
    }
}

/// Caught: as above, where the owner of the pool ends it.
#[test]
fn a_local_pools_end_drops_no_future_in_a_waker() {
    for (place, wakes) in PLACES {
        for (kind, spawn) in KINDS.into_iter().filter(|&(kind, _)| kind != "a scope") {
            for how in [None, Some(Shutdown::Drain), Some(Shutdown::Discard)] {
                case(&format!("{kind}, {how:?}, woken {place}"), || {
                    let (pool, drops) = (LocalPool::new().unwrap(), Drops::default());
                    let (wakers, sides) = sides(&drops, &(Arc::new(wakes) as Wakes));
                    let set = spawn(pool.handle(), sides);
                    pool.run_until_idle();
                    assert!(both_wait(&wakers));
                    how.into_iter().for_each(|how| _ = pool.handle().shutdown(how));
                    drop(pool);
                    assert_eq!(drops.count(), 2);
                    drop(set);
                });
            }
        }
    }
}

/// Two futures: the one that is dropped first waits for the other, and wakes it before if it `wakes`.
fn spawn_waiting(pool: &Handle, wakes: bool) -> [Latch; 2] {
    let (handles, latches) = (Arc::new(Mutex::new(None)), [(); 2].map(|()| Latch::default()));
    let spawned = [0, 1].map(|own: usize| {
        let (handles, other, waits) =
            (handles.clone(), latches[1 - own].clone(), latches[own].wait());
        pool.spawn(async move {
            let _ends = OnDrop(move || {
                let both: Option<[JoinHandle<()>; 2]> = handles.lock().unwrap().take();
                let Some(both) = both else { return };
                if wakes {
                    other.open();
                }
                let outcome = both.into_iter().nth(1 - own).unwrap().join();
                assert!(outcome.unwrap_err().is_cancelled());
            });
            waits.await;
        })
    });
    *handles.lock().unwrap() = Some(spawned);
    latches
}

/// Caught: the thread that ends the pool was to drop the other future after the first.
#[test(wakes in [false, true])]
fn a_destructor_at_the_end_may_await_a_future(wakes: bool) {
    let builder = Pool::builder().threads(0..=1).keep_alive(Duration::from_micros(1));
    let pool = builder.build().unwrap();
    let latches = spawn_waiting(&pool, wakes);
    let both_wait = || latches.iter().all(|latch| latch.waiting() == 1);
    // No worker ends the futures beside this thread.
    eventually("its thread goes", || both_wait() && pool.metrics().threads == 0);
    drop(pool);
    let pool = LocalPool::new().unwrap();
    let latches = spawn_waiting(&pool, wakes);
    pool.run_until_idle();
    assert!(latches.iter().all(|latch| latch.waiting() == 1));
    drop(pool);
}
