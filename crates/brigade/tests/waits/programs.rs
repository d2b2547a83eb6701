//! Programs that once hung, or ended the process, in a wait. A job that waits for an event in place of a time hangs if the event depends on
//! the job's end.

use std::error::Error;
use std::future::{Future, pending};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use brigade::{Builder, Handle, LocalPool, Pool, Shutdown, TaskSet, block_on, sleep};
use brigade_testkit::{Bomb, Gate, Halt, OnDrop, eventually, panics};

use crate::run::Case;

type Ended = Result<(), Box<dyn Error>>;
type Program = fn() -> Ended;

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn is(claim: bool, otherwise: impl FnOnce() -> String) -> Ended {
    if claim { Ok(()) } else { Err(otherwise().into()) }
}

/// In processes of their own: those that nest deep may abort, and the last need a process without a monitor.
static ALONE: &[(&str, Program)] = &[
    ("100,000 closures each own the handle, the set or the timer of the next", || {
        const LINKS: usize = 100_000;
        let (pool, gate) = (Pool::new(1), Gate::closed());
        pool.execute(gate.job());
        let mut job = pool.submit(|| ()).cancel_on_drop();
        for _ in 0..LINKS {
            let next = job;
            job = pool.submit(move || drop(next)).cancel_on_drop();
        }
        let mut set = TaskSet::new(&pool);
        for _ in 0..LINKS {
            let next = set;
            set = TaskSet::new(&pool);
            set.submit(move || drop(next));
        }
        let hour = millis(3_600_000);
        let mut timer = pool.job().after(hour).execute(|| ())?;
        for _ in 0..LINKS {
            let next = OnDrop(move || _ = timer.cancel());
            timer = pool.job().after(hour).execute(move || drop(next))?;
        }
        drop((job, set));
        is(timer.cancel(), || "it was over before".into())?;
        gate.open();
        pool.wait_idle();
        let cancelled = pool.metrics().cancelled;
        is(cancelled == 2 * LINKS as u64 + 1, || format!("{cancelled} are cancelled"))
    }),
    ("captures panic in their drop when a closed pool does not take them", || {
        /// Returns whether the job has been accepted.
        type Verb = fn(&Pool, Bomb) -> bool;
        const VERBS: [(&str, Verb); 12] = [
            ("execute", |pool, bomb| {
                pool.handle().execute(|| drop(bomb));
                true
            }),
            ("of the owner", |pool, bomb| {
                pool.execute(|| drop(bomb));
                true
            }),
            ("submit", |pool, bomb| pool.submit(|| drop(bomb)).join().is_ok()),
            ("spawn", |pool, bomb| pool.spawn(async { drop(bomb) }).join().is_ok()),
            ("broadcast", |pool, bomb| pool.broadcast(move |_| _ = &bomb).is_empty()),
            ("a timer", |pool, bomb| {
                pool.enter(|| drop(brigade::execute_after(millis(1), || drop(bomb))));
                true
            }),
            ("a set", |pool, bomb| TaskSet::new(pool).submit(|| drop(bomb)) > 0),
            ("install", |pool, bomb| pool.install(|| drop(bomb)).is_ok()),
            ("scope", |pool, bomb| pool.scope(|_| drop(bomb)).is_ok()),
            ("in place", |pool, bomb| pool.in_place_scope(|_| drop(bomb)).is_ok()),
            ("local", |_, bomb| brigade::spawn_local(async { drop(bomb) }).join().is_ok()),
            ("on an ended LocalPool", |_, bomb| {
                let local = LocalPool::new().unwrap();
                local.handle().shutdown(Shutdown::Drain);
                local.run_until_idle();
                local.spawn_local(async { drop(bomb) }).join().is_ok()
            }),
        ];
        let pool = Pool::new(1);
        pool.close();
        // Caught: a panic in the caller, or during the panic that says that the pool is closed, which aborts.
        for (verb, run) in VERBS {
            let ran = panic::catch_unwind(AssertUnwindSafe(|| run(&pool, Bomb)));
            let message = ran.as_ref().err().and_then(|payload| panics::text(&**payload));
            is(message != Some("expected: dropped"), || format!("{verb} panics in its caller"))?;
            is(!matches!(ran, Ok(true)), || format!("{verb} is accepted"))?;
        }
        Ok(())
    }),
    ("2,000 jobs wait for a timer", || {
        let pool = Pool::new(2);
        (0..2000).for_each(|_| pool.execute(|| block_on(sleep(millis(500)))));
        is(pool.wait_idle(), || "not idle".into())
    }),
    ("20,000 jobs wait for a timer", || {
        let (threads, builder) = counted(Pool::builder().threads(2));
        let pool = builder.build().unwrap();
        (0..20_000).for_each(|_| pool.execute(|| block_on(sleep(millis(500)))));
        pool.wait_idle();
        let most = threads.most();
        is(most <= 2 + 256 + 20, || format!("{most} threads"))
    }),
    ("3,000 jobs wait for another pool", || {
        wait_for_another_pool(Pool::new(2), 3000, |pool, job| pool.execute(job))
    }),
    ("2,500 jobs of one worker wait for another pool", || {
        wait_for_another_pool(Pool::new(2), 2500, |pool, job| {
            pool.job().on_worker(0).execute(job).unwrap();
        })
    }),
    ("300 jobs wait for another pool, without spare threads", || {
        let (threads, builder) = counted(Pool::builder().threads(1).spare_threads(0));
        let pool = builder.build().unwrap();
        wait_for_another_pool(pool, 300, |pool, job| pool.execute(job))?;
        let most = threads.most();
        is(most <= 8, || format!("{most} threads"))
    }),
    ("300 jobs wait for closures of timers, without spare threads", || {
        let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
        for _ in 0..300 {
            pool.execute(|| {
                let (sender, receiver) = async_channel::bounded(1);
                let _timer = brigade::time::execute_after(millis(20), move || {
                    _ = sender.try_send(());
                });
                block_on(receiver.recv()).unwrap();
            });
        }
        is(pool.wait_idle(), || "not idle".into())
    }),
    ("300 jobs wait for all shares of a broadcast, without spare threads", || {
        let pool = Pool::builder().threads(2).prestart(2).spare_threads(0).build().unwrap();
        let handle = pool.handle();
        for _ in 0..300 {
            pool.execute(move || {
                block_on(sleep(millis(5)));
                handle.broadcast(|_| ()).into_iter().for_each(|share| share.join().unwrap());
            });
        }
        is(pool.wait_idle(), || "not idle".into())
    }),
    ("a waiter runs the future that its own look at the driver has woken", || {
        use futures_lite::{AsyncReadExt, AsyncWriteExt};
        let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
        let (mut reader, mut writer) = pool.enter(|| brigade::io::pipe().unwrap());
        let (begun, ended) = (Gate::closed(), Gate::closed());
        let (begins, ends) = (begun.clone(), ended.clone());
        let waits = pool.submit(move || {
            let read = brigade::spawn(async move { reader.read_exact(&mut [0]).await.is_ok() });
            begins.open();
            let read = read.join();
            ends.open();
            read
        });
        begun.wait();
        thread::sleep(millis(50));
        let busy = Halt::default();
        let halts = busy.clone();
        pool.execute(move || halts.here());
        busy.await_thread();
        thread::sleep(millis(100));
        block_on(writer.write_all(b"x")).unwrap();
        ended.wait();
        busy.release();
        is(waits.join()??, || "not read".into())
    }),
    ("a waiter takes the driver that a waiter before it leaves", || {
        // More than once: a busy machine may reorder the steps.
        let threads = [(); 4].map(|()| thread::spawn(leaves_the_driver));
        let ended = threads.map(|thread| thread.join().is_ok());
        is(ended == [true; 4], || "panicked".into())
    }),
];

