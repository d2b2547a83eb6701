//! The number of threads by the environment; one test, as it changes that.

use std::process::Command;

use brigade_testkit::test;
use rayon::ThreadPoolBuilder;

#[test]
fn the_environment_sets_the_thread_count() {
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        assert_eq!(rayon::current_num_threads(), 5);
        assert_eq!(
            ThreadPoolBuilder::new().num_threads(2).build().unwrap().current_num_threads(),
            2
        );
        return;
    }
    let this = std::env::current_exe().unwrap();
    assert!(Command::new(this).env("RAYON_NUM_THREADS", "5").status().unwrap().success());
}
