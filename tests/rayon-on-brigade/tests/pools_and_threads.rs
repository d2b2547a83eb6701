//! Pools, their settings and their threads.

mod pools;

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use brigade_testkit::{eventually, test};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn indices_are_unique_below_the_thread_count() {
    for threads in [1, 2, 8] {
        let pool = pool(threads);
        assert_eq!((pool.current_num_threads(), pool.current_thread_index()), (threads, None));
        assert_eq!(rayon::current_thread_index(), None);
        let used: Vec<_> = (0..threads).map(|_| AtomicBool::new(false)).collect();
        let other = self::pool(2);
        let visit = |n: usize| {
            let index = rayon::current_thread_index().unwrap();
            assert_eq!(pool.current_thread_index(), Some(index));
            assert_eq!(rayon::current_num_threads(), threads);
            assert!(!used[index].swap(true, SeqCst));
            std::hint::black_box((0..n % 50).sum::<usize>());
            used[index].store(false, SeqCst);
            if n % 100 == 0 {
                assert_eq!(other.install(rayon::current_num_threads), 2);
                assert_eq!(other.install(|| pool.current_thread_index()), None);
                (0..n % 30).into_par_iter().for_each(|_| ());
            }
        };
        pool.install(|| (0..5_000).into_par_iter().for_each(visit));
    }
}

#[test]
fn pools_install_in_each_other_to_any_depth() {
    fn down(pools: &[ThreadPool], depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (a, b) = pools[depth % pools.len()]
            .install(|| rayon::join(|| down(pools, depth - 1), || down(pools, depth - 1)));
        a + b + 1
    }
    // Of one thread each: one that only waits would be the last.
    for threads in [1, 2] {
        // Unoptimized, the deepest of them needs a little more than the 2 MiB of a thread.
        let builder = || ThreadPoolBuilder::new().num_threads(threads).stack_size(8 << 20);
        let pools: Vec<_> = (0..3).map(|_| builder().build().unwrap()).collect();
        assert_eq!(down(&pools, 9), 511);
        let (one, two) = (&pools[0], &pools[1]);
        assert!(
            one.install(|| two.install(|| one.install(|| two.install(|| one.install(|| true)))))
        );
        let sum = AtomicUsize::new(0);
        one.scope(|a| {
            two.scope(|b| {
                for n in 0..100 {
                    let sum = &sum;
                    a.spawn(move |_| _ = sum.fetch_add(n, SeqCst));
                    b.spawn(move |b| {
                        sum.fetch_add(n, SeqCst);
                        b.spawn(move |_| {
                            one.in_place_scope(|s| s.spawn(move |_| _ = sum.fetch_add(n, SeqCst)))
                        });
                    });
                }
            })
        });
        assert_eq!(sum.into_inner(), 3 * 4950);
    }
}

#[test]
fn another_pools_scope_may_wait_for_this_one() {
    let (mine, other) = (pool(1), pool(1));
    mine.install(|| other.in_place_scope(|s| s.spawn(|_| mine.install(|| ()))));
    mine.install(|| other.in_place_scope_fifo(|s| s.spawn_fifo(|_| mine.install(|| ()))));
}

#[test]
fn a_yielding_job_runs_its_awaited_job() {
    for threads in [1, 2, 8] {
        let pool = pool(threads);
        let (sender, receiver) = mpsc::channel();
        pool.install(move || {
            let other = sender.clone();
            rayon::spawn(move || other.send(1).unwrap());
            rayon::spawn_fifo(move || sender.send(2).unwrap());
            let mut received = 0;
            while received < 2 {
                rayon::yield_now().unwrap();
                received += receiver.try_iter().count();
            }
        });
        let flag = AtomicBool::new(false);
        pool.install(|| {
            rayon::join(
                || {
                    while !flag.load(SeqCst) {
                        rayon::yield_now().unwrap();
                    }
                },
                || flag.store(true, SeqCst),
            )
        });
        // Another thread submits what the job waits for.
        let (begun, begins) = mpsc::channel();
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.install(|| {
                    begun.send(()).unwrap();
                    while !flag.load(SeqCst) {
                        pool.yield_now().unwrap();
                    }
                })
            });
            begins.recv().unwrap();
            pool.install(|| flag.store(true, SeqCst));
        });
    }
    let pool = pool(1);
    pool.install(|| {
        assert_eq!(
            (rayon::yield_now(), rayon::yield_local()),
            (Some(Yield::Idle), Some(Yield::Idle))
        );
        rayon::spawn(|| ());
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
        assert_eq!(rayon::yield_local(), Some(Yield::Executed));
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(false));
    });
    assert_eq!((rayon::yield_now(), pool.yield_local()), (None, None));
}

