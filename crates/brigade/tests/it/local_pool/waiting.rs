//! Timers, I/O, and waits for the pool.

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Log, local_pool};
use brigade::{LocalPool, Pool, Shutdown, TaskSet, block_on, time};
use brigade_testkit::test;

const SOON: Duration = Duration::from_millis(20);

#[test]
fn timers_fire_in_this_and_later_waits() {
    let (pool, log, begin) = (local_pool(), Log::default(), Instant::now());
    pool.handle().job().after(SOON).execute(log.job(1)).unwrap();
    pool.run_until(time::sleep(2 * SOON));
    pool.run_until_idle();
    assert!(begin.elapsed() >= 2 * SOON);
    assert_eq!(log.take(), [1]);
    pool.handle().job().after(SOON).execute(log.job(2)).unwrap();
    pool.run_until_idle();
    while log.take().is_empty() {
        pool.tick();
    }
    assert!(begin.elapsed() >= 3 * SOON);
}

#[cfg(feature = "io")]
#[test]
fn sockets_are_read_while_the_owner_waits() {
    use brigade::io::{TcpListener, TcpStream};
    use futures::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let pool = local_pool();
    let received = pool.run_until(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = brigade::spawn_local(async move {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"hello").await
        });
        let mut received = String::new();
        TcpStream::connect(address).await?.read_to_string(&mut received).await?;
        server.await??;
        Ok::<_, std::io::Error>(received)
    });
    assert_eq!(received.unwrap(), "hello");
}

/// The pool's jobs and futures in each way in which its owner may wait for them outside of a call.
#[test]
fn each_wait_of_the_owner_runs_the_pool() {
    let pool = local_pool();
    let soon = || async { time::sleep(Duration::from_millis(1)).await };
    assert_eq!(pool.submit(|| 1).join().unwrap(), 1);
    pool.spawn(soon()).join().unwrap();
    let local = Rc::new(2);
    assert_eq!(pool.spawn_local(async move { *local }).join().unwrap(), 2);
    let mut set = TaskSet::new(pool.handle());
    (0..4).for_each(|_| _ = set.spawn(soon()));
    assert_eq!(set.outcomes().count(), 4);
    let borrowed = AtomicU32::new(3);
    let borrows = async { _ = borrowed.fetch_add(1, Ordering::Relaxed) };
    pool.in_place_scope(|s| _ = s.spawn(borrows)).unwrap();
    assert_eq!(borrowed.into_inner(), 4);
    assert_eq!(pool.block_on(async { brigade::spawn(async { 5 }).await }).unwrap(), 5);
    assert_eq!(block_on(pool.submit(|| 6)).unwrap(), 6);
    assert_eq!(block_on(async { brigade::spawn_local(async { 7 }).await }).unwrap(), 7);
    assert_eq!(pool.install(|| brigade::join(|| 8, || 9)).unwrap(), (8, 9));
}

#[test]
fn the_owners_wait_for_another_pool_runs_its_own() {
    let (pool, other) = (local_pool(), Pool::new(1));
    let local = pool.handle();
    let ask = move || local.submit(|| 42).join().unwrap();
    assert_eq!(other.submit(ask).join().unwrap(), 42);
    assert_eq!(other.install(ask).unwrap(), 42);
    assert_eq!(other.block_on(async move { local.spawn(async { 43 }).await }).unwrap(), 43);
    let asks = other.spawn(async move { local.submit(|| 44).await.unwrap() });
    assert_eq!(block_on(asks).unwrap(), 44);
}

/// Each way in which a future waits for jobs of the pool.
fn await_jobs_of(pool: &LocalPool) {
    let jobs = || {
        let mut set = TaskSet::new(pool.handle());
        set.submit(|| 1);
        let job = pool.submit(|| 2);
        async move { set.join_next_async().await.unwrap().unwrap() + job.await.unwrap() }
    };
    assert_eq!(block_on(pool.submit(|| 1)).unwrap(), 1);
    assert_eq!(block_on(jobs()), 3);
    // Polled with another waker than that of the `block_on`.
    assert_eq!(block_on(futures::future::join_all([jobs(), jobs()])), [3, 3]);
    let (one, other) = (Pool::new(1), Pool::new(1));
    let both = async { one.submit(|| 1).await.unwrap() + jobs().await };
    assert_eq!(block_on(both), 4);
    assert_eq!(other.block_on(jobs()), 3);
    let never = pool.spawn(std::future::pending::<()>());
    pool.close();
    assert!(block_on(never).unwrap_err().is_cancelled());
}

/// Caught: the worker, or the newest `LocalPool`, was all that the thread ran.
#[test]
fn block_on_runs_the_pools_of_awaited_handles() {
    let (older, newer) = (local_pool(), local_pool());
    await_jobs_of(&older);
    await_jobs_of(&newer);
    let workers = Pool::new(2);
    workers.submit(|| await_jobs_of(&local_pool())).join().unwrap();
    workers.spawn(async { await_jobs_of(&local_pool()) }).join().unwrap();
    let owns_two = || {
        let (older, _newer) = (local_pool(), local_pool());
        await_jobs_of(&older);
    };
    workers.submit(owns_two).join().unwrap();
}

/// Nothing in the pool runs on any other thread.
#[test]
fn foreign_installs_run_on_the_owners_thread() {
    let (pool, owner) = (local_pool(), thread::current().id());
    let handle = pool.handle();
    let other = thread::spawn(move || {
        let on_owner = || thread::current().id() == owner;
        let forks = || brigade::join(on_owner, on_owner);
        let count = AtomicU32::new(0);
        let counts = || _ = count.fetch_add(u32::from(on_owner()), Ordering::Relaxed);
        handle.scope(|s| (0..3).for_each(|_| s.execute(counts))).unwrap();
        (handle.install(forks).unwrap(), count.into_inner())
    });
    while !other.is_finished() {
        pool.tick();
    }
    assert_eq!(other.join().unwrap(), ((true, true), 3));
}

/// For what nothing but the owner ends.
#[test]
fn the_owner_waits_for_no_end_of_its_pool() {
    let (pool, log) = (local_pool(), Log::default());
    pool.execute(log.job(1));
    pool.wait_idle();
    assert!(!pool.wait_idle_timeout(Duration::MAX));
    assert_eq!(pool.shutdown(Shutdown::Drain).still_running, 1);
    assert!(log.take().is_empty());
    pool.run_until_idle();
    assert_eq!(log.take(), [1]);
}

#[test]
fn a_pool_blocked_on_a_future_is_not_idle() {
    let pool = local_pool();
    let handle = pool.handle();
    assert!(handle.wait_idle_timeout(Duration::ZERO));
    let (go, goes) = async_channel::bounded::<()>(1);
    let other = thread::spawn(move || {
        handle.submit(|| ()).join().unwrap();
        let was_idle = handle.wait_idle_timeout(SOON);
        drop(go);
        was_idle
    });
    assert!(pool.run_until(goes.recv()).is_err());
    assert!(!other.join().unwrap());
}
