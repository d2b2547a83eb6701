//! What clients may ask for, over HTTP.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine};
use brigade::MetricsExporter;
use bytes::Bytes;
use futures_lite::{StreamExt, future, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::jobs::{Id, State};
use crate::service::{Accepted, Class, Refused, Service, Stage, Terms};

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// How long to wait before the second look for a result, and twice as long before each further one, up to a second.
const LOOK: Duration = Duration::from_millis(20);

/// The longest wait for a result.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The longest side of a thumbnail.
const MAX_SIDE: u32 = 1024;

/// What `POST /jobs` may say about a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    #[serde(default = "default_side")]
    side: u32,
    #[serde(default)]
    priority: Class,
    deadline_ms: Option<u64>,
    /// How long the client waits for the result.
    #[serde(default)]
    wait_ms: u64,
}

fn default_side() -> u32 {
    128
}

/// Answers requests.
pub struct Http {
    pub service: Arc<Service>,
    pub exporters: Vec<MetricsExporter>,
    pub prometheus: PrometheusHandle,
}

impl Http {
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let path = request.uri().path().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let answer = match (request.method(), parts.as_slice()) {
            (&Method::GET, [""]) => text("text/html; charset=utf-8", include_str!("page.html")),
            (&Method::GET, ["healthz"]) => self.health(),
            (&Method::GET, ["metrics"]) => {
                self.exporters.iter().for_each(MetricsExporter::export);
                text("text/plain; version=0.0.4", self.prometheus.render())
            }
            (&Method::GET, ["events"]) => self.events(),
            (&Method::POST, ["jobs"]) => self.post(request).await,
            (method, ["jobs", name, rest @ ..]) => match (Id::new(name), method, rest) {
                (None, ..) => error(StatusCode::BAD_REQUEST, "an id has letters, digits, - and _"),
                (Some(id), &Method::GET, []) => self.get(&id).await,
                (Some(id), &Method::GET, ["thumbnail"]) => self.thumbnail(&id).await,
                (Some(id), &Method::DELETE, []) => self.cancel(&id),
                (Some(_), _, []) => not_allowed("GET, DELETE"),
                (Some(_), _, ["thumbnail"]) => not_allowed("GET"),
                _ => error(StatusCode::NOT_FOUND, "there is nothing at this path"),
            },
            (_, ["jobs"]) => not_allowed("POST"),
            (_, ["" | "healthz" | "metrics" | "events"]) => not_allowed("GET"),
            _ => error(StatusCode::NOT_FOUND, "there is nothing at this path"),
        };
        let status = answer.status().as_str().to_owned();
        metrics::counter!("thumbnails_requests_total", "status" => status).increment(1);
        Ok(answer)
    }

    fn health(&self) -> Answer {
        match self.service.health() {
            _ if self.service.is_ending() => refused(&Refused::Ending),
            Ok(()) => text("text/plain", "ok\n"),
            Err(trouble) => refused(&Refused::Unwell(trouble)),
        }
    }

    /// Accepts a job. The client's `Idempotency-Key` is the job's id: it may send the request again, and the job is done once.
    async fn post(&self, request: Request<Incoming>) -> Answer {
        let query: Query = match serde_urlencoded::from_str(request.uri().query().unwrap_or("")) {
            Ok(query) => query,
            Err(wrong) => return error(StatusCode::BAD_REQUEST, &wrong.to_string()),
        };
        if !(1..=MAX_SIDE).contains(&query.side) {
            return error(StatusCode::BAD_REQUEST, &format!("side must be 1 to {MAX_SIDE}"));
        }
        let id = match request.headers().get("idempotency-key").map(HeaderValue::to_str) {
            None => Id::random(),
            Some(name) => match name.ok().and_then(Id::new) {
                Some(id) => id,
                None => {
                    let wrong = "Idempotency-Key must be 1 to 64 letters, digits, - and _";
                    return error(StatusCode::BAD_REQUEST, wrong);
                }
            },
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_millis() as u64;
        let deadline = query.deadline_ms.map(|millis| now.saturating_add(millis));
        let terms = Terms { side: query.side, class: query.priority, deadline };

        let settings = &self.service.settings;
        let body = Limited::new(request.into_body(), settings.max_body).collect();
        let image = match brigade::timeout(settings.client_time(), body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(wrong)) if wrong.is::<LengthLimitError>() => {
                return refused(&Refused::TooLarge(settings.max_body));
            }
            Ok(Err(wrong)) => return error(StatusCode::BAD_REQUEST, &wrong.to_string()),
            Err(_) => {
                return error(StatusCode::REQUEST_TIMEOUT, "the image did not arrive in time");
            }
        };
        let accepted = match self.service.accept(&id, terms, image).await {
            Ok(accepted) => accepted,
            Err(why) => return refused(&why),
        };
        let end = async {
            match accepted {
                Accepted::Begun(job) => job.await.ok(),
                Accepted::Over(state) => Some(state),
                Accepted::UnderWay if query.wait_ms == 0 => None,
                Accepted::UnderWay => self.look_for(&id).await,
            }
        };
        let wait = Duration::from_millis(query.wait_ms).min(MAX_WAIT);
        let end = brigade::timeout(wait, end).await;
        match end.ok().flatten() {
            Some(state) => of_job(StatusCode::OK, &id, &state),
            None => of_job(StatusCode::ACCEPTED, &id, &State::Queued),
        }
    }

    /// Waits for the result of a job of the queue, or of another request; at most until the service ends.
    async fn look_for(&self, id: &Id) -> Option<State> {
        let mut pause = LOOK;
        while !self.service.is_ending() {
            if let Ok(Some(state)) = self.service.stored(id).await {
                return Some(state);
            }
            brigade::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
        None
    }

    async fn get(&self, id: &Id) -> Answer {
        match self.find(id).await {
            Ok(state) => of_job(StatusCode::OK, id, &state),
            Err(answer) => answer,
        }
    }

    async fn thumbnail(&self, id: &Id) -> Answer {
        match self.find(id).await {
            Ok(State::Done(made)) => match BASE64_STANDARD.decode(&made.png) {
                Ok(png) => text("image/png", png),
                Err(wrong) => error(StatusCode::INTERNAL_SERVER_ERROR, &wrong.to_string()),
            },
            Ok(state) => error(StatusCode::CONFLICT, &format!("the job is {}", state.name())),
            Err(answer) => answer,
        }
    }

    fn cancel(&self, id: &Id) -> Answer {
        match self.service.table.cancel(id) {
            true => json(StatusCode::ACCEPTED, &json!({ "id": id })),
            false => error(StatusCode::NOT_FOUND, "no such job is under way in this process"),
        }
    }

    /// A job's state: under way here, stored, or in the queue.
    async fn find(&self, id: &Id) -> Result<State, Answer> {
        if let Some(state) = self.service.table.state(id) {
            return Ok(state);
        }
        let unwell = |wrong: String| refused(&Refused::Unwell(wrong));
        let has = match (self.service.stored(id).await, &self.service.queue) {
            (Ok(Some(state)), _) => return Ok(state),
            (Ok(None), None) => false,
            (Ok(None), Some(queue)) => {
                queue.has(id).await.map_err(|wrong| unwell(wrong.to_string()))?
            }
            (Err(wrong), _) => return Err(unwell(wrong.to_string())),
        };
        if has {
            return Ok(State::Queued);
        }
        // It may have left the queue since the first look.
        let stored = self.service.stored(id).await;
        let none = || error(StatusCode::NOT_FOUND, "no such job");
        stored.map_err(|wrong| unwell(wrong.to_string()))?.ok_or_else(none)
    }

    /// Streams the last results, and then results and counts of the queue as they come. A client that is too slow misses some, and is told how
    /// many.
    fn events(&self) -> Answer {
        let (last, events) = self.service.events.listen();
        let first = stream::iter([vec![self.service.counts()], last].concat());
        let state = (events, self.service.clone());
        let events = stream::unfold(state, |(mut events, service)| async {
            let end = async {
                service.until(Stage::Ending).await;
                None
            };
            let next = future::or(async { Some(events.recv().await) }, end);
            let bytes = match next.await? {
                Ok(bytes) => bytes,
                Err(RecvError::Lagged(missed)) => {
                    format!("event: missed\ndata: {missed}\n\n").into()
                }
                Err(RecvError::Closed) => return None,
            };
            Some((Ok::<_, Infallible>(Frame::data(bytes)), (events, service)))
        });
        let first = first.map(|bytes| Ok(Frame::data(bytes)));
        let body = BodyExt::boxed_unsync(StreamBody::new(first.chain(events).boxed()));
        let mut answer = Response::new(body);
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }
}

