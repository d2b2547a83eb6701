//! The tests of `brigade::sim`: what a run has, and how it fails.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{env, thread};

use brigade::sim::sync::{self, Condvar};
use brigade::{Pool, sim};

const SEEDS: u64 = 50;

/// A test and its name.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("a_run_has_pools_threads_channels_and_the_default_pool", has_all),
    ("time_is_virtual", time_is_virtual),
    ("a_seed_repeats_its_run", repeats),
    ("a_failure_says_the_seed_and_the_reason", says_the_seed),
    ("the_panic_of_a_job_is_its_outcome", is_an_outcome),
    ("a_deadlock_names_the_threads", names_the_threads),
    ("a_run_follows_a_failed_run", follows_a_failure),
    ("runs_of_two_threads_take_turns", take_turns),
    ("outside_of_a_run_is_an_error", outside),
    ("a_thread_of_std_inside_is_an_error", thread_of_std),
    ("a_handle_of_another_run_is_rejected", another_run),
    ("a_run_in_a_run_is_an_error", nested),
    ("a_wait_for_std_ends_the_process", hang),
];

/// Runs the tests, or the program that hangs.
pub(crate) fn tests(arguments: &[&str]) -> ExitCode {
    if arguments == ["sim", "hang"] {
        hanging();
        return ExitCode::SUCCESS;
    }
    // Panics are expected.
    panic::set_hook(Box::new(|_| ()));
    for (name, test) in TESTS {
        if let Err(payload) = panic::catch_unwind(test) {
            println!("sim: {name} failed: {}", text(&*payload));
            return ExitCode::FAILURE;
        }
    }
    println!("{} tests of brigade::sim: no failure", TESTS.len());
    ExitCode::SUCCESS
}

/// The message of a panic.
fn message(call: impl FnOnce()) -> String {
    text(&*panic::catch_unwind(AssertUnwindSafe(call)).expect_err("it must panic"))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let formatted = payload.downcast_ref::<String>().map(String::as_str);
    formatted.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message").into()
}

fn has_all() {
    sim::explore(0..SEEDS, || {
        let count = Arc::new(sync::Mutex::new(0));
        let (sender, receiver) = sync::mpsc::channel();
        let in_job = count.clone();
        brigade::execute(move || {
            *in_job.lock().unwrap() += 1;
            sender.send(()).unwrap();
        });
        let pool = Pool::new(2);
        let in_thread = (count.clone(), pool.handle());
        let thread = sim::thread::spawn(move || {
            let (count, pool) = in_thread;
            pool.submit(move || *count.lock().unwrap() += 1).join().unwrap();
        });
        receiver.recv().unwrap();
        thread.join().unwrap();
        assert_eq!(pool.block_on(brigade::spawn(async { 7 })).unwrap(), 7);
        assert_eq!(*count.lock().unwrap(), 2);
        // It still has work when the run ends.
        brigade::execute(|| ());
        drop(brigade::execute_every(Duration::from_secs(1), || ()));
    });
}

fn time_is_virtual() {
    let real = Instant::now();
    sim::explore(0..SEEDS, || {
        let hour = Duration::from_secs(3600);
        let begun = sim::now();
        Pool::new(1).block_on(brigade::time::sleep(hour));
        sim::thread::sleep(hour);
        assert!(sim::now() - begun >= 2 * hour);
    });
    assert!(real.elapsed() < Duration::from_secs(600));
}

/// Two jobs that lose an update at times.
fn loses() {
    let pool = Pool::new(2);
    let count = Arc::new(sync::Mutex::new(0));
    let jobs: Vec<_> = (0..2)
        .map(|_| {
            let count = count.clone();
            pool.submit(move || {
                let seen = *count.lock().unwrap();
                *count.lock().unwrap() = seen + 1;
            })
        })
        .collect();
    jobs.into_iter().for_each(|job| job.join().unwrap());
    assert_eq!(*count.lock().unwrap(), 2, "an update is lost");
}

/// A seed with which it loses an update.
fn losing_seed() -> u64 {
    let mut seeds = 0..1000;
    seeds.find(|seed| panic::catch_unwind(|| sim::run(*seed, loses)).is_err()).expect("a seed")
}