static PROGRAMS: &[(&str, Program)] = &[
    // Local futures that wake each other.
    ("two local futures wake each other beside an owner's wait", || {
        let pool = LocalPool::new().unwrap();
        let pair = wake_each_other();
        let [_one, _two] = pair.map(|future| pool.spawn_local(future).cancel_on_drop());
        pool.run_until(sleep(millis(10)));
        Ok(())
    }),
    ("two local futures wake each other beside a job's wait", || {
        let pool = Pool::new(1);
        let job = pool.submit(|| {
            let pair = wake_each_other();
            let _pair = pair.map(|future| brigade::spawn_local(future).cancel_on_drop());
            block_on(sleep(millis(10)));
        });
        Ok(job.join()?)
    }),
    // Scopes of jobs that have been cancelled.
    ("a cancelled future's destructor opens a scope", || {
        let pool = Pool::new(2);
        let (future, begun) = opens_a_scope_at_its_end();
        let future = pool.spawn(future);
        begun.wait();
        future.cancel();
        is(future.join().is_err_and(|error| error.is_cancelled()), || "not cancelled".into())
    }),
    ("a dropped pool's future opens a scope in its destructor", || {
        let pool = Pool::new(2);
        let (future, begun) = opens_a_scope_at_its_end();
        let future = pool.spawn(future);
        begun.wait();
        drop(pool);
        is(future.join().is_err_and(|error| error.is_cancelled()), || "not cancelled".into())
    }),
    ("a cancelled job's scope reads a pipe", || {
        use futures_lite::{AsyncReadExt, AsyncWriteExt};
        let (pool, begun) = (Pool::new(2), Gate::closed());
        let begins = begun.clone();
        let job = pool.submit(move || {
            begins.open();
            eventually("it is cancelled", brigade::cancelled);
            brigade::scope(|scope| {
                _ = scope.spawn(async {
                    let (mut reader, mut writer) = brigade::io::pipe().unwrap();
                    writer.write_all(b"x").await.unwrap();
                    reader.read_exact(&mut [0]).await.unwrap();
                });
            });
        });
        begun.wait();
        job.cancel();
        Ok(job.join()?)
    }),
    // Starts of threads that fail.
    ("a wait long after a failed start runs no other job", || {
        let (pool, fails, failed) = failing();
        let busy = Halt::default();
        let halts = busy.clone();
        pool.execute(move || brigade::blocking(|| halts.here()));
        busy.await_thread();
        fails.store(true, Ordering::SeqCst);
        pool.execute(|| ());
        failed.wait();
        busy.release();
        pool.wait_idle();
        fails.store(false, Ordering::SeqCst);
        // The pool may rely on a failure for some time.
        thread::sleep(millis(300));
        holds_a_lock_across_a_wait(&pool)
    }),
    ("a pool whose only thread was lost ends", || {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeps = kept.clone();
        let spawner = move |thread| {
            let mut kept = keeps.lock().unwrap();
            if !kept.is_empty() {
                return Err(io::Error::other("expected: none"));
            }
            kept.push(Some(thread));
            Ok(brigade::Thread::not_joined())
        };
        let pool = Pool::builder().threads(1).spawner(spawner).build().unwrap();
        let thread = kept.lock().unwrap()[0].take();
        drop(thread);
        _ = pool.try_execute(|| ());
        pool.shutdown(Shutdown::Drain);
        Ok(())
    }),
    // Pools that may start no thread.
    ("a job blocks inside a wait inside a blocking call, and a waiter runs the rest", || {
        let other = Pool::new(4);
        let pool = Pool::builder().threads(3).spare_threads(0).build().unwrap();
        let waits = Halt::default();
        let awaited = || other.submit(waits.job());
        let (first, second, blocks) = (awaited(), awaited(), waits.gate().clone());
        let stage = |job: Box<dyn FnOnce() + Send>| {
            pool.execute(job);
            thread::sleep(millis(50));
        };
        stage(Box::new(move || _ = first.join()));
        stage(Box::new(move || brigade::blocking(|| _ = second.join())));
        stage(Box::new(move || brigade::blocking(|| blocks.wait())));
        let (told, tells) = mpsc::channel();
        let begun = Gate::closed();
        let begins = begun.clone();
        let inside = pool.submit(move || {
            begins.open();
            brigade::blocking(|| tells.recv().is_ok())
        });
        begun.wait();
        thread::sleep(millis(50));
        pool.execute(move || told.send(()).unwrap());
        let told = inside.join().unwrap();
        waits.release();
        is(told, || "not told".into())
    }),
    // Permits.
    ("two jobs wait for room of a pool, without spare threads", || {
        wait_for_room(Pool::builder().threads(1).spare_threads(0), 2)
    }),
    ("five jobs wait for room of a pool, with a spare thread", || {
        wait_for_room(Pool::builder().threads(1).spare_threads(1), 5)
    }),
    ("jobs of two full pools submit to each other", || {
        let pool = || Pool::builder().threads(1).capacity(1).build().unwrap();
        let (one, two) = (pool(), pool());
        let (here, there) = (one.handle(), two.handle());
        one.execute(move || hop(here, there, 12));
        eventually("all have run", || HOPS.load(Ordering::SeqCst) == (1 << 13) - 1);
        Ok(())
    }),
    // Which pool a wait runs.
    ("block_on of a LocalPool's job by a worker", || {
        let job = Pool::new(2).submit(|| {
            let local = LocalPool::new().unwrap();
            block_on(local.submit(|| 1))
        });
        is(job.join()?? == 1, || "another result".into())
    }),
    ("block_on of an older LocalPool's job", || {
        let older = LocalPool::new().unwrap();
        let _newer = LocalPool::new().unwrap();
        is(block_on(older.submit(|| 1))? == 1, || "another result".into())
    }),
    // Who runs a future.
    ("a scope's future is run by its waiter", || {
        let pool = Pool::new(1);
        let many = || {
            brigade::scope(|scope| (0..1000).for_each(|_| scope.spawn(async {}).join().unwrap()));
        };
        pool.install(many).unwrap();
        let threads = pool.metrics().threads;
        is(threads == 1, || format!("{threads} threads"))
    }),
    ("a set's future is run by its waiter", || {
        let pool = Pool::new(1);
        let many = || {
            let mut set = TaskSet::default();
            for _ in 0..1000 {
                set.spawn(async {});
                set.join_next().unwrap().unwrap();
            }
        };
        pool.install(many).unwrap();
        let threads = pool.metrics().threads;
        is(threads == 1, || format!("{threads} threads"))
    }),
];

