//! Names of `[cluster.NAME]` that are slips of a known cluster's.

use crate::{Refusal, RefusalKind, RunFile};
use model::nearest;

/// Refuses a cluster's section that would never count: its name is nearly one of `known`. Another
/// name may be that of a cluster which is not known here.
///
/// # Errors
/// The first such section.
pub fn check_cluster_names(file: &RunFile, known: &[&str]) -> Result<(), Refusal> {
    let is_known = |name: &str| known.contains(&name);
    for name in file.clusters.keys().filter(|name| !is_known(name)) {
        let near = nearest(name, known.iter().copied());
        if let Some(near) = near.filter(|near| stem(near) != stem(name)) {
            let mut there = known.to_vec();
            there.sort_unstable();
            there.dedup();
            return Err(Refusal {
                kind: RefusalKind::Usage,
                message: format!("no cluster is called {name}"),
                asked: format!("[cluster.{name}]"),
                there: there.join(", "),
                todo: format!(
                    "write [cluster.{near}], or describe {name} in a cluster file (yard cluster import)"
                ),
            });
        }
    }
    Ok(())
}

/// `cedar2` beside `cedar` is another cluster, not a slip.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || "-_".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &str, want: Result<(), &str>) {
        let text = format!("command = [\"true\"]\n[cluster.{section}.resources]\nnodes = 2\n");
        let (file, problems) = RunFile::parse(&text, "yard.toml");
        assert_eq!(problems, []);
        let found = check_cluster_names(&file, &["local", "wilson", "cedar"]);
        let found = found.map_err(|refusal| refusal.todo);
        match (&found, want) {
            (Err(todo), Err(part)) => assert!(todo.starts_with(part), "{todo}"),
            (found, want) => assert_eq!(found.is_ok(), want.is_ok(), "{found:?}"),
        }
    }

    #[test]
    fn a_slip_of_a_known_name_is_refused() {
        check("wilson", Ok(()));
        check("wilosn", Err("write [cluster.wilson]"));
        check("Cedar", Err("write [cluster.cedar]"));
        check("loacl", Err("write [cluster.local]"));
        check("cedar2", Ok(()));
        check("narval", Ok(()));
    }
}
