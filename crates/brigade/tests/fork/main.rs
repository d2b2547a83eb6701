//! Pools in the child of a fork: every call returns there, and reports the fork.
//!
//! No test harness here: it starts and ends threads, and for a moment the standard library holds a lock as it does; a child
//! that is forked then can start no thread itself. So one claim after the other is checked by `main`, from which children
//! are forked when all threads of the parent's pools have started. Arguments are names, or parts of names, of the claims to
//! check.
//!
//! A child checks its part and exits with the number of the first thing that does not hold. It must not print, nor panic
//! unheard: another thread may have held the lock of stderr at the fork.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod claims;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(all(unix, feature = "io"))]
mod files;
#[cfg(unix)]
mod futures;
#[cfg(unix)]
mod jobs;
#[cfg(unix)]
mod moments;
#[cfg(unix)]
mod pools;
#[cfg(unix)]
mod refusals;
#[cfg(unix)]
mod scopes;
#[cfg(unix)]
#[expect(
    dead_code,
    reason = "closures that are executed at a time come back in a test of the pool's end"
)]
#[path = "../it/support/verbs.rs"]
mod verbs;

/// Checks each claim that is asked for.
#[cfg(unix)]
macro_rules! check {
    ($($module:ident::$claim:ident,)*) => {
        let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
        $(
            let name = concat!(stringify!($module), "::", stringify!($claim));
            if asked.is_empty() || asked.iter().any(|asked| name.contains(asked.as_str())) {
                println!("test {name} ...");
                $module::$claim();
            }
        )*
    };
}

fn main() {
    #[cfg(unix)]
    check! {
        // The first, as it is about which process creates the default pool.
        claims::the_default_pool_of_a_child_is_its_own,
        claims::a_handle_returns_the_job_in_a_child,
        claims::an_iterator_of_a_dispatch_that_forks_hands_nothing_over_in_the_child,
        claims::the_owner_returns_from_everything_in_a_child,
        claims::an_unfinished_job_counts_as_cancelled_in_a_child_and_a_finished_one_has_its_outcome,
        futures::futures_of_the_parent_are_left_alone_in_a_child,
        claims::a_trace_is_the_parents_in_a_child,
        claims::a_dump_of_a_pool_of_the_parents_is_empty_in_a_child,
        claims::a_grandchild_knows_both_pools_for_what_they_are,
        claims::timers_of_the_parent_do_not_exist_in_a_child,
        claims::a_child_may_exit_through_the_destructors,
        claims::a_pool_that_its_owner_runs_is_the_parents_in_a_child,
        refusals::every_way_to_submit_says_forked_in_a_child,
        refusals::every_way_to_submit_to_a_bounded_pool_says_forked_in_a_child_full_or_not,
        refusals::a_wait_for_a_set_of_the_parents_ends_in_a_child,
        jobs::a_job_that_forks_is_no_worker_in_the_child,
        jobs::a_job_that_waits_for_one_that_forked_goes_on_in_the_child,
        jobs::a_job_that_returns_in_a_child_it_forked_ends_the_child_with_a_reason,
        jobs::a_job_that_panics_in_a_child_it_forked_ends_the_child_with_a_reason,
        jobs::a_job_that_was_taken_out_of_turn_ends_the_child_with_a_reason_when_it_returns,
        jobs::a_wait_for_a_set_one_of_whose_jobs_forks_runs_no_other_in_the_child,
        jobs::a_future_that_forks_inside_a_wait_has_no_other_job_run_in_the_child,
        jobs::a_start_hook_that_returns_in_a_child_it_forked_ends_the_child_with_a_reason,
        scopes::every_way_to_borrow_says_forked_in_a_child,
        scopes::a_scope_and_a_join_whose_jobs_fork_go_on_in_the_parent,
        scopes::a_job_of_a_scope_that_returns_in_a_child_ends_the_child,
        scopes::a_guests_loop_that_returns_in_a_child_ends_the_child,
        scopes::a_job_that_returns_in_a_child_inside_the_wait_of_the_last_thread_ends_the_child,
        scopes::a_fork_that_is_not_the_newest_part_is_not_taken_back_in_a_child,
        scopes::the_body_of_a_scope_does_not_wait_in_a_child_for_a_job_of_the_parents,
        scopes::the_body_of_a_scope_without_other_jobs_goes_on_in_a_child,
        futures::a_local_future_that_forks_and_then_waits_ends_the_child_with_a_reason,
        futures::a_waker_that_returns_in_a_child_it_forked_ends_the_child,
        moments::a_fork_at_any_moment_of_a_busy_pool_leaves_the_child_able,
        moments::a_fork_by_a_job_at_any_moment_of_a_busy_pool_leaves_the_child_able,
        moments::a_fork_while_threads_come_and_go_leaves_the_child_all_but_threads,
    }
    #[cfg(target_os = "linux")]
    check! {
        confined::forks_are_taken_by_other_workers_where_the_heavy_fence_is_forbidden_later,
    }
    #[cfg(all(unix, feature = "io"))]
    check! {
        files::a_file_that_a_child_drops_is_still_watched_for_the_parent,
    }
}
