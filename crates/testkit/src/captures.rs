//! Captures whose drop shows.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how many tokens have been dropped.
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

/// Runs a closure when it is dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> fmt::Debug for OnDrop<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDrop").finish_non_exhaustive()
    }
}

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

type Last = OnDrop<Box<dyn FnMut()>>;

thread_local! {
    static AT_EXIT: RefCell<Vec<Last>> = const { RefCell::new(Vec::new()) };
}

/// Runs a closure when the calling thread ends: in the destructor of a thread-local, which the first call makes.
pub fn at_exit(last: impl FnMut() + 'static) {
    AT_EXIT.with_borrow_mut(|exits| exits.push(OnDrop(Box::new(last))));
}
