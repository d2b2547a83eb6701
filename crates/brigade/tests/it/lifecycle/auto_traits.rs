//! Which of the marker traits each public type has; part of what a version number promises.

use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use brigade::time::{Elapsed, Interval, Sleep, Timeout};
use brigade::{
    Builder, CancelOnDrop, Handle, Idle, JoinError, JoinHandle, Metrics, Missed, OnPanic, Order,
    Placement, Pool, Queueing, Reason, Rejected, Report, Shutdown, TaskSet, Timer, WhenFull,
    WorkerMetrics, YieldNow,
};

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

const _: () = {
    threads::<Pool>();
    threads::<Builder>();
    threads::<OnPanic>();
    clone::<OnPanic>();
    threads::<YieldNow>();
    plain::<Handle>();
    key::<Handle>();
    plain::<Report>();
    equal::<Report>();
    plain::<Queueing>();
    plain::<Order>();
    plain::<Idle>();
    plain::<Placement>();
    plain::<Shutdown>();
    plain::<Reason>();
    plain::<WhenFull>();
    equal::<WhenFull>();
    plain::<Missed>();
    equal::<Missed>();
    plain::<Elapsed>();
    error::<Elapsed>();
    threads::<Timer>();
    threads::<Sleep>();
    threads::<Interval>();
    value::<Metrics>();
    value::<WorkerMetrics>();
    send::<JoinError>();
    unpin::<JoinError>();
    error::<JoinError>();
    assert!(size_of::<Handle>() == 8, "a handle is one word");
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
    send::<CancelOnDrop<OnlySend>>();
    sync::<CancelOnDrop<u8>>();
    unpin::<CancelOnDrop<PhantomPinned>>();
    send::<TaskSet<OnlySend>>();
    sync::<TaskSet<OnlySend>>();
    unpin::<TaskSet<PhantomPinned>>();
    send::<Rejected<OnlySend>>();
    sync::<Rejected<u8>>();
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
assert_not!(JoinHandle<u8>: Clone);
assert_not!(JoinHandle<Rc<u8>>: Send);
assert_not!(Timer: Clone);
assert_not!(Sleep: Clone);
assert_not!(Timeout<PhantomPinned>: Unpin);
assert_not!(JoinHandle<Rc<u8>>: Sync);
assert_not!(CancelOnDrop<Rc<u8>>: Send);
assert_not!(TaskSet<u8>: Clone);
assert_not!(TaskSet<Rc<u8>>: Send);
assert_not!(Rejected<Rc<u8>>: Send);
assert_not!(JoinError: Sync);

/// What the compiler has checked above; here only so that the list of tests shows it.
#[test]
fn every_public_type_has_the_marker_traits_it_promises() {
    threads::<Pool>();
    assert_eq!(size_of::<Option<Handle>>() % size_of::<Handle>(), 0);
}
