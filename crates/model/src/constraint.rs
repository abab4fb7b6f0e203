//! `--constraint`: which features nodes must have, as it was asked.

use std::fmt;

/// A feature expression, such as `(v100|a100)&cuda`, `[rack1|rack2]`, `gpu*2&cpu*4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// A feature, on so many nodes where a number is behind it.
    Feature {
        /// Its name.
        name: String,
        /// `*N`
        nodes: Option<u32>,
    },
    /// All of them (`&`).
    All(Vec<Constraint>),
    /// One of them (`|`).
    Any(Vec<Constraint>),
    /// An expression in brackets.
    Inside {
        /// `[…]`: all nodes of the job have the same of what stands in it, or each so many; `(…)`
        /// only groups.
        square: bool,
        /// What stands in it.
        inner: Box<Constraint>,
        /// `*N`
        nodes: Option<u32>,
    },
}

/// No one nests deeper, and no text can exhaust the stack.
const DEEPEST: usize = 32;

impl Constraint {
    /// Reads an expression; a comma is an `&`. `None` for what is none: brackets that don't match,
    /// a name that is missing, a count that is no number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Constraint> {
        let mut rest = text.trim();
        let read = any(&mut rest, 0)?;
        rest.is_empty().then_some(read)
    }

    /// All names in it, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Constraint::Feature { name, .. } => vec![name],
            Constraint::All(parts) | Constraint::Any(parts) => {
                parts.iter().flat_map(Constraint::names).collect()
            }
            Constraint::Inside { inner, .. } => inner.names(),
        }
    }
}

fn any(rest: &mut &str, depth: usize) -> Option<Constraint> {
    let mut parts = vec![all(rest, depth)?];
    while let Some(tail) = rest.strip_prefix('|') {
        *rest = tail;
        parts.push(all(rest, depth)?);
    }
    match parts.len() {
        1 => parts.pop(),
        _ => Some(Constraint::Any(parts)),
    }
}

fn all(rest: &mut &str, depth: usize) -> Option<Constraint> {
    let mut parts = vec![one(rest, depth)?];
    while let Some(tail) = rest.strip_prefix(['&', ',']) {
        *rest = tail;
        parts.push(one(rest, depth)?);
    }
    match parts.len() {
        1 => parts.pop(),
        _ => Some(Constraint::All(parts)),
    }
}

fn one(rest: &mut &str, depth: usize) -> Option<Constraint> {
    for (open, close, square) in [('(', ')', false), ('[', ']', true)] {
        let Some(tail) = rest.strip_prefix(open) else {
            continue;
        };
        if depth == DEEPEST {
            return None;
        }
        *rest = tail;
        let inner = Box::new(any(rest, depth + 1)?);
        *rest = rest.strip_prefix(close)?;
        let nodes = count(rest)?;
        return Some(Constraint::Inside {
            square,
            inner,
            nodes,
        });
    }
    let end = rest
        .find(['&', '|', ',', '(', ')', '[', ']', '*'])
        .unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    *rest = tail;
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let nodes = count(rest)?;
    Some(Constraint::Feature {
        name: name.to_owned(),
        nodes,
    })
}

/// Reads `*N`; the outer `None` is a `*` without a number.
fn count(rest: &mut &str) -> Option<Option<u32>> {
    let Some(tail) = rest.strip_prefix('*') else {
        return Some(None);
    };
    let end = tail
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(tail.len());
    *rest = &tail[end..];
    tail[..end].parse().ok().map(Some)
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = match self {
            Constraint::Feature { name, nodes } => {
                f.write_str(name)?;
                *nodes
            }
            Constraint::Inside {
                square,
                inner,
                nodes,
            } => {
                match square {
                    true => write!(f, "[{inner}]")?,
                    false => write!(f, "({inner})")?,
                }
                *nodes
            }
            Constraint::All(parts) => return joined(f, parts, "&"),
            Constraint::Any(parts) => return joined(f, parts, "|"),
        };
        match nodes {
            Some(nodes) => write!(f, "*{nodes}"),
            None => Ok(()),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Constraint], between: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        let between = if index == 0 { "" } else { between };
        write!(f, "{between}{part}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: Option<&str>) {
        let read = Constraint::parse(text).map(|read| read.to_string());
        assert_eq!(read.as_deref(), printed, "{text}");
    }

    #[test]
    fn all_forms() {
        for text in [
            "v100",
            "a&b|c",
            "[a|b]",
            "(a|b)&c",
            "gpu*2&cpu*4",
            "[(a&b)|c]*2",
        ] {
            check(text, Some(text));
        }
        check("a,b", Some("a&b"));
        check(" a & b ", Some("a&b"));
        for wrong in ["", "a&", "(a", "a)", "a*", "[a|]", "a||b", "*2"] {
            check(wrong, None);
        }
        assert_eq!(
            Constraint::parse("(a|b)&c*2").map(|read| read.names().join(" ")),
            Some("a b c".to_owned())
        );
        check(&"(".repeat(100_000), None);
    }

    proptest! {
        #[test]
        fn print_then_parse(text in "[\\[(]?[a-c]{1,2}(\\*[0-9])?([&|,][(]?[a-c](\\*[1-9])?[)]?){0,4}[\\])]?(\\*2)?") {
            if let Some(read) = Constraint::parse(&text) {
                prop_assert_eq!(Constraint::parse(&read.to_string()), Some(read));
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Constraint::parse(&text);
        }
    }
}
