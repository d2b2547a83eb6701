//! One worker of a pool at a time spins before it sleeps.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::thread;
use std::time::Duration;

use brigade::{Idle, Pool};
use brigade_testkit::Watchdog;

use crate::support::crowd::await_idle_workers;

/// Nanoseconds of CPU that each thread with this prefix of a name has used, by its number.
fn cpu_times(prefix: &str) -> BTreeMap<OsString, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let named = |task: &std::path::PathBuf| {
        // Threads of other tests end at the same time.
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(prefix))
    };
    let used = tasks.filter(named).map(|task| {
        let statistics = fs::read_to_string(task.join("schedstat")).unwrap();
        let number = task.file_name().unwrap().to_owned();
        (number, statistics.split(' ').next().unwrap().parse().unwrap())
    });
    used.collect()
}

#[test]
fn of_four_idle_workers_that_may_spin_one_does() {
    let _dog = Watchdog::start(20);
    let idle = Idle::SpinThenPark(Duration::from_secs(60));
    let pool = Pool::builder().threads(4).idle(idle).prestart();
    let pool = pool.name(|index| format!("spinner-{index}")).build().unwrap();
    await_idle_workers(&pool, 4);
    pool.job().execute_batch((0..100).map(|_| || ())).unwrap();
    assert!(pool.wait_idle());
    let before = cpu_times("spinner-");
    // Time that the one spends, and the others do not.
    thread::sleep(Duration::from_millis(400));
    let after = cpu_times("spinner-");
    let spins = |(task, used): (&OsString, &u64)| used - before[task] > 20_000_000;
    assert_eq!(
        (after.len(), after.iter().filter(|&task| spins(task)).count()),
        (4, 1),
        "{before:?}, then {after:?}"
    );
}
