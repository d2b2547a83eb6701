//! I/O of a program: bytes go through pipes and sockets, and each is received once.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use brigade::io::{Async, NoDriver};
use brigade::time::{sleep, timeout};
use brigade::{JoinHandle, yield_now};
use fastrand::Rng;
use futures_lite::{AsyncReadExt, AsyncWriteExt};

mod end;
pub(crate) mod talk;

use self::end::{End, Line};
use crate::act::Kept;
use crate::machine::{self, Faults, IS_SEEDED, PerRun};
use crate::program::Kernel;
use crate::verb::{self, Here, Panics, Transfer, Wire};
use crate::world::{Output, World, micros};

/// The faults of this run's kernel.
static FAULTS: PerRun<Faults> = PerRun::new(Faults::None);

/// A program begins.
pub(crate) fn begin(kernel: Kernel) {
    let faults = match kernel {
        Kernel::Faulty if IS_SEEDED => Faults::Some,
        Kernel::Fatal if IS_SEEDED => Faults::Fatal,
        _ => Faults::None,
    };
    FAULTS.set(faults);
    machine::begin(faults);
}

/// A registered end, which several tasks use.
type Shared = Arc<Async<End>>;

/// The work of a task on an end.
#[derive(Clone, Copy)]
enum Work {
    Read,
    Write,
    /// Writes, reads the answer, and so on.
    Ask,
    Answer,
}

/// The tasks that share an end and their work. When they are gone, the tasks of the other end must not wait for them.
struct Side(Shared, Work);

impl Drop for Side {
    fn drop(&mut self) {
        match self.1 {
            Work::Read => self.0.get_ref().shut_down(Shutdown::Read),
            Work::Write => self.0.get_ref().shut_down(Shutdown::Write),
            // Its only task closes the end.
            Work::Ask | Work::Answer => {}
        }
    }
}

/// Two ends that are connected.
fn connect(world: &World, is_socket: bool) -> io::Result<[Shared; 2]> {
    let (one, two) = if is_socket {
        let (one, two) = UnixStream::pair()?;
        (Line::Socket(one), Line::Socket(two))
    } else {
        // Registered for this only.
        let (reader, writer) = world.pool.enter(brigade::io::pipe)?;
        let writer = writer.into_fd().expect("it is open");
        (Line::Pipe(reader.into_fd().into()), Line::Pipe(writer.into()))
    };
    let (one, two) = End::pair(one, two);
    let register = |end| world.pool.enter(|| Async::new(end)).map(Arc::new);
    Ok([register(one)?, register(two)?])
}

/// Whether an operation may be tried again.
fn may_try_again(world: &World, error: &io::Error, is_gone: bool) -> bool {
    const NO_SPACE: Option<i32> = Some(28);
    const NO_MEMORY: Option<i32> = Some(12);
    let faults = FAULTS.get();
    let no_driver = error.get_ref().and_then(|error| error.downcast_ref::<NoDriver>());
    match (error.kind(), no_driver) {
        (_, Some(NoDriver::Closed)) => {
            assert!(world.is_closed() || faults == Faults::Fatal, "{error}");
            false
        }
        // No thread could be started.
        (ErrorKind::Other, None) if !world.is_sure() => false,
        (ErrorKind::BrokenPipe | ErrorKind::ConnectionReset, _) => {
            assert!(is_gone, "{error}, and the other end is there");
            false
        }
        _ => {
            let is_injected = [NO_SPACE, NO_MEMORY].contains(&error.raw_os_error());
            assert!(is_injected && faults != Faults::None, "{error:?}");
            true
        }
    }
}

