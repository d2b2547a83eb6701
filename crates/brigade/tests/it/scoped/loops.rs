//! Parallel loops run each item once, reduce in order, and share what is left with every worker that is idle.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use brigade::{
    Builder, Handle, Pool, Reason, map_reduce, par_chunks, par_chunks_mut, par_for, par_for_with,
    par_map, try_par_for,
};
use brigade_testkit::{Gate, Meeting, eventually, test};

use super::pools::for_every_pool;
use crate::support::busy::held;
use crate::support::crowd::for_both_queueings;

/// The lengths and grains of the loops: none, one, one more or less than a grain, and many; grain 0 counts as 1.
const SHAPES: [(usize, usize); 10] =
    [(0, 1), (1, 0), (2, 1), (5, 0), (6, 7), (7, 7), (8, 7), (100, 3), (1000, 1), (1000, 2000)];

#[test(for_every_pool)]
fn a_loop_visits_each_item_and_reduces_in_order(pool: &Pool) {
    for (length, grain) in SHAPES {
        let calls: Vec<_> = (0..length).map(|_| AtomicUsize::new(0)).collect();
        let call = |item: &AtomicUsize| _ = item.fetch_add(1, Ordering::Relaxed);
        pool.install(|| brigade::par_for(&calls, grain, call)).unwrap();
        pool.install(|| par_for(&calls[length / 2..], grain, call)).unwrap();
        let expected = (0..length).map(|index| 1 + usize::from(index >= length / 2));
        assert!(calls.iter().map(|item| item.load(Ordering::Relaxed)).eq(expected));
        let words: Vec<_> = (0..length).map(|index| format!("{index} ")).collect();
        let all = || map_reduce(&words, grain, String::clone, |a, b| a + &b);
        assert_eq!(pool.install(all).unwrap().unwrap_or_default(), words.concat());
        let word = |index: usize| format!("{} ", index - 10);
        let all = || map_reduce(10..length + 10, grain, word, |a, b| a + &b);
        assert_eq!(pool.install(all).unwrap(), (length > 0).then(|| words.concat()));
        assert_eq!(pool.install(|| par_map(10..length + 10, grain, word)).unwrap(), words);
        let joined = |chunk: &[String]| chunk.concat();
        let threes = pool.install(|| par_map(words.chunks(3), grain, joined)).unwrap();
        assert!(threes.iter().eq(&words.chunks(3).map(joined).collect::<Vec<_>>()));
    }
}

#[test]
fn a_loop_runs_without_a_pool_but_not_on_a_closed_one() {
    par_for(&[1, 2, 3], 1, |number| assert!((1..=3).contains(number)));
    let closed = Pool::new(1);
    closed.close();
    assert_eq!(
        closed.install(|| brigade::par_for(0..1, 1, |_| unreachable!())),
        Err(Reason::Closed)
    );
}

#[test(for_every_pool)]
fn chunks_are_whole_except_the_last(pool: &Pool) {
    for (items, length) in [(0, 3), (1, 3), (2, 3), (3, 3), (100, 1), (100, 7), (101, 10)] {
        let numbers: Vec<usize> = (0..items).collect();
        let (seen, chunks) = (AtomicUsize::new(0), items.div_ceil(length));
        let check = |index: usize, chunk: &[usize]| {
            let first = index * length;
            assert!(chunk.iter().copied().eq(first..items.min(first + length)));
            seen.fetch_add(1, Ordering::Relaxed);
        };
        pool.install(|| par_chunks(&numbers, length, check)).unwrap();
        let mut changed = vec![0; items];
        let change = |index: usize, chunk: &mut [usize]| {
            assert_eq!(chunk.len(), length.min(items - index * length));
            let numbered = chunk.iter_mut().enumerate();
            numbered.for_each(|(offset, item)| *item += index * length + offset);
            seen.fetch_add(1, Ordering::Relaxed);
        };
        pool.install(|| par_chunks_mut(&mut changed, length, change)).unwrap();
        assert_eq!((changed, seen.into_inner()), (numbers, 2 * chunks), "{items} by {length}");
    }
}

