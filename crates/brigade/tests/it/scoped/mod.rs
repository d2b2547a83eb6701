//! Work that borrows: forks, scopes, and calls on a pool's workers.

mod pools;

mod answers;
mod bounded;
mod depth;
mod ends;
mod few_threads;
mod futures;
mod guests;
mod lifetimes;
mod locks;
mod loops;
mod panics;
mod random;
mod starting;
