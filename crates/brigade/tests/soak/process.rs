//! The resources of the process: threads, open files, memory.

use brigade_testkit::eventually;
use brigade_testkit::resources::{open_files, resident, threads};

/// How much more memory may be resident in the end, in kilobytes: what the allocator keeps of a hundred threads' arenas.
/// A leak of 64 bytes a job is twice as much within a second.
const TOLERANCE: u64 = 16 << 10;

/// What the process had at some moment.
pub(crate) struct Process {
    threads: usize,
    files: usize,
    /// Resident memory in kilobytes.
    memory: u64,
}

impl Process {
    pub(crate) fn now() -> Self {
        Self { threads: threads(), files: open_files(), memory: resident() }
    }

    /// The kernel takes a thread off its list a moment after it was joined.
    pub(crate) fn assert_has_threads_and_files_again(&self) {
        let is_back = || threads() == self.threads;
        eventually("as many threads as before", is_back);
        assert_eq!(open_files(), self.files, "open files");
    }

    pub(crate) fn assert_has_memory_again(&self) {
        let grown = resident().saturating_sub(self.memory);
        println!("{} kB resident after the warm-up, {grown} kB more in the end", self.memory);
        assert!(grown < TOLERANCE, "{grown} kB more than after the warm-up");
    }
}
