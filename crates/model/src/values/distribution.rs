//! `--distribution`: how tasks are dealt out to nodes, sockets and cores.

use crate::values::number::leading;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How tasks are dealt out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Over nodes, sockets and cores, as far as it was said. Empty where only packing was asked.
    pub levels: Levels,
    /// `Pack` or `NoPack`: fill a node before the next is begun, or not.
    pub pack: Option<bool>,
}

/// What was said of nodes, sockets and cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Levels {
    /// `block`, `cyclic:block`, …: nodes, then sockets, then cores.
    Dealt(Vec<Dealing>),
    /// `plane=N`: blocks of N tasks.
    Plane(u32),
    /// `arbitrary`: as the list of nodes has it.
    Arbitrary,
}

/// In which order places are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dealing {
    /// One place until it is full.
    Block,
    /// One place after the other.
    Cyclic,
    /// As cyclic, each CPU of a task apart.
    FullyCyclic,
}

impl Distribution {
    /// Reads what `--distribution` takes; the error is what Slurm says.
    pub fn parse(text: &str) -> Result<Distribution, String> {
        let invalid = || "Invalid --distribution specification".to_owned();
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("plane") {
            let size = lower
                .split_once('=')
                .and_then(|(_, size)| match leading(size) {
                    (Some(size), "") => u32::try_from(size).ok().filter(|size| *size > 0),
                    _ => None,
                });
            let Some(size) = size else {
                return Err(format!(
                    "Invalid plane size or size not specified\n{}",
                    invalid()
                ));
            };
            return Ok(Distribution {
                levels: Levels::Plane(size),
                pack: None,
            });
        }
        if lower.is_empty() || lower.starts_with(',') {
            return Err(invalid());
        }
        let (base, flag) = lower.split_once(',').unwrap_or((&lower, ""));
        let pack = |word: &str| match word {
            "pack" => Some(true),
            "nopack" => Some(false),
            _ => None,
        };
        if let Some(base) = pack(base) {
            let pack = if flag.is_empty() {
                Some(base)
            } else {
                Some(pack(flag).ok_or_else(invalid)?)
            };
            return Ok(Distribution {
                levels: Levels::Dealt(Vec::new()),
                pack,
            });
        }
        let pack = match flag {
            "" => None,
            flag => Some(pack(flag).ok_or_else(invalid)?),
        };
        if matches!(base, "arbitrary" | "hostfile") {
            return Ok(Distribution {
                levels: Levels::Arbitrary,
                pack,
            });
        }
        let levels = dealt(base).ok_or_else(invalid)?;
        Ok(Distribution {
            levels: Levels::Dealt(levels),
            pack,
        })
    }

    /// How many tasks a node gets at once before the next one has its turn; `None` is as many as fit.
    #[must_use]
    pub fn at_once(&self) -> Option<u32> {
        match &self.levels {
            Levels::Dealt(levels) => match levels.first() {
                Some(Dealing::Cyclic | Dealing::FullyCyclic) => Some(1),
                Some(Dealing::Block) | None => None,
            },
            Levels::Plane(size) => Some(*size),
            Levels::Arbitrary => None,
        }
    }

    /// How a node's tasks are dealt out over its sockets. As in 22.05 what is said of cores changes nothing: they
    /// are filled one after the other.
    #[must_use]
    pub fn over_sockets(&self) -> Option<Dealing> {
        match &self.levels {
            Levels::Dealt(levels) => levels.get(1).copied(),
            Levels::Plane(_) => Some(Dealing::Block),
            Levels::Arbitrary => None,
        }
    }

    /// Deals `tasks` out to nodes with room for so many each; `None` where they do not fit.
    #[must_use]
    pub fn counts(at_once: u32, tasks: u32, room: &[u32]) -> Option<Vec<u32>> {
        let mut counts = vec![0; room.len()];
        let mut left = tasks;
        while left > 0 {
            let before = left;
            for (count, room) in counts.iter_mut().zip(room) {
                let more = at_once.min(room - *count).min(left);
                *count += more;
                left -= more;
            }
            if left == before {
                return None;
            }
        }
        Some(counts)
    }

    /// How many tasks each node gets where nothing is said about it, whatever their order: in turn, as
    /// far as the room goes (`_task_layout_block` of 22.05.8). With `overcommit` what is left goes on in
    /// turn, else it does not fit.
    #[must_use]
    pub fn even_counts(tasks: u32, room: &[u32], overcommit: bool) -> Option<Vec<u32>> {
        let counts = Distribution::counts(1, tasks, room);
        if counts.is_some() || !overcommit || room.is_empty() {
            return counts;
        }
        let fitting = room
            .iter()
            .fold(0_u32, |sum, more| sum.saturating_add(*more));
        let left = tasks.saturating_sub(fitting);
        let nodes = u32::try_from(room.len()).unwrap_or(u32::MAX);
        let (each, more) = (left / nodes, left % nodes);
        let on_node = |(index, room): (u32, &u32)| room + each + u32::from(index < more);
        Some((0..).zip(room).map(on_node).collect())
    }

