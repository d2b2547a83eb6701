//! sqlx with its feature `runtime-smol`, whose sockets and timers run on the one thread of async-io. Queries are futures of the pool.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use brigade::Pool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{ConnectOptions, Error};

use crate::Failure;

#[test]
fn sqlx_runs_on_a_pool() -> Result<(), Failure> {
    let pool = Pool::new(2);
    pool.block_on(async {
        let database = SqlitePoolOptions::new().max_connections(1);
        let database = database.connect("sqlite::memory:").await?;
        sqlx::query("create table buckets (litres integer)").execute(&database).await?;
        for litres in [6, 36] {
            let insert = sqlx::query("insert into buckets values (?)").bind(litres);
            insert.execute(&database).await?;
        }
        let reader = database.clone();
        let sum = brigade::spawn(async move {
            let sum = sqlx::query_scalar::<_, i64>("select sum(litres) from buckets");
            sum.fetch_one(&reader).await
        });
        assert_eq!(sum.await??, 42);
        database.close().await;
        Ok(())
    })
}

/// A server that refuses its client: what it reads and writes goes through the driver's sockets.
fn refuse(listener: TcpListener) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - length.len()];
    stream.read_exact(&mut startup)?;
    let fields = b"SFATAL\0C3D000\0Mno such database\0\0";
    stream.write_all(b"E")?;
    stream.write_all(&(length.len() as u32 + fields.len() as u32).to_be_bytes())?;
    stream.write_all(fields)
}

fn options(server: &TcpListener) -> std::io::Result<PgConnectOptions> {
    let options = PgConnectOptions::new().host("127.0.0.1").port(server.local_addr()?.port());
    Ok(options.username("brigade").ssl_mode(PgSslMode::Disable))
}

#[test]
fn a_driver_of_sqlx_connects_on_a_pool() -> Result<(), Failure> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let options = options(&server)?;
    let server = thread::spawn(|| refuse(server));
    let refused = Pool::new(1).spawn(async move { options.connect().await.map(drop) }).join()?;
    let error = refused.expect_err("there is no database");
    let code = error.as_database_error().and_then(|error| error.code());
    assert_eq!(code.as_deref(), Some("3D000"), "{error}");
    server.join().unwrap()?;
    Ok(())
}

#[test]
fn a_time_limit_of_sqlx_ends_a_wait_on_a_pool() -> Result<(), Failure> {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let database = PgPoolOptions::new().acquire_timeout(Duration::from_millis(20));
    let database = database.connect_lazy_with(options(&silent)?);
    let acquired = Pool::new(1).spawn(async move { database.acquire().await.map(drop) }).join()?;
    assert!(matches!(acquired, Err(Error::PoolTimedOut)), "{acquired:?}");
    Ok(())
}
