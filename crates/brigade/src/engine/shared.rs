//! The state that all threads of a pool share: plain data. Each field has one protocol that writes it, whose module has all
//! functions of this protocol.

use core::any::Any;
use core::mem;
use std::sync::{Arc, Weak};

use brigade_sync::fork::PerProcess;
use brigade_sync::{AsymmetricFence, unmodelled};

use super::end::ledger::Ledger;
use super::futures::owned_tasks::OwnedTasks;
use super::idle::Idle;
use super::key::Key;
use super::queues::Queues;
use super::roster::threads::{Launch, Threads};
use super::semaphore::Semaphore;
use super::sleep::events::Events;
use super::sleep::resources::Resources;
use crate::values::{Config, Hooks, Observer, Reason};

/// Pools in the order of their keys.
type Pools = Vec<(Key, Weak<Shared>)>;

/// The pools of this process, until they are freed.
static POOLS: PerProcess<unmodelled::Mutex<Pools>> = PerProcess::new();

/// The position of a pool, or the position for it.
fn position(pools: &Pools, key: Key) -> Result<usize, usize> {
    pools.binary_search_by_key(&key, |&(key, _)| key)
}

/// The state that all threads of one pool share.
pub(crate) struct Shared {
    pub(crate) key: Key,
    pub(crate) config: Arc<Config>,
    pub(super) queues: Queues,
    pub(crate) idle: Idle,
    /// Boxed, for the reason in `new`.
    pub(crate) events: Box<Events>,
    pub(super) tasks: OwnedTasks,
    /// Boxed as `events`.
    pub(crate) ledger: Box<Ledger>,
    /// Boxed as `events`.
    pub(crate) threads: Box<Threads>,
    /// The permits for queued jobs; `None` if any number may be queued.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// Until the pool has ended.
    pub(super) hooks: unmodelled::Mutex<Option<Arc<Hooks>>>,
    pub(super) observer: Option<Arc<Observer>>,
    /// Records the activity of the workers while the pool is traced.
    #[cfg(feature = "trace")]
    pub(super) tracer: brigade_trace::Tracer,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // In a forked child the list does not contain the parent's pools.
        if self.key.is_here() {
            let mut pools = POOLS.get().lock();
            if let Ok(position) = position(&pools, self.key) {
                pools.remove(position);
            }
        }
    }
}

impl Shared {
    /// Assembles a pool without threads; each thread will call `run` and enter the `resources`. From now on
    /// the pool can be [found](Self::find).
    pub(crate) fn new(
        key: Key,
        mut config: Config,
        permits: Option<Arc<Semaphore>>,
        run: fn(Arc<Self>, usize),
        resources: fn(Weak<Self>) -> Resources,
    ) -> Arc<Self> {
        // The fence of forks is prepared only while that is cheap, in a process with a single thread: maybe
        // before its first pool, and never after.
        AsymmetricFence::prepare();
        let cpus = config.inherited.parallelism();
        // Made once: `metrics` clones it.
        config.pool_name = Some(config.pool_name());
        let hooks = mem::take(&mut config.hooks);
        let config = Arc::new(config);
        // Boxed: a pool may be built on a small stack, where a build without optimization keeps several copies of the
        // state.
        let shared = Arc::new_cyclic(|me: &Weak<Self>| {
            let resources = resources(me.clone());
            let threads = config.size.max.min(cpus);
            let me = me.clone();
            let entry = move |index| -> Launch {
                let Some(shared) = me.upgrade() else { unreachable!("it starts a thread") };
                Box::new(
                    move |runs| if runs { run(shared, index) } else { shared.start_lost(index) },
                )
            };
            Self {
                key,
                queues: Queues::new(&config, cpus),
                idle: Idle::new(&config, cpus),
                events: Box::new(Events::new(threads, config.is_paused, resources)),
                tasks: OwnedTasks::new(),
                ledger: Box::default(),
                threads: Box::new(Threads::new(config.clone(), Box::new(entry))),
                permits,
                hooks: unmodelled::Mutex::new(Some(Arc::new(hooks))),
                observer: config.observer.clone(),
                #[cfg(feature = "trace")]
                tracer: brigade_trace::Tracer::default(),
                config,
            }
        });
        let mut pools = POOLS.get().lock();
        let (Ok(position) | Err(position)) = position(&pools, key);
        pools.insert(position, (key, Arc::downgrade(&shared)));
        drop(pools);
        shared
    }

    /// Returns the pool with this key; `None` if it has been freed, or belongs to another process.
    #[cold]
    pub(crate) fn find(key: Key) -> Option<Arc<Self>> {
        if !key.is_here() {
            return None;
        }
        let pools = POOLS.get().lock();
        pools[position(&pools, key).ok()?].1.upgrade()
    }

    /// The user's hooks; the default once the pool has ended.
    pub(super) fn hooks(&self) -> Arc<Hooks> {
        self.hooks.lock().clone().unwrap_or_default()
    }

    /// Applies the pool's policy to a panic without a handle.
    ///
    /// # Errors
    /// If the callback panicked, which is contained.
    #[cold]
    pub(super) fn tell_panic(&self, payload: Box<dyn Any + Send>) -> Result<(), ()> {
        self.hooks().on_panic.tell(payload)
    }

    /// Whether the pool no longer accepts anything from outside.
    pub(crate) fn is_closed(&self) -> bool {
        // The state changes last: every part is closed by then.
        self.idle.snapshot().closed()
    }

    /// The reason for a rejection by a pool that was not full.
    pub(crate) fn refusal(&self) -> Reason {
        // An open pool rejects a job only if it has no thread for it. The state of a pool being closed may
        // not be `CLOSED` yet, but its injectors, which are closed first, are.
        if self.queues.injectors.is_closing() { Reason::Closed } else { Reason::NoThread }
    }
}
