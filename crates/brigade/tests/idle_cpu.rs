//! An idle pool uses no CPU: under 0.1 % of a core.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use brigade::{Builder, Idle, Missed, Pool, Queueing};
use brigade_testkit::eventually;

/// For how long the pools are left alone: a poll every few milliseconds would show.
const MEASURED: Duration = Duration::from_secs(3);

/// The names and folders of the threads. Some may end meanwhile.
fn threads() -> impl Iterator<Item = (String, PathBuf)> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    tasks.filter_map(|task| Some((fs::read_to_string(task.join("comm")).ok()?, task)))
}

/// Nanoseconds of CPU that the threads with this prefix of a name have used; all if it is empty.
fn cpu_time(prefix: &str) -> u64 {
    let ours = threads().filter(|(name, _)| name.starts_with(prefix));
    let used = ours.map(|(_, task)| {
        let statistics = fs::read_to_string(task.join("schedstat")).unwrap();
        statistics.split(' ').next().unwrap().parse::<u64>().unwrap()
    });
    used.sum()
}

/// Work of every kind that leaves traces: bursts, chains, jobs that sleep, stray park tokens.
fn use_for_a_while(pool: &Pool) {
    for round in 0..200 {
        pool.job()
            .execute_batch((0..20).map(|n| {
                move || {
                    assert!(brigade::try_execute(|| thread::current().unpark()).is_ok());
                    if (n + round) % 50 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                }
            }))
            .unwrap();
        pool.submit(|| ()).join().unwrap();
    }
    pool.wait_idle();
}

fn pools() -> Vec<(&'static str, Pool)> {
    let of = |name: &'static str, set: fn(Builder) -> Builder| {
        let builder = Pool::builder().threads(4).name(move |index| format!("{name}-{index}"));
        (name, set(builder).build().unwrap())
    };
    vec![
        of("default", |builder| builder),
        of("shared", |builder| builder.queueing(Queueing::Shared)),
        of("park", |builder| builder.idle(Idle::Park)),
        of("spin", |builder| builder.idle(Idle::SpinThenPark(Duration::from_millis(1)))),
        of("timed", |builder| builder),
        of("never-used", |builder| builder),
    ]
}

#[test]
fn pools_of_four_that_are_left_alone_use_less_than_a_thousandth_of_a_core() {
    let pools = pools();
    for (name, pool) in &pools {
        if *name != "never-used" {
            use_for_a_while(pool);
        }
    }
    let (_, timed) = pools.iter().find(|(name, _)| *name == "timed").unwrap();
    let far = Duration::from_secs(3600);
    let timer = timed.job().every(far).missed(Missed::Burst).execute(|| unreachable!()).unwrap();
    drop(timed.spawn(brigade::time::sleep(far)));
    // Workers that still search or spin may finish that first, and the monitor ends when no pool has needed it for a second.
    eventually("the monitor ends", || {
        !threads().any(|(name, _)| name.starts_with("brigade-monitor"))
    });
    let measure = || pools.iter().map(|(name, _)| cpu_time(name)).collect::<Vec<_>>();
    let (before, whole_before) = (measure(), cpu_time(""));
    thread::sleep(MEASURED);
    let (after, whole_after) = (measure(), cpu_time(""));
    for (((name, _), before), after) in pools.iter().zip(before).zip(after) {
        let used = Duration::from_nanos(after - before);
        assert!(used < MEASURED / 1000, "{name}: {used:?}");
    }
    let whole = Duration::from_nanos(whole_after - whole_before);
    assert!(whole < MEASURED / 1000 * 5, "the process with all pools: {whole:?}");
    assert!(timer.cancel());
}
