//! The table's rows: a call for each function that waits.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use brigade::time::{self, Elapsed};
use brigade::{
    Handle, JoinError, JoinHandle, LocalPool, MapError, Pool, Shutdown, TaskSet, block_on,
};
use brigade_testkit::{Gate, Halt};

use crate::outcome::{Outcome, Told};

/// A limit that no call reaches.
const FAR: Duration = Duration::from_secs(3600);

/// The arguments of a call.
pub(crate) struct Given<'a> {
    pub(crate) need: Need,
    /// The pool whose jobs the calling thread runs.
    pub(crate) home: Handle,
    /// That pool, if the calling thread owns it and is in none of its jobs.
    pub(crate) local: Option<&'a LocalPool>,
}

/// The job that ends the wait.
pub(crate) struct Need {
    pub(crate) job: Mutex<Option<JoinHandle<u32>>>,
    /// Whether a second worker is idle, which takes a part of a fork: the part that joins the job.
    pub(crate) has_helper: bool,
    pub(crate) begun: Gate,
}

type Joined = Result<u32, JoinError>;

/// The outcome of a job that a map has joined in another.
fn mapped(result: Option<Result<Joined, MapError<Joined>>>) -> Option<Joined> {
    match result? {
        Ok(joined) => Some(joined),
        Err(MapError::Job(error)) => Some(Err(error)),
        Err(refused) => panic!("the job was not accepted: {refused}"),
    }
}

impl Need {
    fn take(&self) -> JoinHandle<u32> {
        self.job.lock().unwrap().take().expect("it is waited for once")
    }

    fn join(&self) -> Joined {
        self.take().join()
    }

    /// The part of a fork that the caller runs itself.
    fn other_part(&self) {
        if self.has_helper {
            self.begun.wait();
        }
    }

    /// The part of a fork that joins the job.
    fn joining_part(&self) -> Joined {
        self.begun.open();
        self.join()
    }

    /// The parts by their numbers.
    fn part(&self, number: usize) -> Option<Joined> {
        match number {
            0 => {
                self.other_part();
                None
            }
            _ => Some(self.joining_part()),
        }
    }
}

/// The event that ends the wait of a row, in a pool that drains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// The job alone.
    Job,
    /// Also a part on the current pool, which is another pool where an owner is in none of its pool's jobs.
    Part,
    /// Also a timer, an event, or a job of another pool; or a task or a `LocalPool` waits. The pool does not see that its job
    /// waits for its own future.
    More,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The functions of docs/verbs.txt that the call calls.
    pub(crate) functions: &'static [&'static str],
    pub(crate) waits: For,
    pub(crate) call: fn(&Given<'_>) -> Outcome,
}

const fn job(
    name: &'static str,
    functions: &'static [&'static str],
    call: fn(&Given<'_>) -> Outcome,
) -> Row {
    Row { name, functions, waits: For::Job, call }
}

const fn part(
    name: &'static str,
    functions: &'static [&'static str],
    call: fn(&Given<'_>) -> Outcome,
) -> Row {
    Row { name, functions, waits: For::Part, call }
}

const fn more(
    name: &'static str,
    functions: &'static [&'static str],
    call: fn(&Given<'_>) -> Outcome,
) -> Row {
    Row { name, functions, waits: For::More, call }
}

