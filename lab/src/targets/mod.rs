//! The targets, a file each, in a folder for each family.
//!
//! To add a target: a file, and a line in the table of the family, which is in the folder's `mod.rs`.

pub(crate) mod forks;
pub(crate) mod handovers;
pub(crate) mod pools;
pub(crate) mod queues;
pub(crate) mod runtimes;

use self::forks::Forks;
use self::handovers::Handovers;
use self::pools::{ElasticPools, Pools};
use self::queues::Queues;
use self::runtimes::Runtimes;
use crate::target::{Entry, Family};

/// Every family with a heading, as `list` shows it.
pub(crate) const FAMILIES: [(&str, &[&Entry]); 6] = [
    ("pools", Pools::TARGETS),
    ("elastic pools, for elastic", ElasticPools::TARGETS),
    ("fork-join pools", Forks::TARGETS),
    ("queues, for queue: deques, and four for its pattern injector", Queues::TARGETS),
    ("handovers, for burst", Handovers::TARGETS),
    (
        "runtimes, for bucket-brigade, creation, memory, echo, busy-io, timers, channels and server",
        Runtimes::TARGETS,
    ),
];

/// The targets of all families.
fn all() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|(_, targets)| targets.iter().copied())
}

/// The target with this name, in the first family that has one.
pub(crate) fn named(name: &str) -> Option<&'static Entry> {
    all().find(|target| target.name == name)
}

/// The name of the target that may have been meant by this name.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let alike = all().map(|target| (strsim::jaro(name, target.name), target.name));
    let (likeness, name) = alike.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness > ALIKE).then_some(name)
}

/// How much alike two names must be: as much as clap wants of subcommands and options.
const ALIKE: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::FAMILIES;
    use std::collections::HashSet;

    #[test]
    fn targets_of_a_family_have_distinct_names() {
        for (family, targets) in FAMILIES {
            let names: HashSet<_> = targets.iter().map(|target| target.name).collect();
            assert_eq!(names.len(), targets.len(), "{family}");
        }
    }

    #[test]
    fn compared_names_are_in_their_family() {
        let [_, _, _, queues, _, runtimes] = FAMILIES;
        let compared: [(_, &[_]); 2] = [
            (
                queues,
                &[
                    "tokio-fifo",
                    "brigade-injector",
                    "brigade-sharded",
                    "crossbeam-injector",
                    "segqueue",
                ],
            ),
            (runtimes, &["threads", "floor", "go", "cpp"]),
        ];
        for ((family, targets), names) in compared {
            for name in names {
                assert!(targets.iter().any(|target| target.name == *name), "{name} in {family}");
            }
        }
    }

    #[test]
    fn every_family_has_a_peer() {
        for (family, targets) in FAMILIES {
            assert!(targets.iter().any(|target| target.is_peer), "{family}");
            assert!(targets.iter().any(|target| !target.is_peer), "{family}");
        }
    }
}
