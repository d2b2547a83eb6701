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

/// The nanoseconds of CPU that each thread of this process has used, with its name and folder.
fn cpu_times() -> Vec<(String, PathBuf, u64)> {
    let times = threads().filter_map(|(name, task)| {
        let statistics = fs::read_to_string(task.join("schedstat")).ok()?;
        Some((name, task, statistics.split(' ').next()?.parse().ok()?))
    });
    times.collect()
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
fn four_idle_threads_use_under_a_thousandth_of_a_core() {
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
    let before = cpu_times();
    thread::sleep(MEASURED);
    let after = cpu_times();
    // Of the threads that are there then: one that ends meanwhile is none of an idle pool.
    let used = |prefix: &str| {
        let ours = after.iter().filter(|(name, ..)| name.starts_with(prefix));
        let used = ours.map(|(_, task, now)| {
            let then = before.iter().find(|(_, other, _)| other == task);
            now - then.map_or(0, |(.., then)| *then)
        });
        Duration::from_nanos(used.sum())
    };
    for (name, _) in &pools {
        assert!(used(name) < MEASURED / 1000, "{name}: {:?}", used(name));
    }
    assert!(used("") < MEASURED / 1000 * 5, "the process with all pools: {:?}", used(""));
    assert!(timer.cancel());
}
