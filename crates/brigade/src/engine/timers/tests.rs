use core::cell::Cell;
use core::task::Waker;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use brigade_sync::unmodelled::{AtomicUsize, Mutex};
use brigade_task::Job;

use super::*;
use crate::values::Priority;

std::thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// The index of a worker, a new one each time.
fn worker() -> usize {
    WORKER.set(WORKER.get() + 1);
    WORKER.get()
}

/// The timers of a pool with this number of threads.
fn timers(threads: usize) -> Timers {
    Timers::new(threads, false)
}

/// Timers in one part, and in several.
fn each() -> impl Iterator<Item = Timers> {
    [1, 3, 100].into_iter().map(timers)
}

fn waker() -> Entry {
    Entry::Wake(Waker::noop().clone())
}

fn fire(entry: Entry, queue: &mut dyn FnMut(Job)) {
    match entry {
        Entry::Wake(waker) => waker.wake(),
        Entry::Run { due, .. } => queue(due.due()),
    }
}

fn all_due(timers: &Timers, now: Instant) -> Vec<Entry> {
    core::iter::from_fn(|| timers.take_due(now)).collect()
}

/// Counts the calls of `due` and of `abandon`.
#[derive(Default)]
struct Closure(Mutex<(u32, u32)>);

impl Due for Closure {
    fn due(self: Arc<Self>) -> Job {
        self.0.lock().0 += 1;
        Job::new(|| ())
    }

    fn abandon(&self) {
        self.0.lock().1 += 1;
    }
}

/// The entry of a closure that runs once.
fn run(due: Arc<dyn Due>) -> Entry {
    Entry::Run { due, class: Priority::Normal, repeats: false }
}

#[test]
fn the_earliest_timer_is_always_known() {
    for timers in each() {
        let at = |millis| timers.start() + Duration::from_millis(millis);
        let set = |millis| timers.set(worker(), at(millis), waker()).map_err(drop).unwrap();
        assert!(timers.is_empty() && timers.next().is_none());
        let ((ten, first), (twenty, second)) = (set(10), set(20));
        assert!(first && !second);
        assert!(!set(10).1, "the holder sleeps until an earlier time");
        assert_eq!(timers.next(), Some(at(10)));
        assert!(timers.remove(ten).is_some() && timers.remove(ten).is_none());
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(all_due(&timers, at(9)).len(), 0);
        assert_eq!(all_due(&timers, at(10)).len(), 1);
        assert!(timers.next().is_some_and(|next| at(10) < next && next <= at(20)));
        assert_eq!((timers.wake_at(), timers.next()), (Some(at(20)), Some(at(20))));
        assert!(set(0).1);
        assert_eq!(timers.next(), Some(timers.start()));
        assert!(timers.remove(twenty).is_some());
        assert_eq!(all_due(&timers, at(0)).len(), 1);
        assert!(timers.is_empty() && timers.next().is_none());
    }
}

#[test]
fn a_thread_sleeps_for_several_timers_only_if_dense() {
    let micros = Duration::from_micros;
    let wakes_at = |parts, offsets: &[u64]| {
        let timers = timers(parts);
        for &offset in offsets {
            assert!(timers.set(worker(), timers.start() + micros(offset), waker()).is_ok());
        }
        timers.wake_at().map(|at| at - timers.start())
    };
    for parts in [1, 2, 8] {
        assert_eq!(wakes_at(parts, &[]), None);
        assert_eq!(wakes_at(parts, &[7]), Some(micros(7)));
        assert_eq!(wakes_at(parts, &[100, 200, 300]), Some(micros(100)), "three are not many");
        assert_eq!(
            wakes_at(parts, &[100, 200, 300, 1001]),
            Some(micros(100)),
            "nor are four if one is far"
        );
        assert_eq!(wakes_at(parts, &[100, 200, 300, 1000]), Some(micros(1000)));
        assert_eq!(
            wakes_at(parts, &[100, 200, 300, 400, 5000]),
            Some(micros(400)),
            "no later than the last"
        );
        assert_eq!(wakes_at(parts, &[500; 9]), Some(micros(500)));
        let dense: Vec<_> = (0..900).map(|number| number * 10).collect();
        assert_eq!(wakes_at(parts, &dense), Some(TOGETHER));
    }
}

#[test]
fn past_and_far_times_are_times() {
    for timers in each() {
        let century = Duration::from_secs(100 * 365 * 24 * 3600);
        let far = (0..7).fold(timers.start(), |at, _| at + century);
        assert!(timers.set(worker(), far, waker()).is_ok());
        assert!(timers.next().unwrap() > timers.start() + century * 5);
        assert_eq!(all_due(&timers, timers.start() + century).len(), 0);
        if let Some(past) = timers.start().checked_sub(Duration::from_millis(1)) {
            assert!(timers.set(worker(), past, waker()).is_ok_and(|(_, is_first)| is_first));
            assert_eq!(all_due(&timers, timers.start()).len(), 1);
        }
    }
}

#[test]
fn timers_of_one_deadline_fire_in_order() {
    let (timers, order) = (timers(8), Arc::new(Mutex::new(Vec::new())));
    struct Numbered(usize, Arc<Mutex<Vec<usize>>>);
    impl Due for Numbered {
        fn due(self: Arc<Self>) -> Job {
            self.1.lock().push(self.0);
            Job::new(|| ())
        }
        fn abandon(&self) {}
    }
    for number in 0..50 {
        let entry = run(Arc::new(Numbered(number, order.clone())));
        assert!(timers.set(5, timers.start(), entry).is_ok());
    }
    all_due(&timers, timers.start()).into_iter().for_each(|entry| fire(entry, &mut drop));
    assert!(order.lock().iter().copied().eq(0..50));
}

