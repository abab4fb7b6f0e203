//! Whether a node has what `--constraint` asks for.

use model::{Constraint, Request};

/// What a job asks for; none where it asks for nothing, or for what can't be read.
pub(super) fn wanted(request: &Request) -> Option<Constraint> {
    Constraint::parse(request.constraint.as_ref()?)
}

/// Whether a node with those features can be one of a job's. Which of several nodes has which
/// (`[a|b]`) makes no difference to one; where nodes are counted (`[a*2&b*4]`), each has a part.
pub(super) fn holds(constraint: &Constraint, features: &[String]) -> bool {
    match constraint {
        Constraint::Feature { name, .. } => features.contains(name),
        Constraint::All(parts) if parts.iter().any(is_counted) => {
            parts.iter().any(|part| holds(part, features))
        }
        Constraint::All(parts) => parts.iter().all(|part| holds(part, features)),
        Constraint::Any(parts) => parts.iter().any(|part| holds(part, features)),
        Constraint::Inside { inner, .. } => holds(inner, features),
    }
}

fn is_counted(constraint: &Constraint) -> bool {
    match constraint {
        Constraint::Feature { nodes, .. } | Constraint::Inside { nodes, .. } => nodes.is_some(),
        Constraint::All(_) | Constraint::Any(_) => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, node: &str, want: bool) {
        let features: Vec<String> = node.split(',').map(str::to_owned).collect();
        let constraint = Constraint::parse(text).unwrap();
        assert_eq!(holds(&constraint, &features), want, "{text}");
    }

    #[test]
    fn expressions() {
        check("v100", "v100,ib", true);
        check("v100&ib", "v100,ib", true);
        check("v100&ib", "v100", false);
        check("a100|v100", "v100", true);
        check("[rack1|rack2]", "rack2", true);
        check("(a|b)&c", "b,c", true);
        check("a&b|c", "c", true);
        check("[a&b]", "a", false);
        check("[a*2&b*4]", "b", true);
        check("[a*2&b*4]", "c", false);
        check("a*2", "a", true);
    }
}
