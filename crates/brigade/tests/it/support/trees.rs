//! Jobs that have children in all ways in which a job can have them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brigade::Handle;
use brigade_testkit::spin_for;

/// Counts the jobs of trees that have not ended.
#[derive(Clone, Default)]
pub(crate) struct Trees(Arc<AtomicUsize>);

impl Trees {
    pub(crate) fn unfinished(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A job with children, and theirs, submitted in all ways there are.
    pub(crate) fn job(&self, depth: usize) -> impl FnOnce() + Send + 'static {
        self.0.fetch_add(1, Ordering::Relaxed);
        let trees = self.clone();
        move || {
            if depth > 0 {
                brigade::execute(trees.boxed(depth - 1));
                let handle = Handle::current().unwrap();
                let pair = [trees.boxed(depth - 1), trees.boxed(0)];
                handle.job().execute_batch(pair).unwrap();
                let joined = brigade::submit(trees.boxed(depth - 1));
                brigade::execute(trees.boxed(0));
                joined.join().unwrap();
            }
            spin_for(Duration::from_micros(2));
            trees.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn boxed(&self, depth: usize) -> Box<dyn FnOnce() + Send> {
        Box::new(self.job(depth))
    }
}
