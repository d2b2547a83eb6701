//! Programs and their operations, made by choices.

use std::collections::BTreeSet;

use crate::program::{
    Busy, Call, Ending, Kernel, Kind, Level, LocalEnd, Pair, Pause, Program, Restless, Round, Task,
    Thing, Wait, Waits, Way,
};
use crate::source::Source;
use crate::verb::{
    Body, By, Drain, End, Failing, Full, Here, How, Lifetime, Link, Micros, Panics, Periodic,
    Setting, Settings, Shares, Tasks, Terms, Then, Transfer, Verb, Wire, Work,
};

/// Operations, each with how often it is chosen. The first are the simplest.
type Table = &'static [(u8, fn(&mut Source) -> Verb)];

/// Those of a thread, a job or a part.
const OF_A_THREAD: Table = &[
    (1, |_| Verb::Yield),
    (1, |source| Verb::Sleep(source.micros())),
    (1, |source| Verb::BlockingSleep(source.micros())),
    (1, |source| Verb::Blocking(source.verbs())),
    (2, |source| Verb::Execute(source.body())),
    (4, |source| Verb::Submit(source.body(), source.end())),
    (1, |source| {
        let submitted = (source.body(), source.end());
        Verb::Patiently(source.body(), submitted, (source.future(), source.end()))
    }),
    (1, |source| Verb::ExecuteBatch(source.list(4, Source::body))),
    (1, |source| Verb::SubmitBatch(source.list(4, |source| (source.body(), source.end())))),
    (1, |source| Verb::Dispatch(source.list(3, Source::body), source.one_in(2))),
    (1, |source| Verb::Class(source.terms())),
    (1, |source| Verb::OnWorker(source.below(3), source.body())),
    (1, |source| {
        let shares = source.pick([Shares::JoinEach, Shares::DropEach, Shares::CancelEach]);
        Verb::Broadcast(shares, source.panics(12))
    }),
    (1, |source| Verb::Free(source.one_in(2), source.body(), source.body(), source.later())),
    (1, |source| Verb::Set(source.tasks())),
    (1, |source| {
        let work = match source.one_in(2) {
            true => Work::Async(source.future()),
            false => Work::Closure(source.body()),
        };
        Verb::Limited(source.body(), work, source.end())
    }),
    (2, |source| Verb::Join(source.verbs(), source.verbs())),
    (1, |source| Verb::Scope(source.list(3, Source::verbs))),
    (1, |source| {
        Verb::InPlaceScope(source.list(3, Source::body), source.verbs(), source.one_in(2))
    }),
    (1, |source| {
        let (futures, jobs) = (source.list(2, Source::future), source.list(2, Source::verbs));
        Verb::MixedScope(futures, jobs, source.one_in(4))
    }),
    (1, |source| Verb::FreeScopes(source.verbs(), source.verbs())),
    (1, |source| Verb::Enter(source.verbs())),
    (1, |_| Verb::Close),
    (1, |source| Verb::Install(source.verbs())),
    (1, |source| Verb::Loops(source.below(6), 1 + source.below(2), source.one_in(8))),
    (1, |source| Verb::Maps(source.below(6), source.below(4), source.below(7))),
    (3, |source| Verb::Spawn(source.future(), source.end())),
    (1, |source| Verb::BlockOn(source.future())),
    (1, |source| {
        let patience = source.one_in(2).then(|| source.micros());
        Verb::Reserve(patience, (!source.one_in(4)).then(|| (source.body(), source.end())))
    }),
    (1, |source| Verb::SpawnLocal(source.local(), source.later())),
    (1, |source| Verb::After(source.micros(), source.body(), source.one_in(3))),
    (1, |source| Verb::Delayed(source.micros(), source.body(), source.later())),
    (1, |source| {
        let period = 500 + source.micros() / 2;
        let (skips, panics) = (source.one_in(2), source.panics(8));
        Verb::Every(Periodic { period, skips, panics, lasts: source.micros() })
    }),
    (1, |_| Verb::Prestart),
    (1, |_| Verb::Dump),
    (1, |source| {
        let most = 1 + source.below(3);
        Verb::Resize(source.below(most + 1), most)
    }),
    (1, |_| Verb::WaitIdle),
    (1, |source| Verb::WaitIdleTimeout(source.micros())),
    (1, |source| Verb::Inner(source.with_fuel(4, |source| source.lifetime(0)))),
    (3, |source| Verb::Io(source.transfer())),
    (1, |source| Verb::Talks(source.link(), source.below(200))),
];

