//! One worker of a pool at a time spins before it sleeps.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use crate::support::crowd::await_idle_workers;
use brigade::{Idle, Pool};
use brigade_testkit::{eventually, test};

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
fn one_of_four_idle_workers_spins() {
    let idle = Idle::SpinThenPark(Duration::from_secs(60));
    let pool = Pool::builder().threads(4).idle(idle).prestart(4);
    let pool = pool.name(|index| format!("spinner-{index}")).build().unwrap();
    await_idle_workers(&pool, 4);
    pool.job().execute_batch((0..100).map(|_| || ())).unwrap();
    assert!(pool.wait_idle());
    let before = cpu_times("spinner-");
    assert_eq!(before.len(), 4);
    let spun = |more: Duration| {
        let after = cpu_times("spinner-");
        let used = |task: &OsString| Duration::from_nanos(after[task] - before[task]);
        before.keys().filter(|task| used(task) > more).count()
    };
    eventually("one worker spins", || spun(Duration::from_millis(100)) > 0);
    assert_eq!(spun(Duration::from_millis(10)), 1, "the others are parked");
}
