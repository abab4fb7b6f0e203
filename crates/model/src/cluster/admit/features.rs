//! Whether a node has what `--constraint` asks for.

/// A feature expression: `a&b`, `a|b`, `[a|b]`, `(a|b)&c`, `a*2`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Features {
    Name(String),
    All(Vec<Features>),
    Any(Vec<Features>),
}

impl Features {
    /// Reads an expression. Which of several nodes has which feature (`[…]`, `*2`) makes no
    /// difference to whether one node can serve, so brackets are parentheses here and counts are
    /// left out. None for what is no expression.
    pub fn parse(text: &str) -> Option<Features> {
        let mut rest = text.trim();
        let read = alternatives(&mut rest, 0)?;
        rest.is_empty().then_some(read)
    }

    pub fn holds(&self, features: &[String]) -> bool {
        match self {
            Features::Name(name) => features.contains(name),
            Features::All(parts) => parts.iter().all(|part| part.holds(features)),
            Features::Any(parts) => parts.iter().any(|part| part.holds(features)),
        }
    }

    /// All names in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Features::Name(name) => vec![name],
            Features::All(parts) | Features::Any(parts) => {
                parts.iter().flat_map(Features::names).collect()
            }
        }
    }
}

/// No one nests deeper, and no text can exhaust the stack.
const DEEPEST: usize = 32;

fn alternatives(rest: &mut &str, depth: usize) -> Option<Features> {
    parts(rest, &['|'], Features::Any, |rest| {
        // `[a&b]` and `[a|b,c]` are read as well; a comma is an `&`.
        parts(rest, &['&', ','], Features::All, |rest| one(rest, depth))
    })
}

fn parts(
    rest: &mut &str,
    separators: &[char],
    together: fn(Vec<Features>) -> Features,
    next: impl Fn(&mut &str) -> Option<Features>,
) -> Option<Features> {
    let first = next(rest)?;
    let mut all = vec![first];
    while let Some(tail) = rest.strip_prefix(separators) {
        *rest = tail;
        all.push(next(rest)?);
    }
    if all.len() > 1 {
        Some(together(all))
    } else {
        all.pop()
    }
}

fn one(rest: &mut &str, depth: usize) -> Option<Features> {
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(tail) = rest.strip_prefix(open) {
            if depth == DEEPEST {
                return None;
            }
            *rest = tail;
            let inner = alternatives(rest, depth + 1)?;
            *rest = count(rest.strip_prefix(close)?);
            return Some(inner);
        }
    }
    let end = rest
        .find(['&', '|', ',', '(', ')', '[', ']', '*'])
        .unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    *rest = count(tail);
    let name = name.trim();
    (!name.is_empty()).then(|| Features::Name(name.to_owned()))
}

/// What follows `*2`.
fn count(rest: &str) -> &str {
    match rest.strip_prefix('*') {
        Some(tail) => tail.trim_start_matches(|letter: char| letter.is_ascii_digit()),
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, node: &str, want: Option<bool>) {
        let features: Vec<String> = node.split(',').map(str::to_owned).collect();
        assert_eq!(
            Features::parse(text).map(|read| read.holds(&features)),
            want,
            "{text}"
        );
    }

    #[test]
    fn expressions() {
        check("v100", "v100,ib", Some(true));
        check("v100&ib", "v100,ib", Some(true));
        check("v100&ib", "v100", Some(false));
        check("a100|v100", "v100", Some(true));
        check("[rack1|rack2]", "rack2", Some(true));
        check("(a|b)&c", "b,c", Some(true));
        check("a&b|c", "c", Some(true));
        check("[a*2&b*4]", "a,b", Some(true));
        check("a*2", "a", Some(true));
        for wrong in ["", "&", "a&", "(a", "a)", "[a]]", "a||b"] {
            check(wrong, "a", None);
        }
        check(&"(".repeat(1000), "a", None);
    }
}
