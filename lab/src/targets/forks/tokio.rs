//! tokio: a runtime of several threads, on which a task spawns children and awaits them, by a handle each or by a set.

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinError, JoinHandle, JoinSet};

use super::spawning::{Spawning, TreesOnly};
use crate::target::fork::Tree;

/// Starts a runtime on which tasks have their children in a set, or by handles.
pub(super) fn start(threads: usize, have_sets: bool) -> io::Result<TreesOnly<Tokio>> {
    let runtime = Builder::new_multi_thread().worker_threads(threads).build()?;
    Ok(TreesOnly(Tokio { runtime, have_sets }))
}

/// A tokio runtime.
pub(crate) struct Tokio {
    /// The runtime.
    runtime: Runtime,
    /// Whether each task has the children in a set.
    have_sets: bool,
}

impl Spawning for Tokio {
    fn fold<T: Tree>(&self, root: T) -> u64 {
        // It is spawned too: `block_on` is no thread of the runtime.
        let have_sets = self.have_sets;
        self.runtime.block_on(async move {
            if have_sets {
                let mut set = JoinSet::new();
                spawn_into(&mut set, root);
                summed(set).await
            } else {
                joined(spawned(root).await)
            }
        })
    }
}

/// A task that returns the sum of the values of `node` and of all nodes below it.
fn spawned<T: Tree>(node: T) -> JoinHandle<u64> {
    tokio::spawn(async move {
        let children: Vec<_> = node.children().map(spawned).collect();
        let mut sum = node.value();
        for child in children {
            sum = sum.wrapping_add(joined(child.await));
        }
        sum
    })
}

/// The same as a member of a set.
fn spawn_into<T: Tree>(set: &mut JoinSet<u64>, node: T) {
    set.spawn(async move {
        let mut children = JoinSet::new();
        node.children().for_each(|child| spawn_into(&mut children, child));
        node.value().wrapping_add(summed(children).await)
    });
}

/// The sum of the results of this set's tasks.
async fn summed(mut set: JoinSet<u64>) -> u64 {
    let mut sum = 0_u64;
    while let Some(end) = set.join_next().await {
        sum = sum.wrapping_add(joined(end));
    }
    sum
}

/// The result of a task.
fn joined(end: Result<u64, JoinError>) -> u64 {
    end.expect("it was neither cancelled, nor has it panicked")
}