thread_local! {
    static HAS_MET: Cell<bool> = const { Cell::new(false) };
}

/// Attends, when this thread does so for the first time.
fn meet_once(meeting: &Meeting) {
    if !HAS_MET.replace(true) {
        assert!(meeting.attend(), "as many threads run items at once");
    }
}

/// So the halves have been taken by other workers, and the ranges of the results meet on other threads than they began.
#[test(for_both_queueings)]
fn stolen_results_reduce_in_order(builder: Builder) {
    let pool = builder.threads(4).prestart(4).build().unwrap();
    let meeting = Meeting::of(4);
    let map = |index: usize| {
        meet_once(&meeting);
        index.to_string()
    };
    let text = pool.install(|| map_reduce(0..300, 1, map, |left, right| left + &right));
    let expected: String = (0..300).map(|index| index.to_string()).collect();
    assert_eq!(text.unwrap().unwrap(), expected);
}

/// The other worker is busy when the loop begins.
#[test(for_both_queueings)]
fn a_newly_idle_worker_shares_a_loop(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    let (gate, meeting) = (Gate::closed(), Meeting::of(2));
    held(&pool, &gate);
    let here = Mutex::new(None::<ThreadId>);
    let ran = AtomicUsize::new(0);
    let run = |index| {
        ran.fetch_add(1, Ordering::Relaxed);
        let current = thread::current().id();
        if *here.lock().unwrap().get_or_insert(current) != current {
            meet_once(&meeting);
        } else if index == 20 {
            gate.open();
            meet_once(&meeting);
        }
    };
    pool.install(|| par_for(0..100, 1, run)).unwrap();
    assert_eq!(ran.into_inner(), 100);
}

/// Caught: of as many long items as threads, one thread ran two.
#[test]
fn as_many_items_as_threads_run_at_once() {
    for prestart in [1, 4] {
        let pool = Pool::builder().threads(4).prestart(prestart).build().unwrap();
        let all = || {
            let meeting = Meeting::of(4);
            par_for(0..4, 1, |_| assert!(meeting.attend()));
        };
        pool.install(all).unwrap();
        pool.enter(all);
    }
}

#[test(for_every_pool)]
fn an_items_panic_ends_the_loop(pool: &Pool) {
    for fails in [0, 50, 99] {
        let (inside, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let run = |index: usize| {
            inside.fetch_add(1, Ordering::SeqCst);
            ran.fetch_add(1, Ordering::Relaxed);
            let panics = index == fails;
            inside.fetch_sub(1, Ordering::SeqCst);
            if panics {
                panic_any(index);
            }
            index
        };
        let loops: [&(dyn Fn() + Sync); 6] = [
            &|| par_for(0..100, 1, |index| _ = run(index)),
            &|| par_chunks_mut(&mut [0; 100], 1, |index, _| _ = run(index)),
            &|| _ = map_reduce(0..100, 7, run, |left, _| left),
            &|| par_for_with(0..100, 1, || (), |(), index| _ = run(index)),
            &|| _ = par_map(0..100, 1, run),
            &|| _ = try_par_for(0..100, 1, |index| Ok::<_, ()>(_ = run(index))),
        ];
        for run_loop in loops {
            let call = || pool.install(run_loop).unwrap();
            let payload = panic::catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&fails));
            assert_eq!(inside.load(Ordering::SeqCst), 0, "an item runs on");
        }
        assert!(ran.into_inner() <= 600);
    }
}

#[test(for_every_pool)]
fn a_loop_runs_on_its_callers_pool(pool: &Pool) {
    let other = Pool::new(2);
    let at = |expected: &Pool| {
        let (expected, count) = (expected.handle(), AtomicUsize::new(0));
        par_for(0..50, 1, |_| {
            count.fetch_add(usize::from(Handle::current() == Some(expected)), Ordering::Relaxed);
        });
        count.into_inner()
    };
    assert_eq!(pool.install(|| at(pool)).unwrap(), 50);
    assert_eq!(other.install(|| at(&other)).unwrap(), 50);
    assert_eq!(other.install(|| pool.install(|| at(pool)).unwrap()).unwrap(), 50);
    assert_eq!(pool.enter(|| at(pool)), 50);
}

