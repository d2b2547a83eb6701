//! Which of the marker traits each public type has; part of what a version number promises.

use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

#[cfg(feature = "metrics")]
use brigade::MetricsExporter;
use brigade::time::{Elapsed, Interval, Sleep, Timeout};
use brigade::{
    Builder, CancelHandle, Cpus, DelayedJob, Dump, End, Growth, Handle, Idle, JobBuilder, JobDump,
    JobOnWorker, JoinError, JoinHandle, LocalPool, Metrics, Missed, NewThread, OnPanic, Order,
    Outcome, Panic, PeriodicJob, Placement, Pool, Priority, Queueing, Reason, Rejected, Report,
    Reserved, Role, Scope, ScopedJoinHandle, Shutdown, ShutdownOptions, Stall, TaskSet, Thread,
    ThreadName, ThreadState, Threads, Timer, Victims, WaitDump, WhenFull, WorkerDump, WorkerInfo,
    WorkerMetrics, YieldNow,
};

#[cfg(feature = "histograms")]
use brigade::{Histograms, Times};

#[cfg(feature = "trace")]
use brigade::{Trace, TraceError, Tracing};

const fn threads<T: Send + Sync + Unpin + 'static>() {}
const fn plain<T: Copy + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
const fn value<T: Clone + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
const fn send<T: Send>() {}
const fn sync<T: Sync>() {}
const fn unpin<T: Unpin>() {}
const fn error<T: Error>() {}
const fn key<T: Eq + Hash>() {}
const fn equal<T: PartialEq + Eq>() {}
const fn clone<T: Clone>() {}

/// What any thread may hold, also one that has caught a panic.
const fn shared<T: Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}

/// What one thread may hold, also after it has caught a panic.
const fn local<T: Debug + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}

/// The same of types that nothing unwinds through.
const fn debug<T: Debug + Send + Unpin + 'static>() {}

/// The same of what the jobs of a scope share.
const fn scoped<T: Debug + Send + Sync>() {}

/// Compiles only if each type has the traits of the check.
macro_rules! each {
    ($check:ident: $($type:ty),+) => {
        const _: () = { $($check::<$type>();)+ };
    };
}

each!(shared:
    Pool, CancelHandle, JoinHandle<u8>, TaskSet<u8>, JobBuilder, JobOnWorker, DelayedJob,
    PeriodicJob, Timer, Builder, ThreadName, JoinError, Panic, Rejected<u8>, Rejected<OnlySend>
);
each!(local: LocalPool);
each!(debug: Reserved, Sleep, Interval, Timeout<u8>, NewThread, Thread, OnPanic, YieldNow);
each!(scoped: Scope<'static, 'static>, ScopedJoinHandle<'static, u8>);
each!(plain:
    Handle, Report, Queueing, Order, Idle, Growth, Placement, Shutdown, ShutdownOptions, Threads,
    Reason, WhenFull, Missed, Elapsed, Priority, Role, Outcome<'static>, End
);
each!(value:
    Victims, Cpus, WorkerInfo, Dump, JobDump, WaitDump, WorkerDump, ThreadState, Stall, Metrics,
    WorkerMetrics
);
each!(threads: OnPanic, YieldNow, Sleep, Interval);
each!(sync: Reserved);
each!(clone: CancelHandle, JobBuilder, JobOnWorker, OnPanic);
each!(key: Handle, Priority, Role, End);
each!(equal:
    Report, Shutdown, ShutdownOptions, Threads, Reason, WhenFull, Missed, Victims, Cpus, WorkerInfo
);
each!(error: Reason, Elapsed, JoinError);

const _: () = assert!(size_of::<Handle>() == 8, "a handle is small");

#[cfg(feature = "histograms")]
each!(value: Histograms, Times);

#[cfg(feature = "metrics")]
each!(shared: MetricsExporter);

#[cfg(feature = "trace")]
each!(shared: Trace, Tracing);
#[cfg(feature = "trace")]
each!(plain: TraceError);
#[cfg(feature = "trace")]
each!(error: TraceError);

/// A type that is `Send` and not `Sync`.
type OnlySend = Cell<u8>;

each!(send: JoinHandle<OnlySend>, Timeout<OnlySend>, TaskSet<OnlySend>, Rejected<OnlySend>);
each!(sync: JoinHandle<u8>, Timeout<u8>, TaskSet<OnlySend>, Rejected<OnlySend>);
each!(unpin: JoinHandle<PhantomPinned>, Timeout<u8>, TaskSet<PhantomPinned>, Rejected<u8>);
each!(error: Rejected<OnlySend>, Rejected<Rc<PhantomPinned>>);

/// Compiles only if each type lacks the trait: otherwise both implementations fit.
macro_rules! none {
    ($trait:ident: $($type:ty),+) => {$(
        const _: fn() = || {
            trait Ambiguous<Marker> {
                fn pick() {}
            }
            struct Has;
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::pick;
        };
    )+};
}

none!(Clone: Pool, LocalPool, JoinHandle<u8>, Timer, Sleep, TaskSet<u8>);
none!(Send: LocalPool, JoinHandle<Rc<u8>>, TaskSet<Rc<u8>>, Rejected<Rc<u8>>);
none!(Sync: LocalPool, JoinHandle<Rc<u8>>);
none!(Unpin: Timeout<PhantomPinned>);

/// What the compiler has checked above; here only so that the list of tests shows it.
#[test]
fn every_public_type_has_its_marker_traits() {
    threads::<Pool>();
    assert!(size_of::<Option<Handle>>() <= 2 * size_of::<Handle>());
}
