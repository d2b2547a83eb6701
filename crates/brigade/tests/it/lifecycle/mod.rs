//! How pools are built, closed, shut down and dropped, and the guarantees for their threads.

mod auto_traits;
mod building;
mod closing;
mod dropping;
mod ends;
mod ends_anywhere;
mod entering;
mod finishing;
mod foreign_locks;
mod handles;
mod hooks;
mod isolation;
mod last_moment;
mod limits;
mod memory;
mod on_drop;
mod other_names;
mod other_pools;
mod own_spawner;
mod racing_close;
mod shutdown;
mod starting;
mod thread_locals;
mod user_drops;
