//! The settings of a builder that depend on the machine, until the pool is built.
//!
//! A program without such a setting does not contain the code that resolves it.

use std::io;

use brigade_sync::thread::{on_another, set_nice};

use crate::values::Config;

/// The settings outside of the configuration, in the order in which they complete it.
#[derive(Default)]
pub(crate) struct Machine {
    pub(super) pins: Option<Resolve>,
    nice: Option<Resolve>,
    /// After the pins, which tell the distances of the workers.
    pub(super) victims: Option<Resolve>,
}

/// Completes the configuration by a setting, or returns the reason why it can't.
type Resolve = Box<dyn FnOnce(&mut Config) -> io::Result<()> + Send + Sync>;

impl Machine {
    /// Sets the nice value of the threads.
    pub(crate) fn nice(&mut self, nice: i32) {
        self.nice = Some(Box::new(move |config| {
            let range = -20..=19;
            // The system would take the nearest value in the range.
            if !range.contains(&nice) {
                let (least, most) = range.into_inner();
                return Err(invalid(format!("a nice value is {least} to {most}, not {nice}")));
            }
            config.nice = Some(nice);
            // An unprivileged thread can't undo the change, so a separate thread tries it.
            on_another(move || set_nice(nice))?
        }));
    }

    /// Completes the configuration.
    ///
    /// # Errors
    /// If the machine, or the system, can't satisfy a setting.
    pub(crate) fn resolve(&mut self, config: &mut Config) -> io::Result<()> {
        let Self { pins, nice, victims } = core::mem::take(self);
        for resolve in [pins, nice, victims] {
            let Some(resolve) = resolve else { continue };
            resolve(config)?;
        }
        Ok(())
    }
}

pub(super) fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
