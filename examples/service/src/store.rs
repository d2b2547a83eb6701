//! Results: each is stored once, whoever stores it first, and never changed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use async_compat::CompatExt;
use async_nats::jetstream::kv::{self, CreateErrorKind};
use bytes::Bytes;
use thumbnails::files::create;

use crate::jobs::Id;

/// Where results are.
pub enum Store {
    /// Files of a folder.
    Folder(PathBuf),
    /// A bucket of a NATS server, which several processes share.
    Bucket(Box<kv::Store>),
}

impl Store {
    /// Takes a folder, and makes it if it is not there.
    pub fn folder(path: &Path) -> io::Result<Self> {
        let named = |error| io::Error::other(format!("{}: {error}", path.display()));
        fs::create_dir_all(path).map_err(named)?;
        Ok(Self::Folder(path.to_owned()))
    }

    pub async fn get(&self, id: &Id) -> io::Result<Option<Bytes>> {
        match self {
            Self::Folder(folder) => match brigade::io::fs::read(folder.join(id.as_str())).await {
                Ok(bytes) => Ok(Some(bytes.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
            Self::Bucket(bucket) => {
                bucket.get(id.as_str()).compat().await.map_err(io::Error::other)
            }
        }
    }

    /// Stores a result unless there is one. Returns whether it is this one that was stored.
    pub async fn put_once(&self, id: &Id, bytes: Bytes) -> io::Result<bool> {
        match self {
            Self::Folder(folder) => brigade::blocking(|| create(folder, id.as_str(), &bytes)),
            Self::Bucket(bucket) => match bucket.create(id.as_str(), bytes).compat().await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }

    /// Fails if nothing can be stored now.
    pub async fn probe(&self) -> io::Result<()> {
        match self {
            Self::Folder(folder) => brigade::blocking(|| {
                let path = folder.join(".probe");
                let wrote = fs::write(&path, [0; 4096]);
                fs::remove_file(path).and(wrote)
            }),
            Self::Bucket(bucket) => {
                bucket.get("probe").compat().await.map(drop).map_err(io::Error::other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stored_once_and_leaves_no_parts() {
        let folder = std::env::temp_dir().join(format!("thumbnails-store-{}", std::process::id()));
        let store = Store::folder(&folder).unwrap();
        let id = Id::new("one").unwrap();
        let pool = brigade::Pool::new(1);
        pool.block_on(async {
            assert_eq!(store.get(&id).await.unwrap(), None);
            assert!(store.put_once(&id, "first".into()).await.unwrap());
            assert!(!store.put_once(&id, "second".into()).await.unwrap());
            assert_eq!(store.get(&id).await.unwrap().unwrap(), "first");
            store.probe().await.unwrap();
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
        assert!(pool.block_on(store.probe()).is_err());
    }
}
