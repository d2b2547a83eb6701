//! tonic over hyper, on the sockets, threads and timers of a pool. tonic's own `transport` would need tokio's.
//!
//! The services that tonic generates, servers and clients, are services of tower. The service here is that of tonic-health.

use std::io;

use brigade::io::{TcpListener, TcpStream};
use brigade::time::HyperTimer;
use brigade::{Handle, Pool};
use hyper::{client, server};
use hyper_util::service::TowerToHyperService;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::Failure;

/// Serves each connection in a future of its own, forever.
async fn serve(pool: Handle, listener: TcpListener, services: Routes) -> io::Result<()> {
    let mut http = server::conn::http2::Builder::new(pool);
    http.timer(HyperTimer);
    loop {
        let (stream, from) = listener.accept().await?;
        let connection = http.serve_connection(stream, TowerToHyperService::new(services.clone()));
        brigade::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

async fn ask(pool: Handle, stream: TcpStream) -> Result<(), Failure> {
    let (requests, connection) = client::conn::http2::handshake(pool, stream).await?;
    let connection = brigade::spawn(connection);
    let channel = tower::service_fn(move |request| requests.clone().send_request(request));
    let mut health = HealthClient::with_origin(channel, "http://localhost".parse()?);

    let answer = health.check(HealthCheckRequest { service: "bucket".into() }).await?;
    assert_eq!(answer.into_inner().status, ServingStatus::Serving as i32);
    let unknown = health.check(HealthCheckRequest { service: "brush".into() }).await;
    assert_eq!(unknown.map_err(|status| status.code()).err(), Some(tonic::Code::NotFound));
    // A stream of answers.
    let mut watch = health.watch(HealthCheckRequest { service: "bucket".into() }).await?;
    let first = watch.get_mut().message().await?;
    assert_eq!(first.map(|answer| answer.status), Some(ServingStatus::Serving as i32));

    drop((watch, health)); // Ends the connection.
    connection.await??;
    Ok(())
}

#[test]
fn a_pool_serves_tonic_services_over_hyper() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let handle = pool.handle();
    pool.block_on(async {
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_service_status("bucket", ServingStatus::Serving).await;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let _server = brigade::spawn(serve(handle, listener, Routes::new(health))).cancel_on_drop();
        ask(handle, stream).await
    })
}
