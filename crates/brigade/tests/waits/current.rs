//! Which pool is current: where the free functions submit, fork and wait.
//!
//! The docs of `Handle::current` have the rule.

use std::panic;
use std::thread::{self, ThreadId};
use std::time::Duration;

use brigade::{Handle, LocalPool, Pool, TaskSet, WhenFull, block_on};
use brigade_testkit::{Halt, eventually};

use crate::run::Case;

/// The pool that a job or a part of a verb runs on, or is current in it.
type Seen = Option<Handle>;
type Probe = fn() -> Seen;

/// The rule by which a verb finds its pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The current pool alone.
    Current,
    /// The current pool, or else the default one.
    Submission,
    /// The worker's pool, or else as a submission.
    Borrow,
    /// The worker alone.
    Worker,
    /// The worker's pool, or else the newest `LocalPool`.
    Local,
    /// The current pool, or else the newest `LocalPool`, or else the default pool.
    BlockOn,
}

static VERBS: &[(&str, By, Probe)] = &[
    ("Handle::current", By::Current, Handle::current),
    ("execute", By::Submission, || seen(|tell| brigade::execute(tell))),
    ("try_execute", By::Submission, || seen(|tell| assert!(brigade::try_execute(tell).is_ok()))),
    ("submit", By::Submission, || brigade::submit(Handle::current).join().unwrap()),
    ("try_submit", By::Submission, || {
        brigade::try_submit(Handle::current).unwrap().join().unwrap()
    }),
    ("spawn", By::Submission, || brigade::spawn(async { Handle::current() }).join().unwrap()),
    ("try_spawn", By::Submission, || {
        brigade::try_spawn(async { Handle::current() }).unwrap().join().unwrap()
    }),
    ("job", By::Submission, || brigade::job().submit(Handle::current).unwrap().join().unwrap()),
    ("submit_after", By::Submission, || {
        brigade::submit_after(Duration::ZERO, Handle::current).join().unwrap()
    }),
    ("execute_after", By::Submission, || {
        seen(|tell| drop(brigade::time::execute_after(Duration::ZERO, tell)))
    }),
    ("TaskSet::default", By::Submission, || {
        let mut set = TaskSet::default();
        set.submit(Handle::current);
        set.join_next().unwrap().unwrap()
    }),
    ("scope's body", By::Submission, || brigade::scope(|_| Handle::current())),
    ("scope's job", By::Borrow, || {
        let mut pool = None;
        brigade::scope(|scope| scope.execute(|| pool = Handle::current()));
        pool
    }),
    ("scope's joined job", By::Borrow, || {
        brigade::scope(|scope| agreed(|| scope.submit(here_and_seen).join().unwrap()))
    }),
    ("in_place_scope's body", By::Current, || brigade::in_place_scope(|_| Handle::current())),
    ("in_place_scope's job", By::Borrow, || {
        let mut pool = None;
        brigade::in_place_scope(|scope| scope.execute(|| pool = Handle::current()));
        pool
    }),
    ("in_place_scope's joined job", By::Borrow, || {
        brigade::in_place_scope(|scope| agreed(|| scope.submit(here_and_seen).join().unwrap()))
    }),
    ("in_place_scope's future", By::Borrow, || {
        let future = async { Handle::current() };
        brigade::in_place_scope(|scope| scope.spawn(future).join().unwrap())
    }),
    ("join", By::Borrow, || brigade::join(of_forks, || ()).0),
    ("par_for", By::Borrow, || {
        let pool = std::sync::Mutex::new(None);
        brigade::par_for(0..1, 1, |_| *pool.lock().unwrap() = of_forks());
        pool.into_inner().unwrap()
    }),
    ("try_execute_locally", By::Worker, of_worker),
    ("spawn_local", By::Local, || {
        let spawned = panic::catch_unwind(|| brigade::spawn_local(async { Handle::current() }));
        spawned.ok()?.join().unwrap()
    }),
    ("block_on", By::BlockOn, || {
        block_on(async { brigade::spawn(async { Handle::current() }).await.unwrap() })
    }),
];

