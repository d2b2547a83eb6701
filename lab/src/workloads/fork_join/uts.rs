//! Unbalanced tree search: a tree shaped by a hash, so no pool can share it out in advance.
//!
//! It is a binomial tree of the published benchmark, T3 with another seed and fewer children of the root: SHA-1, and eight
//! children with a probability of 0.124875. So a subtree has a thousand nodes on average, and most have a single node: nine
//! tenths of the 290,287 nodes of the default size are below one child of the root.

use sha1::{Digest, Sha1};

use super::search::counted;
use crate::target::fork::Tree;

/// The seed, of a tree with some 300,000 nodes; T3 has 42.
const SEED: u32 = 92;
/// Children of an inner node.
const WIDTH: u32 = 8;
/// How likely a node has some.
const LIKELY: f64 = 0.124_875;

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The hash.
    state: [u8; 20],
    /// How many children it has.
    width: u32,
}

impl Node {
    /// The root of the tree with this seed, and so many children.
    pub(super) fn root(seed: u32, width: u32) -> Self {
        let state = Sha1::new().chain_update([0; 16]).chain_update(seed.to_be_bytes());
        Node { state: state.finalize().into(), width }
    }
}

impl Tree for Node {
    fn of_size(size: usize) -> Self {
        Node::root(SEED, size as u32)
    }

    fn value(self) -> u64 {
        counted(self.width == 0)
    }

    fn width(self) -> u32 {
        self.width
    }

    fn child(self, index: u32) -> Self {
        let state = Sha1::new().chain_update(self.state).chain_update(index.to_be_bytes());
        let state: [u8; 20] = state.finalize().into();
        let [.., a, b, c, d] = state;
        // 31 bits, as a fraction.
        let drawn = f64::from(u32::from_be_bytes([a & 0x7F, b, c, d])) / f64::from(1_u32 << 31);
        Node { state, width: if drawn < LIKELY { WIDTH } else { 0 } }
    }
}
