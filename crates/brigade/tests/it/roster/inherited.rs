//! What the threads of a pool have from the thread that builds it, and not from one that happens to start them.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

use crate::support::nice::nice_here;
use crate::support::roll_call::on_every_worker;
use brigade::{Handle, Pool, Thread, blocking};
use brigade_sync::affinity::ThreadRef;
use brigade_sync::thread::{on_another, set_nice};
use brigade_testkit::{eventually, test};

/// The CPUs that the calling thread may run on, and its nice value.
type Traits = (Vec<usize>, i32);

fn here() -> Traits {
    (ThreadRef::caller().affinity().expect("Linux tells").cpus().collect(), nice_here())
}

/// Whether a thread may have its former nice value back: that takes a privilege.
fn may_restore_nice() -> bool {
    let nice = nice_here();
    on_another(move || set_nice(nice + 1).and_then(|()| set_nice(nice))).unwrap().is_ok()
}

/// Keeps the calling thread on its first CPU, and makes it nicer if others need not be so for good.
fn restrict() {
    let set = ThreadRef::caller().affinity().unwrap();
    let first = set.cpus().next().unwrap();
    assert!(ThreadRef::caller().set_affinity(&set.none().with(first)));
    if may_restore_nice() {
        set_nice(nice_here() + 3).unwrap();
    }
}

/// Calls a function on a thread that is restricted.
fn restricted<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    let call = || {
        restrict();
        call()
    };
    thread::scope(|scope| scope.spawn(call).join().unwrap())
}

#[track_caller]
fn all_have(pool: &Pool, expected: &Traits) {
    let seen: BTreeSet<_> = on_every_worker(pool, here).into_iter().collect();
    assert!(seen.iter().eq([expected]), "{seen:?}, not {expected:?}");
}

#[test]
fn threads_inherit_from_the_builder_not_a_submitter() {
    let mine = here();
    let lazy = Pool::builder().threads(3).prestart(0).build().unwrap();
    let elastic = Pool::builder().threads(0..=3).build().unwrap();
    let first_is_there = Pool::builder().threads(3).build().unwrap();
    for pool in [lazy, elastic, first_is_there] {
        restricted(|| drop(on_every_worker(&pool, || ())));
        all_have(&pool, &mine);
    }
    let prestarted = Pool::builder().threads(3).prestart(0).build().unwrap();
    restricted(|| prestarted.prestart().unwrap());
    all_have(&prestarted, &mine);
    let resized = Pool::builder().threads(1).build().unwrap();
    restricted(|| resized.resize(3).unwrap());
    restricted(|| drop(on_every_worker(&resized, || ())));
    all_have(&resized, &mine);
}

#[test]
fn a_replacement_inherits_nothing_from_a_job() {
    let mine = here();
    let pool = Pool::builder().threads(1).spare_threads(1).build().unwrap();
    let spare = pool.submit(|| {
        restrict();
        let (sender, receiver) = mpsc::channel();
        brigade::execute(move || sender.send(here()).unwrap());
        blocking(|| receiver.recv().unwrap())
    });
    assert_eq!(spare.join().unwrap(), mine);

    let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
    pool.broadcast(|_| restrict()).into_iter().for_each(|share| share.join().unwrap());
    pool.resize(1).unwrap();
    eventually("one thread ends", || pool.metrics().threads == 1);
    let restart = || {
        let pool = Handle::current().unwrap();
        pool.resize(2).unwrap();
        pool.prestart().unwrap();
    };
    pool.submit(restart).join().unwrap();
    let seen = on_every_worker(&pool, here);
    assert!(seen.contains(&mine), "{seen:?}");
}

#[test]
fn a_pool_built_by_a_job_inherits_from_its_pool() {
    let (cpus, nice) = here();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let background = if may_restore_nice() { nice + 3 } else { nice };
    let pinned = Pool::builder().threads(1).pin([first]).nice(background).build().unwrap();
    let (size, traits, of_last) = pinned
        .submit(move || {
            restrict();
            let inner = Pool::builder().build().unwrap();
            let innermost = inner.submit(|| Pool::builder().threads(1).build().unwrap());
            let pinned = Pool::builder().threads(1).pin([last]).build().unwrap();
            let of = |pool: &Pool| pool.submit(here).join().unwrap();
            (inner.size(), [of(&inner), of(&innermost.join().unwrap())], of(&pinned).0)
        })
        .join()
        .unwrap();
    let all = cpus.len();
    assert_eq!(size, Pool::builder().build().unwrap().size(), "of {all} CPUs");
    assert_eq!(traits, [(cpus.clone(), nice), (cpus, nice)]);
    assert_eq!(of_last, [last], "it may be pinned wherever the threads of the other pool begin");
}

#[test]
fn a_restricted_threads_pool_is_restricted() {
    let (traits, pool) = restricted(|| (here(), Pool::builder().build().unwrap()));
    assert_eq!(pool.size(), 1..=1);
    let larger = restricted(|| Pool::builder().threads(2).build().unwrap());
    all_have(&pool, &traits);
    all_have(&larger, &traits);
}

#[test]
fn a_spawner_started_thread_keeps_its_settings() {
    let traits = restricted(here);
    let spawner = |new: brigade::NewThread| {
        let main = || {
            restrict();
            new.run();
        };
        thread::Builder::new().spawn(main).map(|_| Thread::not_joined())
    };
    let pool = Pool::builder().threads(2).spawner(spawner).build().unwrap();
    all_have(&pool, &traits);
    let inner = pool.submit(|| Pool::builder().threads(2).build().unwrap()).join().unwrap();
    all_have(&inner, &traits);
}
