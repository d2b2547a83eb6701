//! chili: a separate pool, with the waiting thread as a worker. It has joins only.

use std::io;
use std::num::NonZero;

use chili::{Config, Scope, ThreadPool};

use crate::tally::Tally;
use crate::target::fork::{ForkJoin, Tree};

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

    fn explore<T: Tree>(scope: &mut Scope<'_>, root: T, answer: &'static Tally) {
        root.count(answer);
        children(scope, root, 0, root.width(), answer);
    }
}

/// Visits the children of `parent` from the number `from` up to `to`: joins over halves, in place of a scope.
fn children<T: Tree>(scope: &mut Scope<'_>, parent: T, from: u32, to: u32, answer: &'static Tally) {
    match to - from {
        0 => {}
        1 => Chili::explore(scope, parent.child(from), answer),
        count => {
            let middle = from + count / 2;
            scope.join(
                |scope| children(scope, parent, from, middle, answer),
                |scope| children(scope, parent, middle, to, answer),
            );
        }
    }
}
