//! A step of the scheduler that obeys a seed, at each place of a delay.

pub(crate) use crate::seeded::step as delay;