/// The current pool of a job that is submitted in this way.
fn seen(submit: impl FnOnce(Box<dyn FnOnce() + Send>)) -> Seen {
    let (tell, told) = async_channel::bounded(1);
    submit(Box::new(move || tell.try_send(Handle::current()).unwrap()));
    block_on(told.recv()).ok()?
}

/// The current pool of a joined job; jobs are joined until one of them has run on this thread. `None` if they differ.
fn agreed(join: impl Fn() -> (ThreadId, Seen)) -> Seen {
    let (here, first) = (thread::current().id(), join().1);
    for _ in 0..10_000 {
        let (thread, seen) = join();
        if seen != first {
            return None;
        }
        if thread == here {
            break;
        }
    }
    first
}

fn here_and_seen() -> (ThreadId, Seen) {
    (thread::current().id(), Handle::current())
}

/// The pool for which the thread forks, as its worker or as a guest.
fn of_forks() -> Option<Handle> {
    of_worker().or_else(Handle::current)
}

/// The pool of this worker.
fn of_worker() -> Seen {
    seen(|tell| _ = brigade::try_execute_locally(tell))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    One,
    Two,
    /// The newest `LocalPool`, and another `LocalPool` of the thread.
    Newest,
    Older,
    Default,
    /// No pool: there is none, or the verb panics.
    None,
}
use Which::{Newest, Older, One, Two};

struct Pools {
    one: Pool,
    two: Pool,
    /// Only in situations that have an owner.
    local: Option<[LocalPool; 2]>,
}

impl Pools {
    fn locals(&mut self) -> [&LocalPool; 2] {
        self.local = Some([LocalPool::new().unwrap(), LocalPool::new().unwrap()]);
        self.local.as_ref().unwrap().each_ref()
    }

    fn which(&self, seen: Seen) -> Which {
        let Some(handle) = seen else { return Which::None };
        let local = self.local.as_ref().map(|local| local.each_ref().map(|local| local.handle()));
        let [older, newest] = local.map_or([None; 2], |local| local.map(Some));
        match handle {
            _ if handle == self.one.handle() => One,
            _ if handle == self.two.handle() => Two,
            _ if Some(handle) == newest => Newest,
            _ if Some(handle) == older => Older,
            _ if handle == brigade::default_pool().handle() => Which::Default,
            _ => panic!("{handle:?}"),
        }
    }
}

/// Where a verb is called.
struct Situation {
    name: &'static str,
    /// The current pool, the pool of the worker, and that of local futures.
    current: Which,
    worker: Which,
    local: Which,
    call: fn(&mut Pools, Probe) -> Seen,
}

const fn situation(
    name: &'static str,
    [current, worker, local]: [Which; 3],
    call: fn(&mut Pools, Probe) -> Seen,
) -> Situation {
    Situation { name, current, worker, local, call }
}

/// Calls the closure in a job of the first pool.
fn on_one(pools: &Pools, call: impl FnOnce(Handle, Handle) -> Seen + Send + 'static) -> Seen {
    let (one, two) = (pools.one.handle(), pools.two.handle());
    one.submit(move || call(one, two)).join().unwrap()
}

/// Joins a job of a scope while all workers of the pool are busy, so that it runs on this thread.
fn joined_here(pool: Handle, probe: Probe) -> Seen {
    let here = thread::current().id();
    let busy: Vec<_> = (0..*pool.size().end())
        .map(|_| {
            let halt = Halt::default();
            pool.execute(halt.job());
            halt.await_thread();
            halt
        })
        .collect();
    let call = move || {
        assert_eq!(thread::current().id(), here);
        busy.iter().for_each(Halt::release);
        probe()
    };
    pool.in_place_scope(|scope| scope.submit(call).join().unwrap()).unwrap()
}

const NONE: Which = Which::None;