/// An operation that `call` tries, in the way with this number.
async fn attempt<R>(
    end: &Async<End>,
    way: u8,
    reads: bool,
    mut call: impl FnMut(&End) -> io::Result<R>,
) -> io::Result<R> {
    let is_early = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
    match (way, reads) {
        (0, true) => return end.read_with(call).await,
        (0, false) => return end.write_with(call).await,
        _ => {}
    }
    loop {
        match call(end.get_ref()) {
            Err(error) if is_early(&error) => {}
            outcome => return outcome,
        }
        match (way, reads) {
            (1, true) => end.readable().await?,
            (1, false) => end.writable().await?,
            (_, true) => poll_fn(|context| end.poll_readable(context)).await?,
            (_, false) => poll_fn(|context| end.poll_writable(context)).await?,
        }
    }
}

async fn receive(end: &Async<End>, way: u8, buffer: &mut [u8]) -> io::Result<usize> {
    let received = match way {
        3 => (&mut &*end).read(buffer).await,
        _ => attempt(end, way, true, |mut end| end.read(buffer)).await,
    }?;
    end.get_ref().received(received);
    Ok(received)
}

async fn send(end: &Async<End>, way: u8, bytes: &[u8]) -> io::Result<usize> {
    let sent = match way {
        3 => (&mut &*end).write(bytes).await,
        _ => attempt(end, way, false, |mut end| end.write(bytes)).await,
    }?;
    end.get_ref().sent(sent);
    Ok(sent)
}

/// The same, but an operation may be cancelled: `None`.
async fn in_time<R>(
    is_patient: bool,
    random: &mut Rng,
    operation: impl Future<Output = io::Result<R>>,
) -> io::Result<Option<R>> {
    if is_patient || random.bool() {
        return operation.await.map(Some);
    }
    match timeout(micros(random.u16(0..3000)), operation).await {
        Ok(outcome) => outcome.map(Some),
        Err(_) => Ok(None),
    }
}

async fn rest(world: &World, random: &mut Rng) {
    match random.u8(0..16) {
        0 if world.is_sure() => sleep(micros(random.u16(0..3000))).await,
        0 | 1 => yield_now().await,
        _ => {}
    }
}

/// Reads to the end, or gives up before.
async fn read(world: &World, end: &Async<End>, random: &mut Rng) {
    // A closed pool has no timers: those of the default pool would be used, which never ends.
    let is_patient = !world.is_sure() || random.u8(0..4) > 0;
    loop {
        let mut buffer = vec![0; [1, 100, 600, 20_000, 70_000][random.usize(0..5)]];
        let way = random.u8(0..4);
        match in_time(is_patient, random, receive(end, way, &mut buffer)).await {
            Ok(Some(0)) => {
                end.get_ref().has_ended();
                return;
            }
            Ok(Some(_)) => {}
            Ok(None) if random.u8(0..4) == 0 => return,
            Ok(None) => {}
            Err(error) => {
                if !may_try_again(world, &error, end.get_ref().is_ended()) {
                    return;
                }
            }
        }
        rest(world, random).await;
    }
}

/// Writes some bytes.
async fn write(world: &World, end: &Async<End>, random: &mut Rng) {
    let is_patient = !world.is_sure() || random.u8(0..4) > 0;
    for _ in 0..random.u8(0..5) {
        let bytes = vec![0; [1, 100, 20_000, 70_000, 200_000][random.usize(0..5)]];
        let mut left = bytes.len();
        while left > 0 {
            let way = random.u8(0..4);
            match in_time(is_patient, random, send(end, way, &bytes[..left])).await {
                Ok(Some(sent)) => left -= sent,
                Ok(None) => {}
                Err(error) => {
                    if !may_try_again(world, &error, end.get_ref().is_unread()) {
                        return;
                    }
                }
            }
        }
        rest(world, random).await;
    }
}

type Task = Pin<Box<dyn Future<Output = Output> + Send>>;

/// Sends and receives single bytes by turns: no later event makes up for a lost event.
async fn converse(world: &World, end: &Async<End>, mut sends: bool, random: &mut Rng) {
    for _ in 0..random.u8(1..20) {
        let way = random.u8(0..4);
        let outcome = match sends {
            true => send(end, way, &[0]).await,
            false => receive(end, way, &mut [0]).await,
        };
        match outcome {
            Ok(0) => return end.get_ref().has_ended(),
            Ok(_) => sends = !sends,
            Err(error) => {
                if !may_try_again(world, &error, end.get_ref().is_ended()) {
                    return;
                }
            }
        }
        rest(world, random).await;
    }
}

