//! Hashes all files below a directory in parallel, and reports progress.
//!
//! A `TaskSet` has a job for each file, and its outcomes come in the order in which the jobs end. A timer of the same pool prints
//! how far they are. One file that can't be read ends the program with its error: dropping the set cancels the other jobs.
//!
//! ```sh
//! cargo run --release --example parallel_hash -- DIRECTORY
//! ```
//!
//! Without a directory it hashes the sources of this crate.

#![allow(clippy::disallowed_types, reason = "an example uses the standard library")]

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brigade::{Pool, TaskSet};

/// How often progress is printed.
const PROGRESS: Duration = Duration::from_millis(100);

/// What is done so far.
#[derive(Default)]
struct Done {
    files: AtomicU64,
    bytes: AtomicU64,
}

/// Collects the files below a directory.
fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Hashes a file block by block, and stops if its job is cancelled.
fn hash(path: &Path, done: &Done) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut block = vec![0; 64 * 1024];
    while !brigade::cancelled() {
        let length = file.read(&mut block)?;
        if length == 0 {
            done.files.fetch_add(1, Ordering::Relaxed);
            return Ok(hasher.finish());
        }
        hasher.write(&block[..length]);
        done.bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Hashes all these files, and returns them in order.
fn hash_all(pool: &Pool, files: Vec<PathBuf>) -> io::Result<Vec<(PathBuf, u64)>> {
    let (total, done) = (files.len(), Arc::new(Done::default()));
    let progress = pool.job().every(PROGRESS).execute({
        let done = done.clone();
        move || {
            let files = done.files.load(Ordering::Relaxed);
            let kilobytes = done.bytes.load(Ordering::Relaxed) / 1024;
            eprintln!("{files} of {total} files, {kilobytes} KiB");
        }
    })?;

    let mut set = TaskSet::new(pool);
    for path in files {
        let done = done.clone();
        set.submit(move || hash(&path, &done).map(|hash| (path, hash)));
    }
    // The first `?` is for a job that panicked, the second for a file that could not be read.
    let mut hashes = set.outcomes().map(|hashed| hashed?).collect::<io::Result<Vec<_>>>()?;
    progress.cancel();
    assert_eq!(done.files.load(Ordering::Relaxed), total as u64);
    hashes.sort();
    Ok(hashes)
}

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1);
    let directory = directory.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/src").into());
    let mut files = Vec::new();
    walk(Path::new(&directory), &mut files)?;
    files.sort();

    let hashes = hash_all(&Pool::default(), files.clone())?;
    for (path, hash) in &hashes {
        println!("{hash:016x}  {}", path.display());
    }

    assert!(hashes.iter().map(|(path, _)| path).eq(&files), "every file once");
    if let [(path, hashed), ..] = &hashes[..] {
        assert_eq!(hash(path, &Done::default())?, *hashed, "one thread finds the same");
    }
    Ok(())
}
