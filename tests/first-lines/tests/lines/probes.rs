//! Lines that were typed to see what happens.

use std::sync::mpsc;
use std::time::Duration;

use brigade::{Pool, Shutdown, time};

/// Typed: a pool that is dropped while a future sleeps, `shutdown_timeout(Shutdown::Drain, ..)`, `pool.execute_after(..)`.
/// What has not begun to run at the end is finished if that is asked for.
#[test]
fn f01_a_sleeping_future_is_dropped_or_finished() -> std::io::Result<()> {
    let pool = Pool::new(2);
    let sleeps = pool.spawn(time::sleep(Duration::from_secs(3600)));
    drop(pool);
    assert!(sleeps.join().unwrap_err().is_cancelled());

    let pool = Pool::new(2);
    let sleeps = pool.spawn(time::sleep(Duration::from_millis(20)));
    let report = pool.shutdown(Shutdown::Finish.timeout(Duration::from_secs(60)));
    assert_eq!(report.ran, 1);
    sleeps.join()?;

    let pool = Pool::new(2);
    let (ran, runs) = mpsc::channel::<()>();
    pool.job().after(Duration::from_secs(3600)).execute(move || ran.send(()).unwrap())?;
    drop(pool);
    assert!(runs.recv().is_err(), "it was dropped");
    Ok(())
}

/// Typed with tokio's rule in mind: what `block_on` runs spawns to the pool whose method it is. The free function has none on
/// this thread, and a worker's pool on a worker.
#[test]
fn f02_block_ons_pool_is_the_named_one() {
    let pool = Pool::builder().threads(1).name(|_| "mine".into()).build().unwrap();
    let name = || std::thread::current().name().map(String::from);
    let mine = Some("mine".to_owned());

    let spawned = pool.block_on(async move { brigade::spawn(async move { name() }).await });
    assert_eq!(spawned.unwrap(), mine);
    let spawned = brigade::block_on(async move { brigade::spawn(async move { name() }).await });
    assert_ne!(spawned.unwrap(), mine, "the default pool");
    let job = move || brigade::block_on(async move { brigade::spawn(async move { name() }).await });
    assert_eq!(pool.submit(job).join().unwrap().unwrap(), mine);
}

/// Typed: `m.workers()`. It is a field.
#[test]
fn f03_a_panic_is_counted_and_contained() {
    let pool = Pool::new(1);
    let h = pool.submit(|| -> i32 { panic!("lost") });
    drop(h);
    pool.wait_idle();
    assert_eq!(pool.metrics().panicked, 1);
    assert_eq!(pool.submit(|| 1).join().unwrap(), 1);
    assert_eq!(pool.metrics().workers.len(), 1);
}

#[cfg(unix)]
#[test]
fn h01_ctrl_c() -> anyhow::Result<()> {
    use brigade::io::Async;
    use futures_lite::AsyncReadExt;
    use std::os::unix::net::UnixStream;
    let pool = brigade::Pool::new(2);
    let (near, far) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, far)?;
    let stop = pool.spawn(async move {
        let mut near = Async::new(near)?;
        near.read_exact(&mut [0]).await?;
        std::io::Result::Ok(())
    });
    signal_hook::low_level::raise(signal_hook::consts::SIGINT)?;
    stop.join()??;
    assert_eq!(pool.shutdown(brigade::Shutdown::Drain).ran, 1);
    Ok(())
}

#[test]
fn i01_readme() {
    let pool = brigade::Pool::new(4);
    let answer = pool.submit(|| 6 * 7); // a closure
    let twice = pool.spawn(async { answer.await.unwrap() * 2 }); // a future, the same kind of handle
    assert_eq!(twice.join().unwrap(), 84);
    let full = brigade::Pool::builder().threads(1).capacity(2).build().unwrap();
    for _ in 0..10 {
        full.execute(|| std::thread::sleep(Duration::from_millis(1)));
    }
    full.spawn(async {});
    assert_eq!(full.shutdown(Shutdown::Drain).ran, 11, "a full pool blocks");
}
