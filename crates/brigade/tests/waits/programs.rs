//! Programs that once hung, or ended the process, in a wait. A job that waits for an event in place of a time hangs if the event depends on
//! the job's end.

use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::fs;
use std::future::{Future, pending};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Context;
use std::thread::{self, ThreadId};
use std::time::Duration;

use brigade::{Builder, Handle, JoinHandle, LocalPool, NewThread, Pool, Shutdown, TaskSet};
use brigade::{block_on, sleep};
use brigade_testkit::{
    BlockedThread, Bomb, Drops, Gate, Halt, OnDrop, eventually, on_wake, panics,
};

use crate::run::Case;

type Ended = Result<(), Box<dyn Error>>;
type Program = fn() -> Ended;

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn is(claim: bool, otherwise: impl FnOnce() -> String) -> Ended {
    if claim { Ok(()) } else { Err(otherwise().into()) }
}

/// In processes of their own: programs that nest deep may abort, and the last one needs a process without a monitor.
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
    ("100,000 results each own the handle of the next", || {
        const LINKS: usize = 100_000;
        type Link = Box<dyn Any + Send>;
        let (pool, drops) = (Pool::new(1), Drops::default());
        let mut last = None::<JoinHandle<Link>>;
        for number in 0..LINKS {
            let link = (last, drops.token());
            last = Some(match number % 2 {
                0 => pool.submit(|| Box::new(link) as Link),
                _ => pool.spawn(async { Box::new(link) as Link }),
            });
        }
        pool.wait_idle();
        is(drops.count() == 0, || format!("{} are dropped", drops.count()))?;
        drop(last);
        is(drops.count() == LINKS, || format!("only {} are dropped", drops.count()))
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
        wait_for_another_pool(Pool::builder().threads(2), 3000, execute).map(drop)
    }),
    ("2,500 jobs of one worker wait for another pool", || {
        let on_worker: Execute = |pool, job| pool.job().on_worker(0).execute(job).unwrap();
        wait_for_another_pool(Pool::builder().threads(2), 2500, on_worker).map(drop)
    }),
    ("300 jobs wait for another pool, without spare threads", || {
        let builder = Pool::builder().threads(1).spare_threads(0);
        let (_, most) = wait_for_another_pool(builder, 300, execute)?;
        is(most <= 8, || format!("{most} threads"))
    }),
    ("300 jobs wait for another pool, without spare threads, on stacks of unknown size", || {
        let builder = Pool::builder().threads(1).spare_threads(0).spawner(NewThread::start);
        let (deepest, most) = wait_for_another_pool(builder, 300, execute)?;
        // A waiter inside more than 64 others runs no job.
        is(deepest <= 64 + 2 && most <= 8, || format!("{deepest} deep, {most} threads"))
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
        let (has_read, reads) = mpsc::channel();
        let waits = pool.submit(move || {
            let read = brigade::spawn(async move {
                while reader.read_exact(&mut [0]).await.is_ok() {
                    has_read.send(()).unwrap();
                }
            });
            read.join()
        });
        let busy = Halt::default();
        pool.execute(busy.job());
        busy.await_thread();
        // From the second byte on, the waiter polls.
        for _ in 0..10 {
            block_on(writer.write_all(b"x")).unwrap();
            reads.recv()?;
        }
        drop(writer);
        let ended = waits.join()?;
        busy.release();
        Ok(ended?)
    }),
    ("a waiter takes the driver that a waiter before it leaves", || {
        // More than once: a busy machine may reorder the steps.
        let timers = [(); 4].map(|()| Timer::set());
        stays_so("the monitor, which serves all pools, has ended", || !has_monitor());
        let threads = timers.map(|timer| thread::spawn(move || timer.leave_the_driver()));
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
        eventually("a waiter runs no other job", || runs_on_another_thread(&pool));
        Ok(())
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
            wait_blocked(|thread| {
                pool.execute(move || {
                    thread.is_this();
                    job();
                });
            });
        };
        stage(Box::new(move || _ = first.join()));
        stage(Box::new(move || brigade::blocking(|| _ = second.join())));
        stage(Box::new(move || brigade::blocking(|| blocks.wait())));
        let ((told, tells), (is_told, asks)) = (mpsc::channel(), mpsc::channel());
        stage(Box::new(move || {
            _ = is_told.send(brigade::blocking(|| tells.recv().is_ok()));
        }));
        pool.execute(move || told.send(()).unwrap());
        let told = asks.recv()?;
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
    ("a waker waits for room above a wait for room", || {
        let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
        // So that the waiter polls.
        let runs = Halt::default();
        pool.execute(runs.job());
        runs.await_thread();
        let (other, busy) = full();
        let there = other.handle();
        let job = wait_blocked(|thread| {
            pool.submit(move || {
                thread.is_this();
                block_on(there.job().reserve()).unwrap().execute(|| ()).is_ok()
            })
        });
        let timer = wait_blocked(|thread| {
            let waker = on_wake(move || {
                thread.is_this();
                there.execute(|| ());
            });
            // Not one whose time is over before it is set.
            let mut timers = (0..).map(|doubled| Box::pin(sleep(millis(1 << doubled))));
            timers.find_map(|mut timer| {
                let mut context = Context::from_waker(&waker);
                let is_set = pool.enter(|| timer.as_mut().poll(&mut context).is_pending());
                is_set.then_some(timer)
            })
        });
        busy.release();
        let is_accepted = job.join()?;
        drop(timer);
        runs.release();
        is(is_accepted, || "not accepted".into())
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
    // Futures that their waiter runs.
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

/// How a thread that does not own the `LocalPool` waits, and how the pool ends. The call runs on the owner's stack.
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
    let [waits, owner] = [(); 2].map(|()| BlockedThread::default());
    let (begins, waiter) = (begun.clone(), waits.clone());
    let thread = thread::spawn(move || {
        waiter.is_this();
        guest(handle, &begins);
    });
    let Some(end) = end else {
        waits.wait_until_blocked();
        drop(pool);
        return thread.join().map_err(|_| "the guest panicked".into());
    };
    owner.is_this();
    let ends = thread::spawn(move || {
        begun.wait();
        // One of them waits for the future.
        waits.wait_until_blocked();
        owner.wait_until_blocked();
        end(handle);
    });
    eventually("the guest ends", || {
        pool.tick();
        thread.is_finished()
    });
    drop(pool);
    ends.join().map_err(|_| "the end panicked".into())
}

/// The threads of a pool, and how many there were at most.
#[derive(Clone, Default)]
struct Threads {
    now: Arc<Mutex<Vec<(ThreadId, BlockedThread)>>>,
    most: Arc<AtomicUsize>,
}

impl Threads {
    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// Whether so many threads are all that there are, and are blocked.
    fn are_blocked(&self, count: usize) -> bool {
        let now = self.now.lock().unwrap().clone();
        now.len() == count && now.iter().all(|(_, thread)| thread.is_blocked())
    }
}

fn counted(builder: Builder) -> (Threads, Builder) {
    let threads = Threads::default();
    let (starts, stops) = (threads.clone(), threads.now.clone());
    let builder = builder.on_start(move |_| {
        let thread = BlockedThread::default();
        thread.is_this();
        let mut now = starts.now.lock().unwrap();
        now.push((thread::current().id(), thread));
        starts.most.fetch_max(now.len(), Ordering::SeqCst);
    });
    let builder = builder.on_stop(move |_| {
        let this = thread::current().id();
        stops.lock().unwrap().retain(|(thread, _)| *thread != this);
    });
    (threads, builder)
}

type Execute = fn(&Pool, Box<dyn FnOnce() + Send>);

fn execute(pool: &Pool, job: Box<dyn FnOnce() + Send>) {
    pool.execute(job);
}

thread_local! {
    /// How many jobs of [`wait_for_another_pool`] lie on the stack.
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// So many jobs of the pool join a job of another pool, which goes on when no further job begins. Returns how many lay on
/// a stack, and how many threads there were, at most.
fn wait_for_another_pool(
    builder: Builder,
    jobs: usize,
    execute: Execute,
) -> Result<(usize, usize), Box<dyn Error>> {
    let (threads, builder) = counted(builder);
    let (pool, other, busy) = (builder.build().unwrap(), Pool::new(1), Halt::default());
    other.execute(busy.job());
    let (there, counts) = (other.handle(), Arc::new([(); 2].map(|()| AtomicUsize::new(0))));
    for _ in 0..jobs {
        let counts = counts.clone();
        let job = move || {
            let [begun, deepest] = &*counts;
            begun.fetch_add(1, Ordering::SeqCst);
            NESTED.set(NESTED.get() + 1);
            deepest.fetch_max(NESTED.get(), Ordering::SeqCst);
            there.submit(|| ()).join().unwrap();
            NESTED.set(NESTED.get() - 1);
        };
        execute(&pool, Box::new(job));
    }
    let [begun, deepest] = &*counts;
    stays_so("no job begins", || {
        let before = begun.load(Ordering::SeqCst);
        threads.are_blocked(pool.metrics().threads) && begun.load(Ordering::SeqCst) == before
    });
    busy.release();
    pool.wait_idle();
    let begun = begun.load(Ordering::SeqCst);
    is(begun == jobs, || format!("{begun} ran"))?;
    Ok((deepest.load(Ordering::SeqCst), threads.most()))
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

/// A pool of one thread, whose starts fail while the flag is set; the gate opens when a start has failed.
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

/// Whether a job that begins while another one joins another pool's job runs on another thread.
fn runs_on_another_thread(pool: &Pool) -> bool {
    let (other, busy, begun) = (Pool::new(1), Halt::default(), Gate::closed());
    let (awaited, begins, here) =
        (other.submit(busy.job()), begun.clone(), || thread::current().id());
    let first = pool.submit(move || {
        begins.open();
        awaited.join().unwrap();
        here()
    });
    begun.wait();
    let second = pool.submit(move || {
        busy.release();
        here()
    });
    first.join().unwrap() != second.join().unwrap()
}

/// Calls a closure, and waits until the thread that it has named blocks.
fn wait_blocked<R>(call: impl FnOnce(BlockedThread) -> R) -> R {
    let thread = BlockedThread::default();
    let called = call(thread.clone());
    thread.wait_until_blocked();
    called
}

/// A pool of one thread, which is full until the thread is released.
fn full() -> (Pool, Halt) {
    let (pool, busy) = (Pool::builder().threads(1).capacity(1).build().unwrap(), Halt::default());
    pool.execute(busy.job());
    busy.await_thread();
    while pool.try_execute(|| ()).is_ok() {}
    (pool, busy)
}

/// So many jobs reserve room in another pool, which is full until all wait, and idle then.
fn wait_for_room(builder: Builder, jobs: usize) -> Ended {
    let (pool, (other, busy)) = (builder.build().unwrap(), full());
    let there = other.handle();
    let threads: Vec<_> = (0..jobs).map(|_| BlockedThread::default()).collect();
    let wait = |thread: &BlockedThread| {
        let thread = thread.clone();
        pool.submit(move || {
            thread.is_this();
            block_on(there.job().reserve()).unwrap().execute(|| ()).is_ok()
        })
    };
    let all: Vec<_> = threads.iter().map(wait).collect();
    eventually("all wait", || threads.iter().all(BlockedThread::is_blocked));
    busy.release();
    let all = all.into_iter().all(|job| job.join().is_ok_and(|is_accepted| is_accepted));
    is(all, || "not accepted".into())
}

/// Waits for a state that lasts, as many looks at it tell.
fn stays_so(what: &str, reached: impl Fn() -> bool) {
    let looks = Cell::new(0);
    eventually(what, || {
        looks.set(if reached() { looks.get() + 1 } else { 0 });
        looks.get() == 100
    });
}

/// Whether the process has a monitor.
fn has_monitor() -> bool {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut names =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.trim_end() == "brigade-monitor")
}

/// A future of a pool without spare threads that waits for a timer.
struct Timer {
    pool: Pool,
    fired: Arc<AtomicBool>,
    future: JoinHandle<()>,
}

impl Timer {
    /// Sets the timer for a time after the end of the monitor.
    fn set() -> Self {
        let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
        let fired = Arc::new(AtomicBool::new(false));
        let fires = fired.clone();
        let future = pool.spawn(async move {
            sleep(millis(2000)).await;
            fires.store(true, Ordering::SeqCst);
        });
        eventually("it waits", || {
            let metrics = pool.metrics();
            metrics.idle_threads == metrics.threads && metrics.threads > 0
        });
        Self { pool, fired, future }
    }

    /// The last thread waits as the holder of the driver, beside a waiter for the timer, and goes on.
    fn leave_the_driver(self) {
        let (Self { pool, fired, future }, other) = (self, Pool::new(1));
        let late = wait_blocked(|thread| {
            pool.submit(move || {
                thread.is_this();
                future.join()
            })
        });
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
}

static HOPS: AtomicUsize = AtomicUsize::new(0);

/// Runs here, and submits two children to the other pool.
fn hop(here: Handle, there: Handle, left: u32) {
    HOPS.fetch_add(1, Ordering::SeqCst);
    if left > 0 {
        (0..2).for_each(|_| there.execute(move || hop(there, here, left - 1)));
    }
}
