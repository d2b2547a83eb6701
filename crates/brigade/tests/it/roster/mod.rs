//! Threads that start and end: growing, shrinking, replacing blocked ones, and starts that fail.

mod blocking_jobs;
mod failed_starts;
mod growing;
mod headcount;
mod inherited;
mod pins;
mod resizing;
mod short_keep_alive;
mod shrinking;
mod slow_spawner;
mod spawner;
mod victims;
mod without_threads;
