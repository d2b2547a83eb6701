//! What a worker does, in the words of a trace. Without the feature `trace` no code reads them.

#[cfg(feature = "trace")]
pub(crate) use brigade_trace::{Label, Scope, Since, What};
#[cfg(not(feature = "trace"))]
pub(crate) use untraced::{Label, Scope, Since, What};

#[cfg(not(feature = "trace"))]
#[allow(dead_code, reason = "a trace would read the fields")]
mod untraced {
    use core::marker::PhantomData;

    /// A recorded activity of a worker, until this is dropped.
    pub(crate) struct Scope<'a>(PhantomData<&'a ()>);

    impl Scope<'_> {
        /// Removes the scope without recording it.
        pub(crate) fn discard(self) {}
    }

    /// The action of a worker: those of the trace's type that workers tell.
    pub(crate) enum What {
        Job(Label),
        Blocked,
        Search(Since),
        Parked { holds_driver: bool, since: Since },
        Stolen { from: usize, jobs: usize, are_forks: bool },
        Taken(usize),
        Timers(usize),
        Events(usize),
        Resumes,
        Starts(&'static str),
        Ends,
    }

    /// Of a job.
    #[derive(Default)]
    pub(crate) struct Label {}

    /// The action before a search or a sleep.
    pub(crate) enum Since {
        Running,
        Parked,
        Woken(u64),
    }
}