#[test]
fn a_waiting_job_lets_unrelated_jobs_run() {
    // b waits for a job from outside, which only the thread that waits for b can run.
    let pool = pool(2);
    let (begun, begins) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let pool = &pool;
        scope.spawn(move || {
            pool.install(|| {
                let (a, b) = mpsc::channel();
                rayon::join(
                    move || b.recv().unwrap(),
                    move || {
                        a.send(()).unwrap();
                        begun.send(()).unwrap();
                        receiver.recv().unwrap();
                    },
                );
            })
        });
        begins.recv().unwrap();
        thread::sleep(std::time::Duration::from_millis(5));
        pool.install(|| sender.send(()).unwrap());
    });
}

/// Needs more stack than a thread has by default, and than that of the test, into which it must not be inlined.
#[inline(never)]
fn large() -> usize {
    std::hint::black_box([0_u8; 4 << 20]).len()
}

#[test]
fn settings_reach_the_threads() {
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (on_start, on_end) = (started.clone(), ended.clone());
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("number {index}"))
        .stack_size(32 << 20)
        .start_handler(move |index| _ = on_start.fetch_add(index + 1, SeqCst))
        .exit_handler(move |index| _ = on_end.fetch_add(index + 1, SeqCst))
        .build()
        .unwrap();
    let names =
        pool.broadcast(|context| (context.index(), thread::current().name().map(String::from)));
    assert!(
        names
            .into_iter()
            .enumerate()
            .all(|(at, (index, name))| at == index && name == Some(format!("number {at}")))
    );
    assert_eq!(pool.install(large), 4 << 20);
    assert_eq!((started.load(SeqCst), ended.load(SeqCst)), (6, 0));
    drop(pool);
    eventually("the threads end", || ended.load(SeqCst) == 6);
    let unnamed = self::pool(1);
    assert_eq!(unnamed.install(|| thread::current().name().map(String::from)), None);
}

/// Builds a pool of the calling thread.
fn pool_of_this_thread() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap()
}

#[test]
fn a_callers_pool_runs_installs_forks_and_scopes_on_it() {
    let here = thread::current().id();
    let pool = pool_of_this_thread();
    let place = || {
        let indices = (rayon::current_thread_index(), pool.current_thread_index());
        assert_eq!((thread::current().id(), indices), (here, (Some(0), Some(0))));
        assert_eq!((rayon::current_num_threads(), pool.current_num_threads()), (1, 1));
    };
    place();
    pool.install(place);
    rayon::join(place, place);
    pool.join(|| rayon::join(place, place), place);
    let context = |context: rayon::FnContext| assert!(!context.migrated());
    rayon::join_context(context, context);
    let ran = AtomicUsize::new(0);
    let count = || {
        place();
        ran.fetch_add(1, SeqCst);
    };
    pool.scope(|s| {
        s.spawn(|s| s.spawn(|_| count()));
        s.spawn(|_| rayon::scope(|s| s.spawn(|_| count())));
    });
    rayon::in_place_scope(|s| s.spawn(|_| count()));
    rayon::scope_fifo(|s| {
        s.spawn_fifo(|_| count());
        s.spawn_broadcast(|_, _| count());
    });
    assert_eq!(ran.load(SeqCst), 5);
    assert_eq!(rayon::broadcast(|context| (context.index(), context.num_threads())), [(0, 1)]);
    assert_eq!((0..1000).into_par_iter().map(|n| n * 2).sum::<i32>(), 999_000);
    let other = self::pool(2);
    assert_eq!(other.install(rayon::current_num_threads), 2);
    drop(pool);
    assert_eq!(rayon::current_num_threads(), 1, "for good");
}

#[test]
fn a_yielding_callers_pool_runs_foreign_work() {
    let here = thread::current().id();
    let pool = pool_of_this_thread();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = ran.clone();
        move || _ = ran.fetch_add(1, SeqCst)
    };
    pool.spawn(count());
    pool.spawn_fifo(count());
    rayon::spawn(count());
    let shared = count();
    pool.spawn_broadcast(move |_| shared());
    assert_eq!(ran.load(SeqCst), 0, "it has not waited");
    while rayon::yield_now() == Some(Yield::Executed) {}
    assert_eq!(ran.load(SeqCst), 4);
    thread::scope(|scope| {
        let other = scope.spawn(|| pool.install(|| thread::current().id()));
        while !other.is_finished() {
            pool.yield_now();
        }
        assert_eq!(other.join().unwrap(), here);
    });
}

