//! Who gets a page: whoever has the token, on a name of this machine's own.
//!
//! Other users of the machine reach the port too, and so does any page that a browser shows: the
//! token keeps the first out, the name in `Host` and the cookie's `SameSite` the second.

use std::io;

/// The cookie that holds the token after the first visit.
const COOKIE: &str = "yard";

/// What a visitor must know. It prints as nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What a visitor brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit<'a> {
    /// The header `Host`.
    pub host: Option<&'a str>,
    /// The header `Cookie`.
    pub cookies: Option<&'a str>,
    /// `token` of the address.
    pub token: Option<&'a str>,
}

/// What a visitor gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The page.
    Enters,
    /// The cookie, and the page then.
    GetsCookie,
    /// Nothing.
    StaysOut,
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> io::Result<Token> {
        let bytes: [u8; 16] = sys::random()?;
        Ok(Token(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// It as text, for the address that its owner gets.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The cookie that brings it again.
    #[must_use]
    pub fn cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", self.0)
    }

    /// Whether a visitor enters.
    #[must_use]
    pub fn judge(&self, visit: Visit<'_>) -> Entry {
        let host = visit.host.unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if !["127.0.0.1", "localhost", "[::1]"].contains(&name) {
            return Entry::StaysOut;
        }
        let cookies = visit.cookies.unwrap_or_default().split(';');
        let mut own = cookies.filter_map(|cookie| cookie.trim().split_once('='));
        if own.any(|(name, value)| name == COOKIE && self.is(value)) {
            return match visit.token {
                Some(_) => Entry::GetsCookie,
                None => Entry::Enters,
            };
        }
        match visit.token {
            Some(token) if self.is(token) => Entry::GetsCookie,
            _ => Entry::StaysOut,
        }
    }

    /// In a time that does not depend on where they differ.
    fn is(&self, other: &str) -> bool {
        let pairs = self.0.bytes().zip(other.bytes());
        self.0.len() == other.len() && pairs.fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, cookies: &str, token: Option<&str>, want: Entry) {
        let own = Token("secret".to_owned());
        let visit = Visit {
            host: Some(host),
            cookies: Some(cookies),
            token,
        };
        assert_eq!(own.judge(visit), want);
    }

    #[test]
    fn who_enters() {
        check("127.0.0.1:80", "", Some("secret"), Entry::GetsCookie);
        check("localhost:80", "a=b; yard=secret", None, Entry::Enters);
        check("localhost", "yard=secret", Some("old"), Entry::GetsCookie);
        check("127.0.0.1:80", "", None, Entry::StaysOut);
        check(
            "127.0.0.1:80",
            "yard=secre",
            Some("secret2"),
            Entry::StaysOut,
        );
        // A page of another name that a browser was made to find here.
        check(
            "evil.example:80",
            "yard=secret",
            Some("secret"),
            Entry::StaysOut,
        );
        assert_eq!(format!("{:?}", Token("secret".to_owned())), "Token(…)");
    }
}
