//! Lines of a newcomer who has read the front page.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use brigade::{LocalPool, Pool, TaskSet};

const SOON: Duration = Duration::from_millis(1);

#[test]
fn g01_time_is_at_the_root() {
    let begun = Instant::now();
    brigade::block_on(async {
        brigade::sleep(SOON).await;
        assert!(brigade::timeout(SOON, std::future::pending::<()>()).await.is_err());
        brigade::interval(SOON).tick().await;
    });
    assert!(begun.elapsed() >= 3 * SOON);
}

#[test]
fn g02_a_shutdown_takes_a_time() {
    let pool = Pool::new(2);
    pool.execute(|| ());
    assert_eq!(pool.shutdown(Duration::from_secs(60)).ran, 1);
}

#[test]
fn g03_an_immutable_handle_cancels() {
    let pool = Pool::new(1);
    let h = pool.spawn(std::future::pending::<()>());
    assert!(h.cancel());
    assert!(h.join().unwrap_err().is_cancelled());
}

/// Typed: `for n in set`.
#[test]
fn g04_a_set_needs_no_pool_and_is_iterated() -> Result<(), brigade::JoinError> {
    let mut set = TaskSet::default();
    for n in 0..3 {
        set.submit(move || n);
    }
    let mut sum = 0;
    for n in set.outcomes() {
        sum += n?;
    }
    assert_eq!(sum, 3);
    Ok(())
}

#[test]
fn g05_a_closure_is_told_of_panics() -> std::io::Result<()> {
    let (told, tells) = mpsc::channel();
    let pool = Pool::builder().threads(1).on_panic(move |p| told.send(p).unwrap()).build()?;
    pool.execute(|| panic!("oh"));
    assert_eq!(tells.recv().unwrap().downcast_ref(), Some(&"oh"));
    Ok(())
}

/// Typed: `pool.par_for(..)`.
#[test]
fn g06_loops_run_over_slices_on_any_pool() -> std::io::Result<()> {
    let (pool, words, letters) = (Pool::new(2), vec!["to", "borrow"], AtomicUsize::new(0));
    brigade::par_for(&words, 1, |w| _ = letters.fetch_add(w.len(), Ordering::Relaxed));
    pool.install(|| {
        brigade::par_for(&words, 1, |w| _ = letters.fetch_add(w.len(), Ordering::Relaxed))
    })?;
    assert_eq!(letters.into_inner(), 16);
    assert_eq!(brigade::map_reduce(&words, 1, |w| w.len(), |a, b| a + b), Some(8));
    Ok(())
}

/// Typed: `pool.execute_after(..)`.
#[test]
fn g07_a_pool_executes_later() {
    let (pool, (sender, receiver)) = (Pool::new(1), mpsc::channel());
    pool.job().after(SOON).execute(move || sender.send(42).unwrap()).unwrap();
    assert_eq!(receiver.recv(), Ok(42));
}

/// As an event handler of a user interface does it, on the thread that owns the pool.
#[test]
fn g08_a_local_pool_spawns_and_blocks() -> std::io::Result<()> {
    let ui = LocalPool::new()?;
    let clicks = std::rc::Rc::new(std::cell::Cell::new(0));
    let click =
        |clicks: std::rc::Rc<std::cell::Cell<i32>>| async move { clicks.set(clicks.get() + 1) };
    ui.spawn_local(click(clicks.clone()));
    ui.handle().enter(|| brigade::spawn_local(click(clicks.clone())));
    ui.run_until_idle();
    assert_eq!(clicks.get(), 2);
    let job = ui.handle().block_on(async { brigade::submit(|| 1).await });
    assert_eq!(job.unwrap(), 1);
    Ok(())
}

/// A `main` that returns such an error prints it like this.
#[test]
fn g09_errors_advise_where_main_returns_them() -> std::io::Result<()> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let error = brigade::io::TcpListener::new(listener).unwrap_err();
    assert!(format!("{error:?}").contains("inside `Handle::enter`"), "{error:?}");
    let handle = Pool::new(2).handle();
    let late = handle.try_execute(|| ()).unwrap_err();
    assert!(format!("{late:?}").contains("a `Handle` does not keep its pool alive"), "{late:?}");
    Ok(())
}

/// What a mistake says when it panics.
#[test]
fn g10_mistakes_say_what_to_do() {
    fn says(mistake: impl FnOnce()) -> String {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(mistake)).unwrap_err();
        let text = payload.downcast_ref::<&str>().copied().map(String::from);
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
    }
    let pool = Pool::new(1);
    let after = || _ = pool.job().deadline(Instant::now()).after(SOON);
    let taken = || {
        let mut job = pool.submit(|| 1);
        brigade::block_on(async { _ = ((&mut job).await, (&mut job).await) });
    };
    let twice = || {
        let mut job = pool.submit(|| 1);
        while job.try_join().is_none() {}
        _ = job.join();
    };
    for (said, expected) in [
        (says(|| _ = Pool::new(0)), "must be 1 to 4096, not 0 (`Pool::default()` uses all CPUs)"),
        (says(|| _ = brigade::interval(Duration::ZERO)), "the period must be greater than zero"),
        (says(|| brigade::par_chunks(&[1], 0, |_, _| ())), "the chunk length must be at least 1"),
        (says(after), "a deadline can't be combined with `after`, `at` or `every`"),
        (says(taken), "`JoinHandle` polled after completion"),
        (says(twice), "`JoinHandle` used after its result was taken"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
