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

const _: () = {
    shared::<Pool>();
    shared::<CancelHandle>();
    clone::<CancelHandle>();
    shared::<JoinHandle<u8>>();
    shared::<TaskSet<u8>>();
    shared::<JobBuilder>();
    clone::<JobBuilder>();
    shared::<JobOnWorker>();
    clone::<JobOnWorker>();
    local::<LocalPool>();
    scoped::<Scope<'static, 'static>>();
    scoped::<ScopedJoinHandle<'static, u8>>();
    shared::<DelayedJob>();
    shared::<PeriodicJob>();
    debug::<Reserved>();
    sync::<Reserved>();
    shared::<Timer>();
    debug::<Sleep>();
    debug::<Interval>();
    debug::<Timeout<u8>>();
    debug::<NewThread>();
    debug::<Thread>();
    shared::<Builder>();
    shared::<ThreadName>();
    threads::<OnPanic>();
    debug::<OnPanic>();
    clone::<OnPanic>();
    threads::<YieldNow>();
    debug::<YieldNow>();
    plain::<Handle>();
    key::<Handle>();
    plain::<Report>();
    equal::<Report>();
    plain::<Queueing>();
    plain::<Order>();
    plain::<Idle>();
    plain::<Growth>();
    plain::<Placement>();
    plain::<Shutdown>();
    equal::<Shutdown>();
    plain::<ShutdownOptions>();
    equal::<ShutdownOptions>();
    plain::<Threads>();
    equal::<Threads>();
    plain::<Reason>();
    equal::<Reason>();
    error::<Reason>();
    plain::<WhenFull>();
    equal::<WhenFull>();
    plain::<Missed>();
    equal::<Missed>();
    plain::<Elapsed>();
    error::<Elapsed>();
    threads::<Sleep>();
    threads::<Interval>();
    value::<Victims>();
    equal::<Victims>();
    value::<Cpus>();
    equal::<Cpus>();
    plain::<Priority>();
    key::<Priority>();
    plain::<Role>();
    key::<Role>();
    value::<WorkerInfo>();
    equal::<WorkerInfo>();
    value::<Dump>();
    value::<JobDump>();
    value::<WaitDump>();
    value::<WorkerDump>();
    value::<ThreadState>();
    value::<Stall>();
    plain::<Outcome<'static>>();
    plain::<End>();
    key::<End>();
    value::<Metrics>();
    value::<WorkerMetrics>();
    shared::<JoinError>();
    error::<JoinError>();
    shared::<Panic>();
    shared::<Rejected<u8>>();
    shared::<Rejected<OnlySend>>();
    assert!(size_of::<Handle>() == 8, "a handle is one word");
};

#[cfg(feature = "histograms")]
const _: () = {
    value::<Histograms>();
    value::<Times>();
};

#[cfg(feature = "metrics")]
const _: () = shared::<MetricsExporter>();

#[cfg(feature = "trace")]
const _: () = {
    shared::<Trace>();
    shared::<Tracing>();
    plain::<TraceError>();
    error::<TraceError>();
};

/// A type that is `Send` and not `Sync`.
type OnlySend = Cell<u8>;

const _: () = {
    send::<JoinHandle<OnlySend>>();
    sync::<JoinHandle<u8>>();
    unpin::<JoinHandle<PhantomPinned>>();
    send::<Timeout<OnlySend>>();
    sync::<Timeout<u8>>();
    unpin::<Timeout<u8>>();
    send::<TaskSet<OnlySend>>();
    sync::<TaskSet<OnlySend>>();
    unpin::<TaskSet<PhantomPinned>>();
    send::<Rejected<OnlySend>>();
    sync::<Rejected<OnlySend>>();
    unpin::<Rejected<u8>>();
    error::<Rejected<OnlySend>>();
    error::<Rejected<Rc<PhantomPinned>>>();
};

/// Compiles only if `$type` lacks `$trait`: otherwise both implementations fit.
macro_rules! assert_not {
    ($type:ty: $trait:path) => {
        const _: fn() = || {
            trait Ambiguous<Marker> {
                fn pick() {}
            }
            struct Has;
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $trait> Ambiguous<Has> for T {}
            let _ = <$type as Ambiguous<_>>::pick;
        };
    };
}

assert_not!(Pool: Clone);
assert_not!(LocalPool: Send);
assert_not!(LocalPool: Sync);
assert_not!(LocalPool: Clone);
assert_not!(JoinHandle<u8>: Clone);
assert_not!(JoinHandle<Rc<u8>>: Send);
assert_not!(Timer: Clone);
assert_not!(Sleep: Clone);
assert_not!(Timeout<PhantomPinned>: Unpin);
assert_not!(JoinHandle<Rc<u8>>: Sync);
assert_not!(TaskSet<u8>: Clone);
assert_not!(TaskSet<Rc<u8>>: Send);
assert_not!(Rejected<Rc<u8>>: Send);

/// What the compiler has checked above; here only so that the list of tests shows it.
#[test]
fn every_public_type_has_the_marker_traits_it_promises() {
    threads::<Pool>();
    assert_eq!(size_of::<Option<Handle>>() % size_of::<Handle>(), 0);
}
