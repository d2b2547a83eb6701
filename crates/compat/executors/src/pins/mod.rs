//! The cores to which the threads of a pool are pinned.

use brigade::{Builder, Cpus};
use core_affinity::CoreId;

/// The cores of the first threads, by index. The others float.
pub(crate) struct Pins(Vec<CoreId>);

impl Pins {
    /// One of all cores for each thread.
    ///
    /// # Panics
    /// If the system does not tell which there are.
    #[track_caller]
    pub(crate) fn all() -> Self {
        Self(core_affinity::get_core_ids().expect("the system tells the ids of its cores"))
    }

    /// These cores.
    pub(crate) fn to(cores: &[CoreId]) -> Self {
        Self(cores.to_vec())
    }

    /// Pins the threads of a pool, and has each of them call a hook.
    pub(crate) fn apply(
        self,
        builder: Builder,
        on_start: impl Fn() + Send + Sync + 'static,
    ) -> Builder {
        let Self(cores) = self;
        let allowed = core_affinity::get_core_ids().unwrap_or_default();
        let is_allowed = |core| allowed.contains(core);
        // Brigade pins threads on Linux only, and to cores that the calling thread may run on. The calling thread may be pinned
        // itself.
        let pins_itself =
            cfg!(target_os = "linux") && !cores.is_empty() && cores.iter().all(is_allowed);
        let builder = match pins_itself {
            true => builder.pin(Cpus::each(cores.iter().map(|core| core.id))),
            false => builder,
        };
        builder.on_start(move |index| {
            if let Some(&core) = cores.get(index).filter(|_| !pins_itself) {
                if !core_affinity::set_for_current(core) {
                    log::warn!("a thread floats, as it can't be pinned to core {}", core.id);
                }
            }
            on_start();
        })
    }
}
