//! How far the cores of a machine are from each other.

use std::iter::FromIterator;

use core_affinity::CoreId;

/// The distances between all cores of a machine.
///
/// ```
/// use executors::numa_utils::ProcessingUnitDistance;
/// let distances: ProcessingUnitDistance = [vec![0, 10], vec![10, 0]].into_iter().collect();
/// let [first, second] = [0, 1].map(|id| core_affinity::CoreId { id });
/// assert_eq!(distances.distance(first, second), 10);
/// ```
#[derive(Debug, PartialEq)]
pub struct ProcessingUnitDistance {
    /// A row for each core, by id, with the distance to each core.
    rows: Box<[Box<[i32]>]>,
}

impl ProcessingUnitDistance {
    /// Takes a matrix: the distance from core `i` to core `j` is at `[i][j]`.
    ///
    /// # Panics
    /// If it has not as many columns as rows.
    #[track_caller]
    pub fn new(distance_matrix: Box<[Box<[i32]>]>) -> Self {
        let size = distance_matrix.len();
        for row in &distance_matrix {
            assert_eq!(row.len(), size, "a matrix of distances has as many columns as rows");
        }
        Self { rows: distance_matrix }
    }

    /// The distances of no cores, for a pool whose threads are not pinned.
    ///
    /// ```
    /// use executors::numa_utils::ProcessingUnitDistance;
    /// assert_eq!(ProcessingUnitDistance::empty(), ProcessingUnitDistance::from_function(0, |_, _| 1));
    /// ```
    pub fn empty() -> Self {
        Self { rows: Box::default() }
    }

    /// Calls a function for the distance between each two of the cores from 0 to `size`, exclusive.
    ///
    /// ```
    /// use executors::numa_utils::{ProcessingUnitDistance, equidistance};
    /// let equal = ProcessingUnitDistance::from_function(2, equidistance);
    /// assert_eq!(equal, [vec![0, 1], vec![1, 0]].into_iter().collect());
    /// ```
    pub fn from_function<F>(size: usize, distance: F) -> Self
    where
        F: Fn(usize, usize) -> i32,
    {
        let row = |from| (0..size).map(|to| distance(from, to)).collect::<Box<[i32]>>();
        Self { rows: (0..size).map(row).collect() }
    }

    /// Returns the distance from a core to another.
    ///
    /// # Panics
    /// If there is no such core in the matrix.
    #[track_caller]
    pub fn distance(&self, pu1: CoreId, pu2: CoreId) -> i32 {
        self.rows[pu1.id][pu2.id]
    }

    /// The distances between the threads of a pool, a row for each: the threads on these cores, and then the floating threads. A
    /// floating thread is nearer than any pinned thread, and equally far from all.
    ///
    /// # Panics
    /// If a core is not in the matrix.
    #[cfg(feature = "workstealing-exec")]
    #[track_caller]
    pub(crate) fn between(&self, cores: &[CoreId], floating: usize) -> Vec<Vec<u32>> {
        let threads = || (0..cores.len() + floating).map(|index| cores.get(index).copied());
        let distance = |pair| match pair {
            // In the same order without a sign.
            (Some(from), Some(to)) => self.distance(from, to).abs_diff(i32::MIN),
            _ => 0,
        };
        threads().map(|from| threads().map(|to| distance((from, to))).collect()).collect()
    }
}

impl FromIterator<Vec<i32>> for ProcessingUnitDistance {
    /// Takes the rows; panics as [`new`](Self::new) does.
    fn from_iter<I: IntoIterator<Item = Vec<i32>>>(iter: I) -> Self {
        iter.into_iter().map(Vec::into_boxed_slice).collect()
    }
}

impl FromIterator<Box<[i32]>> for ProcessingUnitDistance {
    /// Takes the rows; panics as [`new`](Self::new) does.
    fn from_iter<I: IntoIterator<Item = Box<[i32]>>>(iter: I) -> Self {
        Self::new(iter.into_iter().collect())
    }
}

/// The distance on a machine whose cores are equally far from each other: 0 from a core to itself, 1 to any other.
pub fn equidistance(i: usize, j: usize) -> i32 {
    i32::from(i != j)
}

#[cfg(all(test, feature = "workstealing-exec"))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_distant_as_their_cores() {
        let distances: ProcessingUnitDistance =
            [vec![0, -1, 7], vec![-1, 0, i32::MAX], vec![7, 3, 0]].into_iter().collect();
        let zero = i32::MIN.unsigned_abs();
        let on = [2, 0].map(|id| CoreId { id });
        let expected = [[zero, zero + 7, 0], [zero + 7, zero, 0], [0, 0, 0]];
        assert_eq!(distances.between(&on, 1), expected);
        let on = [1, 2].map(|id| CoreId { id });
        assert_eq!(distances.between(&on, 0), [[zero, u32::MAX], [zero + 3, zero]]);
        assert_eq!(distances.between(&[], 1), [[0]]);
        let negative = distances.between(&[0, 1].map(|id| CoreId { id }), 0);
        assert_eq!(negative[0][1], zero - 1);
    }
}
