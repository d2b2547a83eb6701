//! What to write for the lines that do not exist here.

/// Typed: `pool.submit(|| v.iter().sum()).join().unwrap()`, and `v` is used afterwards.
#[test]
fn a06_data_needed_afterwards_is_shared() {
    let v = std::sync::Arc::new(vec![1, 2, 3]);
    let pool = brigade::Pool::new(2);
    let shared = v.clone();
    let s: i32 = pool.submit(move || shared.iter().sum()).join().unwrap();
    assert_eq!((s, v.len()), (6, 3));
}

/// Typed: `pool.map(0..10u64, |n| n * n)`.
#[test]
fn a13_a_map_is_a_batch_joined_in_order() -> std::io::Result<()> {
    let pool = brigade::Pool::new(2);
    let jobs = pool.job().submit_batch((0..10_u64).map(|n| move || n * n))?;
    let squares: Vec<u64> = jobs.into_iter().map(|job| job.join()).collect::<Result<_, _>>()?;
    assert!(squares.into_iter().eq((0..10).map(|n| n * n)));
    Ok(())
}
