//! Which pool a handle's key names.
//!
//! A key is given out once, so a handle can't come to name another pool, and closing is checked in the same
//! step as the push because it is that pool's own queue that is pushed to. Each thread remembers the pool
//! that it submitted to last: then a submission touches no shared count and no lock. What it remembers
//! keeps that pool's memory, not its threads, until the thread submits elsewhere or ends.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use brigade_sync::Mutex;

use crate::engine::Core;

/// The pools that have not been dropped, by key.
static POOLS: std::sync::LazyLock<Mutex<BTreeMap<u64, Weak<Core>>>> =
    std::sync::LazyLock::new(Mutex::default);

thread_local! {
    /// The pool that this thread submitted to last.
    static LAST: RefCell<Option<Arc<Core>>> = const { RefCell::new(None) };
}

/// The bit of a key that says that its pool is bounded: whoever submits need not look at the pool for that.
const BOUNDED: u64 = 1;

/// A key that no pool has had before.
#[cfg(not(brigade_loom))]
pub(crate) fn new_key(bounded: bool) -> u64 {
    use brigade_sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(2 * BOUNDED);
    NEXT.fetch_add(2 * BOUNDED, Ordering::Relaxed) | u64::from(bounded)
}

/// A model has no static atomics, and one pool.
#[cfg(brigade_loom)]
pub(crate) fn new_key(bounded: bool) -> u64 {
    u64::from(bounded)
}

/// Whether the pool with this key is bounded.
#[inline(always)]
pub(crate) fn is_bounded(key: u64) -> bool {
    key & BOUNDED != 0
}

/// Lets handles find a pool.
pub(crate) fn enter(core: &Arc<Core>) {
    POOLS.lock().insert(core.key, Arc::downgrade(core));
}

/// Lets handles find it no longer.
pub(crate) fn leave(core: &Core) {
    let former = POOLS.lock().remove(&core.key);
    drop(former);
    forget(core.key);
}

/// Makes this thread forget a pool.
pub(crate) fn forget(key: u64) {
    let _ = LAST.try_with(|last| {
        let found = last.borrow().as_ref().is_some_and(|core| core.key == key);
        // Dropped after the borrow ends: it may hold the last reference to user code.
        let former = if found { last.take() } else { None };
        drop(former);
    });
}

/// Calls with the pool that the key names; gives `input` back if it is gone.
#[inline]
pub(crate) fn with<I, R>(key: u64, input: I, call: impl FnOnce(&Core, I) -> R) -> Result<R, I> {
    let mut input = Some(input);
    let mut call = Some(call);
    let hit = LAST.try_with(|last| {
        let last = last.borrow();
        let core = last.as_ref().filter(|core| core.key == key)?;
        Some(call.take()?(core, input.take()?))
    });
    if let Ok(Some(result)) = hit {
        return Ok(result);
    }
    let Some(input) = input else { unreachable!("it is taken for a call only") };
    let Some(call) = call else { unreachable!("it is taken with its input") };
    let Some(core) = look_up(key) else { return Err(input) };
    let result = call(&core, input);
    remember(core);
    Ok(result)
}

/// Finds the pool that the key names, for calls in which code of the user's may run.
pub(crate) fn find(key: u64) -> Option<Arc<Core>> {
    let last = LAST.try_with(|last| last.borrow().as_ref().filter(|core| core.key == key).cloned());
    if let Ok(Some(core)) = last {
        return Some(core);
    }
    let core = look_up(key)?;
    remember(core.clone());
    Some(core)
}

/// Makes a pool the one that this thread submitted to last.
fn remember(core: Arc<Core>) {
    // A thread whose thread-locals are gone already looks each time.
    let former = LAST.try_with(|last| last.replace(Some(core)));
    drop(former);
}

#[cold]
fn look_up(key: u64) -> Option<Arc<Core>> {
    POOLS.lock().get(&key).and_then(Weak::upgrade)
}
