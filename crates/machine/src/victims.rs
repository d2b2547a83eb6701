//! The order in which an idle worker tries the queues of the others.

use std::sync::Arc;

use crate::cpus::Pins;
use crate::topology::Topology;

/// Which of its peers an idle worker tries to steal from first; see `Builder::victims` of brigade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Victims {
    /// All of them in a circle, from a random peer on. The default.
    #[default]
    Random,
    /// The nearest: workers whose CPUs share a core, then the last cache, then the memory node. Workers of other nodes follow by the
    /// distance reported by the operating system. For workers with a CPU each; the others are tried last. Where all are equally near,
    /// it is the same as `Random`.
    Nearest,
    /// Those with the smallest number in this table: row *i* has the distances of worker *i* to all workers, in any unit. Workers
    /// beyond the table are tried last.
    ByTable(Vec<Vec<u32>>),
}

/// The peers of each worker, by distance.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// For each worker the groups of equally near peers, nearest first.
    rings: Arc<[Vec<Box<[usize]>>]>,
}

/// The peers of a worker.
#[derive(Clone, Copy)]
pub struct Rings<'a> {
    rings: &'a [Box<[usize]>],
    /// How many workers have a place: those with a smaller index.
    placed: usize,
}

impl<'a> Rings<'a> {
    /// The groups of equally near peers, nearest first.
    pub fn iter(self) -> impl Iterator<Item = &'a [usize]> {
        self.rings.iter().map(|ring| &**ring)
    }

    /// Whether a group has this worker, unless it is the owner of the groups.
    #[inline]
    pub fn have(self, index: usize) -> bool {
        index < self.placed
    }
}

impl Victims {
    /// The peers of each worker of a pool with these pins.
    ///
    /// # Errors
    /// If the order can't be made; the text says how to solve it.
    pub fn resolve(&self, pins: &Pins, topology: &Topology) -> Result<Neighbours, String> {
        let table = match self {
            Self::Random => return Ok(Neighbours::default()),
            Self::Nearest => {
                let cpus = pins.cpus();
                if cpus.is_empty() {
                    return Err("`Victims::Nearest` is for threads that have a CPU each: call \
                        `pin(Cpus::cores())`, or take `Victims::ByTable`"
                        .into());
                }
                let row =
                    |&one: &usize| cpus.iter().map(|&to| topology.distance(one, to)).collect();
                cpus.iter().map(row).collect()
            }
            Self::ByTable(table) => table.clone(),
        };
        if let Some(row) = table.iter().position(|row| row.len() != table.len()) {
            return Err(format!(
                "the table of distances has {} rows, so row {row} must have as many numbers, not {}",
                table.len(),
                table[row].len()
            ));
        }
        Ok(Neighbours::of(&table))
    }
}

impl Neighbours {
    fn of(table: &[Vec<u32>]) -> Self {
        let rings: Vec<_> =
            table.iter().enumerate().map(|(index, row)| rings(index, row)).collect();
        // Nothing is to be paid where it makes no difference.
        match rings.iter().all(|rings| rings.len() <= 1) {
            true => Self::default(),
            false => Self { rings: rings.into() },
        }
    }

    /// The peers of a worker; none if it has no place.
    #[inline]
    pub fn of_worker(&self, index: usize) -> Rings<'_> {
        match self.rings.get(index) {
            Some(rings) => Rings { rings, placed: self.rings.len() },
            None => Rings { rings: &[], placed: 0 },
        }
    }
}

/// The peers of a worker, in groups of equally near peers.
fn rings(index: usize, row: &[u32]) -> Vec<Box<[usize]>> {
    let mut peers: Vec<_> = (0..row.len()).filter(|&peer| peer != index).collect();
    peers.sort_unstable_by_key(|&peer| (row[peer], peer));
    peers.chunk_by(|&one, &next| row[one] == row[next]).map(Box::from).collect()
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::topology::tests::two_nodes;

    fn near(neighbours: &Neighbours, index: usize) -> Vec<Vec<usize>> {
        neighbours.of_worker(index).iter().map(<[usize]>::to_vec).collect()
    }

    #[test]
    fn peers_are_grouped_by_their_distance() {
        let table = vec![vec![0, 5, 1, 5], vec![5, 0, 5, 5], vec![1, 5, 0, 9], vec![5, 5, 9, 0]];
        let neighbours = Neighbours::of(&table);
        assert_eq!(near(&neighbours, 0), [vec![2], vec![1, 3]]);
        assert_eq!(near(&neighbours, 1), [vec![0, 2, 3]]);
        assert_eq!(near(&neighbours, 2), [vec![0], vec![1], vec![3]]);
        assert!(neighbours.of_worker(3).have(3) && !neighbours.of_worker(3).have(4));
        assert!(near(&neighbours, 4).is_empty() && !neighbours.of_worker(4).have(0));
    }

    #[test]
    fn a_table_without_differences_is_free() {
        let neighbours = Neighbours::of(&vec![vec![7; 3]; 3]);
        assert!(near(&neighbours, 0).is_empty() && !neighbours.of_worker(0).have(0));
    }

    #[test]
    fn a_table_with_an_uneven_row_is_an_error() {
        let (_folder, topology) = two_nodes();
        let table = Victims::ByTable(vec![vec![0, 1], vec![1]]);
        let reason = table.resolve(&Pins::default(), &topology).unwrap_err();
        assert!(reason.contains("2 rows, so row 1 must have as many numbers, not 1"), "{reason}");
        let reason = Victims::Nearest.resolve(&Pins::default(), &topology).unwrap_err();
        assert!(reason.contains("Cpus::cores"), "{reason}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn workers_of_two_nodes_try_their_own_first() {
        let (_folder, topology) = two_nodes();
        let pins = crate::cpus::tests::pins_of([0, 2, 4, 6, 1]);
        let neighbours = Victims::Nearest.resolve(&pins, &topology).unwrap();
        assert_eq!(near(&neighbours, 0), [vec![4], vec![1], vec![2, 3]]);
        assert_eq!(near(&neighbours, 2), [vec![3], vec![0, 1, 4]]);
    }
}