fn task(world: &World, side: &Arc<Side>, seed: u8) -> Task {
    let mut random = Rng::with_seed(seed.into());
    let panics = match random.u8(0..32) {
        0 => Panics::InItsDrop,
        1 => Panics::InTheDropOfItsOutput,
        _ => Panics::Never,
    };
    let token = world.ledger.token("a task with an end", panics);
    let (world, side) = (world.clone(), side.clone());
    Box::pin(async move {
        token.runs();
        let Side(end, work) = &*side;
        match work {
            Work::Read => read(&world, end, &mut random).await,
            Work::Write => write(&world, end, &mut random).await,
            Work::Ask => converse(&world, end, true, &mut random).await,
            Work::Answer => converse(&world, end, false, &mut random).await,
        }
        drop(token);
        world.output(panics)
    })
}

/// The tasks of some pairs of ends.
fn tasks(world: &World, transfer: &Transfer) -> Vec<Task> {
    let mut tasks = Vec::new();
    for wire in &transfer.wires {
        let (works, seeds): (&[(usize, Work)], _) = match wire {
            Wire::Pipe(seeds) => (&[(1, Work::Write), (0, Work::Read)], seeds),
            Wire::Talk(seeds) => (&[(0, Work::Ask), (1, Work::Answer)], seeds),
            Wire::Socket(seeds) => {
                (&[(0, Work::Write), (0, Work::Read), (1, Work::Write), (1, Work::Read)], seeds)
            }
        };
        let ends = match connect(world, !matches!(wire, Wire::Pipe(_))) {
            Ok(ends) => ends,
            Err(error) => {
                may_try_again(world, &error, false);
                continue;
            }
        };
        for (number, &(end, work)) in works.iter().enumerate() {
            let side = Arc::new(Side(ends[end].clone(), work));
            let seeds = seeds.get(number).into_iter().flatten();
            tasks.extend(seeds.map(|seed| task(world, &side, *seed)));
        }
    }
    Rng::with_seed(transfer.order.into()).shuffle(&mut tasks);
    tasks
}

/// Runs such tasks: on the pool, or some of them on the calling thread.
pub(crate) fn transfer(world: &World, transfer: &Transfer, kept: &mut Kept) {
    let mut tasks = tasks(world, transfer);
    // A job must not wait in `block_on` for others, whose threads may all do that.
    let here = match transfer.here {
        Here::AllTasks => mem::take(&mut tasks),
        Here::LastTask if world.depth() == 0 => tasks.pop().into_iter().collect(),
        Here::LastTask | Here::NoTask => Vec::new(),
    };
    spawn(world, tasks).into_iter().for_each(|handle| kept.keep(world, handle, transfer.end));
    world.pool.block_on(all(here));
}

/// Polls all tasks whenever a task is woken.
async fn all(mut tasks: Vec<Task>) {
    poll_fn(|context| {
        tasks.retain_mut(|task| task.as_mut().poll(context).is_pending());
        if tasks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The same in a future.
pub(crate) async fn pass(world: &World, transfer: &Transfer) {
    for handle in spawn(world, tasks(world, transfer)) {
        match transfer.end {
            verb::End::Detached => drop(handle),
            _ => world.ended(handle.await, None),
        }
    }
}

fn spawn(world: &World, tasks: Vec<Task>) -> Vec<JoinHandle<Output>> {
    let spawn = |task| match world.pool.try_spawn(task) {
        Ok(handle) => Some(handle),
        Err(rejected) => {
            world.refused(rejected.reason(), rejected.into_inner());
            None
        }
    };
    tasks.into_iter().filter_map(spawn).collect()
}
