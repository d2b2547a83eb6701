//! What observed pools tell about their jobs.

mod dumps;
mod outcomes;
mod rejections;
mod roles;
mod stalls;
mod waiting_jobs;

use core::cell::Cell;

use brigade::{Dump, Pool};
use brigade_testkit::eventually;

/// The first dump for which a condition holds. The next may differ: a thread that wakes for no reason waits anew.
fn dump_once(pool: &Pool, what: &str, holds: impl Fn(&Dump) -> bool) -> Dump {
    let found = Cell::new(None);
    eventually(what, || {
        let dump = Some(pool.dump()).filter(&holds);
        let is_found = dump.is_some();
        found.set(dump);
        is_found
    });
    found.take().unwrap()
}
