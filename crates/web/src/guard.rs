//! Who gets a page: whoever has the token, on a name of this machine's own.
//!
//! Other users of the machine reach the port too, and so does any page that a browser shows: the
//! token keeps the first out, the name in `Host` and the cookie's `SameSite` the second.

use std::io;

/// What a visitor must know. It prints as nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    /// The cookie that holds it after the first visit. Browsers give a name's cookies to all of its
    /// ports, so that each server has its own.
    cookie: String,
}

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
    /// A new one for the server on this port.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(port: u16) -> io::Result<Token> {
        let bytes: [u8; 16] = sys::random()?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Token::of(text, port))
    }

    fn of(text: String, port: u16) -> Token {
        let cookie = format!("yard-{port}");
        Token { text, cookie }
    }

    /// It as text, for the address that its owner gets.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The cookie that brings it again.
    #[must_use]
    pub fn cookie(&self) -> String {
        let Token { text, cookie } = self;
        format!("{cookie}={text}; Path=/; HttpOnly; SameSite=Strict")
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
        if own.any(|(name, value)| name == self.cookie && self.is(value)) {
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
        let pairs = self.text.bytes().zip(other.bytes());
        self.text.len() == other.len() && pairs.fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, cookies: &str, token: Option<&str>, want: Entry) {
        let own = Token::of("secret".to_owned(), 80);
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
        check("localhost:80", "a=b; yard-80=secret", None, Entry::Enters);
        check(
            "localhost",
            "yard-80=secret",
            Some("old"),
            Entry::GetsCookie,
        );
        check("127.0.0.1:80", "", None, Entry::StaysOut);
        // That of another server of this user.
        check("localhost:80", "yard-81=secret", None, Entry::StaysOut);
        check(
            "127.0.0.1:80",
            "yard-80=secre",
            Some("secret2"),
            Entry::StaysOut,
        );
        // A page of another name that a browser was made to find here.
        check(
            "evil.example:80",
            "yard-80=secret",
            Some("secret"),
            Entry::StaysOut,
        );
        let token = Token::of("secret".to_owned(), 80);
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
