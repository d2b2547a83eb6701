//! How many jobs of a bounded pool may be queued, and who waits until one more may.
//!
//! Each queued job holds a [`Place`], which its drop gives back: when the job starts, and just as well when it is
//! cancelled, evicted or discarded, on whatever thread. So the engine counts nothing, and the count is exact wherever
//! a job is queued.
//!
//! **Line rule.** One word holds the places taken and whether somebody stands in [`Line`]. Who wants to wait stands in line
//! first and tries once more then; who gives a place back wakes the first of the line if there is one. As both go by
//! changes of one word, either the one sees the free place or the other sees the line. Who leaves the line, with a
//! place or without, wakes the next one if there is a place: it may have been woken for that one.

mod line;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod seat;

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use brigade_sync::atomic::{AtomicU64, Ordering};
use brigade_sync::{Mutex, Parker};

use line::Line;
pub(crate) use line::Spot;
pub(crate) use seat::{Seat, Usher};

/// Somebody stands in line.
const LINE: u64 = 1 << 63;
/// One who drops jobs for room, of 2^15 - 1 at most. The bits below count the places that are taken.
const EVICTOR: u64 = 1 << 48;

/// How many places are taken.
fn taken(word: u64) -> u64 {
    word & (EVICTOR - 1)
}

/// Whether somebody drops jobs for room.
fn is_evicted(word: u64) -> bool {
    word & !LINE >= EVICTOR
}

/// What the queued jobs of one pool share.
pub(crate) struct Room {
    /// How many jobs may be queued.
    capacity: u64,
    /// Places taken, evictors, and [`LINE`], which is never set while nobody stands in line and the lock is free.
    word: AtomicU64,
    line: Mutex<Line>,
}

/// The right to be queued; its drop gives it back.
pub(crate) struct Place(Arc<Room>);

impl Drop for Place {
    fn drop(&mut self) {
        // Ordering: Relaxed: this word alone is what the Line rule is about; the lock orders what is in line.
        if self.0.word.fetch_sub(1, Ordering::Relaxed) & LINE != 0 {
            self.0.wake_first();
        }
    }
}

/// Somebody drops jobs for room.
pub(crate) struct Eviction<'a>(&'a Room);

impl Drop for Eviction<'_> {
    fn drop(&mut self) {
        self.0.word.fetch_sub(EVICTOR, Ordering::Relaxed);
        self.0.pass_on();
    }
}

