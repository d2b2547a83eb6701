//! The permits of a bounded pool's queue, and the waiters for permits.
//!
//! Each queued job holds a [`Permit`], released when dropped: when the job starts, and when it is cancelled, evicted or
//! discarded, on any thread. So the engine counts nothing, and the count is exact wherever a job is queued. The permit
//! of a future is in its queued job. If the future's handle cancels it there, the permit is given back immediately, and
//! left when the job is dropped. The semaphore must not know jobs.
//!
//! **Waiter rule.** The state holds the number of permits in use, and whether there are [`Waiters`]. A thread or task
//! that must wait registers first, and then tries once more; a released permit wakes the first waiter, if there is one.
//! Both change the same atomic state, so either the waiter sees the permit or the releasing thread sees the waiter. A
//! waiter that leaves, with or without a permit, wakes the next waiter if there is a permit, for which the leaving
//! waiter may have been woken. A thread that waits inside a job may run other jobs above the wait, which may wait for a
//! permit, too. While it may do so, the next waiter is woken besides it.
//!
//! Not the crate `event-listener`: it wakes waiters, and so runs user code, under an internal lock.

#[cfg(all(test, brigade_loom))]
mod loom_tests;

use core::cell::Cell;
use core::mem;
use std::sync::Arc;
use std::task::Waker;

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{Mutex, fork, unmodelled};
use brigade_task::{contain, drop_contained};
use brigade_timer::SortedMap;

/// Set while there are waiters. The bits below count the permits in use.
const WAITERS: u64 = 1 << 63;

/// The semaphore shared by the queued jobs of a pool.
pub(crate) struct Semaphore {
    /// The maximum number of queued jobs.
    capacity: u64,
    /// Permits in use, and [`WAITERS`], which is never set while there are no waiters and the lock is free.
    state: AtomicU64,
    waiters: Mutex<Waiters>,
    /// How many permits are in [rooms](Room).
    reserved: unmodelled::AtomicU64,
    /// The generation of the process that made the semaphore.
    process: u32,
}

/// The waiters of one semaphore, in order of arrival.
#[derive(Default)]
struct Waiters {
    /// By number.
    entries: SortedMap<u64, Registered>,
    /// The last number in use.
    last: u64,
}

/// A waiter before, during and after the wait; dropping it ends the wait.
pub(crate) struct Waiter {
    semaphore: Arc<Semaphore>,
    /// The waiter's number, once registered.
    number: Option<u64>,
}

/// The right to be queued; released when dropped.
pub(crate) struct Permit(Arc<Semaphore>);

unmodelled::thread_local! {
    /// How many permits this thread has dropped.
    static DROPPED: Cell<usize> = const { Cell::new(0) };
}

/// Calls a closure, and returns whether it dropped a permit on this thread.
pub(crate) fn gives_back(call: impl FnOnce()) -> bool {
    let before = DROPPED.with(Cell::get);
    call();
    DROPPED.with(Cell::get) != before
}

impl Drop for Permit {
    fn drop(&mut self) {
        DROPPED.with(|dropped| dropped.set(dropped.get().wrapping_add(1)));
        self.0.give_back();
    }
}

impl Permit {
    /// The semaphore.
    pub(crate) fn semaphore(&self) -> &Arc<Semaphore> {
        &self.0
    }

    /// Drops a permit that has been [given back](Semaphore::give_back).
    pub(crate) fn leave(self) {
        // The drop gives it back once more.
        self.0.state.fetch_add(1, Ordering::Relaxed);
    }
}

/// A permit, if one is needed, that no job has yet.
pub(crate) struct Room(Option<Permit>);

impl Room {
    pub(crate) fn new(permit: Option<Permit>) -> Self {
        if let Some(Permit(all)) = &permit {
            all.reserved.fetch_add(1, Ordering::Relaxed);
        }
        Self(permit)
    }

    /// Takes the permit for a job.
    pub(crate) fn take(&mut self) -> Option<Permit> {
        let permit = self.0.take()?;
        permit.0.reserved.fetch_sub(1, Ordering::Relaxed);
        Some(permit)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.take();
    }
}

/// A thread that waits for a permit, or polls a task that does.
pub(crate) trait Late: Send + Sync {
    /// Whether it may not act soon on a wake-up that the caller has just given: jobs run above its wait.
    fn is_late(&self) -> bool;
}

/// How a waiter is woken, and its thread, if that may be [late](Late).
struct Registered {
    waker: Waker,
    thread: Option<Arc<dyn Late>>,
}

