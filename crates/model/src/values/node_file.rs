//! Files that name nodes, one or several on a line: those of `--nodefile`, of `--nodelist` with a slash,
//! and of `SLURM_HOSTFILE`.
//!
//! As 22.05.8 reads them (`slurm_read_hostfile`): what follows a `#` is a remark unless `\` stands before
//! it, `node*3` names a node three times, and a line begins with a letter or a digit.

use super::{NodeName, node_list};

/// Most names in a file: ours, so that no number behind a `*` can fill the memory.
const MOST_NAMES: usize = 1 << 20;

/// The nodes that a file of that name has, in its order, those named twice twice. With `count` so many of
/// them: less are an error. The errors are Slurm's.
pub(crate) fn parse(text: &str, file: &str, count: Option<usize>) -> Result<Vec<NodeName>, String> {
    let most = count.unwrap_or(MOST_NAMES).min(MOST_NAMES);
    let mut names = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = without_remark(line);
        let Some(first) = line.chars().next() else {
            continue;
        };
        if !first.is_ascii_alphanumeric() {
            return Err(format!("Invalid hostfile {file} contents on line {number}"));
        }
        for name in line.split(',').filter(|name| !name.is_empty()) {
            let (name, times) = repeated(name);
            let room = most - names.len();
            if count.is_none() && times > room {
                return Err(format!("Invalid hostfile {file} contents on line {number}"));
            }
            // What is no list of nodes is a name that no node has.
            let listed = node_list::expand(name).unwrap_or_else(|_| vec![NodeName::new(name)]);
            names.extend(
                listed
                    .iter()
                    .cycle()
                    .take(times.saturating_mul(listed.len()).min(room))
                    .cloned(),
            );
        }
    }
    match count {
        _ if names.is_empty() => Err("Hostlist is empty!".to_owned()),
        Some(count) if names.len() < count => Err("Too few NodeNames in Slurm Hostfile".to_owned()),
        _ => Ok(names),
    }
}

/// A line up to a `#` that is not escaped; an escaped one loses its `\`.
fn without_remark(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    for letter in line.chars() {
        if letter == '#' && !kept.ends_with('\\') {
            break;
        }
        if letter == '#' {
            kept.pop();
        }
        kept.push(letter);
    }
    kept
}

/// `node*3` is a node and how often; without a number it is a name like any other.
fn repeated(name: &str) -> (&str, usize) {
    let (node, times) = name.split_once('*').unwrap_or((name, ""));
    match times.parse() {
        Ok(times) if times > 0 => (node, times),
        _ => (name, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, count: Option<usize>, want: &str) {
        let read = parse(text, "hosts", count);
        let names = read.map(|names| {
            let names: Vec<&str> = names.iter().map(NodeName::as_str).collect();
            names.join(" ")
        });
        assert_eq!(names.unwrap_or_else(|error| error), want);
    }

    #[test]
    fn names_stand_in_their_order() {
        check("n3,n1*2\nn3\n# x\nn2\n", None, "n3 n1 n1 n3 n2");
        check("n3,n1*2\nn3\n", Some(2), "n3 n1");
        check("n1 # a remark\n\nn\\#2\n", None, "n1 n#2");
        check("n1*\nn2*0\n", None, "n1* n2*0");
        check("n[1-2]*9223372036854775808", Some(2), "n1 n2");
    }

    #[test]
    fn what_is_no_file_of_nodes_is_said_as_slurm_says_it() {
        check("", None, "Hostlist is empty!");
        check("# x\n", Some(2), "Hostlist is empty!");
        check(
            "n1\n-x\n",
            None,
            "Invalid hostfile hosts contents on line 2",
        );
        check("n1\n", Some(2), "Too few NodeNames in Slurm Hostfile");
        check(
            "n1*4294967295\n",
            None,
            "Invalid hostfile hosts contents on line 1",
        );
    }
}
