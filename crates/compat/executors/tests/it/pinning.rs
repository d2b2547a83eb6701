//! Threads that are pinned to cores.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

use brigade_testkit::{Meeting, test};
use core_affinity::{CoreId, get_core_ids, set_for_current};
use executors::Executor;
use executors::crossbeam_channel_pool as channel;
use executors::crossbeam_workstealing_pool as stealing;
use executors::parker::small;

/// How many threads of the pool may run on exactly these cores.
fn cores_of(pool: &impl Executor, threads: usize) -> BTreeMap<Vec<usize>, usize> {
    let (meeting, (told, tells)) = (Meeting::of(threads), mpsc::channel());
    for _ in 0..threads {
        let (attend, told) = (meeting.job(), told.clone());
        pool.execute(move || {
            assert!(attend());
            told.send(ids(&get_core_ids().unwrap())).unwrap();
        });
    }
    drop(told);
    let mut counts = BTreeMap::new();
    tells.iter().for_each(|cores| *counts.entry(cores).or_default() += 1);
    counts
}

fn ids(cores: &[CoreId]) -> Vec<usize> {
    cores.iter().map(|core| core.id).collect()
}

/// `pinned` threads on each of these cores, and `floating` on all.
fn expected(on: &[CoreId], floating: usize) -> BTreeMap<Vec<usize>, usize> {
    let mut counts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    on.iter().for_each(|core| *counts.entry(vec![core.id]).or_default() += 1);
    if floating > 0 {
        *counts.entry(ids(&get_core_ids().unwrap())).or_default() += floating;
    }
    counts
}

#[test]
fn each_thread_has_a_core_and_the_rest_floats() {
    let cores = get_core_ids().unwrap();
    for (threads, pinned, floating) in [(1, 1, 0), (cores.len() + 2, cores.len(), 2)] {
        let expected = expected(&cores[..pinned], floating);
        let pool = stealing::ThreadPool::new(threads, small());
        assert_eq!(cores_of(&pool, threads), expected);
        let pool = channel::ThreadPool::new(threads);
        assert_eq!(cores_of(&pool, threads), expected);
    }
}

#[test]
fn with_affinity_names_the_cores() {
    let cores = get_core_ids().unwrap();
    let last = *cores.last().unwrap();
    for (on, floating) in [(vec![last], 0), (vec![last], 2), (vec![], 2), (vec![last, last], 0)] {
        let (threads, expected) = (on.len() + floating, expected(&on, floating));
        let pool = stealing::ThreadPool::with_affinity(&on, floating, small());
        assert_eq!(cores_of(&pool, threads), expected);
        let pool = channel::ThreadPool::with_affinity(&on, floating);
        assert_eq!(cores_of(&pool, threads), expected);
    }
}

/// Caught: a pool that asks which cores the calling thread may run on, and takes these for the machine's.
#[test]
fn a_pinned_thread_starts_threads_on_other_cores() {
    let cores = get_core_ids().unwrap();
    let (first, last) = (cores[0], *cores.last().unwrap());
    let starts = thread::spawn(move || {
        assert!(set_for_current(first));
        cores_of(&stealing::ThreadPool::with_affinity(&[last], 0, small()), 1)
    });
    assert_eq!(starts.join().unwrap(), expected(&[last], 0));
}

#[test]
fn a_thread_whose_core_is_not_there_floats() {
    let (none, first) = (CoreId { id: 1000 }, get_core_ids().unwrap()[0]);
    let pool = channel::ThreadPool::with_affinity(&[none, first], 0);
    assert_eq!(cores_of(&pool, 2), expected(&[first], 1));
}
