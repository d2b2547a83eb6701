//! rayon, threadpool, rusty_pool.

use brigade::Shutdown;

/// Typed: `use brigade::ThreadPool`, `ThreadPool::new(4)`, `pool.join()`.
#[test]
fn a01_a_thread_pool_joins_by_wait_idle() {
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

/// The closures borrow, and an error that is boxed may not: it is the reason alone.
fn borrows(pool: &brigade::Pool) -> anyhow::Result<Vec<u32>> {
    let mut numbers = vec![1, 2, 3];
    pool.install(|| numbers.push(4))?;
    pool.scope(|s| numbers.iter_mut().for_each(|number| s.execute(|| *number += 1)))?;
    pool.in_place_scope(|s| numbers.iter_mut().for_each(|number| s.execute(|| *number += 1)))?;
    let (left, right) = numbers.split_at_mut(2);
    pool.install(|| brigade::join(|| left[0] = 0, || right[0] = 0))?;
    Ok(numbers)
}

#[test]
fn borrowing_works_with_boxed_errors() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = brigade::Pool::new(2);
    assert_eq!(borrows(&pool)?, [0, 4, 0, 6]);
    let numbers = [1, 2, 3];
    assert_eq!(pool.install(|| numbers.iter().sum::<i32>())?, 6);
    pool.close();
    let error = borrows(&pool).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&brigade::Reason::Closed));
    Ok(())
}

/// Typed: `pool.scope(|s| for x in &mut v { s.spawn(move |_| *x += 1); })`. `spawn` takes futures.
#[test]
fn a04_a_scope_executes_closures() -> std::io::Result<()> {
    let mut v = vec![1, 2, 3];
    let pool = brigade::Pool::new(2);
    pool.scope(|s| {
        for x in &mut v {
            s.execute(move || *x += 1);
        }
    })?;
    assert_eq!(v, [2, 3, 4]);
    Ok(())
}

/// Typed: `pool.install(|| v.iter().sum())`. The pool may have been closed.
#[test]
fn a05_install_returns_a_result() -> std::io::Result<()> {
    let v = vec![1, 2, 3];
    let pool = brigade::Pool::new(2);
    let s: i32 = pool.install(|| v.iter().sum())?;
    assert_eq!(s, 6);
    Ok(())
}

/// Typed: `Builder::new()`.
#[test]
fn a07_a_builder_is_pool_builder() {
    let pool = brigade::Pool::builder().threads(2).build().unwrap();
    pool.execute(|| ());
    assert_eq!(pool.size(), 2..=2);
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

/// Typed: `.num_threads(2).thread_name("w".into())`.
#[test]
fn a08_thread_counts_and_names_are_settings() {
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