impl Semaphore {
    /// Makes a semaphore with `capacity` permits.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        // No memory can hold more jobs.
        let capacity = (capacity as u64).min(WAITERS - 1);
        let (process, reserved) = (fork::generation(), unmodelled::AtomicU64::new(0));
        let (state, waiters) = (AtomicU64::new(0), Mutex::default());
        Arc::new(Self { capacity, state, waiters, reserved, process })
    }

    /// Whether this process made the semaphore; `false` in a forked child.
    fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    /// Takes a permit; `None` if all are in use.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<Permit> {
        let next = |state| if self.is_available(state) { Some(state + 1) } else { None };
        // Ordering: Relaxed, as in the drop of a permit. A thread sees its change of the state, or a later change.
        let taken = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        if taken.is_ok() { Some(Permit(self.clone())) } else { None }
    }

    /// Gives back a permit that is being dropped, or must then be [left](Permit::leave).
    pub(crate) fn give_back(&self) {
        // Ordering: Relaxed: the Waiter rule concerns this atomic alone; the lock orders the waiters' data. In a forked
        // child the lock may be held forever, by a thread missing there.
        if self.is_here() {
            self.pass_on(self.state.fetch_sub(1, Ordering::Relaxed) - 1);
        }
    }

    /// Takes a permit beyond the capacity: in place of a job that has been taken out of the queue, or will be soon.
    pub(crate) fn exceed(self: &Arc<Self>) -> Permit {
        self.state.fetch_add(1, Ordering::Relaxed);
        Permit(self.clone())
    }

    /// Whether all permits are in use without jobs.
    pub(crate) fn are_reserved(&self) -> bool {
        self.reserved.load(Ordering::Relaxed) >= self.capacity
    }

    fn is_available(&self, state: u64) -> bool {
        state & !WAITERS < self.capacity
    }

    /// Wakes all waiters, because they will get no permit.
    pub(crate) fn wake_all(&self) {
        let mut all = SortedMap::default();
        self.change_waiters(&mut |waiters| {
            all = mem::take(&mut waiters.entries);
            None
        });
        while let Some(first) = all.pop_first() {
            contain(|| first.waker.wake());
        }
    }

    /// Changes the waiters, and updates their bit in the state.
    fn change_waiters(
        &self,
        change: &mut dyn FnMut(&mut Waiters) -> Option<Registered>,
    ) -> Option<Registered> {
        let mut waiters = self.waiters.lock();
        let result = change(&mut waiters);
        // Ordering: Relaxed, as in the drop of a permit: a thread that sees the bit takes the lock next.
        if waiters.entries.is_empty() {
            self.state.fetch_and(!WAITERS, Ordering::Relaxed);
        } else {
            self.state.fetch_or(WAITERS, Ordering::Relaxed);
        }
        result
    }

    /// Wakes the first waiter if this state has a permit for it; also the next while that waiter may be late.
    fn pass_on(&self, state: u64) {
        if state & WAITERS == 0 || !self.is_available(state) {
            return;
        }
        while let Some(first) = self.change_waiters(&mut |waiters| waiters.entries.pop_first()) {
            contain(|| first.waker.wake());
            if !first.thread.is_some_and(|thread| thread.is_late()) {
                break;
            }
        }
    }
}

impl Waiter {
    /// Makes a waiter that is not registered yet.
    pub(crate) fn new(semaphore: Arc<Semaphore>) -> Self {
        Self { semaphore, number: None }
    }

