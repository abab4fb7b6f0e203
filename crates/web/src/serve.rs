//! The server.

use crate::guard::{Entry, Token, Visit};
use crate::news::News;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use sys::Places;

const PAGE: &str = include_str!("assets/index.html");
const SCRIPT: &str = include_str!("assets/app.js");
const CLUSTERS: &str = include_str!("assets/clusters.js");
const STYLE: &str = include_str!("assets/style.css");

/// Nothing but this server's own files, and no page of another around them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; form-action 'none'; base-uri 'none'";

/// More than all pages of a person's browser make.
const MOST_CONNECTIONS: usize = 256;

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    token: Token,
}

#[derive(Clone)]
struct Site {
    token: Token,
    news: News,
}

/// Listens on a loopback port, a free one where none is named.
///
/// # Errors
/// The port is taken.
pub fn open(port: Option<u16>) -> io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))?;
    listener.set_nonblocking(true)?;
    let token = Token::new(listener.local_addr()?.port())?;
    Ok(Server { listener, token })
}

impl Server {
    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What a visitor must know.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Answers until the program ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn run(self, places: Places) -> io::Result<()> {
        let site = Site {
            token: self.token,
            news: News::start(places),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .build()?;
        runtime.block_on(async {
            let mut open = OpenConnections::default();
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let listener = listener.tap_io(move |stream| open.add(stream.as_fd()));
            axum::serve(listener, routes(site)).await
        })
    }
}

/// The newest connections. All users of the machine can make some, and leave them idle: beyond
/// [`MOST_CONNECTIONS`] the oldest is closed, and a browser makes a new one.
#[derive(Default)]
struct OpenConnections(VecDeque<TcpStream>);

impl OpenConnections {
    fn add(&mut self, stream: BorrowedFd<'_>) {
        while self.0.len() >= MOST_CONNECTIONS
            && let Some(oldest) = self.0.pop_front()
        {
            // Closed by its visitor it is as good.
            let _closed = oldest.shutdown(Shutdown::Both);
        }
        if let Ok(stream) = stream.try_clone_to_owned() {
            self.0.push_back(stream.into());
        }
    }
}

fn routes(site: Site) -> Router {
    Router::new()
        .route(
            "/",
            get(|| async { text("text/html; charset=utf-8", PAGE) }),
        )
        .route(
            "/app.js",
            get(|| async { text("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route(
            "/clusters.js",
            get(|| async { text("text/javascript; charset=utf-8", CLUSTERS) }),
        )
        .route(
            "/style.css",
            get(|| async { text("text/css; charset=utf-8", STYLE) }),
        )
        .route("/api/runs", get(list))
        .route("/api/clusters", get(clusters))
        .route("/api/run/{key}", get(one))
        .route("/report/{key}", get(report))
        .layer(middleware::from_fn_with_state(site.clone(), guarded))
        .with_state(site)
}

fn text(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Lets in who may enter, and says to browsers what these pages may do.
async fn guarded(State(site): State<Site>, request: Request, next: Next) -> Response {
    let mut response = match judged(&site.token, &request) {
        Entry::Enters => next.run(request).await,
        Entry::GetsCookie => {
            let headers = [
                (header::SET_COOKIE, site.token.cookie()),
                (header::LOCATION, own_path(request.uri().path())),
            ];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Entry::StaysOut => {
            let words = "This page needs the address that `yard serve` printed, with its token.\n";
            (StatusCode::FORBIDDEN, words).into_response()
        }
    };
    let own = response.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fixed {
        own.insert(name, HeaderValue::from_static(value));
    }
    own.entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    response
}

/// The path for a `Location`: with two slashes it would name another server.
fn own_path(path: &str) -> String {
    format!("/{}", path.trim_start_matches(['/', '\\']))
}

fn judged(token: &Token, request: &Request) -> Entry {
    let query = request.uri().query().unwrap_or_default();
    let headers = request.headers();
    token.judge(Visit {
        host: of(headers, &header::HOST),
        cookies: of(headers, &header::COOKIE),
        token: query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token=")),
    })
}

fn of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn document(value: &serde_json::Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, Body::from(value.to_string())).into_response()
}

async fn list(State(site): State<Site>) -> Response {
    document(&site.news.list())
}

async fn clusters(State(site): State<Site>) -> Response {
    // Whether there is a Slurm is asked once, and it may take its time.
    match tokio::task::spawn_blocking(move || site.news.clusters()).await {
        Ok(value) => document(&value),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    rank: u32,
}

async fn one(
    State(site): State<Site>,
    Path(key): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    // A shared file system may take its time.
    let look = move || site.news.one(&key, wanted.rank);
    match tokio::task::spawn_blocking(look).await {
        Ok(Some(value)) => document(&value),
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn report(State(site): State<Site>, Path(key): Path<String>) -> Response {
    match tokio::task::spawn_blocking(move || site.news.report(&key)).await {
        Ok(Some(page)) => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (
                    header::CONTENT_SECURITY_POLICY,
                    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
                ),
            ];
            (headers, (*page).clone()).into_response()
        }
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
