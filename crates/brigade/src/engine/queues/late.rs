//! A job visible only after a heavy fence, like a fork whose store is still in the owner's store buffer.
//!
//! The tests of the table in `engine/FORKS.md` use it, because no test can keep a store in a store buffer.
//! Other builds have no such job.

#[cfg(all(test, not(brigade_loom)))]
mod imp {
    use brigade_sync::atomic::Ordering;
    use brigade_sync::unmodelled::AtomicUsize;
    use brigade_task::Job;

    use crate::engine::queues::injectors::Injectors;

    /// Whether the next heavy fence queues a job.
    #[derive(Default)]
    pub(in crate::engine) struct Late(AtomicUsize);

    impl Late {
        /// Makes the next heavy fence queue a job.
        pub(in crate::engine) fn expect(&self) {
            self.0.store(1, Ordering::Relaxed);
        }

        pub(in crate::engine) fn arrive(&self, injectors: &Injectors) {
            if self.0.swap(0, Ordering::Relaxed) > 0 {
                assert!(injectors.mine().push(Job::new(|| ())).is_ok(), "the pool is open");
            }
        }
    }
}

#[cfg(not(all(test, not(brigade_loom))))]
mod imp {
    use crate::engine::queues::injectors::Injectors;

    #[derive(Default)]
    pub(in crate::engine) struct Late(());

    impl Late {
        #[inline(always)]
        pub(in crate::engine) fn arrive(&self, _: &Injectors) {
            let Self(()) = self;
        }
    }
}

pub(in crate::engine) use imp::Late;
