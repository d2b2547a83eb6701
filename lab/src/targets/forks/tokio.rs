//! tokio: a runtime of several threads, on which a task spawns its children and awaits them.

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::target::fork::{Spawning, StartSpawning, Tree};
use crate::target::{Entry, Listing};

/// The runtime.
pub(crate) const RUNTIME: Listing<StartSpawning<Tokio>> = Listing {
    entry: Entry::peer("tokio", "tokio: a task spawns its children and awaits them"),
    start: StartSpawning(|threads| {
        Builder::new_multi_thread().worker_threads(threads).build().map(Tokio)
    }),
};

/// A tokio runtime.
pub(crate) struct Tokio(Runtime);

impl Spawning for Tokio {
    fn fold<T: Tree>(&self, root: T) -> u64 {
        // It is spawned too: `block_on` is no thread of the runtime.
        self.0.block_on(async move { joined(spawned(root)).await })
    }

    fn shutdown(self) {
        drop(self.0);
    }
}

/// A task that returns the sum of the values of `node` and of all that is below it.
fn spawned<T: Tree>(node: T) -> JoinHandle<u64> {
    tokio::spawn(async move {
        let children: Vec<_> = (0..node.width()).map(|index| spawned(node.child(index))).collect();
        let mut sum = node.value();
        for child in children {
            sum = sum.wrapping_add(joined(child).await);
        }
        sum
    })
}

/// The result of this task.
async fn joined(task: JoinHandle<u64>) -> u64 {
    task.await.expect("it was neither cancelled, nor has it panicked")
}
