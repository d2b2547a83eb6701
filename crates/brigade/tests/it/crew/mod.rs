//! Threads that come and go: growing, shrinking, replacing blocked ones, and starts that fail.

mod blocking_jobs;
mod crew_corners;
mod growing;
mod headcount;
mod racing_growth;
mod resizing;
mod shrinking;
mod slow_spawner;
mod spawner;
