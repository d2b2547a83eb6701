//! Timers, I/O, and waits for the pool.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Log, local_pool};
use brigade::{JoinError, Shutdown, time};
use brigade_testkit::Watchdog;

const SOON: Duration = Duration::from_millis(20);

#[test]
fn timers_fire_while_the_owner_waits_and_in_later_calls() {
    let _dog = Watchdog::start(60);
    let (pool, log, begin) = (local_pool(), Log::default(), Instant::now());
    let (first, second) = (log.clone(), log.clone());
    pool.handle().job().after(SOON).execute(move || first.note(1)).unwrap();
    pool.run_until(time::sleep(2 * SOON));
    pool.run_until_idle();
    assert!(begin.elapsed() >= 2 * SOON);
    assert_eq!(log.take(), [1]);
    pool.handle().job().after(SOON).execute(move || second.note(2)).unwrap();
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
    let _dog = Watchdog::start(60);
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

/// Caught: waits of the owner for what nothing but the owner runs.
#[test]
fn a_wait_of_the_owner_outside_of_a_call_ends() {
    let _dog = Watchdog::start(30);
    let (pool, log) = (local_pool(), Log::default());
    let handle = pool.handle();
    let note = log.clone();
    let job = handle.submit(move || note.note(1));
    assert!(matches!(job.join(), Err(JoinError::WouldDeadlock)));
    handle.wait_idle();
    assert!(!handle.wait_idle_timeout(Duration::MAX));
    assert_eq!(handle.shutdown(Shutdown::Drain).still_running, 1);
    assert!(log.take().is_empty());
    pool.run_until_idle();
    assert_eq!(log.take(), [1]);
}

#[test]
fn a_wait_of_another_thread_ends_with_a_call() {
    let _dog = Watchdog::start(60);
    let pool = local_pool();
    let handle = pool.handle();
    let (told, tells) = mpsc::channel();
    let other = thread::spawn(move || {
        let job = handle.submit(|| 42);
        told.send(()).unwrap();
        let answer = job.join().unwrap();
        handle.wait_idle();
        answer
    });
    tells.recv().unwrap();
    while !other.is_finished() {
        pool.run_until_idle();
    }
    assert_eq!(other.join().unwrap(), 42);
}

#[test]
fn the_pool_is_not_idle_while_its_owner_waits_for_a_future() {
    let _dog = Watchdog::start(60);
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
