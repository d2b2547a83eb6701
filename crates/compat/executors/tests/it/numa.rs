//! Distances between cores.

use std::panic::catch_unwind;

use brigade_testkit::test;
use core_affinity::CoreId;
use executors::Executor;
use executors::crossbeam_workstealing_pool::ThreadPool;
use executors::numa_utils::{ProcessingUnitDistance, equidistance};
use executors::parker::small;

#[test]
fn a_matrix_is_read_by_row_and_column() {
    let distances = ProcessingUnitDistance::from_function(3, |from, to| (10 * from + to) as i32);
    assert_eq!(distances.distance(CoreId { id: 2 }, CoreId { id: 1 }), 21);
    let rows: [Vec<i32>; 3] = [vec![0, 1, 2], vec![10, 11, 12], vec![20, 21, 22]];
    assert_eq!(distances, rows.clone().into_iter().collect());
    let boxed: Vec<Box<[i32]>> = rows.map(Vec::into_boxed_slice).into();
    assert_eq!(distances, boxed.iter().cloned().collect());
    assert_eq!(distances, ProcessingUnitDistance::new(boxed.into()));
    assert_eq!((equidistance(1, 1), equidistance(1, 2)), (0, 1));
    let none: Vec<Vec<i32>> = Vec::new();
    assert_eq!(ProcessingUnitDistance::empty(), none.into_iter().collect());
}

#[test]
fn an_invalid_matrix_of_cores_is_a_panic() {
    let ragged = || ProcessingUnitDistance::from_iter([vec![0, 1], vec![1]]);
    assert!(catch_unwind(ragged).is_err());
    let distances = ProcessingUnitDistance::from_function(1, equidistance);
    let beyond = || distances.distance(CoreId { id: 0 }, CoreId { id: 1 });
    assert!(catch_unwind(beyond).is_err());
}

#[test]
fn a_pool_with_distances_runs_pinned_and_floating() {
    let cores = core_affinity::get_core_ids().unwrap();
    let most = 1 + cores.iter().map(|core| core.id).max().unwrap();
    let far = |from: usize, to: usize| (10 * from.abs_diff(to)) as i32;
    for (on, floating) in [(&cores[..], 1), (&cores[..1], 0), (&[][..], 3)] {
        let distances = match on {
            [] => ProcessingUnitDistance::empty(),
            _ => ProcessingUnitDistance::from_function(most, far),
        };
        let pool = ThreadPool::with_numa_affinity(on, floating, small(), distances);
        let (told, tells) = std::sync::mpsc::channel();
        for number in 0..1000 {
            let told = told.clone();
            pool.execute(move || told.send(number).unwrap());
        }
        drop(told);
        assert_eq!(tells.iter().sum::<i32>(), 499_500);
        assert_eq!(pool.shutdown(), Ok(()));
    }
}

#[test]
fn a_core_outside_the_matrix_is_a_panic() {
    let cores = core_affinity::get_core_ids().unwrap();
    let empty =
        || ThreadPool::with_numa_affinity(&cores[..1], 0, small(), ProcessingUnitDistance::empty());
    assert!(catch_unwind(empty).is_err());
}
