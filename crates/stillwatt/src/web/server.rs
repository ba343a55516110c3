#![expect(clippy::disallowed_methods, reason = "I/O shell: binds the dashboard's TCP port")]
//! The dashboard's HTTP server. Touches TCP sockets on loopback, nothing else.
//!
//! HTTP/1.1 (RFC 9112); server-sent events as in the HTML standard, section 9.2.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;

use super::assets::{ASSETS, Asset};
use super::connection::BoundedListener;
use super::feed::{Feed, Message, Place};
use super::guard;

/// The first port tried when none is asked for.
pub const PORT_DEFAULT: u16 = 8470;
/// Ports tried from [`PORT_DEFAULT`] upward before the kernel chooses one.
pub const PORTS_TRIED: u16 = 16;
/// A silent event stream sends a comment this often, so that both ends notice a dead connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a page waits before it connects again.
const RECONNECT: Duration = Duration::from_secs(1);

/// The dashboard's port cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1 port {port} for the dashboard")]
pub struct BindError {
    /// The port that was asked for; 0 when any would have done.
    pub port: u16,
    source: io::Error,
}

/// A port on loopback, not yet served.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    port: u16,
}

impl Bound {
    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address to open in a browser.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// Takes a port on loopback: `port` if given, else the first free one of [`PORTS_TRIED`] from [`PORT_DEFAULT`],
/// else any.
///
/// # Errors
/// When the port asked for is taken or not allowed, or no port at all is free.
pub fn bind(port: Option<u16>) -> Result<Bound, BindError> {
    if let Some(port) = port {
        return bind_one(port);
    }
    (PORT_DEFAULT..PORT_DEFAULT + PORTS_TRIED)
        .find_map(|port| bind_one(port).ok())
        .map_or_else(|| bind_one(0), Ok)
}

fn bind_one(port: u16) -> Result<Bound, BindError> {
    let fault = |source| BindError { port, source };
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(fault)?;
    listener.set_nonblocking(true).map_err(fault)?;
    let port = listener.local_addr().map_err(fault)?.port();
    Ok(Bound { listener, port })
}

/// Serves `feed` until the future is dropped. Runs on the current tokio runtime, which needs I/O and time.
///
/// # Errors
/// When the socket cannot be handed to the runtime or stops to listen.
pub(super) async fn serve(bound: Bound, feed: Arc<Feed>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(bound.listener)?;
    axum::serve(BoundedListener::new(listener), router(feed, bound.port)).await
}

fn router(feed: Arc<Feed>, port: u16) -> Router {
    let mut router = Router::new()
        .route("/api/snapshot", get(latest))
        .route("/api/history", get(|State(feed): State<Arc<Feed>>| async move { json(feed.history_json()) }))
        .route("/api/events", get(|State(feed): State<Arc<Feed>>| async move { json(feed.events_json()) }))
        .route("/events", get(events));
    for asset in ASSETS {
        router = router.route(asset.path, get(move || std::future::ready(file(asset))));
    }
    router.fallback(missing).layer(from_fn_with_state(port, check)).with_state(feed)
}

/// Turns away what must not be answered and puts the security headers on everything.
async fn check(State(port): State<u16>, request: Request, next: Next) -> Response {
    let mut response = match guard::admit(request.method(), request.uri(), request.headers(), port) {
        Ok(()) => next.run(request).await,
        Err(refusal @ guard::Refusal::Method) => {
            (refusal.status(), [(header::ALLOW, "GET, HEAD")], refusal.to_string()).into_response()
        }
        Err(refusal) => (refusal.status(), refusal.to_string()).into_response(),
    };
    response.headers_mut().extend(guard::ANSWER_HEADERS.map(|(name, value)| (Some(name), value)));
    response
}

fn file(asset: &'static Asset) -> Response {
    ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response()
}

fn json(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

async fn missing() -> Response {
    (StatusCode::NOT_FOUND, "nothing here; the page is at /\n").into_response()
}

async fn latest(State(feed): State<Arc<Feed>>) -> Response {
    match feed.latest() {
        Some(text) => json(text.to_string()),
        None => (StatusCode::SERVICE_UNAVAILABLE, "no snapshot yet; try again in a second\n").into_response(),
    }
}

async fn events(State(feed): State<Arc<Feed>>) -> Response {
    let Some(place) = feed.join() else {
        let text = "all places of the event stream are taken; close a page\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "10")], text).into_response();
    };
    let first =
        stream::iter([Ok::<_, Infallible>(sse::Event::default().retry(RECONNECT).comment("stillwatt"))]);
    let rest = stream::unfold((feed, place), |(feed, mut place)| async move {
        next_message(&feed, &mut place).await.map(|event| (Ok(event), (feed, place)))
    });
    Sse::new(futures_util::StreamExt::chain(first, rest))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

async fn next_message(feed: &Feed, place: &mut Place) -> Option<sse::Event> {
    match place.messages.recv().await {
        Ok(Message::Snapshot(text)) => Some(sse::Event::default().event("snapshot").data(text)),
        Ok(Message::Event(text)) => Some(sse::Event::default().event("record").data(text)),
        Err(RecvError::Lagged(messages)) => {
            feed.count_dropped(messages);
            Some(sse::Event::default().event("lag").data(format!(r#"{{"messages_dropped":{messages}}}"#)))
        }
        Err(RecvError::Closed) => None,
    }
}
