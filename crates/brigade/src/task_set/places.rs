//! How the jobs of a set come to places in a bounded pool.
//!
//! A job is made before there is a place for it, so it holds a [`Seat`], and its place is put there when it is submitted.
//!
//! **Standing.** A set whose first job waits for a place alone stands in the room's line. Whether it is to stand is decided
//! and done in one step under the lock of the spot, from what the board says then; who changes that so that it is
//! to, looks afterwards. So if a set is to stand and nobody is about to look, it does, and hears of the next place.

use std::sync::Arc;
use std::task::Waker;

use brigade_sync::Mutex;

use crate::handle::Handle;
use crate::registry;
use crate::room::{Place, Room, Spot, Usher};

/// Leave to submit one job: its place, if the pool is bounded.
pub(super) struct Leave(Option<Place>);

impl Leave {
    /// Gives the job its place.
    pub(super) fn use_for(self, usher: Option<Usher>) {
        if let (Some(place), Some(usher)) = (self.0, usher) {
            usher.lead(place);
        }
    }
}

/// Where a set gets places.
pub(super) struct Places {
    /// `None` if the pool has room for any number.
    room: Option<Arc<Room>>,
    /// Where the set stands, if it does.
    spot: Mutex<Option<Spot>>,
}

impl Places {
    pub(super) fn new(pool: Handle) -> Self {
        let room = if registry::is_bounded(pool.key) {
            registry::find(pool.key).and_then(|core| core.room().cloned())
        } else {
            None
        };
        Self { room, spot: Mutex::default() }
    }

    /// Whether the pool has room for so many jobs and no more.
    pub(super) fn are_bounded(&self) -> bool {
        self.room.is_some()
    }

    /// Takes leave to submit a job; `None` if the pool is full.
    pub(super) fn try_take(&self) -> Option<Leave> {
        match &self.room {
            Some(room) => room.try_take_unless_evicted().map(|place| Leave(Some(place))),
            None => Some(Leave(None)),
        }
    }

    /// The same for a set that may wait for none; if it does and the pool is full, it first stands in line.
    pub(super) fn take_or_stand(
        &self,
        is_to_stand: impl Fn() -> bool,
        waker: impl FnOnce() -> Waker,
    ) -> Option<Leave> {
        if !is_to_stand() {
            // A place that is taken and given back is missing to others meanwhile, who may drop a job for it.
            return None;
        }
        self.try_take().or_else(|| {
            let mut spot = self.spot.lock();
            if is_to_stand() {
                let room = self.room.as_ref()?;
                spot.get_or_insert_with(|| Spot::staying(room.clone())).stand(&waker());
            }
            drop(spot);
            self.try_take()
        })
    }

    /// Leaves the line unless the set is to stand there.
    pub(super) fn leave_unless(&self, is_to_stand: impl FnOnce() -> bool) {
        if self.room.is_none() {
            return;
        }
        let mut spot = self.spot.lock();
        let left = if is_to_stand() { None } else { spot.take() };
        drop(spot);
        // Last: it may wake the next, which is code of the user's.
        drop(left);
    }
}
