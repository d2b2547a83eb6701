//! join, scopes and broadcasts: results, orders, borrows and panics.

mod pools;

use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex, mpsc};

use brigade_testkit::test;
use pools::{in_each, payload_of};
use rayon::prelude::*;
use rayon::{Scope, ScopeFifo, ThreadPool, ThreadPoolBuilder};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn deep_recursion_ends_with_the_result() {
    in_each(|| {
        assert_eq!(fib(18), 2584);
        fn deep(n: usize) -> usize {
            if n == 0 {
                return 0;
            }
            let (rest, one) = rayon::join(|| deep(n - 1), || 1);
            rest + one
        }
        assert_eq!(deep(500), 500);
    });
}

#[test]
fn join_context_knows_where_it_runs() {
    let both = rayon::join_context(|a| a.migrated(), |b| b.migrated());
    assert_eq!(both, (true, true), "from outside");
    let pool = pool(1);
    assert_eq!(
        pool.install(|| rayon::join_context(|a| a.migrated(), |b| b.migrated())),
        (false, false)
    );
    let pair = self::pool(2);
    let barrier = Barrier::new(2);
    let meet = |migrated| {
        barrier.wait();
        migrated
    };
    let both = pair.install(|| rayon::join_context(|a| meet(a.migrated()), |b| meet(b.migrated())));
    assert_eq!(both, (false, true));
}

#[test]
fn scopes_run_all_their_jobs() {
    fn tree<'scope>(scope: &Scope<'scope>, leaves: &'scope AtomicUsize, depth: u32) {
        match depth {
            0 => _ = leaves.fetch_add(1, SeqCst),
            _ => (0..2).for_each(|_| scope.spawn(move |scope| tree(scope, leaves, depth - 1))),
        }
    }
    fn fifo_tree<'scope>(scope: &ScopeFifo<'scope>, leaves: &'scope AtomicUsize, depth: u32) {
        match depth {
            0 => _ = leaves.fetch_add(1, SeqCst),
            _ => (0..2)
                .for_each(|_| scope.spawn_fifo(move |scope| fifo_tree(scope, leaves, depth - 1))),
        }
    }
    in_each(|| {
        let leaves = AtomicUsize::new(0);
        rayon::scope(|scope| tree(scope, &leaves, 8));
        rayon::in_place_scope(|scope| tree(scope, &leaves, 8));
        rayon::scope_fifo(|scope| fifo_tree(scope, &leaves, 8));
        rayon::in_place_scope_fifo(|scope| fifo_tree(scope, &leaves, 8));
        assert_eq!(leaves.into_inner(), 4 * 256);
        let mut words = vec![String::new(); 100];
        let written = rayon::scope(|scope| {
            for (at, word) in words.iter_mut().enumerate() {
                scope.spawn(move |_| word.push_str(&at.to_string()));
            }
            100
        });
        assert!(
            words.iter().enumerate().all(|(at, word)| *word == at.to_string()) && written == 100
        );
        // A scope inside another, whose job adds to the outer one.
        let count = AtomicUsize::new(0);
        rayon::scope(|outer| {
            rayon::scope(|inner| inner.spawn(|_| outer.spawn(|_| _ = count.fetch_add(1, SeqCst))));
            rayon::join(
                || outer.spawn(|_| _ = count.fetch_add(1, SeqCst)),
                || _ = (0..100).into_par_iter().sum::<i32>(),
            );
        });
        assert_eq!(count.into_inner(), 2);
    });
}

/// The order in which a single thread runs ten jobs.
fn order(run: impl FnOnce(&(dyn Fn(usize) + Sync)) + Send) -> Vec<usize> {
    let order = Mutex::new(Vec::new());
    pool(1).install(|| run(&|at| order.lock().unwrap().push(at)));
    order.into_inner().unwrap()
}

#[test]
fn a_thread_runs_newest_or_oldest_as_asked() {
    let up: Vec<_> = (0..10).collect();
    let down: Vec<_> = (0..10).rev().collect();
    assert_eq!(
        order(|ran| rayon::scope(|s| (0..10).for_each(|at| s.spawn(move |_| ran(at))))),
        down
    );
    assert_eq!(
        order(|ran| rayon::scope_fifo(|s| (0..10).for_each(|at| s.spawn_fifo(move |_| ran(at))))),
        up
    );
    for (fifo, expected) in [(false, &down), (true, &up)] {
        let (sender, receiver) = mpsc::channel();
        let pool = pool(1);
        pool.install(|| {
            for at in 0..10 {
                let sender = sender.clone();
                let job = move || sender.send(at).unwrap();
                if fifo { rayon::spawn_fifo(job) } else { rayon::spawn(job) }
            }
        });
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), *expected);
    }
    // Fifo inside of lifo: each scope has an order of its own.
    let nested = order(|ran| {
        rayon::scope(|outer| {
            for a in 0..3 {
                outer.spawn(move |_| {
                    rayon::scope_fifo(|inner| {
                        (0..3).for_each(|b| inner.spawn_fifo(move |_| ran(a * 10 + b)))
                    })
                });
            }
        });
    });
    assert_eq!(nested, [20, 21, 22, 10, 11, 12, 0, 1, 2]);
}

