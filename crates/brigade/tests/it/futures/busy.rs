//! Futures that keep each other busy do not keep a pool that drains.

use std::future::{Future, pending};
#[cfg(all(feature = "io", unix))]
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
#[cfg(all(feature = "io", unix))]
use std::{io, net};

use async_channel::{Receiver, Sender, bounded};
use async_lock::Semaphore;
#[cfg(all(feature = "io", unix))]
use brigade::io::{Async, TcpStream};
use brigade::{
    Handle, JoinError, JoinHandle, LocalPool, Pool, Shutdown, TaskSet, WhenFull, block_on, spawn,
    spawn_local, submit, yield_now,
};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, Token, eventually, test};

#[cfg(all(feature = "io", unix))]
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use crate::support::busy::{held, occupy};

type Busy = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Passes on each message.
async fn passes_on(token: Token, from: Receiver<()>, to: Sender<()>) {
    while from.recv().await.is_ok() && to.send(()).await.is_ok() {}
    drop(token);
}

/// Two futures that wake each other.
fn pair(drops: &Drops) -> [Busy; 2] {
    let ((to_one, one), (to_two, two)) = (bounded(1), bounded(1));
    to_one.try_send(()).unwrap();
    let [first, second] = [drops.token(), drops.token()];
    [Box::pin(passes_on(first, one, to_two)), Box::pin(passes_on(second, two, to_one))]
}

/// The same future, whose polls are counted.
fn counted(mut future: Busy, polls: &Arc<AtomicUsize>) -> Busy {
    let polls = polls.clone();
    Box::pin(std::future::poll_fn(move |context| {
        polls.fetch_add(1, Relaxed);
        future.as_mut().poll(context)
    }))
}

/// Gives a permit for each that it gets.
async fn takes_turns(token: Token, from: Arc<Semaphore>, to: Arc<Semaphore>) {
    let _token = token;
    loop {
        from.acquire().await.forget();
        to.add_permits(1);
    }
}

/// Sends each byte back.
#[cfg(all(feature = "io", unix))]
async fn echoes(token: Token, socket: UnixStream) {
    let _token = token;
    let (mut socket, mut byte) = (Async::new(socket).unwrap(), [0]);
    while socket.read_exact(&mut byte).await.is_ok() && socket.write_all(&byte).await.is_ok() {}
}

/// Futures that are busy without other work, each with a token.
type Kind = fn(&Drops) -> Vec<Busy>;

fn kinds() -> Vec<Kind> {
    let kinds: [Kind; 5] = [
        |drops| pair(drops).into(),
        |drops| {
            let [first, second] = [1, 0].map(|permits| Arc::new(Semaphore::new(permits)));
            let (from, to) = (first.clone(), second.clone());
            vec![
                Box::pin(takes_turns(drops.token(), from, to)),
                Box::pin(takes_turns(drops.token(), second, first)),
            ]
        },
        |drops| {
            let token = drops.token();
            vec![Box::pin(async move {
                let _token = token;
                while spawn(async {}).await.is_ok() {}
            })]
        },
        |drops| {
            let token = drops.token();
            vec![Box::pin(async move {
                let _token = token;
                while submit(|| ()).await.is_ok() {}
            })]
        },
        |drops| {
            let awaits_children = |token| async move {
                let _token = token;
                while spawn(yield_now()).await.is_ok() {}
            };
            vec![Box::pin(awaits_children(drops.token())), Box::pin(awaits_children(drops.token()))]
        },
    ];
    #[cfg(all(feature = "io", unix))]
    let kinds = kinds.into_iter().chain::<[Kind; 2]>([
        |drops| {
            let (mut first, second) = UnixStream::pair().unwrap();
            io::Write::write_all(&mut first, &[1]).unwrap();
            let sockets = [first, second];
            sockets.map(|socket| Box::pin(echoes(drops.token(), socket)) as Busy).into()
        },
        |drops| {
            let token = drops.token();
            let gone = net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            vec![Box::pin(async move {
                let _token = token;
                while TcpStream::connect(gone).await.is_err() {}
            })]
        },
    ]);
    kinds.into_iter().collect()
}

/// A worker does not know of its first poll after the close that this runs no closure.
#[test]
fn the_close_allows_each_at_most_two_polls() {
    for (kind, busy) in kinds().into_iter().enumerate() {
        let (pool, drops) = (Pool::new(1), Drops::default());
        let futures = busy(&drops).into_iter();
        let count = |future| {
            let polls = Arc::<AtomicUsize>::default();
            drop(pool.spawn(counted(future, &polls)));
            polls
        };
        let polls: Vec<_> = futures.map(count).collect();
        let seen = || polls.iter().map(|polls| polls.load(Relaxed)).collect::<Vec<_>>();
        eventually("they run", || seen().iter().all(|polls| *polls > 20));
        pool.close();
        let before = seen();
        drop(pool);
        let more = seen().into_iter().zip(before).map(|(after, before)| after - before);
        assert!(
            more.clone().all(|polls| polls <= 2),
            "kind {kind}: {:?}",
            more.collect::<Vec<_>>()
        );
    }
}

