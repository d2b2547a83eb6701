//! Jobs of each kind in a set: under its limit, taken, cancelled, dropped, detached, and at the end of the pool.

use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::crowd::{Crowd, for_both_queueings};
use crate::support::full::{POLICIES, at_rest, fill, with_capacity};
use brigade::{Builder, Handle, Pool, Reason, Shutdown, TaskSet, WhenFull, cancelled, yield_now};
use brigade_testkit::{Drops, Gate, Latch, Token, eventually, test};

/// Holds jobs of each kind until it is opened.
#[derive(Clone, Default)]
pub(super) struct Hold {
    gate: Gate,
    latch: Latch,
    pub(super) begun: Crowd,
}

impl Hold {
    pub(super) fn open(&self) {
        self.gate.open();
        self.latch.open();
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Closure,
    Future,
    Yielding,
}

impl Kind {
    /// Adds a job that does its work once `hold` is open.
    pub(super) fn add<T: Send + 'static>(
        self,
        set: &mut TaskSet<T>,
        hold: &Hold,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> usize {
        let Hold { gate, latch, begun } = hold.clone();
        let waits = latch.wait();
        if self == Kind::Closure {
            return set.submit(move || {
                let _inside = begun.enter();
                gate.wait();
                work()
            });
        }
        set.spawn(async move {
            let _inside = begun.enter();
            waits.await;
            if self == Kind::Yielding {
                yield_now().await;
            }
            work()
        })
    }
}

/// Runs `claim` for each kind and each queueing; a failure shows both.
pub(super) fn for_each_kind(claim: impl Fn(Kind, Builder)) {
    for kind in [Kind::Closure, Kind::Future, Kind::Yielding] {
        println!("{kind:?}");
        for_both_queueings(|builder| claim(kind, builder));
    }
}

#[test]
fn outcomes_come_in_order_of_completion() {
    for_each_kind(|kind, builder| {
        let pool = builder.threads(3).build().unwrap();
        for at_once in [true, false] {
            let (mut set, holds) = (TaskSet::new(&pool), <[Hold; 3]>::default());
            for (number, hold) in holds.iter().enumerate() {
                kind.add(&mut set, hold, move || number);
            }
            for (ended, number) in [1, 2, 0].into_iter().enumerate() {
                let before = pool.metrics().returned;
                if at_once {
                    assert!(set.len() == 3 - ended && set.try_join_next().is_none());
                }
                holds[number].open();
                if at_once {
                    assert_eq!(set.join_next().unwrap().unwrap(), number);
                }
                eventually("the job is counted", || pool.metrics().returned > before);
            }
            if !at_once {
                assert!(set.wait_all());
                assert!(set.outcomes().map(Result::unwrap).eq([1, 2, 0]));
            }
            assert!(set.join_next().is_none() && set.is_empty());
        }
    });
}

/// Each job waits until as many as the limit are there.
#[test]
fn the_limit_bounds_running_jobs_and_keeps_order() {
    for limit in [1, 3] {
        for_each_kind(|kind, builder| {
            let (pool, hold) = (builder.threads(4).build().unwrap(), Hold::default());
            let (mut set, all_there) =
                (TaskSet::new(&pool).limit(limit), Arc::new(Barrier::new(limit)));
            for number in 0..900 {
                let all_there = all_there.clone();
                kind.add(&mut set, &hold, move || {
                    all_there.wait();
                    number
                });
            }
            eventually("as many as allowed have begun", || hold.begun.now() == limit);
            // A future that waits is on the pool.
            assert_eq!(pool.metrics().accepted, limit as u64);
            hold.open();
            assert!(set.wait_all());
            let mut outcomes: Vec<_> = set.outcomes().map(Result::unwrap).collect();
            if limit > 1 {
                outcomes.sort_unstable();
            }
            assert!(outcomes.into_iter().eq(0..900));
            assert_eq!((hold.begun.most(), at_rest(&pool)), (limit, [900, 900, 0, 0, 0]));
        });
    }
}

/// Counts the jobs that wait, before the only thread of a pool is busy until the gate opens.
fn begin(kind: Kind, pool: &Pool, hold: &Hold, gate: &Gate, mut add: impl FnMut()) -> usize {
    let waiting = if kind == Kind::Closure { 0 } else { 2 };
    (0..waiting).for_each(|_| add());
    eventually("both wait", || hold.begun.now() == waiting);
    pool.wait_idle();
    occupy(pool, gate);
    waiting
}

#[test]
fn a_set_cancels_present_jobs_and_no_later_ones() {
    for (capacity, limit) in [(None, 2), (None, 4), (None, 1000), (Some(1), 4), (Some(1), 1000)] {
        for_each_kind(|kind, builder| {
            let pool = with_capacity(builder.threads(1), capacity).build().unwrap();
            let (hold, gate, drops) = (Hold::default(), Gate::closed(), Drops::default());
            let mut set = TaskSet::new(&pool).limit(limit);
            let mut add = || {
                let token = drops.token();
                kind.add(&mut set, &hold, move || drop(token));
            };
            let count = begin(kind, &pool, &hold, &gate, &mut add) + 10;
            (0..10).for_each(|_| add());
            set.cancel_all();
            set.cancel_all();
            if kind == Kind::Closure {
                assert_eq!(drops.count(), count, "captures are dropped at once");
                assert!(
                    (0..count).all(|_| set.try_join_next().unwrap().unwrap_err().is_cancelled())
                );
            } else {
                assert_eq!(set.len(), count);
            }
            gate.open();
            assert!(set.outcomes().all(|outcome| outcome.unwrap_err().is_cancelled()));
            assert_eq!(drops.count(), count);
            assert_eq!(at_rest(&pool), [count as u64 + 1, 1, 0, count as u64, 0]);
            hold.open();
            kind.add(&mut set, &hold, || ());
            assert!(set.join_next().unwrap().is_ok(), "it was added later");
            let on_worker = pool.submit(move || {
                let mut set = TaskSet::new(Handle::current().unwrap()).limit(limit);
                (0..5).for_each(|_| _ = kind.add(&mut set, &hold, || ()));
                set.cancel_all();
                set.outcomes().filter(Result::is_err).count()
            });
            assert_eq!(on_worker.join().unwrap(), 5);
        });
    }
}

#[test]
fn a_dropped_set_cancels_and_drops_everything() {
    for room in [1, 2, 1000] {
        for_each_kind(|kind, builder| {
            let (pool, hold) = (builder.threads(1).build().unwrap(), Hold::default());
            let (gate, drops) = (Gate::closed(), Drops::default());
            let ((begun, begins), (stopped, stops)) = (mpsc::channel(), mpsc::channel());
            let waiting = if kind == Kind::Closure { 0 } else { 2 };
            let mut set = TaskSet::new(&pool).limit(waiting + room);
            let token = || drops.token();
            (0..2).for_each(|_| {
                let outcome = token();
                set.submit(move || outcome);
            });
            assert!(set.wait_all());
            drop(set.join_next());
            assert_eq!(drops.count(), 1);
            let add = |set: &mut TaskSet<Token>| {
                let token = token();
                kind.add(set, &hold, move || token);
            };
            (0..waiting).for_each(|_| add(&mut set));
            eventually("both wait", || hold.begun.now() == waiting);
            let (inner, result) = (gate.clone(), token());
            set.submit(move || {
                begun.send(()).unwrap();
                while !cancelled() {
                    thread::yield_now();
                }
                stopped.send(()).unwrap();
                inner.wait();
                result
            });
            begins.recv().unwrap();
            (0..5).for_each(|_| add(&mut set));
            drop(set);
            stops.recv().unwrap();
            if kind == Kind::Closure {
                assert_eq!(drops.count(), 2 + 5, "all but that of the running job");
            }
            gate.open();
            eventually("its outcome is dropped", || drops.count() == 2 + waiting + 1 + 5);
            let cancelled = waiting as u64 + 5;
            assert_eq!(at_rest(&pool), [cancelled + 3, 3, 0, cancelled, 0]);
        });
    }
}

#[test]
fn detached_jobs_go_on_outside_the_limit() {
    for capacity in [None, Some(2)] {
        for_each_kind(|kind, builder| {
            let builder = with_capacity(builder.threads(2), capacity).when_full(WhenFull::Reject);
            let (pool, hold, gate) = (builder.build().unwrap(), Hold::default(), Gate::closed());
            occupy(&pool, &gate);
            let filled = capacity.map_or(0, |_| fill(&pool)) as u64;
            let (mut set, drops) = (TaskSet::new(&pool).limit(2), Drops::default());
            for _ in 0..10 {
                let token = drops.token();
                kind.add(&mut set, &hold, move || Some(token));
            }
            set.detach_all();
            assert!(set.is_empty() && set.join_next().is_none());
            assert_eq!(pool.metrics().accepted, 2 + filled + 10, "the jobs in line, too");
            set.submit(|| None);
            assert_eq!(pool.metrics().accepted, 2 + filled + 11);
            gate.open();
            hold.open();
            assert!(set.join_next().unwrap().unwrap().is_none());
            eventually("their outcomes are dropped as they end", || drops.count() == 10);
        });
    }
}

/// No other thread can run them or make room.
#[test]
fn an_owner_on_the_only_worker_runs_only_its_set() {
    for (capacity, limit) in [(None, 1), (None, 2), (None, 1000), (Some(1), 3), (Some(1), 1000)] {
        for_each_kind(|kind, builder| {
            let builder = with_capacity(builder.threads(1).spare_threads(0), capacity);
            let pool = builder.when_full(WhenFull::Reject).build().unwrap();
            let (other, runs) = mpsc::channel();
            let owner = pool.submit(move || {
                let mut set = TaskSet::new(Handle::current().unwrap()).limit(limit);
                brigade::execute(move || other.send(()).unwrap());
                let hold = Hold::default();
                hold.open();
                (0..100).for_each(|_| _ = kind.add(&mut set, &hold, || thread::current().id()));
                let first = set.join_next().unwrap().unwrap();
                assert!(set.wait_all());
                let threads: Vec<_> = set.outcomes().map(Result::unwrap).chain([first]).collect();
                if kind == Kind::Closure {
                    assert!(runs.try_recv().is_err(), "the other job has to wait");
                }
                assert!(threads.iter().all(|thread| *thread == thread::current().id()));
                (threads.len(), runs)
            });
            let (ran, runs) = owner.join().unwrap();
            assert_eq!(ran, 100);
            runs.recv().unwrap();
            assert_eq!(at_rest(&pool), [102, 102, 0, 0, 0]);
        });
    }
}

#[test]
fn each_end_of_the_pool_accounts_for_a_set() {
    let bounded = POLICIES.map(|policy| (Some(2), policy));
    for (capacity, policy) in bounded.into_iter().chain([(None, WhenFull::Reject)]) {
        for limit in [2, 3, 100] {
            for how in [None, Some(Shutdown::Drain), Some(Shutdown::Discard)] {
                for_each_kind(|kind, builder| {
                    let builder = with_capacity(builder.threads(1), capacity).when_full(policy);
                    let (pool, hold) = (builder.build().unwrap(), Hold::default());
                    let (handle, gate, drops) = (pool.handle(), Gate::closed(), Drops::default());
                    let mut set = TaskSet::new(&pool).limit(limit);
                    let mut add = || {
                        let token = drops.token();
                        kind.add(&mut set, &hold, move || drop(token));
                    };
                    let is_discarded = how == Some(Shutdown::Discard);
                    let waiting = if is_discarded {
                        begin(kind, &pool, &hold, &gate, &mut add)
                    } else {
                        hold.open();
                        occupy(&pool, &gate);
                        0
                    };
                    (0..20).for_each(|_| add());
                    open_once_closed(&gate, handle);
                    let report = how.map(|how| (pool.shutdown(how), at_rest(&pool)));
                    drop(pool);
                    assert!(set.wait_all());
                    let count = waiting + 20;
                    assert_eq!(drops.count(), count);
                    let cancelled = set.outcomes().filter(Result::is_err).count() as u64;
                    match kind {
                        // A pool that drains cancels futures that yield, but for the first one.
                        Kind::Yielding => assert!(cancelled + 1 >= count as u64),
                        _ if is_discarded => assert_eq!(cancelled, count as u64),
                        _ => assert_eq!(cancelled, 0),
                    }
                    if let Some((report, [accepted, returned, ..])) = report {
                        assert_eq!((report.ran, report.still_running), (returned, 0));
                        assert_eq!(report.discarded, cancelled);
                        assert_eq!((accepted, returned), (count as u64 + 1, accepted - cancelled));
                    }
                    assert_eq!(set.try_spawn(async {}).unwrap_err().reason(), Reason::Closed);
                });
            }
        }
    }
}
