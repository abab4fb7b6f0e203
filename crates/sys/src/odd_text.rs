//! Arguments and variables as text, whatever bytes they hold.
//!
//! They travel as JSON, which is text, and most are. A byte that is no UTF-8 stands as one of the
//! characters U+F780 to U+F7FF (128 and up; private ones, which no script uses), and so do the bytes
//! of such a character itself: so text becomes bytes again without a doubt.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What stands for byte 0; bytes below 128 are always themselves.
const BASE: u32 = 0xf700;

/// The text that stands for these bytes.
#[must_use]
pub fn text(bytes: &OsStr) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.as_bytes().utf8_chunks() {
        for char in chunk.valid().chars() {
            match byte_of(char) {
                None => text.push(char),
                Some(_) => stand_in(char.encode_utf8(&mut [0; 4]).as_bytes(), &mut text),
            }
        }
        stand_in(chunk.invalid(), &mut text);
    }
    text
}

/// The bytes that a text stands for.
#[must_use]
pub fn bytes(text: &str) -> Cow<'_, OsStr> {
    if !text.chars().any(|char| byte_of(char).is_some()) {
        return Cow::Borrowed(OsStr::new(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match byte_of(char) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(OsString::from_vec(bytes))
}

/// This process's environment.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .map(|(name, value)| (text(&name), text(&value)))
        .collect()
}

fn stand_in(bytes: &[u8], text: &mut String) {
    let chars = bytes
        .iter()
        .filter_map(|byte| char::from_u32(BASE + u32::from(*byte)));
    text.extend(chars);
}

fn byte_of(char: char) -> Option<u8> {
    let byte = u32::from(char).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| *byte >= 128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[u8], want: &str) {
        let text = text(OsStr::from_bytes(before));
        assert_eq!(text, want);
        assert_eq!(bytes(&text).as_bytes(), before);
    }

    #[test]
    fn any_bytes_come_back() {
        check(b"", "");
        check(
            "Grüße 🚂 \u{f77f}\u{f800}".as_bytes(),
            "Grüße 🚂 \u{f77f}\u{f800}",
        );
        check(b"a\xffb\xc3", "a\u{f7ff}b\u{f7c3}");
        check("\u{f7ff}".as_bytes(), "\u{f7ef}\u{f79f}\u{f7bf}");
        // A character cut in two, and put together again by what stands for its halves.
        check(b"\xe2\x82", "\u{f7e2}\u{f782}");
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        assert_eq!(bytes(&text(OsStr::from_bytes(&all))).as_bytes(), all);
    }
}