#[test]
fn a_callers_thread_is_in_no_other_pool() {
    let build = |threads| {
        let builder = ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
        builder.build().map(drop).map_err(|error| error.to_string())
    };
    let in_a_pool = Err("The current thread is already part of another thread pool.".to_owned());
    assert_eq!(pool(1).install(|| build(1)), in_a_pool);
    assert!(build(2).unwrap_err().contains("num_threads(1) only, and not with 2"));
    let pool = pool_of_this_thread();
    assert_eq!(build(1), in_a_pool);
    assert_eq!(pools::payload_of(|| pool.install(|| panic_any(7_u32))), 7);
    assert_eq!(pool.install(|| 42), 42);
}

#[test]
fn the_panic_handler_gets_spawned_panics() {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(move |payload| {
            sender.lock().unwrap().send(*payload.downcast_ref::<u32>().unwrap()).unwrap()
        })
        .build()
        .unwrap();
    pool.spawn(|| panic_any(1_u32));
    pool.spawn_fifo(|| rayon::spawn_fifo(|| panic_any(2_u32)));
    pool.spawn_broadcast(|_| panic_any(3_u32));
    let mut payloads: Vec<_> = receiver.iter().take(4).collect();
    payloads.sort_unstable();
    assert_eq!(payloads, [1, 2, 3, 3]);
    assert_eq!(pool.install(|| (0..100).into_par_iter().sum::<i32>()), 4950);
}

#[test]
fn user_started_threads_run_the_pool() {
    thread_local!(static MINE: Cell<bool> = const { Cell::new(false) });
    let mut handles = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(4)
        .spawn_handler(|thread| {
            handles.push(thread::Builder::new().spawn(move || {
                MINE.set(true);
                thread.run();
                assert_eq!(
                    rayon::current_thread_index(),
                    None,
                    "it is a thread of the pool no more"
                );
            })?);
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(handles.len(), 4);
    assert!(pool.broadcast(|_| MINE.get()).into_iter().all(|mine| mine));
    drop(pool);
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    let refused =
        ThreadPoolBuilder::new().num_threads(3).spawn_handler(|thread| match thread.index() {
            0 => thread::Builder::new().spawn(|| thread.run()).map(drop),
            _ => Err(std::io::Error::other("no more threads")),
        });
    assert_eq!(refused.build().unwrap_err().to_string(), "no more threads");
}

#[test]
fn threads_of_a_scoped_pool_may_borrow() {
    let ran = Mutex::new(HashSet::new());
    let sum = ThreadPoolBuilder::new().num_threads(3).build_scoped(
        |thread| {
            ran.lock().unwrap().insert(thread.index());
            thread.run();
        },
        |pool| pool.install(|| (0..1000).into_par_iter().sum::<i32>()),
    );
    assert_eq!((sum.unwrap(), ran.into_inner().unwrap().len()), (499_500, 3));
}

#[test]
fn spawned_jobs_outlive_their_pool() {
    let (sender, receiver) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let pool = pool(1);
    pool.spawn(move || {
        wait.recv().unwrap();
        rayon::spawn(move || {
            sender.send(rayon::join(|| 1, || (0..10).into_par_iter().sum::<i32>())).unwrap()
        });
    });
    drop(pool);
    go.send(()).unwrap();
    assert_eq!(receiver.recv(), Ok((1, 45)));
}

#[test]
fn many_threads_use_a_pool_at_once() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        thread::scope(|scope| {
            for seed in 0..6_u64 {
                let pool = &pool;
                scope.spawn(move || {
                    for round in 0..60 {
                        let count = (seed * 37 + round * 101) % 3_000;
                        let sum = pool.install(|| {
                            (0..count)
                                .into_par_iter()
                                .map(|n| {
                                    if n % 500 == 0 {
                                        rayon::join(
                                            || (0..n).into_par_iter().sum::<u64>(),
                                            || rayon::yield_now(),
                                        )
                                        .0
                                    } else {
                                        n
                                    }
                                })
                                .sum::<u64>()
                        });
                        let expected = (0..count)
                            .map(|n| if n % 500 == 0 { (0..n).sum() } else { n })
                            .sum::<u64>();
                        assert_eq!(sum, expected);
                        if round % 10 == 0 {
                            assert_eq!(pool.broadcast(|context| context.index()).len(), threads);
                        }
                    }
                });
            }
        });
    }
}
