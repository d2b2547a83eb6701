//! Jobs that end off the pool: where they run or are dropped, and their counts. It must not know the core of a pool.

pub(crate) mod ledger;
pub(crate) mod off_pool;