/// Those of a future.
const IN_A_FUTURE: Table = &[
    (2, |_| Verb::YieldNow),
    (1, |source| Verb::AsyncSleep(source.micros())),
    (1, |source| Verb::Act(source.verbs())),
    (1, |source| Verb::Timeout(source.micros(), source.future())),
    (1, |source| Verb::SubmitAwait(source.body())),
    (1, |source| Verb::SpawnAwait(source.future(), source.one_in(2))),
    (1, |source| Verb::Interval(1 + source.below(3))),
    (1, |source| Verb::ReserveAwait(source.future())),
    (1, |source| Verb::SetAwait(source.list(3, Source::future))),
    (1, |source| Verb::IoAwait(source.transfer())),
    (1, |source| Verb::TalksAwait(source.link(), source.below(200))),
    (1, |source| Verb::BlockingSleep(source.micros())),
];

/// Those of a future that stays on its thread.
const IN_A_LOCAL_FUTURE: Table = &[
    (1, |_| Verb::YieldNow),
    (1, |source| Verb::AsyncSleep(source.micros())),
    (1, |source| Verb::Act(source.verbs())),
];

/// The name of the operation that an entry of a table makes.
fn name(make: fn(&mut Source) -> Verb) -> String {
    make(&mut Source::bytes(Vec::new())).name()
}

/// The kinds of programs.
const KINDS: [&str; 6] = ["One", "Driven", "Two", "Meeting", "Waiting", "Working"];
/// The kinds that have operations.
const OF_VERBS: &[&str] = &["One", "Driven", "Two"];

/// The names of all operations, and kinds of programs, that `only` may name.
pub(crate) fn names() -> Vec<String> {
    let verbs = [OF_A_THREAD, IN_A_FUTURE].concat().into_iter().map(|(_, make)| name(make));
    let names: BTreeSet<_> = verbs.chain(KINDS.map(String::from)).collect();
    names.into_iter().collect()
}

/// The program of a seed, of these operations only, if there are any; or of given choices.
pub(crate) fn program(source: &mut Source) -> Program {
    let kernel = match source.below(8) {
        0..4 => Kernel::Good,
        4..7 => Kernel::Faulty,
        _ => Kernel::Fatal,
    };
    let has_verbs = source.only.iter().any(|name| !KINDS.contains(&name.as_str()));
    let weights = KINDS.map(|kind| {
        let is_named = source.only.iter().any(|name| name == kind);
        u8::from(source.only.is_empty() || is_named || (has_verbs && OF_VERBS.contains(&kind)))
    });
    let kind = match source.weighed(&[
        4 * weights[0],
        weights[1],
        weights[2],
        weights[3],
        weights[4],
        2 * weights[5],
    ]) {
        0 => Kind::One(source.lifetime(2)),
        1 => {
            let outside = source.outside(2);
            Kind::Driven(outside, source.some(3, Source::call))
        }
        2 => {
            source.is_pair = true;
            let pools = (source.settings(), source.settings());
            let (outside, verbs) = (source.outside(2), source.verbs());
            Kind::Two(Pair { pools, outside, verbs, by: (source.by(), source.by()) })
        }
        3 => {
            let pool = source.fixed();
            Kind::Meeting(pool, source.some(4, Source::round))
        }
        4 => Kind::Waiting(source.ending()),
        _ => Kind::Working(source.waits()),
    };
    Program(kernel, kind)
}

impl Source {
    /// Some of 3 ms.
    fn micros(&mut self) -> Micros {
        Micros::from(self.below(250)) * 12
    }

    fn some_of(&mut self, most: u8, table: Table) -> Vec<Verb> {
        let allows = |make| self.only.is_empty() || self.only.contains(&name(make));
        let weight = |(weight, make): &(u8, _)| if allows(*make) { *weight } else { 0 };
        let weights: Vec<u8> = table.iter().map(weight).collect();
        let most = if weights.iter().all(|weight| *weight == 0) { 0 } else { most };
        self.operations(most, |source| {
            let number = source.weighed(&weights);
            table[number].1(source)
        })
    }

    /// The operations of a thread, a job or a part.
    fn verbs(&mut self) -> Vec<Verb> {
        let is_across = self.is_pair && self.one_in(3);
        let verbs = self.some_of(if self.depth == 0 { 5 } else { 3 }, OF_A_THREAD);
        if is_across && !verbs.is_empty() { vec![Verb::Across(verbs)] } else { verbs }
    }

