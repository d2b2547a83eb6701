//! futures, executors, and libraries that take a pool.

use brigade::Shutdown;

#[test]
fn c01_futures_spawn() {
    use futures_task::{FutureObj, Spawn};
    fn lib(s: &dyn Spawn) {
        s.spawn_obj(FutureObj::new(Box::new(async { println!("ran") }))).unwrap();
    }
    let pool = brigade::Pool::new(1);
    lib(&pool.handle());
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test]
fn c02_pool_is_spawn() {
    use futures_task::{FutureObj, Spawn};
    fn lib(s: &dyn Spawn) {
        s.spawn_obj(FutureObj::new(Box::new(async { println!("ran") }))).unwrap();
    }
    let pool = brigade::Pool::new(1);
    lib(&pool);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

/// Typed: `pool.into().execute(|| ()).unwrap()`. `execute` returns nothing.
#[test]
fn c03_into_handle() {
    fn lib(pool: impl Into<brigade::Handle>) {
        pool.into().execute(|| ());
    }
    let pool = brigade::Pool::new(1);
    lib(&pool);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test]
fn c04_dyn_closures() {
    fn lib(run: &dyn Fn(Box<dyn FnOnce() + Send>)) {
        run(Box::new(|| println!("ran")));
    }
    let pool = brigade::Pool::new(1);
    lib(&|job| pool.execute(job));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test]
fn c05_handle_metrics() {
    let pool = brigade::Pool::new(1);
    let h = pool.handle();
    let thread = std::thread::spawn(move || {
        assert_eq!(h.metrics().accepted, 0);
        h.wait_idle()
    });
    assert!(thread.join().unwrap());
}
