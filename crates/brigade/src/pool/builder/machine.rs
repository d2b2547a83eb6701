//! The settings of a builder that depend on the machine, until the pool is built.
//!
//! A program without such a setting does not contain the code that resolves it.

use std::io;

use brigade_machine::{Cpus, Neighbours, Pins, Topology, Victims};
use brigade_sync::thread::{on_another, set_nice};

use crate::values::Config;

/// The settings outside of the configuration.
#[derive(Default)]
pub(crate) struct Machine {
    /// Why the threads can't be pinned as requested.
    unpinned: Option<io::Error>,
    /// Why the threads can't have the requested nice value.
    not_nice: Option<io::Error>,
    /// The order in which workers try their peers, and the function that resolves it.
    victims: Option<(Victims, Resolve)>,
}

/// Finds the peers of each worker by the pins, or returns the reason why it can't.
type Resolve = fn(&Victims, &Pins) -> Result<Neighbours, String>;

impl Machine {
    /// Pins the threads of a pool.
    pub(crate) fn pin(&mut self, config: &mut Config, cpus: &Cpus) {
        match cpus.resolve() {
            Ok(pins) => (config.pins, self.unpinned) = (pins, None),
            Err(error) => self.unpinned = Some(error),
        }
    }

    /// Sets the nice value of the threads.
    pub(crate) fn nice(&mut self, config: &mut Config, nice: i32) {
        let range = -20..=19;
        // The system would take the nearest value in the range.
        if !range.contains(&nice) {
            let reason =
                format!("a nice value is {} to {}, not {nice}", range.start(), range.end());
            self.not_nice = Some(io::Error::new(io::ErrorKind::InvalidInput, reason));
            return;
        }
        // An unprivileged thread can't undo the change, so a separate thread tries it.
        let tried = on_another(move || set_nice(nice)).and_then(|tried| tried);
        (config.nice, self.not_nice) = (Some(nice), tried.err());
    }

    /// Orders the peers of each worker, once the pins are known.
    pub(crate) fn order(&mut self, victims: Victims) {
        let resolve = |victims: &Victims, pins: &Pins| {
            // Reading the topology takes a while.
            victims.resolve(pins, &Topology::of_this_machine())
        };
        self.victims = Some((victims, resolve));
    }

    /// Completes the configuration.
    ///
    /// # Errors
    /// If the machine, or the system, can't satisfy a setting.
    pub(crate) fn resolve(&mut self, config: &mut Config) -> io::Result<()> {
        if let Some(error) = self.unpinned.take().or_else(|| self.not_nice.take()) {
            return Err(error);
        }
        if let Some((victims, resolve)) = &self.victims {
            config.neighbours = resolve(victims, &config.pins)
                .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
        }
        Ok(())
    }
}
