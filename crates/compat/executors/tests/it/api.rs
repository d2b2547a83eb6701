//! Every item, with the types that the documentation of executors 0.10 gives it.

use std::fmt::Debug;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::time::Duration;

use executors::bichannel::{Endpoint, bichannel};
use executors::common;
use executors::crossbeam_channel_pool as channel;
use executors::crossbeam_workstealing_pool as stealing;
use executors::futures_executor;
use executors::parker::{
    DynParker, DynamicThreadData, LargeThreadData, ParkResult, Parker, SmallThreadData,
    StaticParker, ThreadData,
};
use executors::run_now::RunNowExecutor;
use executors::threadpool_executor::ThreadPoolExecutor;
use executors::{CanExecute, Executor, FuturesExecutor, JoinHandle, parker, try_execute_locally};

type Job = Box<dyn FnOnce() + Send + 'static>;
type Stealing<T> = stealing::ThreadPool<StaticParker<T>>;

fn is_executor<E: Executor + Debug + Sync + 'static>() {
    let _: fn(&E, Job) = E::execute_job;
    let _: fn(&E, fn()) = E::execute::<fn()>;
    let _: fn(&E) = E::shutdown_async;
    let _: fn(E) -> Result<(), String> = E::shutdown;
    let _: fn(&E) -> Result<(), String> = E::shutdown_borrowed;
    let _: for<'a> fn(&'a E) -> &'a dyn CanExecute = |executor| executor;
    #[cfg(feature = "produce-metrics")]
    let _: fn(&E) = E::register_metrics;
}

fn runs_futures<E: FuturesExecutor + Debug>() {
    is_executor::<E>();
    let _: fn(&E) -> JoinHandle<u32> = |executor| executor.spawn(async { 42 });
}

fn parks<P: Parker + Debug + 'static>() {
    let _: fn(&P) -> Option<usize> = P::max_threads;
    let _: [fn(&P, usize); 3] = [P::init, P::prepare_park, P::abort_park];
    let _: fn(&P, usize) -> ParkResult = P::park;
    let _: [fn(&P); 2] = [P::unpark_one, P::unpark_all];
    runs_futures::<stealing::ThreadPool<P>>();
    let _: fn(usize, P) -> stealing::ThreadPool<P> = stealing::ThreadPool::new;
}

fn is_data<T: ThreadData + Debug + Send + Sync + 'static>() {
    let _: fn(&T) -> Option<usize> = T::max_threads;
    let _: [fn(&T, usize); 3] = [T::init, T::prepare_park, T::abort_park];
    let _: fn(&T, usize) -> ParkResult = T::park;
    let _: fn(&T) -> bool = T::all_awake;
    let _: [fn(&T); 2] = [T::unpark_one, T::unpark_all];
    let _: fn(StaticParker<T>) -> Result<DynParker, StaticParker<T>> = StaticParker::dynamic;
    parks::<StaticParker<T>>();
}

#[test]
fn every_documented_item_has_its_type() {
    is_executor::<RunNowExecutor>();
    is_executor::<ThreadPoolExecutor>();
    runs_futures::<channel::ThreadPool>();
    parks::<DynParker>();
    is_data::<SmallThreadData>();
    is_data::<LargeThreadData>();
    is_data::<DynamicThreadData>();
    let _: fn(usize) -> ThreadPoolExecutor = ThreadPoolExecutor::new;
    let _: fn(usize) -> channel::ThreadPool = channel::ThreadPool::new;
    let _: fn() -> RunNowExecutor = RunNowExecutor::new;
    let _: fn(usize) -> Stealing<SmallThreadData> = stealing::small_pool;
    let _: fn(usize) -> Stealing<LargeThreadData> = stealing::large_pool;
    let _: fn(usize) -> Stealing<DynamicThreadData> = stealing::dyn_pool;
    let _: fn(usize) -> stealing::ThreadPool<DynParker> = stealing::pool_with_auto_parker;
    let _: fn(Job) -> Result<(), Job> = stealing::execute_locally::<Job>;
    let _: fn(Job) -> Result<(), Job> = try_execute_locally::<Job>;
    let _: fn() -> StaticParker<SmallThreadData> = parker::small;
    let _: fn() -> StaticParker<LargeThreadData> = parker::large;
    let _: fn() -> StaticParker<DynamicThreadData> = parker::dynamic;
    let _: [usize; 2] = [SmallThreadData::MAX_THREADS, LargeThreadData::MAX_THREADS];
    let _: ParkResult = ParkResult::Retry;
}