/// How a thread waits that is no owner of the `LocalPool`, and how the pool ends. The call runs on the owner's stack.
type Guest = fn(Handle, &Gate);
type End = fn(Handle);
static GUESTS: &[(&str, Guest)] = &[
    ("in_place_scope", |pool, begun| {
        _ = pool.in_place_scope(|scope| {
            _ = scope.spawn(pending::<()>());
            begun.open();
        });
    }),
    ("scope", |pool, begun| {
        _ = pool.scope(|scope| {
            _ = scope.spawn(pending::<()>());
            begun.open();
        });
    }),
    ("scope inside install", |pool, begun| {
        _ = pool.install(|| {
            brigade::scope(|scope| {
                _ = scope.spawn(pending::<()>());
                begun.open();
            });
        });
    }),
    ("join inside install", |pool, begun| {
        _ = pool.install(|| {
            begun.open();
            brigade::spawn(pending::<()>()).join()
        });
    }),
    ("block_on inside install", |pool, begun| {
        _ = pool.install(|| {
            begun.open();
            block_on(brigade::spawn(pending::<()>()))
        });
    }),
];
static ENDS: &[(&str, Option<End>)] = &[
    ("its owner drops the LocalPool", None),
    ("another thread closes the LocalPool", Some(|pool| pool.close())),
    ("another thread discards the LocalPool", Some(|pool| _ = pool.shutdown(Shutdown::Discard))),
];