/// A thread that waits, as a waker.
#[derive(Default)]
struct Waiting(Parker);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Room {
    /// Room for so many jobs.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        // No memory holds more jobs than that.
        let capacity = (capacity as u64).min(EVICTOR - 1);
        Arc::new(Self { capacity, word: AtomicU64::new(0), line: Mutex::default() })
    }

    /// Takes a place; `None` if there was none.
    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Place> {
        self.try_take_if(|_| true)
    }

    /// The same for a set, which leaves to those who drop jobs for room what they make; they tell it when they are done.
    pub(crate) fn try_take_unless_evicted(self: &Arc<Self>) -> Option<Place> {
        self.try_take_if(|word| !is_evicted(word))
    }

    fn try_take_if(self: &Arc<Self>, may: impl Fn(u64) -> bool) -> Option<Place> {
        let mut word = self.word.load(Ordering::Relaxed);
        while may(word) && taken(word) < self.capacity {
            // Ordering: Relaxed, as in the drop of a place. A thread sees its own change of the word, or a later one.
            match self.word.compare_exchange_weak(
                word,
                word + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Place(self.clone())),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Keeps places from sets while jobs are dropped for room.
    ///
    /// A set looks at the word after it has stood in line, and the end of this is a change of the same word: so either
    /// the set sees the end, or the end sees the set.
    pub(crate) fn begin_eviction(&self) -> Eviction<'_> {
        // Ordering: Relaxed, here and in its drop, as in the drop of a place.
        self.word.fetch_add(EVICTOR, Ordering::Relaxed);
        Eviction(self)
    }

    /// Waits for a place; `None` once `is_over`, or when `until` has come, no earlier.
    pub(crate) fn wait(
        self: &Arc<Self>,
        until: Option<Instant>,
        is_over: impl Fn() -> bool,
    ) -> Option<Place> {
        let thread = Arc::new(Waiting::default());
        let waker = Waker::from(thread.clone());
        let mut spot = Spot::new(self.clone());
        loop {
            spot.stand(&waker);
            let place = self.try_take();
            if place.is_some() || is_over() {
                return place;
            }
            let left = until.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            thread.0.park(left);
        }
    }

    /// Wakes all who wait to submit from outside, as there will be no place for them.
    pub(crate) fn wake_outsiders(&self) {
        let outsiders = self.change_line(Line::leave_outsiders);
        outsiders.into_iter().for_each(line::wake);
    }

    /// Takes the first out of the line and wakes it.
    fn wake_first(&self) {
        self.change_line(Line::leave_first).into_iter().for_each(line::wake);
    }

    /// Changes the line, and what the word says of it.
    fn change_line<R>(&self, change: impl FnOnce(&mut Line) -> R) -> R {
        let mut line = self.line.lock();
        let result = change(&mut line);
        // Ordering: Relaxed, as in the drop of a place: who sees the bit takes the lock next.
        if line.is_empty() {
            self.word.fetch_and(!LINE, Ordering::Relaxed);
        } else {
            self.word.fetch_or(LINE, Ordering::Relaxed);
        }
        result
    }

    /// Wakes the first of the line if there is a place for it.
    fn pass_on(&self) {
        // Ordering: Relaxed: the caller has just held the lock, so it sees the place for which it was woken.
        let word = self.word.load(Ordering::Relaxed);
        if word & LINE != 0 && taken(word) < self.capacity {
            self.wake_first();
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_places_as_said_and_each_is_given_back() {
        let room = Room::new(3);
        for _ in 0..3 {
            let places: Vec<_> = (0..3).map_while(|_| room.try_take()).collect();
            assert_eq!(places.len(), 3);
            assert!(room.try_take().is_none());
        }
        let endless = Room::new(usize::MAX);
        assert!(endless.try_take().is_some());
    }

    #[test]
    fn while_somebody_evicts_a_set_takes_no_place_and_hears_of_it_then() {
        let room = Room::new(1);
        let place = room.try_take();
        let evicting = room.begin_eviction();
        let set = Arc::new(Waiting::default());
        let mut spot = Spot::staying(room.clone());
        spot.stand(&set.clone().into());
        drop(place);
        assert!(room.try_take_unless_evicted().is_none());
        spot.stand(&set.clone().into());
        assert!(room.try_take().is_some(), "it is there for others");
        // Woken as that one was given back, it finds nothing and stands in line again.
        assert!(set.0.try_take() && room.try_take_unless_evicted().is_none());
        spot.stand(&set.clone().into());
        drop(evicting);
        assert!(set.0.try_take(), "now it may");
        assert!(room.try_take_unless_evicted().is_some());
    }

    #[test]
    fn the_end_reaches_those_from_outside_and_leaves_the_others_in_line() {
        let room = Room::new(1);
        let place = room.try_take();
        let (set, outsider) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::staying(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&set.clone().into());
        spots[1].stand(&outsider.clone().into());
        room.wake_outsiders();
        assert!(outsider.0.try_take() && !set.0.try_take());
        drop(place);
        assert!(set.0.try_take());
    }

    #[test]
    fn a_wait_ends_with_a_place_or_when_it_is_over_or_in_time() {
        let room = Room::new(1);
        let place = room.wait(None, || false).expect("there was one");
        assert!(room.wait(None, || true).is_none());
        let at = Instant::now() + Duration::from_millis(5);
        assert!(room.wait(Some(at), || false).is_none());
        assert!(Instant::now() >= at);
        let other = room.clone();
        let waiter = std::thread::spawn(move || other.wait(None, || false).is_some());
        while room.word.load(Ordering::Relaxed) & LINE == 0 {
            brigade_sync::thread::yield_now();
        }
        drop(place);
        assert!(waiter.join().unwrap());
        assert_eq!(room.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_was_woken_and_leaves_wakes_the_next() {
        let room = Room::new(1);
        let place = room.try_take();
        let (first, second) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::new(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&first.clone().into());
        spots[1].stand(&second.clone().into());
        drop(place);
        assert!(first.0.try_take() && !second.0.try_take());
        let [leaving, _waiting] = spots;
        drop(leaving);
        assert!(second.0.try_take());
    }

    #[test]
    fn who_was_woken_for_nothing_is_first_again() {
        let room = Room::new(1);
        let place = room.try_take();
        let (first, second) = (Arc::new(Waiting::default()), Arc::new(Waiting::default()));
        let mut spots = [Spot::new(room.clone()), Spot::new(room.clone())];
        spots[0].stand(&first.clone().into());
        spots[1].stand(&second.clone().into());
        drop(place);
        assert!(first.0.try_take());
        let quicker = room.try_take();
        spots[0].stand(&first.clone().into());
        drop(quicker);
        assert!(first.0.try_take() && !second.0.try_take());
    }
}
