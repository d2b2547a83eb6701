//! The listed waits of a pool, for a dump.

use brigade_sync::hint;
use brigade_task::JobId;

use super::{AwaitedJobs, WAITS, Wait};
use crate::engine::Key;

/// The number of attempts of a dump to read the waits. While few threads wait, a running thread holds the lock
/// for less than a microsecond at a time.
const ATTEMPTS: usize = 100;

/// A wait for a dump: the index of the worker, whether the end of any of the jobs ends the wait, and the jobs. The
/// jobs of a wait for more than `MOST` jobs are omitted.
pub(crate) type Listed = (usize, bool, Vec<JobId>);

/// Returns the waits of the workers of a pool, for a dump, innermost first. Returns `None` if the list was locked at
/// each attempt: a dump never waits for the lock.
pub(crate) fn waits_of(pool: Key) -> Option<Vec<Listed>> {
    let mut attempts = 1..ATTEMPTS;
    let waits = loop {
        if let Some(waits) = WAITS.get().try_lock() {
            break waits;
        }
        attempts.next()?;
        hint::spin_loop();
    };
    let mut listed = Vec::new();
    for Wait { place, awaited, .. } in waits.listed.iter().rev() {
        match *place {
            Some((key, Some(index))) if key == pool => {
                let is_any = matches!(awaited, AwaitedJobs::Any(_));
                listed.push((index, is_any, awaited.jobs().to_vec()));
            }
            _ => {}
        }
    }
    Some(listed)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use brigade_testkit::Watchdog;

    use super::WAITS;
    use crate::Pool;

    #[test]
    fn a_dump_skips_a_locked_list_of_waits() {
        let _dog = Watchdog::start(20);
        let pool = Pool::new(1);
        let handle = pool.handle();
        let waits = WAITS.get().lock();
        let dump = thread::spawn(move || handle.dump()).join().unwrap();
        assert!(!dump.are_waits_known && dump.threads == 1, "{dump}");
        assert!(dump.to_string().contains("what waits for what is not known"), "{dump}");
        drop(waits);
        let known = || pool.dump().are_waits_known;
        brigade_testkit::eventually("the other tests let it be read", known);
    }
}
