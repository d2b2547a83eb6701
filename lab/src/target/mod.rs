//! A target: an entry, a way to start it, and the trait of the family.
//!
//! A family is a set of interchangeable targets. It has a trait ([`pool`], [`fork`], [`queue`], [`handover`], [`runtime`]) and a table
//! in `targets`. A workload measures one family. A name is unique within a family: `brigade-lifo` is a pool to a workload for pools,
//! and a queue to a workload for queues. Targets do not depend on workloads.

pub(crate) mod fork;
pub(crate) mod handover;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod runtime;
#[cfg(feature = "full")]
pub(crate) mod web;

use crate::failure::Outcome;

/// Which targets are alike: the answer compares targets within a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Class {
    /// As many separate threads as the workload asks for.
    #[default]
    Threads,
    /// A single thread, whatever the workload asks for.
    OneThread,
    /// Separate threads, and the waiting thread as one of them.
    Caller,
    /// All the threads from the start, where others grow.
    Ready,
}

impl Class {
    /// How the targets differ from the class `Threads`, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Class::Threads => "threads of its own",
            Class::OneThread => "one thread",
            Class::Caller => "the waiting thread computes",
            Class::Ready => "its threads are there",
        }
    }
}

/// A target as the command line names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The name for `--target`.
    pub(crate) name: &'static str,
    /// The description, on one line.
    pub(crate) about: &'static str,
    /// Whether brigade is compared with it: every independent program but brigade.
    pub(crate) is_peer: bool,
    /// Whether it takes part in every workload of the family when `--target` is not given.
    pub(crate) is_default: bool,
    /// Whether it is measured without a warm-up, because the start of its threads is part of the measurement.
    pub(crate) is_cold: bool,
    /// The other program that runs it, in the same folder, and the name there, if it is not run by this program.
    pub(crate) elsewhere: Option<(&'static str, &'static str)>,
    /// The class.
    pub(crate) class: Class,
    /// Whether it can run this program or workload of the family.
    pub(crate) runs: fn(&str) -> bool,
    /// The most threads it has when started with so many threads, as the first, and so many tasks.
    pub(crate) threads: fn(u64, u64) -> u64,
}

impl Entry {
    /// A program to compare with brigade.
    pub(crate) const fn peer(name: &'static str, about: &'static str) -> Self {
        let threads = |threads, _| threads;
        Entry {
            name,
            about,
            is_peer: true,
            is_default: true,
            is_cold: false,
            elsewhere: None,
            class: Class::Threads,
            runs: |_| true,
            threads,
        }
    }

    /// A configuration of brigade, or a target without an independent program.
    pub(crate) const fn own(name: &'static str, about: &'static str) -> Self {
        Entry { is_peer: false, ..Entry::peer(name, about) }
    }

    /// The same, taking part only if the command line or the workload names it.
    pub(crate) const fn further(self) -> Self {
        Entry { is_default: false, ..self }
    }

    /// The same, measured without a warm-up.
    pub(crate) const fn cold(self) -> Self {
        Entry { is_cold: true, ..self }
    }

    /// The same, run by `program`, which is built separately, as the target `name` there; only if named.
    pub(crate) const fn elsewhere(self, program: &'static str, name: &'static str) -> Self {
        Entry { elsewhere: Some((program, name)), ..self }.further()
    }

    /// The same, of another class than most.
    pub(crate) const fn of(self, class: Class) -> Self {
        Entry { class, ..self }
    }

    /// The same with these programs or workloads of the family alone.
    pub(crate) const fn only(self, runs: fn(&str) -> bool) -> Self {
        Entry { runs, ..self }
    }

    /// The same with another number of threads than it is started with.
    pub(crate) const fn with_threads(self, threads: fn(u64, u64) -> u64) -> Self {
        Entry { threads, ..self }
    }
}

/// A set of interchangeable targets.
pub(crate) trait Family {
    /// The targets, in the order of the table.
    const TARGETS: &'static [&'static Entry];
}

/// A family that accepts a visitor: the visitor gets one target by its type, so the compiler can inline both and no
/// task is called through a pointer.
pub(crate) trait Accept<V>: Family {
    /// Calls the visitor with this target of the family.
    fn accept(target: &Entry, visitor: V) -> Outcome;
}

/// Defines a family by a table: a line for each target with its entry and the call of the visitor, whose argument starts the
/// target. A target without a call is run by the workloads themselves.
macro_rules! family {
    (
        $(#[$doc:meta])*
        $family:ident: $visit:ident;
        $(
            $(#[$cfg:meta])?
            $kind:ident($name:literal, $about:literal)$(.$with:ident($($argument:tt)*))* $(=> $call:ident($start:expr))?;
        )+
    ) => {
        $(#[$doc])*
        pub(crate) struct $family;

        impl $crate::target::Family for $family {
            const TARGETS: &'static [&'static $crate::target::Entry] = &[
                $($(#[$cfg])? &$crate::target::Entry::$kind($name, $about)$(.$with($($argument)*))*,)+
            ];
        }

        impl<V: $visit> $crate::target::Accept<V> for $family {
            fn accept(target: &$crate::target::Entry, visitor: V) -> $crate::failure::Outcome {
                match target.name {
                    $($(#[$cfg])? $name => { $(return visitor.$call($start);)? })+
                    _ => {}
                }
                Err($crate::failure::Failure::Told(format!("{} is not of this program", target.name)))
            }
        }
    };
}

pub(crate) use family;