static SITUATIONS: &[Situation] = &[
    situation("outside", [NONE, NONE, NONE], |_, probe| probe()),
    situation("outside, in enter", [Two, NONE, NONE], |pools, probe| pools.two.enter(probe)),
    situation("outside, in enter of two", [One, NONE, NONE], |pools, probe| {
        pools.two.enter(|| pools.one.enter(probe))
    }),
    situation("outside, in block_on", [Two, NONE, NONE], |pools, probe| {
        pools.two.block_on(async { probe() })
    }),
    situation("outside, in install", [Two, Two, Two], |pools, probe| {
        pools.two.install(probe).unwrap()
    }),
    situation("outside, in install inside enter", [Two, Two, Two], |pools, probe| {
        pools.one.enter(|| pools.two.install(probe).unwrap())
    }),
    situation("outside, in scope", [Two, Two, Two], |pools, probe| {
        pools.two.scope(|_| probe()).unwrap()
    }),
    situation("outside, in in_place_scope", [NONE, NONE, NONE], |pools, probe| {
        pools.two.in_place_scope(|_| probe()).unwrap()
    }),
    situation("outside, in in_place_scope inside enter", [One, NONE, NONE], |pools, probe| {
        pools.one.enter(|| pools.two.in_place_scope(|_| probe()).unwrap())
    }),
    situation("outside, in enter inside in_place_scope", [One, NONE, NONE], |pools, probe| {
        pools.two.in_place_scope(|_| pools.one.enter(probe)).unwrap()
    }),
    situation("outside, in a scope's joined job", [Two, NONE, NONE], |pools, probe| {
        joined_here(pools.two.handle(), probe)
    }),
    situation("outside, in a scope's job", [Two, Two, Two], |pools, probe| {
        let mut seen = None;
        pools.two.in_place_scope(|scope| scope.execute(|| seen = probe())).unwrap();
        seen
    }),
    situation("outside, in a job of a full pool", [Two, NONE, NONE], |pools, probe| {
        let busy = Halt::default();
        let builder = Pool::builder().threads(1).capacity(1);
        pools.two = builder.when_full(WhenFull::RunInCaller).build().unwrap();
        pools.two.execute(busy.job());
        busy.await_thread();
        while pools.two.try_execute(|| ()).is_ok() {}
        let (here, two) = (thread::current().id(), pools.two.handle());
        let seen = pools.two.submit(move || {
            assert_eq!(thread::current().id(), here);
            busy.release();
            eventually("the pool has room", || two.metrics().queued == 0);
            probe()
        });
        seen.join().unwrap()
    }),
    situation("in a job", [One, One, One], |pools, probe| on_one(pools, move |_, _| probe())),
    situation("in a future", [One, One, One], |pools, probe| {
        pools.one.spawn(async move { probe() }).join().unwrap()
    }),
    situation("in a job, in blocking", [One, One, One], |pools, probe| {
        on_one(pools, move |_, _| brigade::blocking(probe))
    }),
    situation("in a job, in enter", [Two, One, One], |pools, probe| {
        on_one(pools, move |_, two| two.enter(probe))
    }),
    situation("in a job, in enter of both", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| two.enter(|| one.enter(probe)))
    }),
    situation("in a job, in block_on", [Two, One, One], |pools, probe| {
        on_one(pools, move |_, two| two.block_on(async { probe() }))
    }),
    situation("in a job, in install of the other", [Two, Two, Two], |pools, probe| {
        on_one(pools, move |_, two| two.install(probe).unwrap())
    }),
    situation("in a job, in scope of the other", [Two, Two, Two], |pools, probe| {
        on_one(pools, move |_, two| two.scope(|_| probe()).unwrap())
    }),
    situation("in a job, in in_place_scope of the other", [One, One, One], |pools, probe| {
        on_one(pools, move |_, two| two.in_place_scope(|_| probe()).unwrap())
    }),
    situation("in a job, in a joined job of the other's scope", [Two, One, One], |pools, probe| {
        on_one(pools, move |_, two| joined_here(two, probe))
    }),
    situation("in a job, in a job of the other", [Two, Two, Two], |pools, probe| {
        on_one(pools, move |_, two| two.submit(probe).join().unwrap())
    }),
    situation("in a job, in install inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| two.enter(|| one.install(probe).unwrap()))
    }),
    situation("in a job, in scope inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| two.enter(|| one.scope(|_| probe()).unwrap()))
    }),
    situation("in a job, in in_place_scope inside enter", [Two, One, One], |pools, probe| {
        on_one(pools, move |one, two| two.enter(|| one.in_place_scope(|_| probe()).unwrap()))
    }),
    situation("in a job, in a scope's job inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| {
            let mut seen = None;
            two.enter(|| one.scope(|scope| scope.execute(|| seen = probe())).unwrap());
            seen
        })
    }),
    situation("in a job, in a joined job inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| two.enter(|| one.submit(probe).join().unwrap()))
    }),
    situation("in a job, in a scope's joined job inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| {
            let joined = || one.in_place_scope(|scope| scope.submit(probe).join().unwrap());
            two.enter(|| joined().unwrap())
        })
    }),
    situation("in the spawn of a scope inside enter", [One, One, One], |pools, probe| {
        on_one(pools, move |one, two| {
            let joined =
                || one.in_place_scope(|scope| scope.spawn(async move { probe() }).join().unwrap());
            two.enter(|| joined().unwrap())
        })
    }),
    situation("by an owner", [NONE, NONE, Newest], |pools, probe| {
        pools.locals();
        probe()
    }),
    situation("by an owner, in enter of a pool", [One, NONE, Newest], |pools, probe| {
        pools.locals();
        pools.one.enter(probe)
    }),
    situation("by an owner, in enter of the older", [Older, NONE, Older], |pools, probe| {
        pools.locals()[0].enter(probe)
    }),
    situation("by an owner, in run_until", [Newest, Newest, Newest], |pools, probe| {
        pools.locals()[1].run_until(async { probe() })
    }),
    situation("by an owner, in run_until of the older", [Older, Older, Older], |pools, probe| {
        pools.locals()[0].run_until(async { probe() })
    }),
    situation("by an owner, in install", [Older, Older, Older], |pools, probe| {
        pools.locals()[0].install(probe).unwrap()
    }),
    situation("by an owner, in in_place_scope", [Older, Older, Older], |pools, probe| {
        pools.locals()[0].in_place_scope(|_| probe()).unwrap()
    }),
    situation("by an owner, in a job", [Older, Older, Older], |pools, probe| {
        pools.locals()[0].submit(probe).join().unwrap()
    }),
    // The second pool stands for the LocalPool, which can't leave its thread.
    situation("in a job, in run_until of its own LocalPool", [Two, Two, Two], |pools, probe| {
        on_one(pools, move |_, two| {
            let local = LocalPool::new().unwrap();
            let seen = local.run_until(async { probe() });
            if seen == Some(local.handle()) { Some(two) } else { seen }
        })
    }),
];

