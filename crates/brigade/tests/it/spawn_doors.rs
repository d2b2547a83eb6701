//! Spawning by the traits of other crates.

#[cfg(feature = "futures")]
#[test]
fn a_handle_spawns_by_the_trait_of_futures_until_its_pool_is_closed() {
    use futures_task::Spawn;
    let _dog = crate::watchdog::Watchdog::start(20);
    let pool = brigade::Pool::new(1);
    let (handle, (sent, received)) = (pool.handle(), std::sync::mpsc::channel());
    let spawn: &dyn Spawn = &handle;
    assert!(spawn.status().is_ok());
    let future = Box::new(async move { sent.send(42).unwrap() });
    spawn.spawn_obj(future.into()).unwrap();
    assert_eq!(received.recv(), Ok(42));
    pool.close();
    assert!(spawn.status().is_err_and(|error| error.is_shutdown()));
    assert!(spawn.spawn_obj(Box::new(async {}).into()).is_err());
}

#[cfg(feature = "hyper")]
#[test]
fn a_handle_is_an_executor_of_hypers() {
    use hyper::rt::Executor;
    let _dog = crate::watchdog::Watchdog::start(20);
    let pool = brigade::Pool::new(1);
    let (sent, received) = std::sync::mpsc::channel();
    Executor::execute(&pool.handle(), async move { sent.send(42).unwrap() });
    assert_eq!(received.recv(), Ok(42));
    pool.close();
    Executor::execute(&pool.handle(), async { unreachable!("it is closed") });
}
