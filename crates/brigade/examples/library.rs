//! A library that computes on the pool of its caller, and a program that calls it.
//!
//! The library takes `impl Into<Handle>`, so a `&Pool`, a `Handle` and a `&Handle` fit. It may be called on a worker of the same
//! pool: `join` runs jobs that have not started in place, so jobs that wait for jobs don't use up the threads.
//!
//! ```sh
//! cargo run --example library
//! ```

use std::collections::BTreeMap;

use brigade::{Handle, JoinError, Pool, default_pool};

/// What would be a crate of its own.
mod words {
    use std::collections::BTreeMap;

    use brigade::{Handle, JoinError, TaskSet};

    /// Never has more jobs than this in the queue of its caller.
    const AT_ONCE: usize = 4;

    /// Counts the words of all texts, each text in a job of its own.
    ///
    /// # Errors
    /// A job was cancelled, as its pool has been shut down.
    ///
    /// # Panics
    /// If the pool has been shut down before.
    pub(super) fn count(
        pool: impl Into<Handle>,
        texts: impl IntoIterator<Item = String>,
    ) -> Result<BTreeMap<String, usize>, JoinError> {
        let mut set = TaskSet::new(pool).limit(AT_ONCE);
        for text in texts {
            set.submit(move || count_one(&text));
        }
        let mut all = BTreeMap::new();
        for counts in set.outcomes() {
            for (word, count) in counts? {
                *all.entry(word).or_default() += count;
            }
        }
        Ok(all)
    }

    fn count_one(text: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for word in text.split_whitespace() {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
        counts
    }
}

/// Where the caller names no pool: that of the job it is in, or the one it has entered, or the default pool.
fn count_anywhere(texts: Vec<String>) -> Result<BTreeMap<String, usize>, JoinError> {
    words::count(Handle::current().unwrap_or_else(|| default_pool().handle()), texts)
}

fn main() -> Result<(), JoinError> {
    let texts = vec![String::from("The bucket and the brigade"); 100];
    let pool = Pool::new(2);

    let counts = words::count(&pool, texts.clone())?;
    assert_eq!(counts["the"], 200);
    assert_eq!(words::count(pool.handle(), texts.clone())?, counts);

    // On a worker, although the pool has only one thread, and no thread of its own is needed.
    let one = Pool::new(1);
    let (handle, ours) = (one.handle(), texts.clone());
    let nested = one.submit(move || words::count(handle, ours));
    assert_eq!(nested.join()??, counts);

    let before = pool.metrics().accepted;
    assert_eq!(pool.enter(|| count_anywhere(texts))?, counts);
    assert_eq!(pool.metrics().accepted - before, 100, "on the pool that was entered");
    Ok(())
}
