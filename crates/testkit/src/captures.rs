//! Captures whose drop shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how many of its tokens have been dropped.
#[derive(Clone, Debug, Default)]
pub struct Drops(Arc<AtomicUsize>);

/// Counted when it is dropped.
#[derive(Debug)]
pub struct Token(Arc<AtomicUsize>);

impl Drops {
    /// Makes a token.
    pub fn token(&self) -> Token {
        Token(self.0.clone())
    }

    /// Counts the tokens dropped so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Panics when it is dropped.
#[derive(Debug)]
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("expected: dropped");
    }
}