/// Each program, and each end of a `LocalPool` beside each wait for it.
pub(crate) fn cases() -> Vec<Case> {
    let run = |program: Program| move || program().map_err(|error| error.to_string());
    let alone = ALONE.iter().map(|(name, program)| Case::alone(*name, run(*program)));
    let programs = PROGRAMS.iter().map(|(name, program)| Case::new(*name, run(*program)));
    let guests = GUESTS.iter().flat_map(|(wait, guest)| {
        ENDS.iter().map(move |(ends, end)| {
            let name = format!("a guest waits in {wait}, and {ends}");
            let run = move || guest_of(*guest, *end).map_err(|error| error.to_string());
            Case::new(name, run)
        })
    });
    alone.chain(programs).chain(guests).collect()
}

/// A guest waits for a future that never ends by itself, and the pool ends.
fn guest_of(guest: Guest, end: Option<End>) -> Ended {
    let pool = LocalPool::new()?;
    let (handle, begun) = (pool.handle(), Gate::closed());
    let begins = begun.clone();
    let thread = thread::spawn(move || guest(handle, &begins));
    let Some(end) = end else {
        thread::sleep(millis(10));
        drop(pool);
        return thread.join().map_err(|_| "the guest panicked".into());
    };
    let ends = thread::spawn(move || {
        begun.wait();
        thread::sleep(millis(5));
        end(handle);
    });
    while !thread.is_finished() {
        if !pool.tick() {
            thread::sleep(millis(1));
        }
    }
    drop(pool);
    ends.join().map_err(|_| "the end panicked".into())
}

