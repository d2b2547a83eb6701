//! A place for a job that is made before there is one for it.

use std::sync::{Arc, Weak};

use brigade_sync::Mutex;

use super::Place;

/// What such a job holds: its drop gives the place back, if one has been put in.
pub(crate) struct Seat {
    /// Kept to be dropped.
    _place: Arc<Mutex<Option<Place>>>,
}

/// Puts a place into the seat of a job that may have been dropped meanwhile.
pub(crate) struct Usher {
    place: Weak<Mutex<Option<Place>>>,
}

impl Seat {
    /// An empty seat, and who leads to it.
    pub(crate) fn new() -> (Self, Usher) {
        let place = Arc::new(Mutex::default());
        let usher = Usher { place: Arc::downgrade(&place) };
        (Self { _place: place }, usher)
    }
}

impl Usher {
    /// Puts a place in; gives it back to the room if the job is gone, or as soon as it is.
    pub(crate) fn lead(self, place: Place) {
        if let Some(seat) = self.place.upgrade() {
            *seat.lock() = Some(place);
        }
    }
}