fn text(kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn json(status: StatusCode, value: &Value) -> Answer {
    let mut answer = text("application/json", format!("{value}\n"));
    *answer.status_mut() = status;
    answer
}

fn error(status: StatusCode, error: &str) -> Answer {
    json(status, &json!({ "error": error }))
}

fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, &format!("allowed here: {methods}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

/// A job's id and state, and where to ask for it.
fn of_job(status: StatusCode, id: &Id, state: &State) -> Answer {
    let mut value = serde_json::to_value(state).unwrap_or_default();
    value["id"] = json!(id);
    let mut answer = json(status, &value);
    if let Ok(place) = HeaderValue::from_str(&format!("/jobs/{id}")) {
        answer.headers_mut().insert(LOCATION, place);
    }
    answer
}

fn refused(why: &Refused) -> Answer {
    let (status, text) = match why {
        Refused::Full => (StatusCode::TOO_MANY_REQUESTS, "too many jobs wait; try again"),
        Refused::Unwell(trouble) => (StatusCode::SERVICE_UNAVAILABLE, trouble.as_str()),
        Refused::Ending => (StatusCode::SERVICE_UNAVAILABLE, "the service ends"),
        Refused::TooLarge(most) => {
            let text = format!("the image is too large: at most {most} bytes");
            return error(StatusCode::PAYLOAD_TOO_LARGE, &text);
        }
    };
    let mut answer = error(status, text);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}