/// How many threads of a pool there are at most.
#[derive(Clone, Default)]
struct Threads(Arc<[AtomicUsize; 2]>);

impl Threads {
    fn most(&self) -> usize {
        self.0[1].load(Ordering::SeqCst)
    }
}

fn counted(builder: Builder) -> (Threads, Builder) {
    let threads = Threads::default();
    let (starts, stops) = (threads.clone(), threads.clone());
    let builder = builder.on_start(move |_| {
        let [now, most] = &*starts.0;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    });
    (threads, builder.on_stop(move |_| _ = stops.0[0].fetch_sub(1, Ordering::SeqCst)))
}

/// So many jobs of the pool join a job of another pool, which goes on when no further job begins.
fn wait_for_another_pool(
    pool: Pool,
    jobs: usize,
    execute: fn(&Pool, Box<dyn FnOnce() + Send>),
) -> Ended {
    let (other, busy, begun) = (Pool::new(1), Halt::default(), Arc::new(AtomicUsize::new(0)));
    other.execute(busy.job());
    let (there, count) = (other.handle(), begun.clone());
    for _ in 0..jobs {
        let begun = begun.clone();
        execute(
            &pool,
            Box::new(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                there.submit(|| ()).join().unwrap();
            }),
        );
    }
    loop {
        let before = count.load(Ordering::SeqCst);
        thread::sleep(millis(300));
        if count.load(Ordering::SeqCst) == before {
            break;
        }
    }
    busy.release();
    pool.wait_idle();
    let count = count.load(Ordering::SeqCst);
    is(count == jobs, || format!("{count} ran"))
}

/// Two futures that pass a message to and fro.
fn wake_each_other() -> [impl Future<Output = ()> + 'static; 2] {
    let (sends, receives) = async_channel::bounded(1);
    let (back, comes) = async_channel::bounded(1);
    sends.try_send(()).unwrap();
    [(receives, back), (comes, sends)].map(|(receives, sends)| async move {
        while receives.recv().await.is_ok() {
            _ = sends.send(()).await;
        }
    })
}

