//! Names of calls in rayon, tokio, threadpool and executors. A call by such a name works, and the compiler's warning names
//! the call of this crate; without it, rustc suggests methods whose names look alike.

use core::time::Duration;

use brigade_task::JoinError;

use crate::handle::JoinHandle;
use crate::pool::{Builder, Pool};
use crate::submission::JobBuilder;
use crate::task_set::TaskSet;
use crate::time::DelayedJob;
use crate::values::Report;

macro_rules! other_names {
    ($type:ident $(<$T:ident>)?: $($note:literal $call:item)*) => {
        impl $(<$T>)? $type $(<$T>)? {
            $(#[doc(hidden)] #[deprecated(note = $note)] $call)*
        }
    };
}

other_names! { JoinHandle<T>:
    "here this is `cancel`"
    pub fn abort(&self) -> bool { self.cancel() }
}

other_names! { TaskSet<T>:
    "here this is `cancel_all`"
    pub fn abort_all(&mut self) { self.cancel_all() }
    "here this is `outcomes().collect()`, and each job has an outcome of its own"
    pub fn join_all(mut self) -> Vec<Result<T, JoinError>> { self.outcomes().collect() }
}

other_names! { Builder:
    "here this is `threads`"
    pub fn num_threads(self, threads: usize) -> Self { self.threads(threads) }
    "here this is `threads`"
    pub fn worker_threads(self, threads: usize) -> Self { self.threads(threads) }
    "here this is `name`"
    pub fn thread_name(self, name: &'static str) -> Self { self.name(name) }
    "here this is `capacity`"
    pub fn queue_size(self, jobs: usize) -> Self { self.capacity(jobs) }
}

other_names! { JobBuilder:
    "here this is `after`"
    pub fn delay(self, delay: Duration) -> DelayedJob { self.after(delay) }
}

other_names! { Pool:
    "here this is `submit`"
    pub fn spawn_blocking<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, job: F) -> JoinHandle<T> {
        self.submit(job)
    }
    "here this is `submit`"
    pub fn evaluate<F: FnOnce() -> T + Send + 'static, T: Send + 'static>(&self, job: F) -> JoinHandle<T> {
        self.submit(job)
    }
    "here this is `wait_idle`"
    pub fn wait(&self) -> bool { self.wait_idle() }
    "here this is `metrics().busy_threads`"
    pub fn active_count(&self) -> usize { self.metrics().busy_threads }
    "here this is `metrics().queued`"
    pub fn queued_count(&self) -> u64 { self.metrics().queued }
    "here this is `size`, a range"
    pub fn num_threads(&self) -> usize { *self.size().end() }
    "here this is `shutdown`"
    pub fn shutdown_timeout(&self, timeout: Duration) -> Report { self.shutdown(timeout) }
}
