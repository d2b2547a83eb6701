//! Queens on a board, none of which attacks another: a task for each placement of a queen.

use super::search::counted;
use crate::target::fork::Tree;

/// Queens in the first rows of a board.
#[derive(Clone, Copy)]
pub(super) struct Board {
    /// Columns of the board.
    all: u32,
    /// Columns with a queen.
    columns: u32,
    /// Fields of the next row attacked to the left.
    left: u32,
    /// Fields of the next row attacked to the right.
    right: u32,
}

impl Board {
    /// Unattacked fields of the next row.
    fn free(self) -> u32 {
        self.all & !(self.columns | self.left | self.right)
    }
}

impl Tree for Board {
    fn of_size(size: usize) -> Self {
        Board { all: (1 << size) - 1, columns: 0, left: 0, right: 0 }
    }

    fn value(self) -> u64 {
        counted(self.columns == self.all)
    }

    fn width(self) -> u32 {
        self.free().count_ones()
    }

    fn child(self, index: u32) -> Self {
        // Without the lowest bits, as many as the index says, the next is the lowest.
        let rest = (0..index).fold(self.free(), |rest, _| rest & (rest - 1));
        let queen = rest & rest.wrapping_neg();
        Board {
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
            ..self
        }
    }
}