    /// Of so many threads at most, each with its share of the fuel.
    fn outside(&mut self, most: u8) -> Vec<Vec<Verb>> {
        self.list(most, |source| source.with_share(Source::verbs))
    }

    /// One in `of` bodies panics at its end.
    fn panics(&mut self, of: u8) -> Panics {
        match 95 - self.below(96) {
            0..3 => Panics::InItsDrop,
            3..6 => Panics::InTheDropOfItsOutput,
            6..12 => Panics::NeverAndDropsSlowly,
            rest if rest < 6 + 96 / of => Panics::AtTheEnd,
            _ => Panics::Never,
        }
    }

    fn body(&mut self) -> Body {
        let verbs = self.verbs();
        Body(verbs, self.panics(12))
    }

    fn awaiting(&mut self, most: u8, table: Table) -> Body {
        let verbs = self.some_of(most, table);
        let panics = self.panics(16);
        // Its poll may be a call of the outermost operation.
        let contains = panics == Panics::AtTheEnd && self.is_outermost();
        Body(verbs, if contains { Panics::Never } else { panics })
    }

    fn future(&mut self) -> Body {
        self.awaiting(3, IN_A_FUTURE)
    }

    fn local(&mut self) -> Body {
        self.awaiting(2, IN_A_LOCAL_FUTURE)
    }

    fn end(&mut self) -> End {
        if self.one_in(2) { self.later() } else { End::JoinedAtOnce }
    }

    /// The end of a handle that is kept.
    fn later(&mut self) -> End {
        match self.below(8) {
            0..3 => End::Joined,
            3 => End::Detached,
            4 => End::Cancelled,
            5 => End::CancelledOnDrop,
            6 => End::JoinedFor(self.micros()),
            _ => End::TriedFirst,
        }
    }

    fn terms(&mut self) -> Terms {
        let [priority, kind] = [self.below(3), self.below(3)];
        let deadline = self.one_in(3).then(|| self.micros());
        let is_named = self.one_in(2);
        let value = self.one_in(2).then(|| self.below(3));
        let full = self.one_in(4).then(|| match self.below(3) {
            0 => Full::Rejects,
            // Two full pools may wait for each other.
            _ if self.is_pair => Full::Rejects,
            1 => Full::Blocks,
            _ => Full::BlocksFor(self.micros()),
        });
        let work = if kind == 2 { Work::Async(self.future()) } else { Work::Closure(self.body()) };
        let end = (kind > 0).then(|| self.end());
        Terms { priority, deadline, is_named, value, full, work, end }
    }

    fn tasks(&mut self) -> Tasks {
        let limit = self.one_in(2).then(|| 1 + self.below(2));
        let deadline = self.one_in(4).then(|| self.micros());
        let tasks = self.list(3, |source| match source.one_in(2) {
            false => Work::Closure(source.body()),
            true => Work::Async(source.future()),
        });
        let then = self.pick([
            Then::KeepAll,
            Then::KeepAll,
            Then::CancelAll,
            Then::CancelFirst,
            Then::DetachAll,
        ]);
        let drain = match self.below(16) {
            0..9 => Drain::JoinNext,
            9..12 => Drain::WaitAll,
            14 => Drain::WaitAllTimeout(self.micros()),
            _ => Drain::JoinNextTimeout(self.micros()),
        };
        Tasks { limit, deadline, tasks, then, drain }
    }

    /// One or two tasks of a side.
    fn side(&mut self) -> Vec<u8> {
        self.some(2, |source| source.below(u8::MAX))
    }

    fn wire(&mut self) -> Wire {
        match self.below(4) {
            0..2 => Wire::Pipe(vec![self.side(), self.side()]),
            2 => Wire::Talk(vec![vec![self.below(u8::MAX)], vec![self.below(u8::MAX)]]),
            _ => Wire::Socket((0..4).map(|_| self.side()).collect()),
        }
    }

    fn link(&mut self) -> Link {
        match self.below(8) {
            0 => Link::APair,
            1 => Link::APipe,
            2 => Link::AFile,
            3 => Link::ThroughTcp,
            4 | 5 => Link::Datagrams(self.below(2) == 0),
            _ => Link::Fails(self.failing(), self.below(2) == 0),
        }
    }

