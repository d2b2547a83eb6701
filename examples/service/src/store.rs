//! Results: each is stored once, whoever stores it first, and never changed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use async_compat::CompatExt;
use async_nats::jetstream::kv::{self, CreateErrorKind};
use brigade::Handle;
use bytes::Bytes;
use thumbnails::files::create;

use crate::jobs::Id;

/// Where results are.
pub enum Store {
    /// Files of a folder, read and written by a pool of their own: a slow disk delays no connection.
    Folder { folder: PathBuf, files: Handle },
    /// A bucket of a NATS server, which several processes share. The server limits the size of a result.
    Bucket { bucket: Box<kv::Store>, limit: usize },
}

impl Store {
    /// Takes a folder, and makes it if it is not there.
    pub fn folder(folder: PathBuf, files: Handle) -> io::Result<Self> {
        let named = |error| io::Error::other(format!("{}: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(named)?;
        Ok(Self::Folder { folder, files })
    }

    /// The most bytes of a result.
    pub fn limit(&self) -> usize {
        match self {
            Self::Folder { .. } => usize::MAX,
            Self::Bucket { limit, .. } => *limit,
        }
    }

    pub async fn get(&self, id: &Id) -> io::Result<Option<Bytes>> {
        match self {
            Self::Folder { folder, files } => {
                let path = folder.join(id.as_str());
                match files.submit(|| fs::read(path)).await? {
                    Ok(bytes) => Ok(Some(bytes.into())),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Self::Bucket { bucket, .. } => {
                bucket.get(id.as_str()).compat().await.map_err(io::Error::other)
            }
        }
    }

    /// Stores a result unless there is one. Returns whether it is this one that was stored.
    pub async fn put_once(&self, id: &Id, bytes: Bytes) -> io::Result<bool> {
        match self {
            Self::Folder { folder, files } => {
                let (folder, id) = (folder.clone(), id.clone());
                files.submit(move || create(&folder, id.as_str(), &bytes)).await?
            }
            Self::Bucket { bucket, .. } => match bucket.create(id.as_str(), bytes).compat().await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stored_once_without_parts() {
        let folder = std::env::temp_dir().join(format!("thumbnails-store-{}", std::process::id()));
        let (pool, id) = (brigade::Pool::new(1), Id::new("one").unwrap());
        let store = Store::folder(folder.clone(), pool.handle()).unwrap();
        pool.block_on(async {
            assert_eq!(store.get(&id).await.unwrap(), None);
            assert!(store.put_once(&id, "first".into()).await.unwrap());
            assert!(!store.put_once(&id, "second".into()).await.unwrap());
            assert_eq!(store.get(&id).await.unwrap().unwrap(), "first");
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
        assert!(pool.block_on(store.put_once(&id, "third".into())).is_err());
    }
}