    /// The ranks of each node's tasks, where node by node there are `counts` of them.
    #[must_use]
    pub fn ranks(at_once: Option<u32>, counts: &[u32]) -> Vec<Vec<u32>> {
        let mut ranks: Vec<Vec<u32>> = counts.iter().map(|_| Vec::new()).collect();
        let (mut next, all) = (0, counts.iter().sum::<u32>());
        let at_once = at_once.unwrap_or(u32::MAX).max(1);
        while next < all {
            for (node, count) in ranks.iter_mut().zip(counts) {
                let here = u32::try_from(node.len()).unwrap_or(u32::MAX);
                let more = at_once.min(count - here);
                node.extend(next..next + more);
                next += more;
            }
        }
        ranks
    }
}

/// `*` is the default of its place: block over nodes, cyclic over sockets, the socket's over cores.
fn dealt(base: &str) -> Option<Vec<Dealing>> {
    let mut levels: Vec<Dealing> = Vec::new();
    for word in base.split(':').filter(|word| !word.is_empty()) {
        let level = match (word, levels.len()) {
            ("*", 0) | ("block", _) => Dealing::Block,
            ("*", 1) | ("cyclic", _) => Dealing::Cyclic,
            ("fcyclic", 1 | 2) => Dealing::FullyCyclic,
            ("*", 2) => levels[1],
            _ => return None,
        };
        levels.push(level);
    }
    (1..=3).contains(&levels.len()).then_some(levels)
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = ",";
        match &self.levels {
            Levels::Plane(size) => write!(f, "plane={size}")?,
            Levels::Arbitrary => f.write_str("arbitrary")?,
            Levels::Dealt(levels) => {
                for (index, level) in levels.iter().enumerate() {
                    let colon = if index == 0 { "" } else { ":" };
                    let name = match level {
                        Dealing::Block => "block",
                        Dealing::Cyclic => "cyclic",
                        Dealing::FullyCyclic => "fcyclic",
                    };
                    write!(f, "{colon}{name}")?;
                }
                if levels.is_empty() {
                    comma = "";
                }
            }
        }
        match self.pack {
            Some(true) => write!(f, "{comma}Pack"),
            Some(false) => write!(f, "{comma}NoPack"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = Distribution::parse(text).map(|distribution| distribution.to_string());
        assert_eq!(read.as_deref().unwrap_or("invalid"), printed, "{text}");
    }

    #[test]
    fn all_forms() {
        check("block", "block");
        check("*", "block");
        check("*:*:*", "block:cyclic:cyclic");
        check("cyclic:fcyclic", "cyclic:fcyclic");
        check("Block:Block,NoPack", "block:block,NoPack");
        check("pack", "Pack");
        check("plane=4", "plane=4");
        check("hostfile", "arbitrary");
        for wrong in [
            "",
            "x",
            "fcyclic",
            "plane",
            "plane=",
            "plane=0",
            "block,x",
            "block:block:block:block",
            ",pack",
        ] {
            check(wrong, "invalid");
        }
    }

    /// What 22.05.8 made of it on two nodes: `srun -nTASKS -l -m TEXT hostname`.
    #[track_caller]
    fn check_dealt(text: &str, tasks: u32, room: [u32; 2], want: [&[u32]; 2]) {
        let asked = Distribution::parse(text).expect("a distribution");
        let at_once = asked.at_once();
        let counts = Distribution::counts(at_once.unwrap_or(u32::MAX), tasks, &room);
        assert_eq!(
            Distribution::ranks(at_once, &counts.expect("they fit")),
            want
        );
    }

    #[test]
    fn dealt_as_a_real_one_deals() {
        check_dealt("cyclic", 4, [4, 4], [&[0, 2], &[1, 3]]);
        check_dealt("cyclic", 4, [3, 1], [&[0, 2, 3], &[1]]);
        check_dealt("cyclic", 5, [4, 1], [&[0, 2, 3, 4], &[1]]);
        check_dealt("plane=1", 4, [2, 2], [&[0, 2], &[1, 3]]);
        check_dealt("plane=2", 5, [4, 4], [&[0, 1, 4], &[2, 3]]);
        check_dealt("plane=2", 6, [5, 1], [&[0, 1, 3, 4, 5], &[2]]);
        assert_eq!(Distribution::counts(1, 5, &[2, 2]), None);
    }

    proptest! {
        #[test]
        fn print_then_parse(text in "(plane=[0-9]{1,3}|arbitrary|(block|cyclic)(:(block|cyclic|fcyclic)){0,2})(,(pack|nopack))?") {
            if let Ok(read) = Distribution::parse(&text) {
                prop_assert_eq!(Distribution::parse(&read.to_string()), Ok(read));
            }
        }
    }
}