    fn failing(&mut self) -> Failing {
        match self.below(9) {
            0 => Failing::NoFile,
            1 => Failing::NoListener,
            2 => Failing::AddressInUse,
            3 => Failing::NoReader,
            4 => Failing::ClosedPipe,
            5 => Failing::NotConnected,
            6 => Failing::TooLong,
            7 => Failing::OwnError,
            _ => Failing::NotListening,
        }
    }

    fn transfer(&mut self) -> Transfer {
        let wires = self.some(2, Self::wire);
        let order = self.below(u8::MAX);
        let here = self.pick([Here::NoTask, Here::LastTask, Here::AllTasks]);
        Transfer { wires, order, here, end: self.later() }
    }

    /// A pool, with a choice for each setting.
    fn settings(&mut self) -> Settings {
        let (least, most) = self.pick([(1, 1), (2, 2), (2, 2), (3, 3), (1, 3), (0, 2)]);
        let mut all = self.common_settings(4);
        let mut is_in_caller = false;
        if self.one_in(3) {
            let full = match self.below(6) {
                0 => Full::Rejects,
                1 => Full::DropsNewest,
                2 => Full::DropsOldest,
                3 => Full::RunsInCaller,
                // Two full pools may wait for each other.
                _ if self.is_pair => Full::Rejects,
                4 => Full::Blocks,
                _ => Full::BlocksFor(self.micros()),
            };
            is_in_caller = full == Full::RunsInCaller;
            all.push(Setting::Capacity(1 + self.below(3), full));
        }
        all.extend(self.one_in(4).then_some(Setting::OnOutcome));
        if self.one_in(6) && !is_in_caller {
            all.push(Setting::FailingStarts(self.below(u8::MAX)));
        }
        all.extend(self.one_in(2).then(|| Setting::Spare(self.below(3))));
        match self.below(5) {
            3 => all.push(Setting::WhenQueued(2)),
            4 => all.push(Setting::WhenBlocked),
            _ => {}
        }
        all.extend(self.one_in(4).then_some(Setting::ObserveJobs));
        all.extend(self.one_in(8).then_some(Setting::OnStall));
        all.extend(self.one_in(8).then(|| Setting::OnDrop(self.how())));
        if self.one_in(8) && !all.iter().any(|setting| matches!(setting, Setting::FailingStarts(_)))
        {
            all.push(Setting::RunsThreads);
        }
        all.extend(self.one_in(8).then_some(Setting::WithoutThreads));
        Settings(least, most, all)
    }

    /// A pool with a fixed number of threads.
    fn fixed(&mut self) -> Settings {
        let threads = 1 + self.below(3);
        Settings(threads, threads, self.common_settings(2))
    }

    /// Settings of which some are chosen once in `rarely` times.
    fn common_settings(&mut self, rarely: u8) -> Vec<Setting> {
        let mut all = Vec::new();
        all.extend(self.one_in(3).then_some(Setting::Shared));
        all.extend(self.one_in(2).then_some(Setting::Lifo));
        match self.below(4) {
            2 => all.push(Setting::SpinThenPark(20)),
            3 => all.push(Setting::Spin),
            _ => {}
        }
        match self.below(4) {
            2 => all.push(Setting::StartsAll),
            3 => all.push(Setting::StartsNone),
            _ => {}
        }
        all.extend(self.one_in(rarely).then_some(Setting::ShortKeepAlive));
        all.extend(self.one_in(rarely).then(|| Setting::Fairness(1 + self.below(3))));
        all
    }

    fn how(&mut self) -> How {
        match self.below(6) {
            0..3 => How::Drains,
            3..5 => How::Finishes,
            _ => How::Discards,
        }
    }

    fn by(&mut self) -> By {
        match self.below(6) {
            0 => By::Dropped,
            1 => By::Closed,
            2 => By::DroppedInJob,
            3 => By::ShutDownFor(self.micros()),
            _ => By::ShutDown,
        }
    }

    /// A pool that so many other threads use, at most.
    fn lifetime(&mut self, threads: u8) -> Lifetime {
        let pool = self.settings();
        let is_early = self.one_in(6) && !pool.runs_in_caller();
        let how = self.how();
        let (outside, verbs) = (self.outside(threads), self.verbs());
        Lifetime { pool, outside, verbs, is_early, how, by: self.by() }
    }