pub(crate) static ROWS: &[Row] = &[
    // Handles.
    job("join", &["brigade::JoinHandle<T>::join"], |it| it.need.join().told()),
    job("join_timeout", &["brigade::JoinHandle<T>::join_timeout"], |it| {
        it.need.take().join_timeout(FAR).told()
    }),
    job("block_on", &["brigade::block_on", "<brigade::JoinHandle<T> as Future>::poll"], |it| {
        block_on(it.need.take()).told()
    }),
    job("Handle::block_on", &["brigade::Handle::block_on"], |it| {
        it.home.block_on(it.need.take()).told()
    }),
    job("blocking", &["brigade::blocking"], |it| brigade::blocking(|| it.need.join()).told()),
    // Sets.
    job("set.join_next", &["brigade::TaskSet<T>::join_next"], |it| set(it).join_next().told()),
    job("set.join_next of a closure", &[], |it| {
        let (mut set, need) = (TaskSet::new(it.home), it.need.take());
        set.submit(move || need.join());
        set.join_next().told()
    }),
    job("set.join_next_with_id", &["brigade::TaskSet<T>::join_next_with_id"], |it| {
        set(it).join_next_with_id().map(|(_, joined)| joined).told()
    }),
    job("set.join_next_timeout", &["brigade::TaskSet<T>::join_next_timeout"], |it| {
        set(it).join_next_timeout(FAR).told()
    }),
    job("set.outcomes", &["brigade::TaskSet<T>::outcomes"], |it| set(it).outcomes().next().told()),
    job("set.wait_all_timeout", &["brigade::TaskSet<T>::wait_all_timeout"], |it| {
        let mut set = set(it);
        assert_eq!(set.wait_all_timeout(FAR), 0);
        set.join_next().told()
    }),
    job("map", &["<brigade::Map<I, T> as Iterator>::next"], |it| {
        mapped(it.home.map([it.need.take()], 1, JoinHandle::join).next()).told()
    }),
    job("map_unordered", &["<brigade::MapUnordered<I, T> as Iterator>::next"], |it| {
        mapped(it.home.map_unordered([it.need.take()], 1, JoinHandle::join).next()).told()
    }),
    job("set.wait_all", &["brigade::TaskSet<T>::wait_all"], |it| {
        let mut set = set(it);
        if set.wait_all() { set.join_next().told() } else { Outcome::Wrong("a cycle".into()) }
    }),
    more("set.join_next_async", &["brigade::TaskSet<T>::join_next_async"], |it| {
        let mut set = set(it);
        block_on(set.join_next_async()).told()
    }),
    more("set.poll_join_next", &["brigade::TaskSet<T>::poll_join_next"], |it| {
        let mut set = set(it);
        block_on(poll_fn(|context| set.poll_join_next(context))).told()
    }),
    // Scopes.
    part("scope of a future", &["brigade::scope"], |it| {
        scoped(it, |need, slot| {
            brigade::scope(|scope| _ = scope.spawn(async { slot.set(need.take().await) }));
        })
    }),
    part("scope of a closure", &[], |it| {
        scoped(it, |need, slot| {
            brigade::scope(|scope| {
                scope.execute(|| slot.set(need.joining_part()));
                need.other_part();
            });
        })
    }),
    part("in_place_scope", &["brigade::in_place_scope"], |it| {
        scoped(it, |need, slot| {
            brigade::in_place_scope(|scope| _ = scope.spawn(async { slot.set(need.take().await) }));
        })
    }),
    job("Handle::scope", &["brigade::Handle::scope"], |it| {
        scoped(it, |need, slot| _ = it.home.scope(|scope| scope.execute(|| slot.set(need.join()))))
    }),
    job("Handle::in_place_scope", &["brigade::Handle::in_place_scope"], |it| {
        scoped(it, |need, slot| {
            let future = async { slot.set(need.take().await) };
            _ = it.home.in_place_scope(|scope| _ = scope.spawn(future));
        })
    }),
    job("join of a scope's closure", &["brigade_task::ScopedJoinHandle<'_, T>::join"], |it| {
        let need = &it.need;
        it.home.in_place_scope(|scope| scope.submit(|| need.join()).join()).told()
    }),
    job("join of a scope's future", &[], |it| {
        let need = &it.need;
        it.home.in_place_scope(|scope| scope.spawn(async { need.take().await }).join()).told()
    }),
    // Forks.
    part("fork", &["brigade::join"], |it| {
        let need = &it.need;
        brigade::join(|| need.other_part(), || need.joining_part()).1.told()
    }),
    part("par_for", &["brigade::par_for"], |it| {
        scoped(it, |need, slot| brigade::par_for(0..2, 1, |part| slot.set_if(need.part(part))))
    }),
    part("par_for_with", &["brigade::par_for_with"], |it| {
        scoped(it, |need, slot| {
            brigade::par_for_with(0..2, 1, || (), |(), part| slot.set_if(need.part(part)));
        })
    }),
    part("try_par_for", &["brigade::try_par_for"], |it| {
        let need = &it.need;
        let told = brigade::try_par_for(0..2, 1, |part| need.part(part).map_or(Ok(()), Err));
        told.err().told()
    }),
    part("par_map", &["brigade::par_map"], |it| {
        let need = &it.need;
        brigade::par_map(0..2, 1, |part| need.part(part)).into_iter().flatten().next().told()
    }),
    part("par_chunks", &["brigade::par_chunks"], |it| {
        scoped(it, |need, slot| {
            brigade::par_chunks(&[0, 1], 1, |part, _| slot.set_if(need.part(part)));
        })
    }),
    part("par_chunks_mut", &["brigade::par_chunks_mut"], |it| {
        scoped(it, |need, slot| {
            brigade::par_chunks_mut(&mut [0, 1], 1, |part, _| slot.set_if(need.part(part)));
        })
    }),
    part("map_reduce", &["brigade::map_reduce"], |it| {
        let need = &it.need;
        let reduced = brigade::map_reduce(0..2, 1, |part| need.part(part), Option::or);
        reduced.flatten().told()
    }),
    job("install", &["brigade::Handle::install"], |it| {
        let need = &it.need;
        it.home.install(|| need.join()).told()
    }),
    // A LocalPool.
    more("LocalPool::run_until", &["brigade::LocalPool::run_until"], |it| match it.local {
        Some(local) => local.run_until(it.need.take()).told(),
        None => LocalPool::new().unwrap().run_until(it.need.take()).told(),
    }),
    more("drop of a LocalPool", &["<brigade::LocalPool as Drop>::drop"], |it| {
        let (local, need) = (LocalPool::new().unwrap(), it.need.take());
        let job = local.submit(move || need.join());
        drop(local);
        job.join().told()
    }),
    more("join of a LocalPool's job", &[], |it| {
        let (local, need) = (LocalPool::new().unwrap(), it.need.take());
        local.submit(move || need.join()).join().told()
    }),
    more("join_timeout of a LocalPool's job", &[], |it| {
        let (local, need) = (LocalPool::new().unwrap(), it.need.take());
        local.submit(move || need.join()).join_timeout(FAR).told()
    }),
    // Time.
    more("timeout", &["brigade::timeout", "brigade::time::timeout"], |it| {
        block_on(brigade::timeout(FAR, it.need.take())).told()
    }),
    more(
        "timeout_at",
        &["brigade::time::timeout_at", "<brigade::time::Timeout<F> as Future>::poll"],
        |it| {
            let at = Instant::now() + FAR;
            let limited = block_on(async { time::timeout_at(at, it.need.take()).await });
            Result::<Joined, Elapsed>::told(limited)
        },
    ),
    more(
        "sleep",
        &["brigade::sleep", "brigade::time::sleep", "<brigade::time::Sleep as Future>::poll"],
        |it| repeated(it, || brigade::sleep(Duration::from_millis(1))),
    ),
    more("sleep_until", &["brigade::time::sleep_until"], |it| {
        repeated(it, || time::sleep_until(Instant::now() + Duration::from_millis(1)))
    }),
    more(
        "Interval::tick",
        &["brigade::time::Interval::tick", "brigade::time::Interval::poll_tick"],
        |it| {
            repeated(it, || async {
                let mut interval = brigade::interval(Duration::from_millis(1));
                interval.tick().await;
                poll_fn(|context| interval.poll_tick(context)).await;
            })
        },
    ),
    more("yield_now", &["brigade::yield_now", "<brigade::YieldNow as Future>::poll"], |it| {
        repeated(it, brigade::yield_now)
    }),
    more(
        "readable",
        &["brigade_io::Async<T>::readable", "<brigade_io::Ready<'_> as Future>::poll"],
        |it| {
            use std::io::Write;
            let (receiver, mut sender) = std::os::unix::net::UnixStream::pair().unwrap();
            let (pool, need) = (Pool::new(1), it.need.take());
            let job = pool.submit(move || {
                let joined = need.join();
                sender.write_all(b"x").unwrap();
                joined
            });
            block_on(async {
                brigade::io::Async::new(receiver).unwrap().readable().await.unwrap()
            });
            job.join().told()
        },
    ),
    // Another pool, one of whose jobs waits for the job.
    more("join of another pool's job", &[], |it| other(it).1.join().told()),
    more("join_timeout of another pool's job", &[], |it| other(it).1.join_timeout(FAR).told()),
    more("block_on of another pool's job", &[], |it| {
        let (_pool, job) = other(it);
        block_on(job).told()
    }),
    more("set.join_next of another pool's job", &[], |it| {
        let (pool, need) = (Pool::new(1), it.need.take());
        let mut set = TaskSet::new(&pool);
        set.submit(move || need.join());
        set.join_next().told()
    }),
    more("set.join_next_timeout of another pool's job", &[], |it| {
        let (pool, need) = (Pool::new(1), it.need.take());
        let mut set = TaskSet::new(&pool);
        set.submit(move || need.join());
        set.join_next_timeout(FAR).told()
    }),
    more("install of another pool", &[], |it| {
        let need = &it.need;
        Pool::new(1).install(|| need.join()).told()
    }),
    more("scope of another pool", &[], |it| {
        scoped(it, |need, slot| {
            let pool = Pool::new(1);
            pool.scope(|scope| scope.execute(|| slot.set(need.join()))).unwrap();
        })
    }),
    more("in_place_scope of another pool", &[], |it| {
        scoped(it, |need, slot| {
            let pool = Pool::new(1);
            pool.in_place_scope(|scope| scope.execute(|| slot.set(need.join()))).unwrap();
        })
    }),
    more("wait_idle", &["brigade::Handle::wait_idle"], |it| {
        let (pool, job) = other(it);
        assert!(pool.wait_idle());
        job.join().told()
    }),
    more("wait_idle_timeout", &["brigade::Handle::wait_idle_timeout"], |it| {
        let (pool, job) = other(it);
        assert!(pool.wait_idle_timeout(FAR));
        job.join().told()
    }),
    more("shutdown", &["brigade::Handle::shutdown"], |it| {
        let (pool, job) = other(it);
        pool.shutdown(Shutdown::Drain);
        job.join().told()
    }),
    more("shutdown with a limit", &[], |it| {
        let (pool, job) = other(it);
        pool.shutdown(Shutdown::Finish.timeout(FAR));
        job.join().told()
    }),
    more("drop of a pool", &["<brigade::Pool as Drop>::drop"], |it| {
        let (pool, job) = other(it);
        drop(pool);
        job.join().told()
    }),
    // Another pool that is full, until the job has ended.
    more("Pool::execute", &["brigade::Pool::execute"], |it| full(it, |pool| pool.execute(|| ()))),
    more("Pool::submit", &["brigade::Pool::submit"], |it| {
        full(it, |pool| drop(pool.submit(|| ())))
    }),
    more("Handle::execute", &["brigade::Handle::execute"], |it| {
        full(it, |pool| pool.handle().execute(|| ()))
    }),
    more("Handle::submit", &["brigade::Handle::submit"], |it| {
        full(it, |pool| drop(pool.handle().submit(|| ())))
    }),
    more("Handle::spawn", &["brigade::Handle::spawn"], |it| {
        full(it, |pool| drop(pool.handle().spawn(async {})))
    }),
    more("execute", &["brigade::execute"], |it| {
        full(it, |pool| pool.enter(|| brigade::execute(|| ())))
    }),
    more("submit", &["brigade::submit"], |it| {
        full(it, |pool| drop(pool.enter(|| brigade::submit(|| ()))))
    }),
    more("spawn", &["brigade::spawn"], |it| {
        full(it, |pool| drop(pool.enter(|| brigade::spawn(async {}))))
    }),
    more("JobBuilder::execute", &["brigade::JobBuilder::execute"], |it| {
        full(it, |pool| pool.job().execute(|| ()).unwrap())
    }),
    more("JobBuilder::execute, BlockFor", &[], |it| {
        let policy = brigade::WhenFull::BlockFor(FAR);
        full(it, |pool| pool.job().when_full(policy).execute(|| ()).unwrap())
    }),
    more("JobBuilder::submit", &["brigade::JobBuilder::submit"], |it| {
        full(it, |pool| drop(pool.job().submit(|| ()).unwrap()))
    }),
    more("JobBuilder::spawn", &["brigade::JobBuilder::spawn"], |it| {
        full(it, |pool| drop(pool.job().spawn(async {}).unwrap()))
    }),
    more("JobBuilder::execute_batch", &["brigade::JobBuilder::execute_batch"], |it| {
        full(it, |pool| pool.job().execute_batch([|| ()]).unwrap())
    }),
    more("JobBuilder::submit_batch", &["brigade::JobBuilder::submit_batch"], |it| {
        full(it, |pool| drop(pool.job().submit_batch([|| ()]).unwrap()))
    }),
    more("DelayedJob::submit", &["brigade::DelayedJob::submit"], |it| {
        full(it, |pool| drop(pool.job().after(Duration::ZERO).submit(|| ()).unwrap()))
    }),
    more("submit_after", &["brigade::submit_after", "brigade::time::submit_after"], |it| {
        full(it, |pool| drop(pool.enter(|| brigade::submit_after(Duration::ZERO, || ()))))
    }),
    more("reserve", &["brigade::JobBuilder::reserve"], |it| {
        full(it, |pool| drop(block_on(pool.job().reserve()).unwrap()))
    }),
];

