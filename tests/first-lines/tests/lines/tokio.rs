//! tokio.

use std::sync::mpsc;

#[test]
fn b01_main_macro() {
    #[brigade::main]
    async fn main() {
        println!("hi");
        assert!(brigade::Handle::current().is_some());
    }
    main();
}

#[test]
fn b02_block_on_method() {
    let pool = brigade::Pool::new(2);
    pool.block_on(async {
        println!("hi");
        assert_eq!(brigade::Handle::current(), Some(pool.handle()));
    });
}

#[test]
fn b03_spawn_await() {
    let one = brigade::block_on(async {
        let h = brigade::spawn(async { 1 });
        h.await.unwrap()
    });
    assert_eq!(one, 1);
}

#[deny(warnings)]
#[test]
fn b04_spawn_forget() {
    let (sender, receiver) = mpsc::channel();
    brigade::block_on(async {
        brigade::spawn(async move { sender.send("in the background").unwrap() });
    });
    assert_eq!(receiver.recv(), Ok("in the background"));
}

/// Typed: `brigade::spawn_blocking(|| 1)`. If the closure blocks for long: `brigade::submit(|| brigade::blocking(..))`.
#[test]
fn b05_a_closure_is_submitted() {
    brigade::block_on(async {
        assert_eq!(brigade::submit(|| 1).await.unwrap(), 1);
        assert_eq!(brigade::submit(|| brigade::blocking(|| 2)).await.unwrap(), 2);
    });
}

#[test]
fn b06_bind_str() -> std::io::Result<()> {
    brigade::block_on(async {
        let l = brigade::io::TcpListener::bind("127.0.0.1:0").await?;
        assert_ne!(l.local_addr()?.port(), 0);
        Ok(())
    })
}

#[test]
fn b07_connect_str() -> std::io::Result<()> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let name: &str = &format!("localhost:{}", listener.local_addr()?.port());
    brigade::block_on(async {
        let s = brigade::io::TcpStream::connect(name).await?;
        assert_eq!(s.peer_addr()?, listener.local_addr()?);
        Ok(())
    })
}

#[test]
fn b08_timeout_io() -> std::io::Result<()> {
    use std::time::Duration;
    brigade::block_on(async {
        let ready = async { std::io::Result::Ok(1_usize) };
        let n: usize = brigade::time::timeout(Duration::from_secs(60), ready).await??;
        assert_eq!(n, 1);
        Ok(())
    })
}

/// Typed: `set.spawn(async { 1 }).unwrap()`. It returns nothing; `try_spawn` returns a result.
#[test]
fn b09_a_task_set_is_a_join_set() {
    let pool = brigade::Pool::new(2);
    let mut set = brigade::TaskSet::new(pool.handle());
    set.spawn(async { 1 });
    assert_eq!(set.join_next().unwrap().unwrap(), 1);
}

#[test]
fn b10_anyhow_join() -> anyhow::Result<()> {
    let pool = brigade::Pool::new(2);
    let n = pool.submit(|| 1).join()?;
    assert_eq!(n, 1);
    Ok(())
}

/// Typed: `brigade::execute(..)?`. `execute` panics if the pool accepts nothing; what returns that is `try_execute`.
#[test]
fn b11_a_rejected_job_fits_anyhow() -> anyhow::Result<()> {
    let (s, r) = mpsc::channel::<i32>();
    brigade::try_execute(move || {
        r.recv().ok();
    })?;
    drop(s);
    Ok(())
}

/// Typed: `brigade::spawn(work())?`.
#[test]
fn b12_a_rejected_future_fits_anyhow() -> anyhow::Result<()> {
    async fn work() -> i32 {
        let c = std::cell::Cell::new(1);
        brigade::yield_now().await;
        c.get()
    }
    let h = brigade::try_spawn(work())?;
    assert_eq!(brigade::block_on(h)?, 1);
    Ok(())
}

#[test]
fn b13_cancel_handle() {
    let pool = brigade::Pool::new(1);
    let h = pool.spawn(std::future::pending::<()>());
    let a = h.cancel_handle();
    a.cancel();
    assert!(h.join().unwrap_err().is_cancelled());
}

/// Typed: `brigade::spawn(..).unwrap().await.unwrap()`.
#[test]
fn b14_enter_spawn() {
    let pool = brigade::Pool::builder().threads(1).name(|_| "mine".into()).build().unwrap();
    let name = pool.handle().enter(|| {
        brigade::block_on(async {
            brigade::spawn(async { std::thread::current().name().map(String::from) }).await.unwrap()
        })
    });
    assert_eq!(name.as_deref(), Some("mine"));
}

#[test]
fn b15_is_panic() {
    let program = || {
        let pool = brigade::Pool::new(1);
        let e = pool.submit(|| panic!("x")).join().unwrap_err();
        if e.is_panic() {
            std::panic::resume_unwind(e.into_panic());
        }
    };
    let payload = std::panic::catch_unwind(program).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"x"));
}

#[test]
fn b16_joinerr_io() -> std::io::Result<()> {
    let pool = brigade::Pool::new(1);
    let n = pool.submit(|| 1).join()?;
    assert_eq!(n, 1);
    Ok(())
}
