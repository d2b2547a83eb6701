//! What to write today for the lines that do not exist here: closures own their data.

use brigade::{JoinError, TaskSet};

/// Typed: `pool.scope(|s| for x in &mut v { s.spawn(move |_| *x += 1); })`.
#[test]
fn a04_a_scope_is_a_set_of_jobs_that_return_what_they_were_given() -> Result<(), JoinError> {
    let mut v = vec![1, 2, 3];
    let pool = brigade::Pool::new(2);
    let mut set = TaskSet::new(&pool);
    for (i, mut x) in v.iter().copied().enumerate() {
        set.submit(move || {
            x += 1;
            (i, x)
        });
    }
    for outcome in set.outcomes() {
        let (i, x) = outcome?;
        v[i] = x;
    }
    assert_eq!(v, [2, 3, 4]);
    Ok(())
}

/// Typed: `pool.install(|| v.iter().sum())`.
#[test]
fn a05_a_closure_that_moves_its_data_is_submitted_and_joined() -> Result<(), JoinError> {
    let v = vec![1, 2, 3];
    let pool = brigade::Pool::new(2);
    let s: i32 = pool.submit(move || v.iter().sum()).join()?;
    assert_eq!(s, 6);
    Ok(())
}

/// Typed: `pool.submit(|| v.iter().sum()).join().unwrap()`, and `v` is used afterwards.
#[test]
fn a06_data_that_is_needed_afterwards_is_shared() {
    let v = std::sync::Arc::new(vec![1, 2, 3]);
    let pool = brigade::Pool::new(2);
    let shared = v.clone();
    let s: i32 = pool.submit(move || shared.iter().sum()).join().unwrap();
    assert_eq!((s, v.len()), (6, 3));
}

/// Typed: `pool.map(0..10u64, |n| n * n)`.
#[test]
fn a13_a_map_is_a_batch_that_is_joined_in_order() -> std::io::Result<()> {
    let pool = brigade::Pool::new(2);
    let jobs = pool.job().submit_batch((0..10_u64).map(|n| move || n * n))?;
    let squares: Vec<u64> = jobs.into_iter().map(|job| job.join()).collect::<Result<_, _>>()?;
    assert!(squares.into_iter().eq((0..10).map(|n| n * n)));
    Ok(())
}
