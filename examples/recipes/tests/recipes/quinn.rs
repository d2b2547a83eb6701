//! quinn with its feature `runtime-smol`. Its sockets and timers run on the one thread of async-io, and by `OnPool` its connections on a pool.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use brigade::{Handle, Pool};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{
    AsyncTimer, AsyncUdpSocket, ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig,
    SmolRuntime,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::Failure;

/// For `Endpoint::new`. `Endpoint::server` and `client` would run connections on smol's threads.
#[derive(Debug)]
struct OnPool(Handle);

impl Runtime for OnPool {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        SmolRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.0.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        SmolRuntime.wrap_udp_socket(socket)
    }
}

fn endpoint(pool: Handle, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(OnPool(pool)))
}

/// A server of `localhost`, and a client that trusts it.
fn configure() -> Result<(ServerConfig, ClientConfig), Failure> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![cert.der().clone()], key.into())?;
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone())?;
    Ok((server, ClientConfig::with_root_certificates(Arc::new(roots))?))
}

/// Returns what each stream of a connection sends.
async fn echo(server: Endpoint) -> Result<(), Failure> {
    let connection = server.accept().await.ok_or("the endpoint is closed")?.await?;
    while let Ok((mut to, mut from)) = connection.accept_bi().await {
        to.write_all(&from.read_to_end(64).await?).await?;
        to.finish()?;
    }
    Ok(())
}

#[test]
fn quinn_connects_on_a_pool() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let (trusted, trusts) = configure()?;
    let server = endpoint(pool.handle(), Some(trusted))?;
    let client = endpoint(pool.handle(), None)?;
    let echoes = pool.spawn(echo(server.clone()));
    pool.block_on(async {
        let connection = client.connect_with(trusts, server.local_addr()?, "localhost")?.await?;
        let (mut to, mut from) = connection.open_bi().await?;
        to.write_all(b"bucket").await?;
        to.finish()?;
        assert_eq!(from.read_to_end(64).await?, b"bucket");
        client.close(0_u32.into(), b"done");
        client.wait_idle().await;
        echoes.await?
    })?;
    // The drivers of two endpoints and of their two connections, and `echo`.
    assert!(pool.metrics().accepted >= 5);
    Ok(())
}