#[test]
fn a_closed_pool_keeps_time_until_it_has_ended() {
    for timers in each() {
        let closure = Arc::new(Closure::default());
        let at = timers.start();
        let schedule = || timers.set(worker(), at, run(closure.clone()));
        assert!(timers.set(worker(), at, waker()).is_ok() && schedule().is_ok());
        timers.close(false).into_iter().for_each(Entry::give_up);
        assert_eq!(*closure.0.lock(), (0, 1), "it was abandoned");
        assert!(timers.set(worker(), at, waker()).is_ok() && schedule().is_err());
        let fired = all_due(&timers, at);
        assert_eq!(fired.len(), 2);
        assert!(timers.set(worker(), at, waker()).is_ok());
        assert_eq!(timers.end().len(), 1);
        assert!(timers.is_empty());
        assert!(
            timers.set(worker(), at, waker()).is_err()
                && timers.set(worker(), at, waker()).is_err()
        );
    }
}

#[test]
fn a_fired_closure_is_not_abandoned() {
    for timers in each() {
        let closure = Arc::new(Closure::default());
        assert!(timers.set(worker(), timers.start(), run(closure.clone())).is_ok());
        let mut jobs = Vec::new();
        all_due(&timers, timers.start())
            .into_iter()
            .for_each(|entry| fire(entry, &mut |job| jobs.push(job)));
        assert_eq!((jobs.len(), *closure.0.lock()), (1, (1, 0)));
    }
}

#[test]
fn a_present_timer_takes_another_waker() {
    for timers in each() {
        let (key, _) = timers.set(worker(), timers.start(), waker()).map_err(drop).unwrap();
        assert!(timers.wake_by(key, Waker::noop()));
        struct Bell(Mutex<u32>);
        impl std::task::Wake for Bell {
            fn wake(self: Arc<Self>) {
                *self.0.lock() += 1;
            }
        }
        let bell = Arc::new(Bell(Mutex::new(0)));
        assert!(timers.wake_by(key, &Waker::from(bell.clone())));
        all_due(&timers, timers.start()).into_iter().for_each(|entry| fire(entry, &mut drop));
        assert_eq!(*bell.0.lock(), 1);
        assert!(!timers.wake_by(key, Waker::noop()));
        assert_eq!(Arc::strong_count(&bell), 1);
    }
}

#[test]
fn timers_of_several_workers_fire_in_order() {
    let (timers, order) = (timers(4), Arc::new(Mutex::new(Vec::new())));
    struct Noted(u64, Arc<Mutex<Vec<u64>>>);
    impl std::task::Wake for Noted {
        fn wake(self: Arc<Self>) {
            self.1.lock().push(self.0);
        }
    }
    for number in 0..40 {
        let (micros, order) = (number * 17 % 40, order.clone());
        let at = timers.start() + Duration::from_micros(micros);
        let noted = Entry::Wake(Waker::from(Arc::new(Noted(micros, order))));
        assert!(timers.set(worker(), at, noted).is_ok());
    }
    all_due(&timers, timers.start() + Duration::from_millis(1))
        .into_iter()
        .for_each(|entry| fire(entry, &mut drop));
    assert!(order.lock().iter().copied().eq(0..40));
}

#[test]
fn nothing_is_due_after_the_last_cancel() {
    for timers in each() {
        let at = |millis| timers.start() + Duration::from_millis(millis);
        let set = |millis| timers.set(worker(), at(millis), waker()).map_err(drop).unwrap();
        let keys: Vec<_> = (1..=9).map(|millis| set(millis).0).collect();
        for (index, &key) in keys.iter().enumerate() {
            assert!(timers.next().is_some_and(|next| next <= at(1 + index as u64)));
            assert!(timers.remove(key).is_some());
        }
        assert_eq!((timers.next(), timers.wake_at()), (None, None));
        assert!(set(20).1, "nothing waits");
    }
}

#[test]
fn a_cancelled_timer_wakes_no_new_sleeper() {
    for timers in each() {
        let at = |millis| timers.start() + Duration::from_millis(millis);
        let set = |millis| timers.set(worker(), at(millis), waker()).map_err(drop).unwrap();
        let (five, _) = set(5);
        set(10);
        assert!(timers.remove(five).is_some());
        assert_eq!(timers.wake_at(), Some(at(10)));
        assert_eq!(timers.next(), Some(at(10)), "nor does a thread look for it");
        assert!(set(7).1 && !set(8).1);
    }
}

#[test]
fn concurrent_timers_are_each_there_once() {
    let timers = timers(3);
    let (cancelled, fired) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let rounds = 2_000;
    thread::scope(|scope| {
        for worker in 0..4_usize {
            let (timers, cancelled, fired) = (&timers, &cancelled, &fired);
            scope.spawn(move || {
                let mut own = BTreeSet::new();
                for round in 0..rounds {
                    let at = timers.start() + Duration::from_micros((round * 7 % 64) as u64);
                    own.insert(timers.set(worker, at, waker()).map_err(drop).unwrap().0);
                    let oldest = own.pop_first().filter(|_| round % 3 > 0);
                    if oldest.is_some_and(|key| timers.remove(key).is_some()) {
                        cancelled.fetch_add(1, Ordering::Relaxed);
                    }
                    if round % 5 == worker {
                        let now = timers.start() + Duration::from_micros(round as u64 % 64);
                        fired.fetch_add(all_due(timers, now).len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let taken = cancelled.load(Ordering::Relaxed) + fired.load(Ordering::Relaxed);
    let left = all_due(&timers, timers.start() + Duration::from_secs(1)).len();
    assert_eq!(taken + left, 4 * rounds);
    assert!(timers.is_empty() && timers.wake_at().is_none());
}
