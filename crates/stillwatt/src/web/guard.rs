//! Which requests the dashboard answers at all. Pure.
//!
//! The server listens on loopback, but any web page that the user visits may send requests there, and a name that
//! its owner re-points to 127.0.0.1 would make them same-origin. So the Host header must name loopback and our port
//! (RFC 9110 sections 7.2 and 15.5.20), and only reading methods are answered.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

/// Headers of every answer: nothing from elsewhere is loaded, the page is not framed, other origins cannot read it.
pub(super) const ANSWER_HEADERS: [(header::HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("only GET and HEAD are answered: the dashboard is read-only\n")]
    Method,
    #[error("the Host header is missing or given twice\n")]
    HostMissing,
    #[error(
        "this server answers only for 127.0.0.1, [::1] or localhost and its own port; use the printed address\n"
    )]
    HostForeign,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::HostMissing => StatusCode::BAD_REQUEST,
            Self::HostForeign => StatusCode::MISDIRECTED_REQUEST,
        }
    }
}

/// Admits a request to the server on `port`.
pub(super) fn admit(method: &Method, uri: &Uri, headers: &HeaderMap, port: u16) -> Result<(), Refusal> {
    if method != Method::GET && method != Method::HEAD {
        return Err(Refusal::Method);
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::HostMissing) };
    let is_ours = host.to_str().is_ok_and(|host| is_own_host(host, port))
        // A request in absolute form names the host a second time.
        && uri.authority().is_none_or(|authority| is_own_host(authority.as_str(), port));
    if is_ours { Ok(()) } else { Err(Refusal::HostForeign) }
}

fn is_own_host(host: &str, port: u16) -> bool {
    let (name, host_port) = match host.rsplit_once(':') {
        // The colons of an IPv6 address are inside its brackets.
        Some((name, digits)) if !digits.ends_with(']') => (name, digits.parse().ok()),
        _ => (host, Some(80)),
    };
    host_port == Some(port)
        && (["127.0.0.1", "[::1]"].contains(&name) || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(method: &str, uri: &str, hosts: &[&str]) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        admit(&method.parse().unwrap(), &uri.parse().unwrap(), &headers, 8470)
    }

    /// Loopback names with our port are answered.
    #[test]
    fn own_hosts() {
        for host in ["127.0.0.1:8470", "localhost:8470", "LocalHost:8470", "[::1]:8470"] {
            assert_eq!(admitted("GET", "/", &[host]), Ok(()), "{host}");
        }
        assert!(is_own_host("localhost", 80));
    }

    /// Any other name, port or spelling is misdirected: DNS rebinding gets nothing.
    #[test]
    fn foreign_hosts() {
        for host in [
            "evil.example:8470",
            "127.0.0.1",
            "127.0.0.1:8471",
            "localhost.evil.example:8470",
            "[::1]",
            "::1:8470",
            "127.0.0.1:8470:8470",
            "",
            ":8470",
            "localhost.:8470",
            "2130706433:8470",
            "127.0.0.1:08470x",
        ] {
            assert_eq!(admitted("GET", "/", &[host]), Err(Refusal::HostForeign), "{host}");
        }
        assert_eq!(admitted("GET", "http://evil.example/", &["127.0.0.1:8470"]), Err(Refusal::HostForeign));
    }

    /// No host and two hosts are bad requests.
    #[test]
    fn one_host_only() {
        assert_eq!(admitted("GET", "/", &[]), Err(Refusal::HostMissing));
        assert_eq!(admitted("GET", "/", &["localhost:8470", "localhost:8470"]), Err(Refusal::HostMissing));
    }

    /// Nothing but reading is allowed.
    #[test]
    fn reading_only() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"] {
            assert_eq!(admitted(method, "/", &["localhost:8470"]), Err(Refusal::Method), "{method}");
        }
        assert_eq!(admitted("HEAD", "/", &["localhost:8470"]), Ok(()));
    }
}
