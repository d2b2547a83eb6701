//! The jobs of a pool in tokio-console: a client of its protocol reads them.

#![cfg(all(unix, console_without_tokio_unstable))]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::time::Duration;
use std::{env, fs, process};

use brigade::Pool;
use console_api::field::Value;
use console_api::instrument::InstrumentRequest;
use console_api::instrument::instrument_client::InstrumentClient;
use console_api::tasks::{Stats, Task};
use console_subscriber::ConsoleLayer;
use tracing_subscriber::prelude::*;

/// How long the tasks may take to appear.
const LIMIT: Duration = Duration::from_secs(60);

/// Reads the tasks, with their statistics, until `is_enough` says so.
async fn tasks(
    socket: &str,
    is_enough: impl Fn(&[(Task, Stats)]) -> bool,
) -> Result<Vec<(Task, Stats)>, Box<dyn Error>> {
    let mut client = loop {
        // The server's thread may not listen yet.
        match InstrumentClient::connect(format!("unix:{socket}")).await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    let mut updates = client.watch_updates(InstrumentRequest {}).await?.into_inner();
    let (mut tasks, mut stats) = (BTreeMap::new(), BTreeMap::new());
    while let Some(update) = updates.message().await? {
        let Some(update) = update.task_update else { continue };
        stats.extend(update.stats_update);
        for task in update.new_tasks {
            tasks.insert(task.id.ok_or("a task has an id")?.id, task);
        }
        let mut all = Vec::new();
        for (id, task) in &tasks {
            if let Some(stats) = stats.get(id) {
                all.push((task.clone(), *stats));
            }
        }
        if is_enough(&all) {
            return Ok(all);
        }
    }
    Err("the server has ended".into())
}

/// The text of a field.
fn field<'t>(task: &'t Task, name: &str) -> Option<&'t str> {
    use console_api::field::Name;
    for field in &task.fields {
        let is_named = matches!(&field.name, Some(Name::StrName(known)) if known == name);
        if let (true, Some(Value::StrVal(text))) = (is_named, &field.value) {
            return Some(text);
        }
    }
    None
}

fn within_limit<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async { tokio::time::timeout(LIMIT, future).await })?)
}

#[test]
fn jobs_are_tasks_with_name_place_polls_and_wakes() -> Result<(), Box<dyn Error>> {
    let socket = env::temp_dir().join(format!("brigade-console-{}", process::id()));
    let console = ConsoleLayer::builder()
        .server_addr(socket.clone())
        .publish_interval(Duration::from_millis(10));
    tracing_subscriber::registry().with(console.spawn()).init();

    let pool = Pool::builder().threads(1).trace_jobs().build()?;
    let line = line!() + 1;
    let future = pool.job().name("yield").spawn(brigade::yield_now())?;
    let closure = pool.job().name("sum").submit(|| 1 + 1)?;
    future.join()?;
    closure.join()?;

    let are_over = |tasks: &[(Task, Stats)]| {
        tasks.len() == 2 && tasks.iter().all(|(_, stats)| stats.dropped_at.is_some())
    };
    let tasks = within_limit(tasks(socket.to_str().ok_or("a path")?, are_over))??;
    fs::remove_file(socket)?;
    for (name, kind, line, polls, wakes) in
        [("yield", "task", line, 2, 1), ("sum", "blocking", line + 1, 1, 0)]
    {
        let is_named = |(task, _): &&(Task, Stats)| field(task, "task.name") == Some(name);
        let (task, stats) = tasks.iter().find(is_named).ok_or(name)?;
        assert_eq!(field(task, "kind"), Some(kind));
        let place = task.location.as_ref().ok_or("a place")?;
        assert_eq!((place.file.as_deref(), place.line), (Some(file!()), Some(line)));
        let polled = stats.poll_stats.as_ref().map(|stats| stats.polls);
        assert_eq!(
            (polled, stats.wakes, stats.self_wakes),
            (Some(polls), wakes, wakes),
            "{stats:?}"
        );
        assert_eq!(stats.waker_clones, stats.waker_drops);
    }
    Ok(())
}