#[test]
fn two_names_mean_the_same_item() {
    fn of_modules<E: futures_executor::FuturesExecutor + common::Executor + common::CanExecute>(
        executor: &E,
    ) -> futures_executor::JoinHandle<u32> {
        executor.spawn(async { 42 })
    }
    let handle: async_task::Task<u32> = of_modules(&channel::ThreadPool::new(1));
    assert_eq!(::futures::executor::block_on(handle), 42);
}

#[test]
fn executors_have_defaults() {
    fn default<E: Executor + Default>() {
        let (told, tells) = std::sync::mpsc::channel();
        let executor = E::default();
        executor.execute(move || told.send(42).unwrap());
        assert_eq!(tells.recv(), Ok(42));
        assert_eq!(executor.shutdown(), Ok(()));
    }
    default::<RunNowExecutor>();
    default::<ThreadPoolExecutor>();
    default::<channel::ThreadPool>();
    default::<stealing::ThreadPool<DynParker>>();
}

#[cfg(feature = "thread-pinning")]
#[test]
fn every_item_of_pinning_has_its_type() {
    use core_affinity::CoreId;
    let _: fn(&[CoreId], usize) -> channel::ThreadPool = channel::ThreadPool::with_affinity;
    let _: fn(&[CoreId], usize, DynParker) -> stealing::ThreadPool<DynParker> =
        stealing::ThreadPool::with_affinity;
}

#[cfg(feature = "numa-aware")]
#[test]
fn every_item_of_numa_has_its_type() {
    use core_affinity::CoreId;
    use executors::numa_utils::{ProcessingUnitDistance, equidistance};
    fn is_collected<T: FromIterator<Vec<i32>> + FromIterator<Box<[i32]>> + Debug + PartialEq>() {}
    is_collected::<ProcessingUnitDistance>();
    type Numa = fn(&[CoreId], usize, DynParker, ProcessingUnitDistance) -> Dyn;
    type Dyn = stealing::ThreadPool<DynParker>;
    let _: Numa = stealing::ThreadPool::with_numa_affinity;
    type Rows = Box<[Box<[i32]>]>;
    type Distance = fn(usize, usize) -> i32;
    let _: fn(Rows) -> ProcessingUnitDistance = ProcessingUnitDistance::new;
    let _: fn() -> ProcessingUnitDistance = ProcessingUnitDistance::empty;
    let _: fn(usize, Distance) -> ProcessingUnitDistance = ProcessingUnitDistance::from_function;
    let _: fn(&ProcessingUnitDistance, CoreId, CoreId) -> i32 = ProcessingUnitDistance::distance;
    let _: fn(usize, usize) -> i32 = equidistance;
}

#[test]
fn both_ends_of_a_bichannel_work() {
    let (left, right): (Endpoint<u8, &str>, Endpoint<&str, u8>) = bichannel();
    assert_eq!(left.send("hello"), Ok(()));
    assert_eq!(right.recv(), Ok("hello"));
    (0..4).for_each(|number| right.send(number).unwrap());
    assert_eq!(left.try_recv(), Ok(0));
    assert_eq!(left.recv_timeout(Duration::MAX), Ok(1));
    assert_eq!(left.try_iter().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(left.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(left.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    right.send(4).unwrap();
    drop(right);
    assert_eq!(left.iter().collect::<Vec<_>>(), [4]);
    assert_eq!(left.recv(), Err(RecvError));
    assert_eq!(left.send("too late"), Err(SendError("too late")));
}

#[test]
fn impossible_sizes_are_panics() {
    fn panics(make: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        let payload = std::panic::catch_unwind(make).unwrap_err();
        let text = brigade_testkit::panics::text(&*payload).unwrap_or_default();
        text.contains("1 thread") || text.contains("32 threads") || text.contains("64 threads")
    }
    assert!(panics(|| drop(stealing::small_pool(0))));
    assert!(panics(|| drop(stealing::small_pool(33))));
    assert!(panics(|| drop(stealing::large_pool(65))));
    assert!(panics(|| drop(stealing::pool_with_auto_parker(0))));
    assert!(panics(|| drop(channel::ThreadPool::new(0))));
    assert!(panics(|| drop(ThreadPoolExecutor::new(0))));
    assert_eq!(stealing::pool_with_auto_parker(65).shutdown(), Ok(()));
}
