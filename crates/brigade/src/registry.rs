//! Which pool a handle's key names.
//!
//! A key is given out once, so a handle can't come to name another pool, and closing is checked in the same
//! step as the push because it is that pool's own queue that is pushed to. Each thread remembers the pool
//! that it submitted to last: then a submission touches no shared count and no lock. What it remembers
//! keeps that pool's memory, not its threads, until the thread submits elsewhere or ends.
//!
//! A key also says which process the pool belongs to: in a forked child the threads of its parent's pools are not there,
//! and whatever those were doing at the fork stays half done. There, nothing but its key is read of such a pool.

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};

use brigade_sync::Mutex;
use brigade_sync::fork::{self, PerProcess};

use crate::engine::{Child, Core};
use crate::rejected::Reason;

/// The pools of this process that have not been dropped, by key.
static POOLS: PerProcess<Mutex<BTreeMap<u64, Weak<Core>>>> = PerProcess::new();

thread_local! {
    /// The pool that this thread submitted to last.
    static LAST: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Keeps a pool's memory; in a forked child, for ever.
struct Kept(Option<Arc<Core>>);

impl Kept {
    fn core(&self, key: u64) -> Option<&Arc<Core>> {
        self.0.as_ref().filter(|core| core.key == key)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Its threads can't be let go of where they are not.
        if let Some(core) = self.0.take().filter(|core| !is_here(core.key)) {
            core::mem::forget(core);
        }
    }
}

/// Where a key's generation begins. Below it is the number of the pool: enough for a million a second for four years.
/// 16 bits of the generation are kept, so a process may take a pool for its own that is 65,536 forks of forks away.
const GENERATION: u32 = 48;

/// The bit of a key that says that its pool is bounded: whoever submits need not look at the pool for that.
const BOUNDED: u64 = 1;

/// A key that no pool has had before.
///
/// # Errors
/// If forks can't be watched.
#[cfg(not(brigade_loom))]
pub(crate) fn new_key(bounded: bool) -> io::Result<u64> {
    use brigade_sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(2 * BOUNDED);
    fork::watch::<Child>()?;
    let number = NEXT.fetch_add(2 * BOUNDED, Ordering::Relaxed) | u64::from(bounded);
    Ok((u64::from(fork::generation()) << GENERATION) | number)
}

/// A model has no static atomics, and one pool.
#[cfg(brigade_loom)]
pub(crate) fn new_key(bounded: bool) -> io::Result<u64> {
    fork::watch::<Child>()?;
    Ok(u64::from(bounded))
}

/// Whether the pool with this key is bounded.
#[inline(always)]
pub(crate) fn is_bounded(key: u64) -> bool {
    key & BOUNDED != 0
}

/// Whether a key's pool was made by this process, not by one that it was forked from.
#[inline(always)]
pub(crate) fn is_here(key: u64) -> bool {
    (key >> GENERATION) as u16 == fork::generation() as u16
}

/// Why a pool has not accepted what it had room for.
#[cold]
pub(crate) fn reason(key: u64) -> Reason {
    if !is_here(key) {
        return Reason::Forked;
    }
    with(key, (), |core, ()| core.refusal()).unwrap_or(Reason::Closed)
}

/// Lets handles find a pool.
pub(crate) fn enter(core: &Arc<Core>) {
    POOLS.get().lock().insert(core.key, Arc::downgrade(core));
}

/// Forgets a pool whose memory goes: handles have found it closed until now, and wakers of its futures too.
pub(crate) fn leave(key: u64) {
    // A model has not entered it; and in a forked child the parent's pools are not in the list.
    if cfg!(not(brigade_loom)) && is_here(key) {
        let former = POOLS.get().lock().remove(&key);
        drop(former);
    }
}

/// Makes this thread forget a pool.
pub(crate) fn forget(key: u64) {
    let _ = LAST.try_with(|last| {
        let former = last
            .try_borrow_mut()
            .ok()
            .and_then(|mut last| last.take_if(|kept| kept.core(key).is_some()));
        // Dropped after the borrow ends: it may hold the last reference to user code.
        drop(former);
    });
}

/// Calls with the pool that the key names; gives `input` back if it is gone, or not of this process.
#[inline]
pub(crate) fn with<I, R>(key: u64, input: I, call: impl FnOnce(&Core, I) -> R) -> Result<R, I> {
    if !is_here(key) {
        return Err(input);
    }
    let mut input = Some(input);
    let mut call = Some(call);
    let hit = LAST.try_with(|last| {
        let last = last.borrow();
        let core = last.as_ref()?.core(key)?;
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

/// Finds the pool that the key names, for calls in which code of the user's may run; `None` if it is gone, or not of this
/// process.
pub(crate) fn find(key: u64) -> Option<Arc<Core>> {
    if !is_here(key) {
        return None;
    }
    let last =
        LAST.try_with(|last| last.borrow().as_ref().and_then(|kept| kept.core(key)).cloned());
    if let Ok(Some(core)) = last {
        return Some(core);
    }
    let core = look_up(key)?;
    remember(core.clone());
    Some(core)
}

/// Makes a pool the one that this thread submitted to last.
fn remember(core: Arc<Core>) {
    // A thread whose thread-locals are gone already looks each time, and so does user code that is called while this
    // thread submits elsewhere: what starts a thread.
    let former = LAST.try_with(|last| last.try_borrow_mut().ok()?.replace(Kept(Some(core))));
    drop(former);
}

#[cold]
fn look_up(key: u64) -> Option<Arc<Core>> {
    POOLS.get().lock().get(&key).and_then(Weak::upgrade)
}
