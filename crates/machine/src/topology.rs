//! Which CPUs are near each other: cores, caches and memory nodes, as the operating system tells them.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Linux describes its hardware (`Documentation/ABI/stable/sysfs-devices-node` and `sysfs-devices-system-cpu` of the kernel).
const SYSTEM: &str = "/sys/devices/system";

/// The distance of CPUs on the same core.
const CORE: u32 = 0;
/// The distance of CPUs with the same last cache.
const CACHE: u32 = 1;
/// The distance of CPUs on the same memory node.
const NODE: u32 = 2;
/// The amount added to the system's distance of two nodes, which is 10 for a node and itself.
const BETWEEN_NODES: u32 = 3;

/// The operating system's data about CPUs. Where data is missing, there is no difference.
pub struct Topology {
    system: PathBuf,
    /// In the order of their numbers.
    nodes: Vec<Node>,
}

/// A memory node.
struct Node {
    cpus: Vec<usize>,
    /// The distances to all nodes, by position in `Topology::nodes`.
    distances: Vec<u32>,
}

impl Topology {
    /// Reads the topology of this machine.
    pub fn of_this_machine() -> Self {
        Self::read(SYSTEM)
    }

    /// Reads it from a folder laid out as Linux's `/sys/devices/system`.
    pub fn read(system: impl Into<PathBuf>) -> Self {
        let system = system.into();
        let text = |path: &str| fs::read_to_string(system.join(path)).ok();
        let online = text("node/online").and_then(|list| members(&list)).unwrap_or_default();
        let nodes = online.into_iter().filter_map(|node| {
            let cpus = members(&text(&format!("node/node{node}/cpulist"))?)?;
            let distances = text(&format!("node/node{node}/distance")).unwrap_or_default();
            let distances = distances.split_whitespace().map_while(|one| one.parse().ok());
            Some(Node { cpus, distances: distances.collect() })
        });
        Self { nodes: nodes.collect(), system }
    }

    /// The position of a CPU's memory node among the nodes; 0 if unknown.
    pub fn node_of(&self, cpu: usize) -> usize {
        self.nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0)
    }

    /// The distance of two CPUs: the smaller, the nearer.
    pub fn distance(&self, one: usize, other: usize) -> u32 {
        if one == other || self.shares(one, other, Path::new("topology/thread_siblings_list")) {
            return CORE;
        }
        let (from, to) = (self.node_of(one), self.node_of(other));
        if from != to {
            let told = self.nodes.get(from).and_then(|node| node.distances.get(to).copied());
            return told.unwrap_or(u32::MAX - BETWEEN_NODES) + BETWEEN_NODES;
        }
        match self.last_cache(one).is_some_and(|cache| self.shares(one, other, &cache)) {
            true => CACHE,
            false => NODE,
        }
    }

    /// Whether the system's list for a CPU names the other.
    fn shares(&self, one: usize, other: usize, list: &Path) -> bool {
        let path = self.cpu(one).join(list);
        let list = fs::read_to_string(path).ok().and_then(|list| members(&list));
        list.is_some_and(|list| list.contains(&other))
    }

    /// The list of the CPUs with the same last cache as a CPU.
    fn last_cache(&self, cpu: usize) -> Option<PathBuf> {
        let level = |index: usize| {
            let path = self.cpu(cpu).join(format!("cache/index{index}/level"));
            fs::read_to_string(path).ok()?.trim().parse::<u32>().ok()
        };
        let levels = (0..).map_while(|index| Some((level(index)?, index)));
        let (_, last) = levels.max()?;
        Some(PathBuf::from(format!("cache/index{last}/shared_cpu_list")))
    }

    fn cpu(&self, cpu: usize) -> PathBuf {
        self.system.join(format!("cpu/cpu{cpu}"))
    }
}

/// The system's list of the CPUs on the same core as this CPU.
pub(crate) fn siblings(cpu: usize) -> Option<Vec<usize>> {
    let path = format!("{SYSTEM}/cpu/cpu{cpu}/topology/thread_siblings_list");
    members(&fs::read_to_string(path).ok()?)
}

/// The system's number for the speed of a CPU, 1024 for the fastest of the machine.
pub(crate) fn capacity(cpu: usize) -> Option<u64> {
    fs::read_to_string(format!("{SYSTEM}/cpu/cpu{cpu}/cpu_capacity")).ok()?.trim().parse().ok()
}

/// The numbers in a list such as `0-2,8`; `None` if it is none.
fn members(list: &str) -> Option<Vec<usize>> {
    let mut members: Vec<usize> = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        members.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(members)
}

#[cfg(all(test, not(brigade_loom)))]
pub(crate) mod tests {
    use super::*;

    /// A machine of two nodes with four CPUs each; CPUs 2n and 2n + 1 share a core, and the first node has a cache for each core,
    /// the second a single cache.
    pub(crate) fn two_nodes() -> (tempfile::TempDir, Topology) {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("node/online".into(), "0-1\n");
        for (node, cpus, distance) in [(0, "0-3\n", "10 21\n"), (1, "4-7\n", "21 10\n")] {
            write(format!("node/node{node}/cpulist"), cpus);
            write(format!("node/node{node}/distance"), distance);
        }
        for cpu in 0..8 {
            let core = cpu / 2 * 2;
            let siblings = format!("{core}-{}\n", core + 1);
            write(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &siblings);
            let shared = if cpu < 4 { siblings.as_str() } else { "4-7\n" };
            for (index, level, list) in [(0, "1\n", siblings.as_str()), (1, "3\n", shared)] {
                write(format!("cpu/cpu{cpu}/cache/index{index}/level"), level);
                write(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), list);
            }
        }
        let topology = Topology::read(folder.path());
        (folder, topology)
    }

    #[test]
    fn cpus_are_near_by_core_cache_and_node() {
        let (_folder, topology) = two_nodes();
        let distances = |from| (0..8).map(|to| topology.distance(from, to)).collect::<Vec<_>>();
        assert_eq!(distances(0), [0, 0, 2, 2, 24, 24, 24, 24]);
        assert_eq!(distances(5), [24, 24, 24, 24, 0, 0, 1, 1]);
        assert!((0..8).map(|cpu| topology.node_of(cpu)).eq([0, 0, 0, 0, 1, 1, 1, 1]));
    }

    #[test]
    fn unknown_topology_is_no_difference() {
        let folder = tempfile::tempdir().unwrap();
        let topology = Topology::read(folder.path());
        assert_eq!((topology.distance(0, 0), topology.distance(0, 1)), (CORE, NODE));
        assert_eq!(topology.node_of(7), 0);
    }

    #[test]
    fn text_without_a_list_of_cpus_is_none() {
        assert_eq!(members("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        for text in ["", "a", "1-", "-1", "1,,2", "1-b"] {
            assert_eq!(members(text), None, "{text:?}");
        }
    }
}
