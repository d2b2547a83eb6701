//! Files on disk: their content, and that a pool continues while one blocks.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use brigade::Pool;
use brigade::io::fs;
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
fn files_are_written_and_read_on_a_pool_and_off_it() {
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

/// A named pipe is opened when its other end is: by a job of the same pool, which has one thread.
#[cfg(unix)]
#[test]
fn the_pool_goes_on_while_a_file_blocks() {
    use std::process::Command;
    type Read = Pin<Box<dyn Future<Output = io::Result<String>> + Send>>;
    let ways: [fn(PathBuf) -> Read; 3] = [
        |path| Box::pin(fs::read_to_string(path)),
        |path| Box::pin(async { Ok(String::from_utf8(fs::read(path).await?).unwrap()) }),
        |path| Box::pin(async { io::read_to_string(fs::open(path).await?) }),
    ];
    for read in ways {
        let scratch = Scratch::new("fifo");
        assert!(Command::new("mkfifo").arg(&scratch.0).status().unwrap().success());
        let pool = Pool::new(1);
        let content = pool.spawn(read(scratch.0.clone()));
        let path = scratch.0.clone();
        let written = pool.spawn(fs::write(path, "bucket"));
        assert_eq!(content.join().unwrap().unwrap(), "bucket");
        written.join().unwrap().unwrap();
    }
}
