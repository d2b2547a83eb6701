//! A future of a pool, with its name and its watch.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::borrow::Cow;

use brigade_observe::{Watch, Watcher};
use brigade_task::Spawnable;
use pin_project_lite::pin_project;

use crate::engine::label_job;
use crate::submission::job_name;

pin_project! {
    /// A spawned future.
    pub(crate) struct With<F> {
        // First, so that it is dropped before its cancellation is reported.
        #[pin]
        future: F,
        // Boxed, because most futures have none.
        extra: Option<Box<Extra>>,
    }
}

struct Extra {
    name: Option<Cow<'static, str>>,
    watch: Option<Watch>,
}

impl<F> With<F> {
    /// The future is watched if there is a watcher.
    pub(super) fn new(
        future: F,
        name: Option<Cow<'static, str>>,
        watcher: Option<Watcher>,
    ) -> Self {
        let is_plain = name.is_none() && watcher.is_none();
        let watch = watcher.map(|watcher| watcher.begin(true));
        Self { future, extra: (!is_plain).then(|| Box::new(Extra { name, watch })) }
    }

    /// Returns the future, which was not accepted.
    pub(super) fn withdraw(self) -> F {
        self.extra.and_then(|extra| extra.watch).into_iter().for_each(Watch::withdraw);
        self.future
    }
}

impl<F: Spawnable> Future for With<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(Extra { name, watch }) = this.extra.as_deref_mut() else {
            return this.future.poll_spawned(context);
        };
        let poll = || {
            label_job(name.as_ref(), None);
            job_name::set(name, || this.future.poll_spawned(context))
        };
        match watch {
            None => poll(),
            Some(watch) => watch.run_for_now(poll, Poll::is_ready),
        }
    }
}
