//! brigade: a job submits children and waits for their results, by a handle each or by a set.

use std::io;

use brigade::{Handle, Pool, TaskSet};

use super::spawning::{Spawning, TreesOnly};
use crate::target::fork::Tree;

/// Starts a pool whose jobs have their children in a set, or by handles.
pub(super) fn start(threads: usize, have_sets: bool) -> io::Result<TreesOnly<Jobs>> {
    Pool::builder().threads(threads).build().map(|pool| TreesOnly(Jobs { pool, have_sets }))
}

/// A pool whose jobs wait for others.
pub(crate) struct Jobs {
    /// The pool.
    pool: Pool,
    /// Whether each has them in a set.
    have_sets: bool,
}

impl Spawning for Jobs {
    fn fold<T: Tree>(&self, root: T) -> u64 {
        let (pool, have_sets) = (self.pool.handle(), self.have_sets);
        let root = self.pool.submit(move || sum(pool, root, have_sets));
        root.join().expect(ENDS)
    }
}

/// The expectation of a job's end.
const ENDS: &str = "it was neither cancelled, nor has it panicked";

/// The sum of the values of `node` and of all nodes below it.
fn sum<T: Tree>(pool: Handle, node: T, have_sets: bool) -> u64 {
    let children = node.children().map(|child| move || sum(pool, child, have_sets));
    let add = |sum: u64, value: Result<u64, _>| sum.wrapping_add(value.expect(ENDS));
    match node.width() {
        0 => node.value(),
        _ if have_sets => {
            let mut set = TaskSet::new(pool);
            children.for_each(|child| _ = set.submit(child));
            set.outcomes().fold(node.value(), add)
        }
        _ => {
            let jobs: Vec<_> = children.map(|child| pool.submit(child)).collect();
            jobs.into_iter().map(|job| job.join()).fold(node.value(), add)
        }
    }
}
