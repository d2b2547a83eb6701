//! Pools for the parallel iterators of `orx-parallel`.

use core::num::NonZeroUsize;

use brigade_task::ScopeWith;
use orx_parallel::ThreadPool;

use crate::fork::{accepted, in_place_scope_with};
use crate::handle::Handle;
use crate::pool::Pool;

/// A scope in the form that `orx-parallel` passes along.
#[derive(Clone, Copy, Debug)]
pub struct OrxScope<'s, 'scope>(&'s ScopeWith<'scope, ()>);

impl<'s, 'env, 'scope> orx_parallel::Scope<'s, 'env, 'scope> for OrxScope<'s, 'scope> {
    fn run<W>(self, work: W)
    where
        'scope: 's,
        'env: 'scope + 's,
        W: FnOnce() + Send + 'scope + 'env,
    {
        self.0.execute_with(|_| work());
    }
}

/// Implements the trait for a type that dereferences to a [`Handle`].
macro_rules! impl_thread_pool {
    ($(#[$about:meta])* $pool:ty) => {
        $(#[$about])*
        impl ThreadPool for $pool {
            type ScopeRef<'s, 'env, 'scope>
                = OrxScope<'s, 'scope>
            where
                'scope: 's,
                'env: 'scope + 's;

            #[track_caller]
            fn scope<'env, 'scope, F>(&'env self, body: F)
            where
                'env: 'scope,
                for<'s> F: FnOnce(OrxScope<'s, 'scope>) + Send,
            {
                let pool: &Handle = self;
                let open = || in_place_scope_with(*pool, (), |scope| body(OrxScope(scope)));
                accepted(pool.install(open).and_then(|opened| opened));
            }

            fn max_num_threads(&self) -> NonZeroUsize {
                NonZeroUsize::new(*self.size().start()).unwrap_or(NonZeroUsize::MIN)
            }
        }
    };
}

impl_thread_pool! {
    /// Computations use at most as many threads as the pool's core size. They panic if the pool is closed.
    ///
    /// ```
    /// use orx_parallel::*;
    /// let pool = brigade::Pool::new(2);
    /// let numbers = (0..1000_usize).into_par().runner(Runner::fixed_with_pool(pool.handle()));
    /// let sum: usize = numbers.map(|number| number * 2).sum();
    /// assert_eq!(sum, 999_000);
    /// ```
    Handle
}

impl_thread_pool! {
    /// As for [`Handle`].
    Pool
}
