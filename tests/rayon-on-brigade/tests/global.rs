//! The global pool; one test, as a process has one.

use brigade_testkit::test;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

#[test]
fn the_global_pool_is_built_once() {
    ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
    assert_eq!(rayon::current_num_threads(), 3);
    let again = ThreadPoolBuilder::new().num_threads(2).build_global();
    assert_eq!(
        again.unwrap_err().to_string(),
        "The global thread pool has already been initialized."
    );
    assert_eq!((0..1000).into_par_iter().sum::<i32>(), 499_500);
    assert_eq!(rayon::broadcast(|context| context.index()), [0, 1, 2]);
}