/// Caught: the pool drained for ever.
#[test(threads in [1, 2, 4])]
fn drop_cancels_mutually_busy_futures(threads: usize) {
    for busy in kinds() {
        let (pool, drops, polls) = (Pool::new(threads), Drops::default(), Arc::default());
        let futures = busy(&drops).into_iter().map(|future| pool.spawn(counted(future, &polls)));
        let handles: Vec<_> = futures.collect();
        eventually("they run", || polls.load(Relaxed) > 100);
        drop(pool);
        assert_eq!(drops.count(), handles.len());
        // The end of one may be the end of the other.
        let outcomes: Vec<_> = handles.into_iter().map(JoinHandle::join).collect();
        assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(JoinError::Cancelled(_)))));
    }
}

/// Caught: they kept the jobs of a `LocalPool` from its end.
#[test]
fn drop_cancels_mutually_busy_local_futures() {
    let (pool, drops) = (LocalPool::new().unwrap(), Drops::default());
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn_local(future)));
    (0..10).for_each(|_| _ = pool.tick());
    drop(pool);
    assert_eq!(drops.count(), 2);
}

/// The end of the job depends on its future, which depends on nothing that runs.
#[test(threads in [1, 2, 4])]
fn they_block_no_join_of_a_pending_future(threads: usize) {
    let waits: [fn() -> bool; 4] = [
        || spawn(pending::<()>()).join().is_err(),
        || block_on(async { spawn(pending::<()>()).await.is_err() }),
        || {
            let mut set = TaskSet::new(brigade::Handle::current().unwrap());
            set.spawn(pending::<()>());
            set.join_next().unwrap().is_err()
        },
        || spawn_local(pending::<()>()).join().is_err(),
    ];
    for wait in waits {
        let (pool, drops) = (Pool::new(threads), Drops::default());
        pair(&drops).into_iter().for_each(|future| drop(pool.spawn(future)));
        let job = pool.submit(wait);
        drop(pool);
        assert!(job.join().unwrap());
        assert_eq!(drops.count(), 2);
    }
}

#[test(threads in [1, 2])]
fn polls_continue_while_a_closure_runs(threads: usize) {
    let (pool, gate, drops) = (Pool::new(threads + 1), Gate::closed(), Drops::default());
    let job = held(&pool, &gate);
    let polls = Arc::default();
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn(counted(future, &polls))));
    pool.close();
    let before = polls.load(Relaxed);
    eventually("they are polled", || polls.load(Relaxed) > before + 100);
    assert_eq!(drops.count(), 0);
    gate.open();
    job.join().unwrap();
    drop(pool);
    assert_eq!(drops.count(), 2);
}

/// Caught: the thread of the closure counted as one that polls a future.
#[test]
fn polls_continue_while_a_poll_runs_a_closure() {
    let (pool, gate, end, drops) = (Pool::new(3), Gate::closed(), Gate::closed(), Drops::default());
    let (job, polls) = (held(&pool, &gate), Arc::default());
    pair(&drops).into_iter().for_each(|future| drop(pool.spawn(counted(future, &polls))));
    let (latch, begun) = (Latch::default(), Gate::closed());
    let (wakes, begins, ends) = (latch.wait(), begun.clone(), end.clone());
    let waits = pool.spawn(async move {
        wakes.await;
        let closure = move || {
            begins.open();
            ends.wait();
        };
        submit(closure).join().unwrap();
    });
    eventually("it waits", || latch.waiting() == 1);
    pool.close();
    // The workers note which futures they poll from the first poll on.
    let before = polls.load(Relaxed);
    eventually("they are polled", || polls.load(Relaxed) > before + 100);
    latch.open();
    begun.wait();
    gate.open();
    job.join().unwrap();
    let before = polls.load(Relaxed);
    eventually("they are polled on", || polls.load(Relaxed) > before + 10_000);
    assert_eq!(drops.count(), 0);
    end.open();
    drop(pool);
    assert_eq!(drops.count(), 2);
    assert!(waits.is_finished());
}

/// Caught: only the thread that closed the pool looked for jobs that wait for futures which wait.
#[test]
fn the_last_off_pool_work_ends_pending_joins() {
    let (pool, gate) = (Pool::new(2), Gate::closed());
    let handle = pool.handle();
    occupy(&pool, &gate);
    let (dropping, goes_on) = (Gate::closed(), Gate::closed());
    let captures = {
        let (dropping, goes_on) = (dropping.clone(), goes_on.clone());
        OnDrop(move || {
            dropping.open();
            goes_on.wait();
        })
    };
    let waits = pool.submit(|| spawn(pending::<()>()).join().is_err());
    let queued = pool.job().submit(move || drop(captures)).unwrap();
    let canceller = std::thread::spawn(move || queued.cancel());
    dropping.wait();
    let ends = std::thread::spawn(move || pool.shutdown(Shutdown::Drain));
    gate.open();
    let waits_now = || handle.dump().workers.iter().any(|worker| !worker.waits.is_empty());
    eventually("the job waits", waits_now);
    goes_on.open();
    assert!(canceller.join().unwrap() && waits.join().unwrap());
    assert_eq!(ends.join().unwrap().still_running, 0);
}