/// The functions that wait and have no row, with the reason.
pub(crate) static EXCEPTIONS: &[(&str, &[&str])] = &[
    (
        "the trait's name for a function with a row",
        &[
            "<brigade::Handle as Executor>::accept",
            "<brigade::Handle as Executor>::accept_closure",
            "<brigade::Handle as Executor>::execute",
            "<brigade::Handle as Spawn>::spawn_obj",
            "<brigade::Handle as Spawner>::accept_future",
            "<brigade::Handle as ThreadPool>::scope",
            "<brigade::Pool as Executor>::accept",
            "<brigade::Pool as Executor>::accept_closure",
            "<brigade::Pool as Spawn>::spawn_obj",
            "<brigade::Pool as Spawner>::accept_future",
            "<brigade::Map<I, T> as Stream>::poll_next",
            "<brigade::MapUnordered<I, T> as Stream>::poll_next",
            "<brigade::Pool as ThreadPool>::scope",
            "<brigade::TaskSet<T> as Stream>::poll_next",
            "<brigade::time::HyperTimer as Timer>::sleep",
            "<brigade::time::HyperTimer as Timer>::sleep_until",
            "<brigade::time::Interval as Stream>::poll_next",
            "brigade_macros::#[main]",
            "brigade_macros::#[test]",
        ],
    ),
    ("waits for a virtual clock, which no job moves", &["brigade::time::advance"]),
    (
        "waits for a file or a name server, and for no job",
        &[
            "brigade::io::fs::metadata",
            "brigade::io::fs::open",
            "brigade::io::fs::read",
            "brigade::io::fs::read_to_string",
            "brigade::io::fs::write",
            "brigade_io::Async<std::net::TcpListener>::bind",
            "brigade_io::Async<std::net::UdpSocket>::bind",
            "brigade_io::Async<std::net::UdpSocket>::connect",
            "brigade_trace::Trace::save",
            "brigade_trace::Trace::write_to",
        ],
    ),
    (
        "called by the pool",
        &[
            "brigade_io::Driver::drive",
            "brigade_io::Driver::drive_unless",
            "brigade_sync::thread::NewThread::run",
            "brigade_sync::thread::Thread::join",
            "brigade_sync::thread::Thread::join_until",
        ],
    ),
    (
        "waits as `Async::readable` does",
        &[
            "brigade_io::Async<T>::poll_readable",
            "brigade_io::Async<T>::poll_writable",
            "brigade_io::Async<T>::read_with",
            "brigade_io::Async<T>::writable",
            "brigade_io::Async<T>::write_with",
            "brigade_io::Async<std::net::TcpListener>::accept",
            "brigade_io::Async<std::net::TcpStream>::connect",
            "brigade_io::Async<std::net::TcpStream>::peek",
            "brigade_io::Async<std::net::UdpSocket>::recv",
            "brigade_io::Async<std::net::UdpSocket>::recv_from",
            "brigade_io::Async<std::net::UdpSocket>::send",
            "brigade_io::Async<std::net::UdpSocket>::send_to",
            "brigade_io::Async<std::os::unix::net::listener::UnixListener>::accept",
            "brigade_io::Async<std::os::unix::net::stream::UnixStream>::connect",
            "<brigade_io::Async<T> as AsyncRead>::poll_read",
            "<brigade_io::Async<T> as AsyncRead>::poll_read_vectored",
            "<brigade_io::Async<T> as AsyncWrite>::poll_close",
            "<brigade_io::Async<T> as AsyncWrite>::poll_flush",
            "<brigade_io::Async<T> as AsyncWrite>::poll_write",
            "<brigade_io::Async<T> as AsyncWrite>::poll_write_vectored",
            "<brigade_io::Async<T> as Read>::poll_read",
            "<brigade_io::Async<T> as Write>::poll_flush",
            "<brigade_io::Async<T> as Write>::poll_shutdown",
            "<brigade_io::Async<T> as Write>::poll_write",
            "<brigade_io::Async<T> as Write>::poll_write_vectored",
            "<&brigade_io::Async<T> as AsyncRead>::poll_read",
            "<&brigade_io::Async<T> as AsyncRead>::poll_read_vectored",
            "<&brigade_io::Async<T> as AsyncWrite>::poll_close",
            "<&brigade_io::Async<T> as AsyncWrite>::poll_flush",
            "<&brigade_io::Async<T> as AsyncWrite>::poll_write",
            "<&brigade_io::Async<T> as AsyncWrite>::poll_write_vectored",
            "<brigade_io::PipeReader as AsyncRead>::poll_read",
            "<brigade_io::PipeReader as AsyncRead>::poll_read_vectored",
            "<brigade_io::PipeWriter as AsyncWrite>::poll_close",
            "<brigade_io::PipeWriter as AsyncWrite>::poll_flush",
            "<brigade_io::PipeWriter as AsyncWrite>::poll_write",
            "<brigade_io::PipeWriter as AsyncWrite>::poll_write_vectored",
            "<brigade_io::ReadHalf<S> as AsyncRead>::poll_read",
            "<brigade_io::ReadHalf<S> as AsyncRead>::poll_read_vectored",
            "<brigade_io::WriteHalf<S> as AsyncWrite>::poll_close",
            "<brigade_io::WriteHalf<S> as AsyncWrite>::poll_flush",
            "<brigade_io::WriteHalf<S> as AsyncWrite>::poll_write",
            "<brigade_io::WriteHalf<S> as AsyncWrite>::poll_write_vectored",
        ],
    ),
];