#[test]
fn broadcasts_run_once_on_each_thread() {
    in_each(|| {
        let threads = rayon::current_num_threads();
        let expected: Vec<_> = (0..threads).collect();
        let text = String::from("borrowed");
        let indices = rayon::broadcast(|context| {
            assert_eq!((text.len(), context.num_threads()), (8, threads));
            assert_eq!(rayon::current_thread_index(), Some(context.index()));
            context.index()
        });
        assert_eq!(indices, expected);
        let sum = AtomicUsize::new(0);
        let add = |n| _ = sum.fetch_add(n, SeqCst);
        rayon::scope(|s| {
            s.spawn_broadcast(|s, context| {
                add(context.index());
                s.spawn(move |_| add(1000));
                s.spawn_broadcast(|_, _| add(1_000_000));
            })
        });
        rayon::scope_fifo(|s| s.spawn_broadcast(|_, context| add(context.index())));
        let of_indices = threads * (threads - 1) / 2;
        assert_eq!(
            sum.into_inner(),
            2 * of_indices + 1000 * threads + 1_000_000 * threads * threads
        );
        let (sender, receiver) = mpsc::channel();
        rayon::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        let mut sent: Vec<_> = std::iter::from_fn(|| match receiver.try_recv() {
            Ok(index) => Some(Some(index)),
            Err(mpsc::TryRecvError::Empty) => {
                if rayon::yield_now().is_none() {
                    std::thread::yield_now();
                }
                Some(None)
            }
            Err(mpsc::TryRecvError::Disconnected) => None,
        })
        .flatten()
        .collect();
        sent.sort_unstable();
        assert_eq!(sent, expected);
    });
}

#[test]
fn mutual_broadcasts_of_two_pools_end() {
    let (three, seven) = (pool(3), pool(7));
    let count = AtomicUsize::new(0);
    three.install(|| {
        seven.broadcast(|_| three.broadcast(|_| count.fetch_add(1, SeqCst)));
    });
    assert_eq!(count.swap(0, SeqCst), 21);
    // On every thread at the same time.
    seven.broadcast(|_| seven.broadcast(|_| _ = count.fetch_add(1, SeqCst)));
    assert_eq!(count.into_inner(), 49);
    let barrier = Barrier::new(7);
    seven.in_place_scope(|s| s.spawn_broadcast(|_, _| _ = barrier.wait()));
}

#[test]
fn panics_reach_the_caller_after_everything() {
    std::panic::set_hook(Box::new(|_| ()));
    in_each(|| {
        let ended = AtomicUsize::new(0);
        let end = || _ = ended.fetch_add(1, SeqCst);
        assert_eq!(payload_of(|| rayon::join(|| panic_any(1_u32), end)), 1);
        assert_eq!(payload_of(|| rayon::join(end, || panic_any(2_u32))), 2);
        assert_eq!(payload_of(|| rayon::join(|| panic_any(3_u32), || panic_any(4_u32))), 3);
        let in_scope = || {
            rayon::scope(|s| {
                s.spawn(|s| {
                    s.spawn(|_| panic_any(5_u32));
                    end();
                });
                s.spawn(|_| end());
            })
        };
        assert_eq!(payload_of(in_scope), 5);
        let in_body = || {
            rayon::scope(|s| {
                s.spawn(|_| end());
                panic_any(6_u32)
            })
        };
        assert_eq!(payload_of::<()>(in_body), 6);
        assert_eq!(payload_of(|| rayon::scope_fifo(|s| s.spawn_fifo(|_| panic_any(7_u32)))), 7);
        assert_eq!(
            payload_of(|| rayon::broadcast(|context| {
                end();
                if context.index() + 1 == context.num_threads() {
                    panic_any(8_u32)
                }
            })),
            8
        );
        assert_eq!(ended.into_inner(), 5 + rayon::current_num_threads());
        assert_eq!(
            payload_of(|| (0..10_000).into_par_iter().for_each(|n| if n == 6_543 {
                panic_any(9_u32)
            })),
            9
        );
        assert_eq!(
            payload_of(|| {
                let mut numbers: Vec<_> = (0..20_000_u32).rev().collect();
                numbers.par_sort_by(|a, b| if *a == 7 { panic_any(10_u32) } else { a.cmp(b) });
            }),
            10
        );
        assert_eq!(payload_of(|| pool(2).install(|| panic_any(11_u32))), 11);
        assert_eq!((0..1000).into_par_iter().sum::<i32>(), 499_500, "the pool still works");
    });
}
