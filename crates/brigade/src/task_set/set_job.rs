//! Jobs of a set with their own settings.

use std::borrow::Cow;
use std::panic::Location;
use std::time::Instant;

use brigade_task::{Callable, Spawnable};

use super::TaskSet;
use crate::spawn::Boxed;
use crate::submission::Options;
use crate::values::{Priority, Rejected};

/// The settings of a job of a set, made by [`TaskSet::job`].
#[derive(Debug)]
#[must_use = "it submits nothing until one of its verbs is called"]
pub struct SetJob<'a, T> {
    set: &'a mut TaskSet<T>,
    options: Options,
}

impl<T: Send + 'static> TaskSet<T> {
    /// Begins a job with its own settings, which are those of a [`JobBuilder`](crate::JobBuilder).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut set = brigade::TaskSet::new(&pool);
    /// set.job().name("index").priority(brigade::Priority::Low).submit(brigade::current_job_name)?;
    /// assert_eq!(set.join_next().transpose()?.flatten().as_deref(), Some("index"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn job(&mut self) -> SetJob<'_, T> {
        SetJob { set: self, options: Options::default() }
    }
}

impl<T: Send + 'static> SetJob<'_, T> {
    /// Sets a name, as [`JobBuilder::name`](crate::JobBuilder::name).
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.options.carried.name = Some(name.into());
        self
    }

    /// Adds a value that follows the job, as [`JobBuilder::with`](crate::JobBuilder::with).
    pub fn with<V: Send + Sync + 'static>(mut self, value: V) -> Self {
        self.options.carried.add(value);
        self
    }

    /// Sets the priority, which otherwise is that of the submitting job.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.class = Some(priority);
        self
    }

    /// Sets the latest start: a job that has not started by then, in the set's line or on the pool, is cancelled when its turn
    /// comes.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Adds a closure, and returns its [id](TaskSet::submit). Never blocks.
    ///
    /// # Errors
    /// Returns the closure, as [`TaskSet::try_submit`].
    #[track_caller]
    pub fn submit<F>(self, job: F) -> Result<usize, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
    {
        self.set.add_closure(job, self.options, Location::caller())
    }

    /// Adds a future, and returns its [id](TaskSet::submit). Never blocks.
    ///
    /// # Errors
    /// Returns the future, as [`TaskSet::try_spawn`].
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> Result<usize, Rejected<F>>
    where
        F: Spawnable<Output = T> + Send + 'static,
    {
        self.set.add_future(future, self.options, Location::caller()).or_else(Boxed::unbox)
    }
}
