//! What the programs of this package share: the work, the files, and a client for tests and load.

pub mod client;
pub mod files;
pub mod work;