/// A future that is pending once the gate is open, and whose destructor opens a scope.
fn opens_a_scope_at_its_end() -> (impl Future<Output = ()> + Send + 'static, Gate) {
    let begun = Gate::closed();
    let begins = begun.clone();
    let future = async move {
        let _scope = OnDrop(|| {
            brigade::scope(|scope| _ = scope.spawn(sleep(millis(1))));
        });
        begins.open();
        pending::<()>().await;
    };
    (future, begun)
}

/// A pool of one thread, whose starts fail while the flag is set; the gate opens when one has.
fn failing() -> (Pool, Arc<AtomicBool>, Gate) {
    let (fails, failed) = (Arc::new(AtomicBool::new(false)), Gate::closed());
    let (must_fail, has_failed) = (fails.clone(), failed.clone());
    let spawner = move |thread: brigade::NewThread| {
        if must_fail.load(Ordering::SeqCst) {
            has_failed.open();
            return Err(io::Error::other("expected: no thread now"));
        }
        thread.start()
    };
    let pool = Pool::builder().threads(1).prestart(1).spawner(spawner).build().unwrap();
    (pool, fails, failed)
}

/// A job joins another pool's job under a lock that the next job needs.
fn holds_a_lock_across_a_wait(pool: &Pool) -> Ended {
    let (other, busy) = (Pool::new(1), Halt::default());
    let awaited = other.submit(busy.job());
    let (lock, locked, begun) = (Arc::new(Mutex::new(())), Gate::closed(), Gate::closed());
    let (held, locks, begins) = (lock.clone(), locked.clone(), begun.clone());
    let first = pool.submit(move || {
        let _held = held.lock().unwrap();
        locks.open();
        awaited.join()
    });
    locked.wait();
    let second = pool.submit(move || {
        begins.open();
        drop(lock.lock().unwrap());
    });
    begun.wait();
    busy.release();
    first.join()??;
    Ok(second.join()?)
}

/// So many jobs reserve room in another pool, which is full until all wait, and idle then.
fn wait_for_room(builder: Builder, jobs: usize) -> Ended {
    let (pool, busy) = (builder.build().unwrap(), Halt::default());
    let other = Pool::builder().threads(1).capacity(1).build().unwrap();
    other.execute(busy.job());
    busy.await_thread();
    while other.try_execute(|| ()).is_ok() {}
    let (there, begun) = (other.handle(), Arc::new(AtomicUsize::new(0)));
    let wait = || {
        let begun = begun.clone();
        pool.submit(move || {
            begun.fetch_add(1, Ordering::SeqCst);
            block_on(there.job().reserve()).unwrap().execute(|| ()).is_ok()
        })
    };
    let all: Vec<_> = (0..jobs).map(|_| wait()).collect();
    eventually("all wait", || begun.load(Ordering::SeqCst) == jobs);
    thread::sleep(millis(20));
    busy.release();
    let all = all.into_iter().all(|job| job.join().is_ok_and(|is_accepted| is_accepted));
    is(all, || "not accepted".into())
}

/// The last thread waits as the holder of the driver, beside a waiter for a timer, and goes on.
fn leaves_the_driver() {
    let other = Pool::new(1);
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    let fired = Arc::new(AtomicBool::new(false));
    let fires = fired.clone();
    let future = pool.spawn(async move {
        sleep(millis(2000)).await;
        fires.store(true, Ordering::SeqCst);
    });
    // Until the monitor, which serves all pools of the process, has ended.
    thread::sleep(millis(1600));
    let late = pool.submit(move || future.join());
    thread::sleep(millis(100));
    let there = other.handle();
    let job = pool.submit(move || {
        there.submit(|| thread::sleep(millis(100))).join().unwrap();
        while !fired.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    });
    late.join().unwrap().unwrap();
    job.join().unwrap();
}

static HOPS: AtomicUsize = AtomicUsize::new(0);

/// Runs here, and submits two children to the other pool.
fn hop(here: Handle, there: Handle, left: u32) {
    HOPS.fetch_add(1, Ordering::SeqCst);
    if left > 0 {
        (0..2).for_each(|_| there.execute(move || hop(there, here, left - 1)));
    }
}
