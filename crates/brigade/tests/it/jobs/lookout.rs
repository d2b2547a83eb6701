//! One worker of a pool at a time looks out for work before it sleeps.

#![cfg(target_os = "linux")]

use std::fs;
use std::thread;
use std::time::Duration;

use brigade::{Idle, Pool};
use brigade_testkit::Watchdog;

/// Nanoseconds of CPU that each thread with this prefix of a name has used.
fn cpu_times(prefix: &str) -> Vec<u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let named = |task: &std::path::PathBuf| {
        // Threads of other tests end meanwhile.
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(prefix))
    };
    let used = tasks.filter(named).map(|task| {
        let statistics = fs::read_to_string(task.join("schedstat")).unwrap();
        statistics.split(' ').next().unwrap().parse().unwrap()
    });
    used.collect()
}

#[test]
fn of_four_idle_workers_that_may_look_out_one_does() {
    let _dog = Watchdog::start(20);
    let idle = Idle::SpinThenPark(Duration::from_secs(60));
    let pool = Pool::builder().threads(4).idle(idle).name(|index| format!("lookout-{index}"));
    let pool = pool.build().unwrap();
    pool.execute_batch((0..100).map(|_| || ()));
    assert!(pool.wait_idle());
    thread::sleep(Duration::from_millis(100));
    let before = cpu_times("lookout-");
    thread::sleep(Duration::from_millis(400));
    let after = cpu_times("lookout-");
    let busy = before.iter().zip(&after).filter(|(before, after)| *after - *before > 20_000_000);
    assert_eq!((after.len(), busy.count()), (4, 1), "{before:?}, then {after:?}");
}
