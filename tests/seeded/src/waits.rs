//! A program whose jobs wait, in calls of all kinds, for work that they have made themselves. Such a program is good: each wait ends, and by its event.

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::Write;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::Duration;

use brigade::time;
use brigade::{Handle, JoinError, JoinHandle, LocalPool, NewThread, TaskSet, Thread, WhenFull};
use brigade_sync::{Mutex, time as clock};
use futures_lite::AsyncReadExt;

use crate::act::note;
use crate::judge::{self, Due};
use crate::levels::{Leaf, OnDrop, Place, is_worker_of, within};
use crate::machine::{self, IS_SEEDED, clock::idle, clock::pass};
use crate::meeting::{Gate, Meeting};
use crate::pools;
use crate::program::{Restless, Task, Thing, Wait, Waits};
use crate::verb::Micros;
use crate::world::micros;

/// The limit of a wait that does not end by its limit.
pub(crate) const FAR: Duration = Duration::from_secs(1 << 22);
/// Longer than a failed start may matter.
const PAUSE: Duration = Duration::from_secs(2);

/// How long a poll of a future takes that is always woken.
pub(crate) const POLL: Duration = Duration::from_micros(50);

/// The state that the jobs of a program share.
struct Run {
    pool: Handle,
    /// Jobs hold it while they wait for another pool.
    lock: Mutex<()>,
    /// Whether starts of threads fail.
    loses_shares: bool,
    /// How many more threads of the pool may wait for a message in a call that blocks: one thread is left.
    free: AtomicU8,
}

/// Runs a program.
pub(crate) fn run(waits: &Waits) {
    let Waits { pools: (one, two), is_driven, jobs, outside, hook, crowd, later } = waits;
    // A hook may use the other pool, which therefore ends last.
    let (Ok(other), Ok(built)) = (two.build(), one.build()) else { return };
    let pool = &built.pool;
    let local = is_driven.then(|| LocalPool::new().expect("a pool"));
    let handle = local.as_ref().map_or(pool.handle(), LocalPool::handle);
    let place = Place { pool: handle, other: other.pool.handle() };
    let free = if *is_driven { 0 } else { one.1 - 1 };
    let run = Arc::new(Run {
        pool: handle,
        loses_shares: one.fails(),
        lock: Mutex::new(()),
        free: AtomicU8::new(free),
    });
    pools::hook(hook.clone().map(|task| {
        let run = run.clone();
        Box::new(move || task.run(place, &run)) as _
    }));
    let phase = |jobs: &[Task], outside: &[Task]| {
        let over: Vec<_> = outside.iter().map(|task| beside(place, &run, task)).collect();
        let jobs: Vec<_> = jobs.iter().filter_map(|task| submit(place, &run, task)).collect();
        jobs.into_iter().for_each(|job| ended(job.join()));
        // The owner runs its pool meanwhile.
        if let Some(local) = &local {
            local.run_until(async {
                for (gate, _) in &over {
                    gate.pass().await;
                }
            });
        }
        over.into_iter().for_each(|(_, thread)| thread.join());
    };
    let jobs: Vec<_> =
        jobs.iter().chain(iter::repeat_n(jobs, (*crowd).into()).flatten()).cloned().collect();
    phase(&jobs, outside);
    if waits.is_calm() {
        assert_eq!(built.starts(), 1, "a wait for work that no thread has begun starts a thread");
    }
    if !later.is_empty() {
        // Real time is short, and matters only after such a start.
        let pause = if IS_SEEDED || pools::may_fail() { PAUSE } else { PAUSE / 1_000 };
        pools::start_well();
        clock::sleep(pause);
        phase(later, &[]);
    }
    // The end of the pool cancels pending futures for which a hook waits.
    pools::hook(None);
    pool.wait_idle();
    // A thread stays for the I/O of its pool.
    if one.leaves_soon() && !waits.has_io() {
        let begun = idle();
        let is_over = || idle() - begun > PAUSE / 4;
        let is_kept = || pool.metrics().threads > one.0.into();
        (0..100).take_while(|_| !is_over() && is_kept()).for_each(|_| clock::sleep(PAUSE / 100));
        assert!(!(is_over() && is_kept()), "an idle thread outlives its time: {}", pool.dump());
    }
}

impl Waits {
    fn has_io(&self) -> bool {
        let tasks = [&self.jobs, &self.outside, &self.later].into_iter().flatten();
        let tasks = tasks.chain(&self.hook);
        tasks.flat_map(|task| &task.waits).any(|(thing, _)| matches!(thing, Thing::AByte(_)))
    }

