//! From which of its peers a worker steals first.

use std::sync::mpsc;

use brigade::{Cpus, Pool, Victims, current_worker_index};
use brigade_testkit::{Gate, Meeting, test};

/// A pool of three whose workers 0 and 1 have a job in their queue and are busy; returns from which of them worker 2 takes a job
/// first.
fn first_victim(pool: &Pool) -> usize {
    let gate = Gate::closed();
    let (told, tells) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    // No worker searches before all three are busy, and worker 2 not before both have a job.
    let (begin, meeting) = (Gate::closed(), Meeting::of(3));
    let (wait, meet) = (begin.clone(), meeting.job());
    let job = move || {
        assert!(meet());
        wait.wait();
    };
    pool.job().on_worker(2).execute(job).unwrap();
    for index in [0, 1] {
        let (gate, ready, told) = (gate.clone(), ready.clone(), told.clone());
        let meet = meeting.job();
        let job = move || {
            assert!(meet());
            brigade::execute(move || told.send((index, current_worker_index().unwrap())).unwrap());
            ready.send(()).unwrap();
            gate.wait();
        };
        pool.job().on_worker(index).execute(job).unwrap();
    }
    drop(told);
    is_ready.iter().take(2).count();
    begin.open();
    let first = tells.recv().unwrap();
    assert_eq!(first.1, 2, "the others are busy");
    gate.open();
    assert_eq!(tells.iter().count(), 1);
    pool.wait_idle();
    first.0
}

#[test(near in [0, 1])]
fn the_nearest_peer_is_tried_first(near: usize) {
    let mut table = vec![vec![5; 3]; 3];
    table[2][near] = 1;
    let pool = Pool::builder().threads(3).victims(Victims::ByTable(table)).build().unwrap();
    for _ in 0..20 {
        assert_eq!(first_victim(&pool), near);
    }
}

/// A worker beyond the table is tried, and tries.
#[test(table in [vec![vec![0, 1], vec![1, 0]], Vec::new()])]
fn a_worker_outside_the_table_steals_too(table: Vec<Vec<u32>>) {
    let pool = Pool::builder().threads(3).victims(Victims::ByTable(table)).build().unwrap();
    for _ in 0..20 {
        first_victim(&pool);
    }
}

#[test]
fn an_impossible_order_is_an_error() {
    let table = vec![vec![0, 1], vec![1]];
    let error = Pool::builder().victims(Victims::ByTable(table)).build().unwrap_err();
    assert!(error.to_string().contains("row 1"), "{error}");
    let error = Pool::builder().victims(Victims::Nearest).build().unwrap_err();
    assert!(error.to_string().contains("Cpus::cores"), "{error}");
    #[cfg(target_os = "linux")]
    {
        let pool = Pool::builder().victims(Victims::Nearest).pin(Cpus::cores()).build().unwrap();
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    }
    let _ = Cpus::cores();
}
