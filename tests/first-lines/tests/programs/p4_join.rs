//! fib and quicksort on a pool, as a fork and a join.
//!
//! Typed, as with rayon: `brigade::join(|| fib(n - 1), || fib(n - 2))`, `pool.install(..)`, and a quicksort of two halves of one
//! slice. There is no `join` of closures that borrow: the halves are vectors of their own here, and what is submitted owns one.

use brigade::{JoinError, Order, Pool};

fn fib(n: u32) -> Result<u64, JoinError> {
    if n < 15 {
        return if n < 2 { Ok(u64::from(n)) } else { Ok(fib(n - 1)? + fib(n - 2)?) };
    }
    let a = brigade::submit(move || fib(n - 1));
    let b = fib(n - 2)?;
    Ok(a.join()?? + b)
}

fn quicksort<T: Ord + Send + 'static>(mut v: Vec<T>) -> Result<Vec<T>, JoinError> {
    if v.len() <= 1024 {
        v.sort_unstable();
        return Ok(v);
    }
    let pivot = v.swap_remove(v.len() / 2);
    let (low, high): (Vec<T>, Vec<T>) = v.into_iter().partition(|x| *x < pivot);
    let low = brigade::submit(move || quicksort(low));
    let high = quicksort(high)?;
    let mut sorted = low.join()??;
    sorted.push(pivot);
    sorted.extend(high);
    Ok(sorted)
}

#[test]
fn jobs_that_wait_for_jobs_do_not_use_up_two_threads() -> std::io::Result<()> {
    let pool = Pool::builder().threads(2).order(Order::Lifo).build()?;
    assert_eq!(pool.submit(|| fib(22)).join()??, 17_711);
    let v: Vec<u32> = (0..50_000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
    let sorted = pool.submit(move || quicksort(v)).join()??;
    assert!(sorted.is_sorted() && sorted.len() == 50_000);
    Ok(())
}
