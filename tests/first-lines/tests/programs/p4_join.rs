//! fib and quicksort on a pool, as a fork and a join.
//!
//! Typed, as with rayon: `brigade::join(|| fib(n - 1), || fib(n - 2))`, `pool.install(..)` without `?`, and a quicksort of two halves
//! of one slice.

use brigade::Pool;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = brigade::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn quicksort<T: Ord + Send>(v: &mut [T]) {
    if v.len() <= 1024 {
        return v.sort_unstable();
    }
    let (low, _, high) = v.select_nth_unstable(v.len() / 2);
    brigade::join(|| quicksort(low), || quicksort(high));
}

#[test]
fn jobs_awaiting_jobs_do_not_exhaust_two_threads() -> std::io::Result<()> {
    let pool = Pool::new(2);
    assert_eq!(pool.install(|| fib(22))?, 17_711);
    let mut v: Vec<u32> = (0..50_000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    pool.install(|| quicksort(&mut v))?;
    assert!(v.is_sorted() && v.len() == 50_000);
    Ok(())
}