/// Work that runs on a thread of the test, and calls this closure. All threads of the pool are busy.
type OffPool = fn(Handle, Box<dyn FnMut() + Send>);

/// A wait for a future that is never ready, after the call of a closure; whether the future was cancelled.
type WaitsForever = fn(Handle, &dyn Fn()) -> bool;

const OFF_THE_POOL: [(&str, OffPool); 3] = [
    ("a drop of captures", |pool, work| {
        let captures = OnDrop(work);
        assert!(pool.submit(|| drop(captures)).cancel());
    }),
    ("a job of a scope", |pool, work| {
        pool.in_place_scope(|s| s.submit(work).join().unwrap()).unwrap();
    }),
    ("a job of its caller", |pool, work| pool.execute(work)),
];

const WAITS_FOREVER: [(&str, WaitsForever); 5] = [
    ("join", |pool, begins| {
        let future = pool.spawn(pending::<()>());
        begins();
        future.join().is_err()
    }),
    ("join_timeout", |pool, begins| {
        let mut future = pool.spawn(pending::<()>());
        begins();
        future.join_timeout(Duration::MAX).unwrap().is_err()
    }),
    ("block_on", |pool, begins| {
        let future = pool.spawn(pending::<()>());
        begins();
        block_on(future).is_err()
    }),
    ("set", |pool, begins| {
        let mut set = TaskSet::new(pool);
        set.spawn(pending::<()>());
        begins();
        set.join_next().unwrap().is_err()
    }),
    ("scope", |pool, begins| {
        let waits = pool.in_place_scope(|s| {
            let future = s.spawn(pending::<()>());
            begins();
            future.join().is_err()
        });
        waits.unwrap()
    }),
];

/// Caught: the pool waited for the work, which waited for a future that only the end of the pool ends.
#[test(threads in [1, 2])]
fn off_pool_work_may_await_a_pending_future(threads: usize) {
    for ((way, off_pool), (name, wait)) in
        OFF_THE_POOL.into_iter().flat_map(|way| WAITS_FOREVER.map(|wait| (way, wait)))
    {
        println!("{way} waits by {name}");
        let (drops, gate, begun) = (Drops::default(), Gate::closed(), Gate::closed());
        let mut builder = Pool::builder().threads(threads);
        if way == "a job of its caller" {
            builder = builder.capacity(1).when_full(WhenFull::RunInCaller);
        }
        let pool = builder.build().unwrap();
        (0..threads).for_each(|_| drop(held(&pool, &gate)));
        let job = pool.submit(|| {
            let drops = Drops::default();
            pair(&drops).into_iter().for_each(|future| drop(spawn(future)));
            let is_cancelled = spawn(pending::<()>()).join().is_err();
            (is_cancelled, drops)
        });
        let (handle, begins, token) = (pool.handle(), begun.clone(), drops.token());
        let work = Box::new(move || {
            let _token = &token;
            assert!(wait(handle, &|| begins.open()));
        });
        let outside = std::thread::spawn(move || off_pool(handle, work));
        begun.wait();
        gate.open();
        drop(pool);
        let (is_cancelled, busy) = job.join().unwrap();
        outside.join().unwrap();
        assert_eq!((is_cancelled, busy.count(), drops.count()), (true, 2, 1));
    }
}

/// The work ends, and may wake the future by then.
#[test]
fn polls_continue_beside_off_pool_work() {
    let waits: [fn(&Gate); 2] = [Gate::wait, |gate| {
        while !gate.is_open() {
            block_on(brigade::time::sleep(Duration::from_micros(100)));
        }
    }];
    for wait in waits {
        let (pool, drops, polls) = (Pool::new(2), Drops::default(), Arc::default());
        let [gate, begun, goes_on] = [(); 3].map(|()| Gate::closed());
        occupy(&pool, &gate);
        let (ends, begins) = (goes_on.clone(), begun.clone());
        let captures = OnDrop(move || {
            begins.open();
            wait(&ends);
        });
        let queued = pool.submit(|| drop(captures));
        let outside = std::thread::spawn(move || queued.cancel());
        begun.wait();
        pair(&drops).into_iter().for_each(|future| drop(pool.spawn(counted(future, &polls))));
        let job = pool.submit(|| spawn(pending::<()>()).join().is_err());
        pool.close();
        gate.open();
        let before = polls.load(Relaxed);
        eventually("they are polled", || polls.load(Relaxed) > before + 1000);
        assert_eq!(drops.count(), 0);
        goes_on.open();
        drop(pool);
        assert!(job.join().unwrap() && outside.join().unwrap());
        assert_eq!(drops.count(), 2);
    }
}
