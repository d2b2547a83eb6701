//! Pools with a capacity.

mod capacity;
mod evicting;
mod futures_for_room;
mod rejected;
mod running_in_caller;
mod waiting_for_room;
mod when_full;