    fn call(&mut self) -> Call {
        match self.below(6) {
            0 => Call::RunUntilIdle,
            1 => Call::TickAll,
            2 => Call::RunUntil(self.future()),
            3 => Call::RunUntilLocal(self.local()),
            4 => Call::SpawnsLocal(self.local()),
            _ => Call::Outside(self.verbs()),
        }
    }

    fn pause(&mut self) -> Pause {
        match self.below(3) {
            0 => Pause::Nothing,
            1 => Pause::Yields,
            _ => Pause::Sleeps(self.micros()),
        }
    }

    fn round(&mut self) -> Round {
        let (pause, others) = (self.pause(), self.below(6));
        let way = match self.below(9) {
            0 => Way::OneByOne,
            1 => Way::InABatch,
            2 => Way::ByTheFirst,
            3 => Way::InAChain,
            4 => Way::ByOtherThreads,
            5 => Way::AsFutures,
            6 => Way::AsTimers([(); 3].map(|()| self.micros()).to_vec()),
            7 => Way::InAScope,
            _ => Way::ThroughAGate(self.pause(), self.one_in(2)),
        };
        Round { pause, others, way }
    }

    fn wait(&mut self) -> Wait {
        use Wait::{ByBlockOn, ByJoin, ByJoinFor, BySet, BySetFor, BySetNext, ByTimeout};
        self.pick([ByJoin, ByBlockOn, BySet, BySetNext, ByJoinFor, BySetFor, ByTimeout])
    }

    /// A call, part or job around a wait. The last kinds need pools that no thread closes, or have their own.
    fn level(&mut self, has_pools: bool) -> Level {
        use Level::*;
        let all = [
            InBlocking,
            InScope,
            InPlace,
            InPlacesJob,
            InInstall,
            InFork,
            InSubmit,
            InSpawn,
            InBlockOn,
            InMail,
            InALocalFuture,
            InADrop,
            InTheDropOfAFuture,
            InAWaker,
            InACancelledJob,
            InEnter,
            InAGuest,
            InAnotherPool,
            InALocalPool,
        ];
        all[usize::from(self.below(all.len() as u8 - 3 * u8::from(!has_pools)))]
    }

    fn ending(&mut self) -> Ending {
        let pool = self.fixed();
        let levels = |source: &mut Self| source.list(3, |source| source.level(false));
        let job = |source: &mut Self| (levels(source), source.wait());
        let jobs = self.some(3, job);
        let how = self.pick([None, Some(How::Drains), Some(How::Discards)]);
        let mut outside = (Vec::new(), self.ending_wait());
        let cancels = self.one_in(4);
        let busy = if self.one_in(2) {
            Vec::new()
        } else {
            self.list(2, |source| source.pick([Busy::Pair, Busy::Parent, Busy::Yields]))
        };
        let local = self.one_in(4).then(|| match self.below(3) {
            0 => LocalEnd::ByTheOwner,
            rest => LocalEnd::ByItsJob(rest == 1),
        });
        match local {
            None => outside.0 = levels(self),
            // The owner's thread must not wait for work that only its end ends.
            Some(_) if self.one_in(2) => outside.0 = vec![Level::InPlace],
            Some(_) => {}
        }
        let (pause, is_guest) = (self.pause(), self.one_in(3));
        Ending { pool, jobs, busy, outside, is_guest, pause, how, cancels, local }
    }

    fn ending_wait(&mut self) -> Wait {
        if self.one_in(4) { Wait::ByScope } else { self.wait() }
    }

    /// Something that needs a program around it.
    fn special(&mut self) -> Option<Thing> {
        self.pick([
            None,
            None,
            Some(Thing::AMessage),
            Some(Thing::ALock),
            Some(Thing::AnIdlePool),
            Some(Thing::ARoom),
            Some(Thing::AnEviction),
        ])
    }

