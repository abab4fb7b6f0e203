//! What a registry's tag names now: the digest of its manifest.
//!
//! Asked with `curl`, as a tag can be given to another image at any time and not every maker says
//! what it fetched. Nothing depends on the answer: where there is none, nothing is recorded.

use crate::curl::Curl;
use std::time::Duration;

/// How long one question may take: a person waits for the submission.
const LIMIT: Duration = Duration::from_secs(4);

/// Forms in which registries keep manifests; of several platforms' images the list is named.
const FORMS: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// The digest that an address names by itself.
pub(super) fn named_by(address: &str) -> Option<&str> {
    address.split_once('@').map(|(_, digest)| digest)
}

/// The digest of what an address's tag names now; `None`: its registry doesn't tell.
pub(super) fn of_tag(address: &str) -> Option<String> {
    let url = manifest_url(address)?;
    let mut head = ask_head(&url, None)?;
    if status(&head) == Some("401") {
        let token = ask_token(&token_url(&head)?)?;
        head = ask_head(&url, Some(&token))?;
    }
    if status(&head) != Some("200") {
        return None;
    }
    let digest = field(&head, "docker-content-digest")?;
    is_digest(digest).then(|| digest.to_owned())
}

fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Where the manifest of an address stands; none of one that names a digest.
fn manifest_url(address: &str) -> Option<String> {
    if named_by(address).is_some() {
        return None;
    }
    let (host, path) = match address.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("docker.io", address),
    };
    let (name, tag) = path.rsplit_once(':').unwrap_or((path, "latest"));
    let host = match host {
        "docker.io" | "index.docker.io" => "registry-1.docker.io",
        other => other,
    };
    // Docker's own images have no owner in their names.
    let owner = match (host, name.contains('/')) {
        ("registry-1.docker.io", false) => "library/",
        _ => "",
    };
    Some(format!("https://{host}/v2/{owner}{name}/manifests/{tag}"))
}

/// The status of the last answer.
fn status(head: &str) -> Option<&str> {
    let mut lines = head.lines().rev();
    let line = lines.find(|line| line.starts_with("HTTP/"))?;
    line.split_whitespace().nth(1)
}

/// One field of the answer.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(own, _)| own.eq_ignore_ascii_case(name))?;
    Some(value.trim())
}

/// Where a registry that asks for a token has them given out.
fn token_url(head: &str) -> Option<String> {
    let challenge = field(head, "www-authenticate")?;
    let words = challenge.strip_prefix("Bearer ")?;
    let value = |name: &str| {
        let (_, rest) = words.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let realm = value("realm").filter(|realm| realm.starts_with("https://"))?;
    let service = value("service").unwrap_or_default();
    let scope = value("scope").unwrap_or_default();
    Some(format!("{realm}?service={service}&scope={scope}").replace(' ', "%20"))
}

fn ask_head(url: &str, token: Option<&str>) -> Option<String> {
    let mut curl = Curl::to(url, LIMIT)
        .flag("head")
        .flag("suppress-connect-headers")
        .set("header", &format!("Accept: {}", FORMS.join(", ")));
    if let Some(token) = token {
        curl = curl.set("header", &format!("Authorization: Bearer {token}"));
    }
    curl.answer().ok()
}

fn ask_token(url: &str) -> Option<String> {
    let answer = Curl::to(url, LIMIT).answer().ok()?;
    let answer: serde_json::Value = serde_json::from_str(&answer).ok()?;
    let token = answer.get("token").or_else(|| answer.get("access_token"))?;
    token.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_manifest_stands() {
        let check = |address: &str, want: Option<&str>| {
            assert_eq!(manifest_url(address).as_deref(), want, "{address}");
        };
        check(
            "python",
            Some("https://registry-1.docker.io/v2/library/python/manifests/latest"),
        );
        check(
            "pytorch/pytorch:2.1",
            Some("https://registry-1.docker.io/v2/pytorch/pytorch/manifests/2.1"),
        );
        check(
            "docker.io/python:3",
            Some("https://registry-1.docker.io/v2/library/python/manifests/3"),
        );
        check(
            "nvcr.io/nvidia/pytorch:24.01-py3",
            Some("https://nvcr.io/v2/nvidia/pytorch/manifests/24.01-py3"),
        );
        check(
            "localhost:5000/small",
            Some("https://localhost:5000/v2/small/manifests/latest"),
        );
        check("python@sha256:00", None);
    }

    #[test]
    fn what_a_registry_answers() {
        let check = |head: &str, want: (Option<&str>, Option<&str>)| {
            let token = token_url(head);
            assert_eq!((status(head), token.as_deref()), want, "{head}");
        };
        check("", (None, None));
        check(
            "HTTP/2 200\r\nDocker-Content-Digest: x\r\n",
            (Some("200"), None),
        );
        check(
            "HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Bearer realm=\"https://auth.docker.io/token\",\
             service=\"registry.docker.io\",scope=\"repository:library/python:pull\"\r\n\r\n",
            (
                Some("401"),
                Some(
                    "https://auth.docker.io/token?service=registry.docker.io&\
                     scope=repository:library/python:pull",
                ),
            ),
        );
        // A token is asked for over TLS or not at all.
        check(
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer realm=\"http://a/b\"\r\n",
            (Some("401"), None),
        );
        check(
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"x\"\r\n",
            (Some("401"), None),
        );
        let head = "HTTP/2 200\r\nDocker-Content-Digest: sha256:1\r\n";
        assert_eq!(field(head, "docker-content-digest"), Some("sha256:1"));
        assert!(!is_digest("sha256:1"));
        assert!(is_digest(&format!("sha256:{}", "0".repeat(64))));
    }
}
