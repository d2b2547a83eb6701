//! What a builder asks of the machine, until the pool is built.
//!
//! A program that asks for nothing does not contain what finds the answers.

use std::io;

use brigade_machine::{Cpus, Neighbours, Pins, Topology, Victims};
use brigade_sync::thread::{on_another, set_nice};

use crate::values::Config;

/// What was asked, as far as it is not in the configuration.
#[derive(Default)]
pub(crate) struct Machine {
    /// Why the threads can't be pinned as asked.
    unpinned: Option<io::Error>,
    /// Why they can't have that nice value.
    not_nice: Option<io::Error>,
    /// The order in which workers try their peers, and what finds it.
    victims: Option<(Victims, Resolve)>,
}

/// Finds the peers of each worker by the pins, or says why it can't.
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
        // The system would take the nearest one that there is.
        if !range.contains(&nice) {
            let reason =
                format!("a nice value is {} to {}, not {nice}", range.start(), range.end());
            self.not_nice = Some(io::Error::new(io::ErrorKind::InvalidInput, reason));
            return;
        }
        // A thread that is not privileged can't undo it, so another one tries.
        let tried = on_another(move || set_nice(nice)).and_then(|tried| tried);
        (config.nice, self.not_nice) = (Some(nice), tried.err());
    }

    /// Orders the peers of each worker, once the pins are known.
    pub(crate) fn order(&mut self, victims: Victims) {
        let resolve = |victims: &Victims, pins: &Pins| {
            // To read what the machine is like takes a while.
            victims.resolve(pins, &Topology::of_this_machine())
        };
        self.victims = Some((victims, resolve));
    }

    /// Completes the configuration.
    ///
    /// # Errors
    /// If the machine, or the system, does not have what was asked.
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