    /// A job, for which a thread is enough, waits for work that is ready.
    fn is_calm(&self) -> bool {
        let is_ready = |(thing, wait): &(Thing, Wait)| {
            use Thing::{AClosure, AReadyFuture, AScopesReadyFuture};
            // A `block_on` runs no closure.
            !(wait.is_timed() || (*thing, *wait) == (AClosure, Wait::ByBlockOn))
                && matches!(thing, AClosure | AReadyFuture | AScopesReadyFuture)
        };
        let is_plain = |task: &Task| task.levels.is_empty() && task.waits.iter().all(is_ready);
        let is_alone = self.outside.is_empty() && self.hook.is_none();
        let is_one = self.pools.0.1 == 1 && !self.is_driven && is_alone;
        is_one && !pools::may_fail() && matches!(&self.jobs[..], [task] if is_plain(task))
    }
}

fn submit(place: Place, run: &Arc<Run>, task: &Task) -> Option<JoinHandle<()>> {
    let (run, task) = (run.clone(), task.clone());
    place.pool.try_submit(move || task.run(place, &run)).ok()
}

/// The same on a thread of no pool, which opens a gate at its end.
fn beside(place: Place, run: &Arc<Run>, task: &Task) -> (Arc<Gate>, Thread) {
    let (run, task, gate) = (run.clone(), task.clone(), Arc::new(Gate::default()));
    let opens = gate.clone();
    let main = move || {
        task.run(place, &run);
        opens.open();
    };
    (gate, NewThread::new("outside".into(), None, main).start().expect("a thread"))
}

/// The outcome of a wait. Nothing has cancelled the job, but a job for a worker that can't be started.
fn ended(result: Result<(), JoinError>) {
    let is_lost = |error: &JoinError| error.is_cancelled() && pools::may_fail();
    if let Err(error) = result
        && !is_lost(&error)
    {
        panic!("a wait of a good program has the outcome {error:?}");
    }
}

impl Task {
    fn run(&self, place: Place, run: &Arc<Run>) {
        let (run, waits, beside) = (run.clone(), self.waits.clone(), self.beside);
        let _nests = judge::nests();
        let leaf: Leaf = Arc::new(move |place| {
            // No wait below it on the stack goes on meanwhile.
            let _hides = judge::waits_for(None, false);
            let is_over = Arc::new(AtomicBool::new(false));
            beside.into_iter().for_each(|restless| restless.begin(place.pool, &is_over));
            for (thing, wait) in &waits {
                note(|| format!("waits for {thing:?} {wait:?}"));
                wait_for(place, &run, *thing, *wait);
            }
            is_over.store(true, Relaxed);
        });
        within(&place, &self.levels, &leaf);
    }
}

impl Restless {
    /// Has local futures go on until that is over.
    fn begin(self, pool: Handle, is_over: &Arc<AtomicBool>) {
        let seen = is_over.clone();
        let yields = async move {
            while !seen.load(Relaxed) {
                pass(POLL);
                brigade::yield_now().await;
            }
        };
        match self {
            Self::InTheQueue => drop(pool.try_spawn(yields)),
            _ if !is_worker_of(pool) => {}
            Self::OneYields => drop(brigade::spawn_local(yields)),
            Self::TwoWakeEachOther => {
                let wakers = Arc::new(Mutex::new([None, None]));
                for own in [0, 1] {
                    drop(brigade::spawn_local(in_turns(own, wakers.clone(), is_over.clone())));
                }
            }
        }
    }
}

/// Something to wait for, and when it may run, if that is judged.
enum Made {
    Closure(Handle, Box<dyn FnOnce() + Send>, Option<Arc<Due>>),
    Future(Handle, Boxed, Option<Arc<Due>>),
    /// With pools that live as long.
    Job(JoinHandle<()>, Vec<LocalPool>),
}

