//! `#[brigade::main]` and `#[brigade::test]` run an `async fn` on a pool of its own.
#![forbid(unsafe_code)]

use brigade::{Handle, JoinError};

#[brigade::test]
async fn a_test_spawns_on_its_own_pool() {
    let Some(here) = Handle::current() else { panic!("the test has entered a pool") };
    assert_ne!(here, brigade::default_pool().handle());
    assert_eq!(brigade::spawn(async { Handle::current() }).await.unwrap(), Some(here));
}

/// An attribute and a result are passed on.
#[brigade::test(threads = 3)]
#[should_panic(expected = "as it should")]
async fn a_test_may_panic() {
    assert_eq!(Handle::current().map(|pool| pool.size()), Some(3..=3));
    panic!("as it should");
}

#[brigade::test(threads = 1)]
async fn a_test_may_return_a_result() -> Result<(), JoinError> {
    assert_eq!(brigade::submit(|| 6 * 7).await?, 42);
    Ok(())
}

#[derive(Debug)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

/// The body is checked against the result, so its values are coerced to that as in any function.
#[brigade::main(threads = 1)]
async fn error_of_a_program() -> Result<Box<dyn Fn() -> u8>, Box<dyn std::error::Error>> {
    if std::hint::black_box(true) {
        return Err(Box::new(Failed));
    }
    Ok(Box::new(|| 0))
}

#[test]
fn a_result_is_coerced_to_its_type() {
    assert_eq!(error_of_a_program().err().map(|error| error.to_string()), Some("failed".into()));
}

/// The week is virtual, and all runs on this thread.
#[cfg(feature = "test-util")]
#[brigade::test(paused)]
async fn the_clock_of_a_test_may_be_paused() -> Result<(), JoinError> {
    use brigade::time::{advance, now, sleep};
    const WEEK: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);
    let (begun, thread) = (now(), std::thread::current().id());
    sleep(WEEK).await;
    advance(WEEK).await;
    assert_eq!(now() - begun, 2 * WEEK);
    assert_eq!(brigade::submit(|| std::thread::current().id()).await?, thread);
    Ok(())
}

const MOST: usize = 3;

#[brigade::test(threads = 1..=MOST)]
async fn the_thread_count_may_be_any_expression() {
    assert_eq!(Handle::current().map(|pool| pool.size()), Some(1..=3));
}

#[brigade::main(threads = 2)]
async fn main_of_a_program() -> usize {
    *Handle::current().unwrap().size().end()
}

#[test]
fn the_main_function_is_a_plain_one() {
    let main: fn() -> usize = main_of_a_program;
    assert_eq!(main(), 2);
}