impl Situation {
    fn expected(&self, by: By) -> Which {
        let or = |which: Which, other: Which| if which == NONE { other } else { which };
        let submits = or(self.current, Which::Default);
        match by {
            By::Current => self.current,
            By::Submission => submits,
            By::Borrow => or(self.worker, submits),
            By::Worker => self.worker,
            By::Local => self.local,
            By::BlockOn => or(or(self.current, self.local), Which::Default),
        }
    }

    fn check(&self, by: By, probe: Probe) -> Result<(), String> {
        // One thread: no other takes a job that is joined at once.
        let mut pools = Pools { one: Pool::new(1), two: Pool::new(2), local: None };
        let seen = (self.call)(&mut pools, probe);
        let (seen, expected) = (pools.which(seen), self.expected(by));
        if seen == expected { Ok(()) } else { Err(format!("{seen:?}, not {expected:?}")) }
    }
}

/// Each verb in each situation.
pub(crate) fn cases() -> Vec<Case> {
    let each = |(verb, by, probe): &'static (&str, By, Probe)| {
        SITUATIONS.iter().map(move |situation| {
            let name = format!("current pool of {verb}, {}", situation.name);
            Case::new(name, move || situation.check(*by, *probe))
        })
    };
    VERBS.iter().flat_map(each).collect()
}
