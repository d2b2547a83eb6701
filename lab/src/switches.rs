//! The context switches of this process: a thread lost its CPU, or gave it up.

use nix::sys::resource::{UsageWho, getrusage};

/// Context switches of all threads of this process so far, of those that have ended too.
pub(crate) fn switches() -> u64 {
    let counted = |usage: nix::sys::resource::Usage| {
        usage.voluntary_context_switches() + usage.involuntary_context_switches()
    };
    // A process may always ask about itself.
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, counted).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::switches;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_thread_that_sleeps_gives_its_cpu_back_and_is_counted_when_it_has_ended() {
        let before = switches();
        let sleepy = || (0..1_000).for_each(|_| thread::sleep(Duration::from_micros(1)));
        thread::spawn(sleepy).join().expect("slept");
        assert!(switches() >= before + 1_000);
    }
}
