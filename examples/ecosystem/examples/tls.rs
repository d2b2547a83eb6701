//! HTTP over TLS on a pool: hyper on a stream of rustls, on a socket of the pool.
//!
//! futures-rustls encrypts any stream of futures-io, so it takes a `brigade::io::TcpStream`. smol-hyper's `FuturesIo` makes
//! the result a stream of hyper's. The certificate is one for this run, which the client trusts and no other would.
//!
//! ```sh
//! cargo run -p brigade-ecosystem --features full --example tls
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use brigade::Pool;
use brigade::io::{TcpListener, TcpStream};
use futures_rustls::{TlsAcceptor, TlsConnector};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use smol_hyper::rt::FuturesIo;

type Failure = Box<dyn Error + Send + Sync>;

/// A server of `localhost`, and a client that trusts it.
fn configure() -> Result<(ServerConfig, ClientConfig), Failure> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())?;
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone())?;
    Ok((server, trusting(roots)))
}

fn trusting(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("you asked for {}", request.uri().path())))
}

/// Serves one connection. The handshake is part of its future, so that a slow client delays no other.
async fn serve_one(stream: TcpStream, acceptor: TlsAcceptor) -> Result<(), Failure> {
    let stream = FuturesIo::new(acceptor.accept(stream).await?);
    server::conn::http1::Builder::new().serve_connection(stream, service_fn(answer)).await?;
    Ok(())
}

/// Serves each connection in a future of its own, forever.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor) -> io::Result<()> {
    loop {
        let (stream, from) = listener.accept().await?;
        let connection = serve_one(stream, acceptor.clone());
        brigade::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("the server, of {from}: {error}");
            }
        });
    }
}

/// Asks for a path over a connection of its own.
async fn ask(stream: TcpStream, config: ClientConfig, path: &str) -> Result<String, Failure> {
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
    let (mut requests, connection) = client::conn::http1::handshake(FuturesIo::new(stream)).await?;
    let connection = brigade::spawn(connection);
    let request = Request::get(path).header("host", "localhost").body(Body::empty())?;
    let response = requests.send_request(request).await?;
    let body = to_bytes(Body::new(response.into_body()), 1024).await?;
    drop(requests); // Ends the connection.
    connection.await??;
    Ok(String::from_utf8(body.to_vec())?)
}

fn main() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let (server, client) = configure()?;
    pool.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let _server = brigade::spawn(serve(listener, acceptor)).cancel_on_drop();

        let text = ask(TcpStream::connect(address).await?, client, "/bucket").await?;
        assert_eq!(text, "you asked for /bucket");
        println!("over rustls, hyper and brigade's sockets: {text}");

        let distrustful = trusting(RootCertStore::empty());
        let refused = ask(TcpStream::connect(address).await?, distrustful, "/bucket").await;
        let error = refused.expect_err("a certificate that the client does not know");
        println!("refused, as it should be: {error}");
        Ok::<_, Failure>(())
    })
}
