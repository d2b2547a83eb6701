//! Files on disk: their content, and that a pool continues while one blocks.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
#[cfg(unix)]
use std::{thread::sleep, time::Duration};

use brigade::Pool;
use brigade::io::fs;
#[cfg(unix)]
use brigade::time::timeout;
use brigade_testkit::test;

/// A path that is removed at the end of its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("brigade-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn files_work_on_a_pool_and_off_it() {
    let scratch = Scratch::new("fs");
    let round = |path: PathBuf| async move {
        let absent = fs::metadata(&path).await.unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        fs::write(&path, "old and long").await?;
        fs::write(&path, [0xFF, b'x']).await?;
        assert_eq!(fs::read(&path).await?, [0xFF, b'x']);
        let no_text = fs::read_to_string(path.as_path()).await.unwrap_err();
        assert_eq!(no_text.kind(), io::ErrorKind::InvalidData);
        fs::write(path.clone(), String::from("bucket")).await?;
        assert_eq!(fs::read_to_string(&path).await?, "bucket");
        assert_eq!(fs::metadata(&path).await?.len(), 6);
        let file = fs::open(&path).await?;
        assert_eq!(brigade::blocking(|| io::read_to_string(&file))?, "bucket");
        std::fs::remove_file(&path)
    };
    Pool::new(1).spawn(round(scratch.0.clone())).join().unwrap().unwrap();
    brigade::block_on(round(scratch.0.clone())).unwrap();
}

/// A named pipe, which is opened when its other end is.
#[cfg(unix)]
fn fifo(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let made = std::process::Command::new("mkfifo").arg(&scratch.0).status();
    assert!(made.unwrap().success());
    scratch
}

/// The other end is opened by a job of the same pool, which has one thread.
#[cfg(unix)]
#[test]
fn the_pool_goes_on_while_a_file_blocks() {
    type Read = Pin<Box<dyn Future<Output = io::Result<String>> + Send>>;
    let ways: [fn(PathBuf) -> Read; 3] = [
        |path| Box::pin(fs::read_to_string(path)),
        |path| Box::pin(async { Ok(String::from_utf8(fs::read(path).await?).unwrap()) }),
        |path| Box::pin(async { io::read_to_string(fs::open(path).await?) }),
    ];
    for read in ways {
        let scratch = fifo("fifo");
        let pool = Pool::new(1);
        let content = pool.spawn(read(scratch.0.clone()));
        let path = scratch.0.clone();
        let written = pool.spawn(fs::write(path, "bucket"));
        assert_eq!(content.join().unwrap().unwrap(), "bucket");
        written.join().unwrap().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_cancelled_task_drops_its_running_calls_result() {
    let (scratch, pool) = (fifo("begun"), Pool::new(1));
    // Returns when the call has opened the other end.
    let open = || std::fs::OpenOptions::new().write(true).open(&scratch.0).unwrap();
    let cancelled = pool.spawn(fs::read(scratch.0.clone()));
    let writer = open();
    assert!(cancelled.cancel() && !cancelled.is_finished());
    drop(writer);
    assert!(cancelled.join().unwrap_err().is_cancelled());
    let limit = Duration::from_millis(1);
    let limited = pool.spawn(timeout(limit, fs::read(scratch.0.clone())));
    let writer = open();
    sleep(limit * 2);
    drop(writer);
    assert_eq!(limited.join().unwrap().unwrap().unwrap(), [], "too late");
}
