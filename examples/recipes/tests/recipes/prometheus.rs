//! The counters of a pool in the registries of two crates. Each scrape reads the pool; a job costs nothing more.

use std::fmt;

use brigade::{Handle, Pool};
use prometheus::{PullingGauge, TextEncoder};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::Failure;

/// For the crate `prometheus-client`: `registry.register_collector(Box::new(OfPool(pool.handle())))`.
#[derive(Debug)]
struct OfPool(Handle);

impl Collector for OfPool {
    fn encode(&self, mut to: DescriptorEncoder) -> fmt::Result {
        let pool = self.0.metrics();
        let accepted = ConstCounter::new(pool.accepted);
        encode(&mut to, "brigade_jobs_accepted", "Jobs accepted", &accepted)?;
        let queued = ConstGauge::new(pool.queued as i64);
        encode(&mut to, "brigade_jobs_queued", "Jobs that are queued", &queued)
    }
}

fn encode(
    to: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    metric.encode(to.encode_descriptor(name, help, None, metric.metric_type())?)
}

#[test]
fn prometheus_client_collects_the_counters() -> Result<(), Failure> {
    let pool = Pool::new(1);
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(OfPool(pool.handle())));
    for accepted in 1..=3 {
        pool.submit(|| ()).join()?;
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        assert!(text.contains(&format!("brigade_jobs_accepted_total {accepted}\n")), "{text}");
        assert!(text.contains("brigade_jobs_queued 0\n"), "{text}");
    }
    Ok(())
}

#[test]
fn prometheus_pulls_a_gauge() -> Result<(), Failure> {
    let pool = Pool::new(1);
    let registry = prometheus::Registry::new();
    let handle = pool.handle();
    let accepted = move || handle.metrics().accepted as f64;
    let gauge = PullingGauge::new("brigade_jobs_accepted", "Jobs accepted", Box::new(accepted))?;
    registry.register(Box::new(gauge))?;
    for accepted in 1..=3 {
        pool.submit(|| ()).join()?;
        let text = TextEncoder::new().encode_to_string(&registry.gather())?;
        assert!(text.contains(&format!("brigade_jobs_accepted {accepted}\n")), "{text}");
    }
    Ok(())
}
