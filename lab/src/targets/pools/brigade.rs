//! brigade: one implementation, and a configuration as a value.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use brigade::{Handle, Idle, Order, Placement, Pool, Queueing};

use super::{FEW, KEEP_ALIVE, MANY, Submit, Target};
use crate::targets::elastic::Size;

/// The configurations of brigade that have a name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Nothing configured.
    Default,
    /// [`Order::Fifo`].
    Fifo,
    /// [`Order::Lifo`].
    Lifo,
    /// [`Queueing::Shared`].
    Shared,
    /// [`Idle::Park`].
    Park,
    /// [`Idle::SpinThenPark`] for 10 µs.
    Spin10us,
    /// [`Idle::Spin`].
    Spin,
    /// [`Placement::Kernel`].
    Kernel,
    /// [`Placement::Spread`].
    Spread,
    /// As many threads as are asked for, and none but the first before there is work for it.
    Elastic,
    /// From [`FEW`] threads to [`MANY`], or to as many as are asked for if that is more.
    Elastic50,
}

impl Policy {
    /// Whether its threads start as the first tasks come, which is part of what is measured then.
    pub(crate) fn is_elastic(self) -> bool {
        matches!(self, Policy::Elastic | Policy::Elastic50)
    }
}

/// A brigade pool.
pub(crate) struct Brigade(Arc<Pool>);

impl Brigade {
    /// Starts a pool that differs from the default in what `policy` says.
    pub(crate) fn start(threads: usize, policy: Policy) -> io::Result<Self> {
        let builder = Pool::builder().threads(threads);
        let builder = match policy {
            Policy::Default => builder,
            Policy::Fifo => builder.order(Order::Fifo),
            Policy::Lifo => builder.order(Order::Lifo),
            Policy::Shared => builder.queueing(Queueing::Shared),
            Policy::Park => builder.idle(Idle::Park),
            Policy::Spin10us => builder.idle(Idle::SpinThenPark(Duration::from_micros(10))),
            Policy::Spin => builder.idle(Idle::Spin),
            Policy::Kernel => builder.placement(Placement::Kernel),
            Policy::Spread => builder.placement(Placement::Spread),
            Policy::Elastic => builder.threads(threads..=threads).keep_alive(KEEP_ALIVE),
            Policy::Elastic50 => builder.threads(FEW..=threads.max(MANY)).keep_alive(KEEP_ALIVE),
        };
        builder.build().map(|pool| Brigade(Arc::new(pool)))
    }

    /// Starts a pool of a size that changes, and nothing else that differs from the default.
    pub(crate) fn elastic(size: Size) -> io::Result<Self> {
        let builder = Pool::builder().threads(size.core..=size.max).keep_alive(size.keep_alive);
        builder.build().map(|pool| Brigade(Arc::new(pool)))
    }
}

impl Target for Brigade {
    type Outside = Owner;
    type Inside = Handle;

    fn outside(&self) -> Owner {
        Owner(Arc::clone(&self.0))
    }

    fn inside(&self) -> Handle {
        self.0.handle()
    }

    fn shutdown(self) {
        // The last owner drains and joins; the submitting threads have gone.
        drop(self.0);
    }
}

/// The pool's owner, as the submitting threads share it.
#[derive(Clone)]
pub(crate) struct Owner(Arc<Pool>);

impl Submit for Owner {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        self.0.execute(job);
    }
}

impl Submit for Handle {
    #[inline]
    fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
        // A pool that rejects the job has lost the task, which is what the tally reports.
        drop(self.execute(job));
    }
}
