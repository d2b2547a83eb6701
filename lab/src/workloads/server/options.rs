//! The options of `server` on the command line, and the rows they stand for.

use super::Server;
use super::wire::Protocol;
use crate::workloads::prelude::*;

/// Options of `server`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// What is spoken; all if not given.
    #[arg(long, value_enum)]
    protocol: Option<Protocol>,
    /// Connections at a time [default: 1, 64 and 512]
    #[arg(long, value_parser = whole::<1, { limits::MAX_CONNECTIONS }>)]
    connections: Option<u64>,
    /// Requests that a client sends before it waits for their answers, where the protocol has that [default: 1, and 16 too for RESP]
    #[arg(long, value_parser = whole::<1, { limits::MAX_PIPELINE }>)]
    pipeline: Option<u64>,
    /// Requests of all clients together, rounded down to as many for each; one pipeline each at least.
    #[arg(long, default_value_t = 20_000, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    requests: u64,
    /// Threads of the server, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

/// Connections of the rows if the command line does not name them.
const CONNECTIONS: [u64; 3] = [1, 64, 512];

/// Pipelines of the rows of RESP.
const PIPELINES: [u64; 2] = [1, 16];

impl Rows for Options {
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        let alone = self.protocol.is_some_and(|one| !one.has_pipelines());
        if alone && self.pipeline.is_some_and(|one| one > 1) {
            let reason = "--pipeline is for the protocols resp and http2 only";
            return Err(Stop::Usage(reason.to_owned()));
        }
        let protocols = self.protocol.map_or(Protocol::value_variants().to_vec(), |one| vec![one]);
        let connections = self.connections.map_or(CONNECTIONS.to_vec(), |one| vec![one]);
        let mut rows: Vec<Box<dyn Row>> = Vec::new();
        for protocol in protocols {
            let pipelines = match (protocol, self.pipeline) {
                (Protocol::Resp, None) => PIPELINES.to_vec(),
                (protocol, Some(pipeline)) if protocol.has_pipelines() => vec![pipeline],
                _ => vec![1],
            };
            for pipeline in pipelines {
                for &connections in &connections {
                    let (requests, threads) = (self.requests, self.threads);
                    let server = Server { protocol, connections, pipeline, requests, threads };
                    rows.push(Box::new(server));
                }
            }
        }
        Ok(rows)
    }
}