#[test(for_both_queueings)]
fn a_single_thread_runs_items_in_order(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    let (order, threads) = (Mutex::new(Vec::new()), Mutex::new(HashSet::new()));
    let run = |index| {
        order.lock().unwrap().push(index);
        threads.lock().unwrap().insert(thread::current().id());
    };
    pool.install(|| par_for(0..500, 3, run)).unwrap();
    assert!(order.into_inner().unwrap().into_iter().eq(0..500));
    assert_eq!(threads.into_inner().unwrap().len(), 1);
}

/// A value that counts itself while it lives.
struct Living<'a>(&'a AtomicUsize);

impl<'a> Living<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Living<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test(for_both_queueings)]
fn each_thread_of_a_loop_makes_one_state(builder: Builder) {
    let pool = builder.threads(4).prestart(4).build().unwrap();
    let (made, living, items) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let meeting = Meeting::of(4);
    let init = || {
        made.fetch_add(1, Ordering::Relaxed);
        (Living::new(&living), 0)
    };
    let call = |(_, ran): &mut (Living<'_>, usize), _| {
        *ran += 1;
        items.fetch_add(1, Ordering::Relaxed);
        meet_once(&meeting);
    };
    pool.install(|| par_for_with(0..300, 1, init, call)).unwrap();
    assert_eq!((made.into_inner(), living.into_inner(), items.into_inner()), (4, 0, 300));
    pool.install(|| par_for_with(0..0, 1, || unreachable!("no item"), |_: &mut (), _| ())).unwrap();
}

/// A state of a loop, and whether its call has panicked.
struct Panicking<'a> {
    is_dropped: &'a AtomicBool,
    has_panicked: bool,
}

impl Drop for Panicking<'_> {
    fn drop(&mut self) {
        self.is_dropped.fetch_or(self.has_panicked, Ordering::Relaxed);
    }
}

/// The other thread is still in the loop then.
#[test(for_both_queueings)]
fn the_state_of_a_panic_is_dropped_at_once(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    let (is_dropped, is_seen, meeting) =
        (AtomicBool::new(false), AtomicBool::new(false), Meeting::of(2));
    let init = || Panicking { is_dropped: &is_dropped, has_panicked: false };
    let call = |state: &mut Panicking<'_>, index| {
        assert!(!state.has_panicked, "it runs no other item");
        if index == 0 {
            state.has_panicked = true;
            assert!(!meeting.attend(), "0 panics");
        } else if index == 50 {
            assert!(meeting.attend(), "both halves run at once");
            eventually("it is dropped", || is_dropped.load(Ordering::Relaxed));
            is_seen.store(true, Ordering::Relaxed);
        }
    };
    let run = || pool.install(|| par_for_with(0..100, 1, init, call));
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert!(is_seen.into_inner());
}

/// The second error is returned before the first, by another thread.
#[test(for_both_queueings)]
fn a_loop_returns_its_first_error(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    let (meeting, ran) = (Meeting::of(2), AtomicUsize::new(0));
    let call = |index| {
        ran.fetch_add(1, Ordering::Relaxed);
        if index % 50 != 0 {
            return Ok(());
        }
        assert!(meeting.attend(), "both halves run at once");
        Err(index)
    };
    assert_eq!(pool.install(|| try_par_for(0..100, 1, call)).unwrap(), Err(0));
    assert!(ran.into_inner() < 100, "an error ends the loop");
    assert_eq!(pool.install(|| try_par_for(0..100, 9, |_| Ok::<_, ()>(()))).unwrap(), Ok(()));
}

#[test(for_both_queueings)]
fn results_are_dropped_once(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let living = AtomicUsize::new(0);
    let call = |index| {
        assert!(index != 77, "77 panics");
        Living::new(&living)
    };
    let results = pool.install(|| par_map(0..70, 1, call)).unwrap();
    assert_eq!((results.len(), living.load(Ordering::Relaxed)), (70, 70));
    drop(results);
    let run = || pool.install(|| par_map(0..100, 1, call).len());
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(living.into_inner(), 0);
}
