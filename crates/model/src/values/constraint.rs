//! `--constraint`: which features nodes must have, as it was asked.

use crate::values::SlurmVersion;
use crate::values::number::leading;
use std::fmt;

/// A feature expression, such as `(v100|a100)&cuda`, `[rack1|rack2]`, `gpu*2&cpu*4`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

    /// Whether a controller of a version takes the text for an expression; what names it has is
    /// another matter. 22.05 was asked; of later ones, which take more, only what is surely none is
    /// refused. `v100&` passes, and so does `v100*2x`.
    #[must_use]
    pub fn is_taken(version: SlurmVersion, text: &str) -> bool {
        let early = version < SlurmVersion::V23_02;
        Walk::default().takes(text, early)
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

/// How far an expression was looked at.
#[derive(Default)]
struct Walk {
    /// A name or a bracket stands before; another needs an operator between.
    operand: bool,
    round: bool,
    square: bool,
    /// There was a square bracket before.
    squares: bool,
    /// Inside of the square bracket: names, those with a count, and whether `&` or `|` part them.
    names: usize,
    counts: usize,
    all: bool,
    any: bool,
}

impl Walk {
    fn takes(&mut self, text: &str, early: bool) -> bool {
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let fits = match letter {
                '(' => !self.operand && !std::mem::replace(&mut self.round, true),
                ')' => self.operand && std::mem::take(&mut self.round),
                '[' => {
                    let first = !std::mem::replace(&mut self.squares, true);
                    let free = !self.operand && !self.round;
                    (self.names, self.counts, self.all, self.any) = (0, 0, false, false);
                    free && !std::mem::replace(&mut self.square, true) && (first || !early)
                }
                ']' => {
                    let closed = self.operand && !self.round && std::mem::take(&mut self.square);
                    let counted = match (self.all, self.any) {
                        (_, true) => self.counts == 0,
                        (true, false) => self.counts == self.names,
                        (false, false) => true,
                    };
                    closed && (!early || (counted && !rest.starts_with('*')))
                }
                '&' | ',' | '|' => {
                    let between = std::mem::take(&mut self.operand);
                    if !self.round {
                        *(if letter == '|' {
                            &mut self.any
                        } else {
                            &mut self.all
                        }) = true;
                    }
                    // At the end it parts nothing, and is let pass.
                    self.operand = rest.is_empty();
                    between
                }
                '*' => {
                    let (count, _) = leading(rest);
                    let end = rest.find(OPERATORS).unwrap_or(rest.len());
                    rest = &rest[end..];
                    self.counts += 1;
                    self.operand && count > Some(0) && !(early && self.round)
                }
                _ => {
                    let end = rest.find([&OPERATORS[..], &['*']].concat().as_slice());
                    rest = &rest[end.unwrap_or(rest.len())..];
                    self.names += 1;
                    !std::mem::replace(&mut self.operand, true)
                }
            };
            if !fits {
                return false;
            }
        }
        self.operand && !self.round && !self.square
    }
}

const OPERATORS: [char; 7] = ['&', '|', ',', '(', ')', '[', ']'];

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

    /// What a real 22.05.8 took and refused (`sbatch -H -C TEXT`, of features that it has).
    #[test]
    fn what_a_controller_takes() {
        for taken in [
            "v100& v100| v100*1 v100*1.5 v100*2*2 v100*2|a100 v100*1&a100*1 (v100|a100)*2 [v100]&cuda",
            "cuda&[v100|a100] v100|a100&cuda (v100|a100)&(cuda) (v100&cuda)|a100 [(v100&cuda)|a100]",
            "[v100*2] [v100*2&a100*1] cuda*2&v100*1 v100&(a100|cuda)",
        ]
        .iter()
        .flat_map(|line| line.split(' '))
        {
            assert!(Constraint::is_taken(SlurmVersion::V22_05, taken), "{taken}");
            assert!(Constraint::is_taken(SlurmVersion::V25_11, taken), "{taken}");
        }
        for refused in [
            "|v100 (v100 v100) [v100 v100] v100*x v100*0 v100* v100*-1 v100,,cuda v100&&cuda v100||a100",
            "v100&|a100 & | , ( ) () [] * *2 v100(a100) v100[a100] (v100|)&cuda [v100|]",
        ]
        .iter()
        .flat_map(|line| line.split(' '))
        {
            assert!(!Constraint::is_taken(SlurmVersion::V22_05, refused), "{refused}");
            assert!(!Constraint::is_taken(SlurmVersion::V25_11, refused), "{refused}");
        }
        for early in "[v100*1|a100*1] [v100&a100] [v100*2|a100*1] [v100|a100]*2 (v100*2) \
                      [v100|a100]&[cuda] [v100*2&a100]"
            .split_whitespace()
        {
            assert!(
                !Constraint::is_taken(SlurmVersion::V22_05, early),
                "{early}"
            );
            assert!(Constraint::is_taken(SlurmVersion::V25_11, early), "{early}");
        }
        assert!(!Constraint::is_taken(
            SlurmVersion::V22_05,
            "((v100|a100)&cuda)"
        ));
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
