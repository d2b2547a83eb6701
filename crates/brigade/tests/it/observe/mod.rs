//! What observed pools tell about their jobs.

mod dumps;
mod outcomes;
mod rejections;
mod roles;
mod stalls;
mod waiting_jobs;