    fn waits(&mut self) -> Waits {
        let special = self.special();
        let mut pools = (self.fixed(), self.fixed());
        let pool = &mut pools.0;
        if self.one_in(4) {
            pool.0 = 0;
            pool.2.push(Setting::ShortKeepAlive);
        }
        let needs_spare = u8::from(special == Some(Thing::ALock));
        pool.2.extend(self.one_in(2).then(|| Setting::Spare(needs_spare + self.below(2))));
        let fails = self.one_in(4);
        // A worker is left for a message.
        let few = special == Some(Thing::AMessage) && pool.0 > 0 && self.one_in(2);
        pool.2.extend(match (few, fails) {
            (true, _) => Some(Setting::FewStarts(pool.1)),
            (_, true) => Some(Setting::FailingStarts(self.below(u8::MAX))),
            _ => None,
        });
        if matches!(special, Some(Thing::ARoom | Thing::AnEviction)) {
            pools.1.2.push(Setting::Capacity(1, Full::Rejects));
        }
        let task = |source: &mut Self| source.task(special);
        // A waiter that can't be replaced runs other jobs, which would take its lock.
        let is_locked = special == Some(Thing::ALock) && fails;
        let mut jobs =
            if is_locked { self.list(4, |source| source.task(None)) } else { self.list(6, task) };
        let mut outside = if is_locked { Vec::new() } else { self.list(2, task) };
        let mut later = self.list(3, task);
        let is_driven = special != Some(Thing::ALock) && self.one_in(4);
        if self.one_in(16) {
            return self.calm();
        }
        // The jobs of a `LocalPool` may lie on each other without bound; those of a pool need more threads in the end.
        // A pool inside more than 16 drops may be any pool, and is not waited for.
        let may = !is_driven && !few && special != Some(Thing::AnIdlePool);
        let crowd = may && self.one_in(8);
        let crowd = if crowd { 40 / jobs.len().max(1) as u8 } else { 0 };
        if crowd > 0 {
            jobs.iter_mut().chain(&mut outside).chain(&mut later).for_each(Task::calm_down);
        }
        let has_hook = special.is_none() && self.one_in(4);
        pools.0.2.extend(has_hook.then_some(Setting::OnOutcome));
        let hook = has_hook.then(|| Task { levels: Vec::new(), ..self.task(None) });
        Waits { pools, is_driven, jobs, outside, hook, crowd, later }
    }

    /// A job that waits for work that is ready.
    fn calm(&mut self) -> Waits {
        let [pool, other] = [(); 2].map(|()| Settings(1, 1, Vec::new()));
        let wait = |source: &mut Self| {
            let all = [Thing::AClosure, Thing::AReadyFuture, Thing::AScopesReadyFuture];
            (source.pick(all), source.wait())
        };
        let task = Task { levels: Vec::new(), waits: self.some(3, wait), beside: None };
        let [outside, later] = [const { Vec::new() }; 2];
        let (pools, jobs) = ((pool, other), vec![task]);
        Waits { pools, is_driven: false, jobs, outside, hook: None, crowd: 0, later }
    }

    fn task(&mut self, special: Option<Thing>) -> Task {
        let is_alone = special == Some(Thing::ALock);
        let has_pools =
            !matches!(special, Some(Thing::AnIdlePool | Thing::ARoom | Thing::AnEviction));
        let levels =
            if is_alone { Vec::new() } else { self.list(4, |source| source.level(has_pools)) };
        let waits = self.some(3, |source| match special {
            Some(special) if is_alone || source.one_in(2) => (special, source.wait()),
            _ => match (source.thing(), special) {
                // It would be evicted, too.
                (
                    Thing::AnotherPoolsClosure | Thing::AnotherPoolsSleep(_),
                    Some(Thing::AnEviction),
                ) => (Thing::AClosure, source.wait()),
                (thing, _) => (thing, source.wait()),
            },
        });
        let all = [Restless::InTheQueue, Restless::OneYields, Restless::TwoWakeEachOther];
        let beside = (!is_alone && self.one_in(4)).then(|| self.pick(all));
        Task { levels, waits, beside }
    }

    fn thing(&mut self) -> Thing {
        match self.below(20) {
            16 => Thing::AByte(self.micros()),
            17 => Thing::AScopesReadyFuture,
            18 | 19 => Thing::AComputation,
            0 => Thing::AClosure,
            1 => Thing::ALongClosure(self.micros()),
            2 => Thing::AReadyFuture,
            3 => Thing::AYield,
            4 => Thing::AGate(self.micros()),
            5 => Thing::ATimer(self.micros()),
            6 => Thing::AShare,
            7 => Thing::AMail,
            8 => Thing::ALocalFuture(self.micros()),
            9 => Thing::AnotherPoolsClosure,
            10 => Thing::AnotherPoolsSleep(self.micros()),
            11 => Thing::ALocalPools,
            12 => Thing::AnOlderLocalPools,
            13 | 14 => Thing::AScopesFuture(self.micros()),
            _ => Thing::ASleep(self.micros()),
        }
    }
}
