//! Names of calls in rayon, tokio, threadpool and executors: a search of the documentation finds the item by each. For some of them rustc says nothing, or
//! suggests another method; these work, with a warning that names the call.

use std::path::Path;
use std::{fs, iter};

use brigade::Pool;
use brigade_testkit::{Gate, test};

use crate::support::busy::occupy;

/// A name, and the file and the first words of what it is here.
const NAMES: [(&str, &str, &str); 16] = [
    ("abort", "handle/join.rs", "pub fn cancel("),
    ("abort", "task_set/cancelling.rs", "pub fn cancel("),
    ("abort_all", "task_set/cancelling.rs", "pub fn cancel_all("),
    ("active_count", "values/metrics.rs", "pub busy_threads:"),
    ("delay", "time/execute.rs", "pub fn after("),
    ("evaluate", "submission/accept.rs", "pub fn submit<"),
    ("join_all", "task_set/outcomes.rs", "pub fn outcomes("),
    ("num_threads", "handle/mod.rs", "pub fn size("),
    ("num_threads", "pool/builder/mod.rs", "pub fn threads("),
    ("queue_size", "pool/builder/mod.rs", "pub fn capacity("),
    ("queued_count", "values/metrics.rs", "pub queued:"),
    ("shutdown_timeout", "handle/mod.rs", "pub fn shutdown("),
    ("spawn_blocking", "submission/accept.rs", "pub fn submit<"),
    ("thread_name", "pool/builder/mod.rs", "pub fn name("),
    ("wait", "handle/mod.rs", "pub fn wait_idle("),
    ("worker_threads", "pool/builder/mod.rs", "pub fn threads("),
];

#[test]
fn searching_another_crates_name_finds_the_item() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (name, file, item) in NAMES {
        let source = fs::read_to_string(sources.join(file)).unwrap();
        let lines: Vec<_> = source.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| line.starts_with(item)).expect(item);
        let alias = format!("#[doc(alias = \"{name}\")]");
        let mut attributes = iter::successors(at.checked_sub(1), |line| line.checked_sub(1))
            .map(|line| lines[line])
            .take_while(|line| line.starts_with("#["));
        assert!(
            attributes.any(|attribute| attribute == alias),
            "{file}: {item} has no alias {name}"
        );
    }
}

#[test]
#[expect(deprecated)]
fn names_of_other_crates_do_the_same() {
    let pool = Pool::builder().threads(1).thread_name("cook").queue_size(1).build().unwrap();
    assert_eq!(pool.current_num_threads(), 1);
    let name = || std::thread::current().name().unwrap().starts_with("cook");
    assert!(pool.spawn_blocking(name).join().unwrap());
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let waiting = pool.submit(|| ());
    assert!(pool.try_execute(|| ()).is_err(), "it is full");
    assert!(waiting.abort());
    assert!(waiting.join().is_err_and(|error| error.is_cancelled()));
    gate.open();
    pool.join();
    assert_eq!(pool.metrics().running, 0);
    let builder: brigade::PoolBuilder = Pool::builder();
    drop(builder);
}
