//! What a target is: an entry, a way to start it, and the trait of its family.
//!
//! A family is a kind of targets that can take each other's place. It has a trait ([`pool`], [`queue`],
//! [`handover`], [`runtime`]) and a table of [`Listing`]s in `targets`. A workload measures one family.
//! A name is one within its family: `brigade-lifo` is a pool to a workload for pools, and a queue to one
//! for queues. Targets know nothing of workloads.

pub(crate) mod handover;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod runtime;

/// A target as the command line knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// What `--target` calls it.
    pub(crate) name: &'static str,
    /// What it is, in a line.
    pub(crate) about: &'static str,
    /// Whether others are compared with it: everything but brigade, and but what is no program of its own.
    pub(crate) is_peer: bool,
    /// Whether it takes part in every workload of its family when `--target` is not given.
    pub(crate) is_default: bool,
    /// Whether it is measured without a warm-up, because starting its threads is part of what is measured.
    pub(crate) is_cold: bool,
    /// See [`Entry::threads`].
    threads: fn(u64, u64) -> u64,
}

impl Entry {
    /// A program that brigade is compared with.
    pub(crate) const fn peer(name: &'static str, about: &'static str) -> Self {
        let threads = |threads, _| threads;
        Entry { name, about, is_peer: true, is_default: true, is_cold: false, threads }
    }

    /// A configuration of brigade, or what is no program of its own.
    pub(crate) const fn own(name: &'static str, about: &'static str) -> Self {
        Entry { is_peer: false, ..Entry::peer(name, about) }
    }

    /// The same, only where it or its workload names it.
    pub(crate) const fn further(self) -> Self {
        Entry { is_default: false, ..self }
    }

    /// The same, measured without a warm-up.
    pub(crate) const fn cold(self) -> Self {
        Entry { is_cold: true, ..self }
    }

    /// The same with another number of threads than it is told.
    pub(crate) const fn with_threads(self, threads: fn(u64, u64) -> u64) -> Self {
        Entry { threads, ..self }
    }

    /// Threads that it has at most when it is told to have `threads` of them and given `tasks` tasks.
    pub(crate) fn threads(&self, threads: u64, tasks: u64) -> u64 {
        (self.threads)(threads, tasks)
    }

    /// Whether this is the same target of one family.
    pub(crate) fn is(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

/// What the file of a target exports, once for each configuration: a line of its family's table.
#[derive(Clone, Copy)]
pub(crate) struct Listing<S> {
    /// What the command line knows.
    pub(crate) entry: Entry,
    /// Starts it: a plain function, whose result has the target's own type.
    pub(crate) start: S,
}

/// Targets that can take each other's place.
pub(crate) trait Family {
    /// The heading of its targets in `list`.
    const HEADING: &'static str;
    /// Its targets, in the order of the table.
    const TARGETS: &'static [&'static Entry];
}

/// A family that a visitor may visit: the visitor meets one target with its own type, so that the compiler
/// sees through both and nothing on the way of a task is a call through a pointer.
pub(crate) trait Accept<V>: Family {
    /// What comes of it.
    type Output;

    /// Brings the visitor to this target of the family.
    fn accept(target: &Entry, visitor: V) -> Self::Output;
}

/// Makes a family of its table, which names one listing a line; a target behind `and` has an entry only, and no visitor meets it.
macro_rules! family {
    (
        $(#[$doc:meta])*
        $family:ident: $heading:literal, $visit:ident => $give:path $(, and $extra:path)?;
        $($(#[$cfg:meta])? $module:ident::$row:ident,)+
    ) => {
        $(#[$doc])*
        pub(crate) struct $family;

        impl $crate::target::Family for $family {
            const HEADING: &'static str = $heading;
            const TARGETS: &'static [&'static $crate::target::Entry] =
                &[$($(#[$cfg])? &$module::$row.entry,)+ $(&$extra)?];
        }

        impl<V: $visit> $crate::target::Accept<V> for $family {
            type Output = V::Output;

            fn accept(target: &$crate::target::Entry, visitor: V) -> V::Output {
                $(
                    $(#[$cfg])?
                    if target.is(&$module::$row.entry) {
                        return $give(visitor, $module::$row.start);
                    }
                )+
                unreachable!("{} is none of the {}", target.name, $heading)
            }
        }
    };
}

pub(crate) use family;