/// A set of one future, which awaits the job.
fn set(it: &Given<'_>) -> TaskSet<Joined> {
    let (mut set, need) = (TaskSet::new(it.home), it.need.take());
    set.spawn(need);
    set
}

/// Where a part leaves the outcome that it has joined.
#[derive(Default)]
struct Slot(Mutex<Option<Joined>>);

impl Slot {
    fn set(&self, joined: Joined) {
        self.set_if(Some(joined));
    }

    fn set_if(&self, joined: Option<Joined>) {
        if joined.is_some() {
            *self.0.lock().unwrap() = joined;
        }
    }
}

/// The job that a part of a scope or a loop has joined. A part that did not run was cancelled.
fn scoped(it: &Given<'_>, call: impl FnOnce(&Need, &Slot)) -> Outcome {
    let slot = Slot::default();
    call(&it.need, &slot);
    slot.0.into_inner().unwrap().map_or(Outcome::Refused, Told::told)
}

/// Awaits a future again and again until the job has ended.
fn repeated<F: Future>(it: &Given<'_>, mut next: impl FnMut() -> F) -> Outcome {
    let need = it.need.take();
    block_on(async {
        while !need.is_finished() {
            pin!(next()).await;
        }
    });
    need.join().told()
}

/// Another pool with one thread, whose only job waits for the job.
fn other(it: &Given<'_>) -> (Pool, JoinHandle<Joined>) {
    let (pool, need) = (Pool::new(1), it.need.take());
    let job = pool.submit(move || need.join());
    (pool, job)
}

/// Submits to another pool that is full until the job has ended. A foreign thread joins it: a worker of that pool would
/// run the queued jobs inside its wait.
fn full(it: &Given<'_>, submit: impl FnOnce(&Pool)) -> Outcome {
    let pool = Pool::builder().threads(1).capacity(1).build().unwrap();
    let (need, busy) = (it.need.take(), Halt::default());
    pool.execute(busy.job());
    busy.await_thread();
    while pool.try_execute(|| ()).is_ok() {}
    let joining = thread::spawn(move || {
        let joined = need.join();
        busy.release();
        joined
    });
    submit(&pool);
    joining.join().unwrap().told()
}