/// One of two futures: wakes the other in each poll, until that is over.
pub(crate) async fn in_turns(
    own: usize,
    wakers: Arc<Mutex<[Option<Waker>; 2]>>,
    is_over: Arc<AtomicBool>,
) {
    poll_fn(|context| {
        pass(POLL);
        let other = {
            let mut wakers = wakers.lock();
            wakers[own] = Some(context.waker().clone());
            wakers[1 - own].take()
        };
        other.into_iter().for_each(Waker::wake);
        if is_over.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Makes something to wait for; `None`: the pool has refused it.
fn make(&Place { pool, other }: &Place, thing: Thing) -> Option<Made> {
    let job = |job: Option<JoinHandle<()>>| job.map(|job| Made::Job(job, Vec::new()));
    let closure = |of, run: Box<dyn FnOnce() + Send>| {
        let due = Due::new(of, thing);
        due.after(Duration::ZERO);
        let begun = due.clone();
        let run = move || {
            begun.done();
            run();
        };
        Made::Closure(of, Box::new(run), Some(due))
    };
    let asleep = |of, time| {
        let due = Due::new(of, thing);
        let slept = due.clone();
        let sleeps = async move {
            slept.after(micros(time));
            slept.watch(sleep(time)).await;
        };
        Made::Future(of, Box::pin(sleeps), Some(due))
    };
    let gated = |opens: fn(Handle, Micros, OnOpen) -> Boxed, time| {
        let due = Due::new(pool, thing);
        let (opened, passed) = (due.clone(), due.clone());
        let gate = opens(other, time, Box::new(move || opened.after(Duration::ZERO)));
        let passes = async move { passed.watch(gate).await };
        Made::Future(pool, Box::pin(passes), Some(due))
    };
    Some(match thing {
        Thing::AClosure => closure(pool, Box::new(|| ())),
        Thing::ALongClosure(time) => closure(pool, Box::new(move || clock::sleep(micros(time)))),
        Thing::AReadyFuture => Made::Future(pool, Box::pin(async {}), None),
        Thing::AYield => Made::Future(pool, Box::pin(brigade::yield_now()), None),
        Thing::ASleep(time) => asleep(pool, time),
        Thing::AGate(time) => gated(gate, time),
        Thing::AByte(time) => gated(byte, time),
        Thing::ATimer(time) => return job(pool.job().after(micros(time)).submit(|| ()).ok()),
        Thing::AMail => {
            let own = brigade::current_worker().filter(|_| is_worker_of(pool));
            let index = own.map_or(0, |worker| worker.index);
            return job(pool.job().on_worker(index).submit(|| ()).ok());
        }
        Thing::ALocalFuture(time) if is_worker_of(pool) => {
            return job(Some(brigade::spawn_local(sleep(time))));
        }
        Thing::ALocalFuture(time) => asleep(pool, time),
        Thing::AnotherPoolsClosure => closure(other, Box::new(|| ())),
        Thing::AnotherPoolsSleep(time) => asleep(other, time),
        Thing::ALocalPools => {
            let local = LocalPool::new().expect("a pool");
            Made::Job(local.handle().submit(|| ()), vec![local])
        }
        Thing::AnOlderLocalPools => {
            let local = [(); 2].map(|()| LocalPool::new().expect("a pool"));
            Made::Job(local[0].handle().submit(|| ()), local.into())
        }
        _ => return None,
    })
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Called when a future may go on.
type OnOpen = Box<dyn Fn() + Send + Sync>;

fn sleep(time: Micros) -> Boxed {
    Box::pin(async move { time::sleep(micros(time)).await })
}

/// Has a job of another pool call something after a time: when it is dropped, too.
fn later(other: Handle, time: Micros, call: impl Fn() + Send + Sync + 'static) {
    let call = OnDrop(call);
    drop(other.try_execute(move || {
        clock::sleep(micros(time));
        drop(call);
    }));
}

/// A future that a job of another pool wakes after a time.
fn gate(other: Handle, time: Micros, on_open: OnOpen) -> Boxed {
    let gate = Arc::new(Gate::default());
    let opens = gate.clone();
    later(other, time, move || {
        on_open();
        opens.open();
    });
    Box::pin(async move { gate.pass().await })
}

/// A future that reads a byte, which a job of another pool writes after a time.
fn byte(other: Handle, time: Micros, on_open: OnOpen) -> Boxed {
    Box::pin(async move {
        let Ok((mut reader, writer)) = brigade::io::pipe() else { return };
        let Some(writer) = writer.into_fd() else { return };
        let writer = Mutex::new(Some(File::from(writer)));
        later(other, time, move || {
            on_open();
            if let Some(mut writer) = writer.lock().take() {
                _ = writer.write_all(&[7]);
            }
            machine::changed();
        });
        // A faulty kernel may have an error for it.
        _ = reader.read(&mut [0]).await;
    })
}

/// Makes something, and waits for it.
fn wait_for(place: &Place, run: &Run, thing: Thing, wait: Wait) {
    let Place { pool, other } = *place;
    match thing {
        // A share is lost with the thread that can't be started.
        Thing::AShare if run.loses_shares => {}
        // Where the pool accepts it: it has no verb that returns the closure.
        Thing::AShare if pools::may_fail() && !is_worker_of(pool) => {}
        Thing::AShare => {
            for share in pool.broadcast(|_| ()) {
                job(place, share, wait, None);
            }
        }
        Thing::AComputation => judge::compute(),
        Thing::AScopesReadyFuture => drop(pool.scope(|scope| ended(scope.spawn(async {}).join()))),
        Thing::AScopesFuture(time) => drop(pool.scope(|scope| {
            let future = scope.spawn(sleep(time));
            if wait == Wait::ByJoin {
                ended(future.join());
            }
        })),
        Thing::ARoom => {
            let room = other.job().reserve();
            let room = if wait.is_timed() && has_timers(pool) {
                pool.block_on(async { time::timeout(FAR, room).await.expect(LATE) })
            } else {
                brigade::block_on(room)
            };
            if let Ok(Ok(job)) = room.map(|room| room.submit(|| ())) {
                drop(job);
            }
        }
        Thing::AnEviction => {
            for _ in 0..3 {
                let evicted = OnDrop(move || drop(brigade::block_on(other.job().reserve())));
                let terms = other.job().when_full(WhenFull::DropOldest);
                drop(terms.execute(move || drop(evicted)));
            }
        }
        Thing::AnIdlePool if wait.is_timed() => assert!(other.wait_idle_timeout(FAR), "{LATE}"),
        Thing::AnIdlePool => assert!(other.wait_idle()),
        Thing::AMessage => message(pool, run),
        Thing::ALock => {
            let _held = run.lock.lock();
            wait_for(place, run, Thing::AnotherPoolsClosure, wait);
        }
        _ => match make(place, thing) {
            None => {}
            Some(Made::Job(handle, _pools)) => job(place, handle, wait, None),
            Some(made) if wait.is_by_set() => set(made, wait),
            Some(Made::Closure(of, closure, due)) => match of.try_submit(closure) {
                Ok(handle) => job(place, handle, wait, due),
                Err(_) => due.into_iter().for_each(|due| due.done()),
            },
            Some(Made::Future(of, future, due)) => match of.try_spawn(future) {
                Ok(handle) => job(place, handle, wait, due),
                Err(_) => due.into_iter().for_each(|due| due.done()),
            },
        },
    }
}

/// Whether the timers of a future in `block_on` are the pool's. Outside of a pool without threads they are the default pool's, which
/// never ends.
fn has_timers(pool: Handle) -> bool {
    is_worker_of(pool) || !pools::may_fail()
}

/// Waits for a job.
fn job(Place { pool, .. }: &Place, mut handle: JoinHandle<()>, wait: Wait, due: Option<Arc<Due>>) {
    let _waits = judge::waits_for(due.as_ref(), !wait.has_limit());
    ended(match wait {
        Wait::ByBlockOn => brigade::block_on(handle),
        Wait::ByJoinFor => handle.join_timeout(FAR).expect(LATE),
        Wait::ByTimeout if has_timers(*pool) => {
            pool.block_on(async { time::timeout(FAR, handle).await.expect(LATE) })
        }
        _ => handle.join(),
    });
}

/// Waits for a job by a set.
fn set(made: Made, wait: Wait) {
    let (mut set, accepted, due) = match made {
        Made::Closure(of, closure, due) => {
            let mut set = TaskSet::new(of);
            let accepted = set.try_submit(closure).is_ok();
            (set, accepted, due)
        }
        Made::Future(of, future, due) => {
            let mut set = TaskSet::new(of);
            let accepted = set.try_spawn(future).is_ok();
            (set, accepted, due)
        }
        Made::Job(..) => return,
    };
    if !accepted {
        due.iter().for_each(|due| due.done());
    }
    let _waits = judge::waits_for(due.as_ref(), !wait.has_limit());
    let outcome = next_of(&mut set, wait);
    assert_eq!(outcome.is_some(), accepted, "{LATE}");
    outcome.into_iter().for_each(ended);
}

/// Waits for the next job of a set to end, or for all.
pub(crate) fn next_of(set: &mut TaskSet<()>, wait: Wait) -> Option<Result<(), JoinError>> {
    match wait {
        Wait::BySetFor => set.join_next_timeout(FAR),
        Wait::BySetNext => set.join_next(),
        _ => {
            set.wait_all();
            set.try_join_next()
        }
    }
}

/// Waits for a message of a job, in a call that blocks, if a thread of the pool is left to run that.
fn message(pool: Handle, run: &Run) {
    let takes = |free: u8| free.checked_sub(1);
    if pool != run.pool
        || !is_worker_of(pool)
        || run.free.fetch_update(Relaxed, Relaxed, takes).is_err()
    {
        return;
    }
    let meeting = Meeting::new(2);
    let sender = meeting.clone();
    let sender = OnDrop(move || sender.come());
    drop(pool.try_execute(move || drop(sender)));
    brigade::blocking(|| meeting.wait());
    run.free.fetch_add(1, Relaxed);
}

/// The failure of a wait that a limit ends which is far.
pub(crate) const LATE: &str = "a wait of a good program ends by its limit, which is far";
