//! `broadcast`: a closure runs once on each thread of a pool, whatever the threads do meanwhile.

mod each_thread;
mod ending;
mod leaving;
mod on_worker;
mod starting;
mod waiting;

use brigade::JoinHandle;

fn join_all<T>(handles: Vec<JoinHandle<T>>) -> Vec<T> {
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}