    /// Registers a waker, to be woken when there may be a permit. A waiter woken in vain gets its former place again,
    /// before all later waiters.
    ///
    /// The caller must try to take a permit before it waits (Waiter rule).
    pub(crate) fn register(&mut self, waker: &Waker, thread: Option<Arc<dyn Late>>) {
        // The clone runs user code, as does the drop of the former waker: both are outside the lock.
        let mut entry = Some(Registered { waker: waker.clone(), thread });
        let former = self.semaphore.change_waiters(&mut |waiters| {
            waiters.last += u64::from(self.number.is_none());
            let number = *self.number.get_or_insert(waiters.last);
            waiters.entries.insert(number, entry.take()?)
        });
        drop_contained(former);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let (Some(number), true) = (self.number, self.semaphore.is_here()) else { return };
        let former = self.semaphore.change_waiters(&mut |waiters| waiters.entries.remove(&number));
        drop_contained(former);
        // Ordering: Relaxed: this thread has just held the lock, so it sees the permit for which it was woken.
        self.semaphore.pass_on(self.semaphore.state.load(Ordering::Relaxed));
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::engine::sleep::events::blocked::BlockedThread;

    #[test]
    fn there_are_as_many_permits_as_said() {
        let semaphore = Semaphore::new(3);
        for _ in 0..3 {
            let permits: Vec<_> = (0..3).map_while(|_| semaphore.try_acquire()).collect();
            assert_eq!(permits.len(), 3);
            assert!(semaphore.try_acquire().is_none());
        }
        assert!(Semaphore::new(usize::MAX).try_acquire().is_some());
    }

    #[test]
    fn a_left_permit_is_given_back_once() {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire().expect("there is one");
        semaphore.give_back();
        let other = semaphore.try_acquire();
        permit.leave();
        assert!(other.is_some() && semaphore.try_acquire().is_none());
        drop(other);
        assert_eq!(
            (semaphore.state.load(Ordering::Relaxed), Arc::strong_count(&semaphore)),
            (0, 1)
        );
    }

    #[test]
    fn a_permit_in_excess_is_not_handed_on() {
        let semaphore = Semaphore::new(1);
        let first = semaphore.try_acquire();
        let (waits, mut waiter) =
            (Arc::new(BlockedThread::default()), Waiter::new(semaphore.clone()));
        waiter.register(&waits.clone().into(), None);
        let second = semaphore.exceed();
        drop(first);
        assert!(!waits.take_token() && semaphore.try_acquire().is_none());
        drop(second);
        assert!(waits.take_token());
    }

    #[test]
    fn the_end_reaches_all_waiters() {
        let semaphore = Semaphore::new(1);
        let _permit = semaphore.try_acquire();
        let threads = [(); 2].map(|()| Arc::new(BlockedThread::default()));
        let mut waiters = [(); 2].map(|()| Waiter::new(semaphore.clone()));
        for (waiter, thread) in waiters.iter_mut().zip(&threads) {
            waiter.register(&thread.clone().into(), None);
        }
        semaphore.wake_all();
        assert!(threads.iter().all(|thread| thread.take_token()));
        assert_eq!(semaphore.state.load(Ordering::Relaxed), 1);
    }

    /// Caught: the permit went to a wait under jobs that waited for a permit, too.
    #[test]
    fn a_wait_under_jobs_leaves_the_wake_to_the_next() {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let threads = [(); 3].map(|()| Arc::new(BlockedThread::default()));
        let mut waiters = [(); 3].map(|()| Waiter::new(semaphore.clone()));
        for (waiter, thread) in waiters.iter_mut().zip(&threads) {
            waiter.register(&thread.clone().into(), Some(thread.clone()));
        }
        threads[0].lie_under_jobs(true);
        drop(permit);
        assert_eq!(threads.each_ref().map(|thread| thread.take_token()), [true, true, false]);
    }

    #[test]
    fn a_leaving_woken_waiter_wakes_the_next() {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let (first, second) =
            (Arc::new(BlockedThread::default()), Arc::new(BlockedThread::default()));
        let mut waiters = [Waiter::new(semaphore.clone()), Waiter::new(semaphore.clone())];
        waiters[0].register(&first.clone().into(), None);
        waiters[1].register(&second.clone().into(), None);
        drop(permit);
        assert!(first.take_token() && !second.take_token());
        let [leaving, _waiting] = waiters;
        drop(leaving);
        assert!(second.take_token());
    }

    #[test]
    fn waiters_leave_in_any_order_without_a_search() {
        let _dog = brigade_testkit::Watchdog::start(30);
        let semaphore = Semaphore::new(0);
        let mut waiters: Vec<_> = (0..100_000).map(|_| Waiter::new(semaphore.clone())).collect();
        waiters.iter_mut().for_each(|waiter| waiter.register(Waker::noop(), None));
        // From the middle, then the newest and the oldest by turns.
        while !waiters.is_empty() {
            drop(waiters.swap_remove(waiters.len() / 2));
        }
        assert_eq!(semaphore.state.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_waiter_woken_in_vain_is_first_again() {
        let semaphore = Semaphore::new(1);
        let permit = semaphore.try_acquire();
        let (first, second) =
            (Arc::new(BlockedThread::default()), Arc::new(BlockedThread::default()));
        let mut waiters = [Waiter::new(semaphore.clone()), Waiter::new(semaphore.clone())];
        waiters[0].register(&first.clone().into(), None);
        waiters[1].register(&second.clone().into(), None);
        drop(permit);
        assert!(first.take_token());
        let quicker = semaphore.try_acquire();
        waiters[0].register(&first.clone().into(), None);
        drop(quicker);
        assert!(first.take_token() && !second.take_token());
    }
}
