//! chili: a separate pool, with the waiting thread as a worker. It has joins only.

use std::io;
use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use crate::target::fork::ForkJoin;

/// Starts the pool, and its heartbeat thread.
pub(super) fn start(threads: usize) -> io::Result<Chili> {
    let thread_count = NonZero::new(threads);
    Ok(Chili(ThreadPool::with_config(Config { thread_count, ..Config::default() })))
}

/// A chili pool.
pub(crate) struct Chili(ThreadPool);

impl ForkJoin for Chili {
    type Outside<'o> = Scope<'o>;
    type Context<'c> = Scope<'c>;

    fn attach<R>(&self, body: impl FnOnce(&mut Scope<'_>) -> R) -> R {
        body(&mut self.0.scope())
    }

    fn enter<R: Send>(outside: &mut Scope<'_>, root: impl FnOnce(&mut Scope<'_>) -> R + Send) -> R {
        root(outside)
    }

    #[inline]
    fn join<A: Send, B: Send>(
        scope: &mut Scope<'_>,
        a: impl FnOnce(&mut Scope<'_>) -> A + Send,
        b: impl FnOnce(&mut Scope<'_>) -> B + Send,
    ) -> (A, B) {
        scope.join(a, b)
    }
}
