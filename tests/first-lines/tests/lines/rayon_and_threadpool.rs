//! rayon, threadpool, rusty_pool.

use brigade::Shutdown;

/// Typed: `use brigade::ThreadPool`, `ThreadPool::new(4)`, `pool.join()`.
#[test]
fn a01_a_thread_pool_is_a_pool_and_its_join_is_wait_idle() {
    use brigade::Pool;
    let pool = Pool::new(4);
    pool.execute(|| println!("hi"));
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 1);
}

#[test]
fn a02_default() {
    let pool = brigade::Pool::default();
    pool.execute(|| println!("hi"));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

/// Typed: `pool.spawn(|| println!("hi"))`. `spawn` takes futures.
#[test]
fn a03_a_closure_is_executed() {
    let pool = brigade::Pool::new(2);
    pool.execute(|| println!("hi"));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test]
fn a07_builder_new() {
    let pool = brigade::Builder::new().threads(2).build().unwrap();
    pool.execute(|| ());
    assert_eq!(pool.size(), 2..=2);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

/// Typed: `.num_threads(2).thread_name("w".into())`.
#[test]
fn a08_the_number_of_threads_is_threads_and_their_name_is_name() {
    let pool = brigade::Pool::builder().threads(2).name("w").build().unwrap();
    pool.execute(|| ());
    let name = pool.submit(|| std::thread::current().name().map(String::from)).join().unwrap();
    assert!(name.is_some_and(|name| name.starts_with("w-")));
}

/// Typed with threads that are not joined: then the pool may end first, and `execute` panics there. A clone is a handle, and
/// does not keep the pool alive.
#[test]
fn a09_clone() {
    let pool = brigade::Pool::new(2);
    let mut threads = Vec::new();
    for _ in 0..3 {
        let pool = pool.clone();
        threads.push(std::thread::spawn(move || pool.execute(|| ())));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 3);
}

#[test]
fn a10_name_str() {
    let pool = brigade::Pool::builder().name("worker").build().unwrap();
    pool.execute(|| ());
    let name = pool.submit(|| std::thread::current().name().map(String::from)).join().unwrap();
    assert!(name.is_some_and(|name| name.starts_with("worker-")));
}

#[test]
fn a11_broadcast() {
    let (said, says) = std::sync::mpsc::channel();
    let pool = brigade::Pool::new(2);
    pool.broadcast(move |i| said.send(i).unwrap());
    let mut threads: Vec<usize> = says.iter().collect();
    threads.sort();
    assert_eq!(threads, [0, 1]);
}

/// Typed: `.threads(1..4)`. The last number belongs to the range.
#[test]
fn a12_a_range_of_threads_has_its_end() {
    let pool = brigade::Pool::builder().threads(1..=3).build().unwrap();
    pool.execute(|| ());
    assert_eq!(pool.size(), 1..=3);
}
