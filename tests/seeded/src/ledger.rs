//! The promises for each job of a program: a single outcome, and a single drop.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade_sync::time;

use crate::verb::Panics;
use crate::world;

/// How long a slow drop takes.
const SLOWLY: Duration = Duration::from_millis(5);

/// All jobs of a pool. Its atomics and its lock are no steps of the program.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<Arc<Entry>>>>);

/// The record of a closure, future or output.
struct Entry {
    what: &'static str,
    ran: AtomicU32,
    dropped: AtomicU32,
    /// The pool has accepted it: it is gone once the pool is idle.
    is_accepted: AtomicBool,
    /// The pool has accepted it, and nothing may cancel it.
    must_run: AtomicBool,
    /// It waits for a timer, for which an idle pool does not wait.
    is_timed: AtomicBool,
}

/// Belongs to a closure, a future or an output: it is dropped with that.
pub(crate) struct Token {
    entry: Arc<Entry>,
    /// Whether its drop panics, or takes long.
    panics: Panics,
}

/// Jobs that were accepted before a wait.
pub(crate) struct Accepted(Vec<Arc<Entry>>);

impl Accepted {
    /// The pool has been idle since then.
    pub(crate) fn check_ended(self) {
        for entry in self.0 {
            let dropped = entry.dropped.load(Relaxed);
            assert_eq!(dropped, 1, "{} has not ended in an idle pool", entry.what);
        }
    }
}

/// Says later whether it must run.
#[derive(Clone)]
pub(crate) struct Claim(Arc<Entry>);

impl Ledger {
    pub(crate) fn token(&self, what: &'static str, panics: Panics) -> Token {
        let [ran, dropped] = [0, 0].map(AtomicU32::new);
        let [is_accepted, must_run, is_timed] = [false; 3].map(AtomicBool::new);
        let entry = Arc::new(Entry { what, ran, dropped, is_accepted, must_run, is_timed });
        self.0.lock().expect("no panic").push(entry.clone());
        Token { entry, panics }
    }

    /// The jobs that must have ended once the pool has been idle.
    pub(crate) fn accepted(&self) -> Accepted {
        let entries = self.0.lock().expect("no panic");
        let must_end =
            |entry: &&Arc<Entry>| entry.is_accepted.load(Relaxed) && !entry.is_timed.load(Relaxed);
        Accepted(entries.iter().filter(must_end).cloned().collect())
    }

    /// The kinds of the entries that have not been dropped.
    pub(crate) fn left(&self) -> Vec<&'static str> {
        let entries = self.0.lock().expect("no panic");
        let left = entries.iter().filter(|entry| entry.dropped.load(Relaxed) == 0);
        left.map(|entry| entry.what).collect()
    }

    /// At the end of all threads of the pool, which may have `lost` accepted jobs.
    pub(crate) fn check(&self, lost: bool) {
        for (number, entry) in self.0.lock().expect("no panic").iter().enumerate() {
            let [ran, dropped] = [&entry.ran, &entry.dropped].map(|count| count.load(Relaxed));
            let what = entry.what;
            assert_eq!(dropped, 1, "{what} {number} was dropped {dropped} times, and ran {ran}");
            assert!(ran <= 1, "{what} {number} ran {ran} times");
            let must = entry.must_run.load(Relaxed) && !lost;
            assert!(ran == 1 || !must, "{what} {number} was accepted and has not run");
        }
    }
}

impl Token {
    /// The closure or future begins.
    pub(crate) fn runs(&self) {
        let entry = &self.entry;
        assert_eq!(entry.dropped.load(Relaxed), 0, "{} runs after its end", entry.what);
        assert_eq!(entry.ran.fetch_add(1, Relaxed), 0, "{} runs twice", entry.what);
    }

    pub(crate) fn claim(&self) -> Claim {
        Claim(self.entry.clone())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let unwinds = std::thread::panicking();
        if self.panics == Panics::NeverAndDropsSlowly && !unwinds {
            time::sleep(SLOWLY);
        }
        let before = self.entry.dropped.fetch_add(1, Relaxed);
        assert_eq!(before, 0, "{} is dropped twice", self.entry.what);
        if self.panics == Panics::InItsDrop && !unwinds {
            world::panic();
        }
    }
}

impl Claim {
    /// It was accepted, and must have run at the end.
    pub(crate) fn must_run(&self) {
        self.is_accepted();
        self.0.must_run.store(true, Relaxed);
    }

    /// It was accepted.
    pub(crate) fn is_accepted(&self) {
        self.0.is_accepted.store(true, Relaxed);
    }

    /// The same, once its time has come.
    pub(crate) fn must_run_later(&self) {
        self.0.is_timed.store(true, Relaxed);
        self.must_run();
    }

    /// Its handle has said that it has not.
    pub(crate) fn has_not_run(&self) {
        assert_eq!(self.0.ran.load(Relaxed), 0, "{} was cancelled and has run", self.0.what);
    }
}