fn repeats() {
    let run = || {
        sim::attempt(7, 0, false, || {
            let pool = Pool::new(2);
            pool.scope(|scope| (0..4).for_each(|_| scope.execute(|| ()))).unwrap();
        })
    };
    let [one, other] = [run(), run()].map(|run| run.expect("no failure"));
    assert_eq!(one, other);
    let lost = losing_seed();
    let again = message(|| sim::run(lost, loses));
    assert!(again.contains("an update is lost"), "{again}");
}

fn says_the_seed() {
    let lost = losing_seed();
    let message = message(|| sim::explore(0..1000, loses));
    assert!(message.contains("an update is lost"), "{message}");
    assert!(message.contains(&format!("BRIGADE_SIM_SEED={lost}")), "{message}");
}

fn is_an_outcome() {
    sim::explore(0..SEEDS, || {
        let job = Pool::new(1).submit(|| panic!("planned"));
        assert!(job.join().is_err());
    });
}

fn names_the_threads() {
    let message = message(|| {
        sim::run(1, || {
            let pool = Pool::builder().threads(1).name("stuck").build().unwrap();
            pool.execute(|| {
                let pair = (sync::Mutex::new(()), Condvar::new());
                drop(pair.1.wait(pair.0.lock().unwrap()));
            });
        });
    });
    assert!(message.contains("deadlock"), "{message}");
    assert!(message.contains("stuck"), "{message}");
}

fn follows_a_failure() {
    for _ in 0..3 {
        assert!(
            message(|| sim::run(1, || {
                let job = brigade::submit(|| ());
                let pool = Pool::new(2);
                pool.execute(|| sim::thread::sleep(Duration::from_secs(1)));
                job.join().unwrap();
                panic!("planned")
            }))
            .contains("planned")
        );
        has_all();
    }
}

fn take_turns() {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| sim::explore(0..SEEDS, || drop(brigade::submit(|| ()).join())));
        }
    });
}

fn outside() {
    let message = message(|| drop(Pool::new(1)));
    assert!(message.contains("outside of a simulated run"), "{message}");
}

fn thread_of_std() {
    let said = Arc::new(Mutex::new(String::new()));
    let inside = said.clone();
    sim::run(1, move || {
        let pool = Pool::new(1);
        let handle = pool.handle();
        let said = inside.clone();
        let uses = move || *said.lock().unwrap() = message(|| handle.execute(|| ()));
        thread::spawn(uses).join().unwrap();
        assert_eq!(pool.submit(|| 1).join().unwrap(), 1);
    });
    let said = said.lock().unwrap();
    assert!(said.contains("brigade::sim::thread"), "{said}");
}

fn another_run() {
    let kept = Arc::new(Mutex::new(None));
    let (first, second) = (kept.clone(), kept);
    sim::run(1, move || *first.lock().unwrap() = Some(Pool::new(1).handle()));
    sim::run(1, move || {
        let handle = second.lock().unwrap().expect("it was kept");
        assert!(handle.try_execute(|| ()).is_err());
    });
}

fn nested() {
    let inner = Arc::new(AtomicBool::new(false));
    let ran = inner.clone();
    let message = message(|| {
        sim::run(1, move || {
            let ran = ran.clone();
            sim::run(2, move || ran.store(true, Relaxed));
        });
    });
    assert!(message.contains("inside of another"), "{message}");
    assert!(!inner.load(Relaxed));
}

/// A job waits for another by a channel of std.
fn hanging() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    sim::run(5, || {
        let pool = Pool::builder().threads(2).name("waits").build().unwrap();
        let (sender, receiver) = mpsc::channel::<()>();
        pool.execute(move || {
            BEGUN.fetch_add(1, Relaxed);
            _ = receiver.recv();
        });
        while BEGUN.load(Relaxed) == 0 {
            sim::thread::yield_now();
        }
        pool.execute(move || drop(sender));
    });
}

fn hang() {
    let program = env::current_exe().unwrap();
    let output = Command::new(program).args(["sim", "hang"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("has taken no step for"), "{said}");
    assert!(said.contains("waits") && said.contains("seed 5"), "{said}");
}
