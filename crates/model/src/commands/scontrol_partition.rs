//! `scontrol create|update PartitionName=…`: its words as settings, and what Slurm 22.05 says of those
//! that it refuses.

use super::scontrol::abbreviates;
use super::scontrol_nodes::{SaidOfWords, cpu_bind_setting};
use crate::records::Settings;
use crate::values::{Seconds, TimeLimitRequest, node_list};

/// What a `scontrol create` or `update` of a partition asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionWords {
    /// Its name.
    pub name: String,
    /// Settings under the names that a cluster's changes have.
    pub settings: Settings,
}

/// How a value is read.
#[derive(Clone, Copy)]
enum Kind {
    /// A name or a list as it stands; `ALL` and nothing at all are no limit.
    List,
    /// A name, or nothing.
    Name,
    /// Another partition, or `NONE`.
    Other,
    /// A node list, `ALL`, or nothing.
    Nodes,
    /// A length of time.
    Time,
    /// A number of nodes.
    NodeCount,
    /// A number; `UNLIMITED` is none.
    Count,
    /// A number of MiB a node; 0 is none.
    Memory,
    /// A number of MiB a CPU; 0 is none, and stays one a CPU.
    MemoryPerCpu,
    /// A number between 0 and 65533.
    Rank,
    /// Seconds.
    Grace,
    /// `YES` or `NO`.
    YesNo,
    /// `UP`, `DOWN`, `DRAIN`, `INACTIVE`.
    State,
    /// `OFF`, `CANCEL`, `REQUEUE`, `SUSPEND`.
    Preempt,
    /// `NO`, `EXCLUSIVE`, `YES[:4]`, `FORCE[:4]`.
    Share,
    /// `DefCpuPerGPU=2,DefMemPerGPU=100`
    JobDefaults,
    /// A number of minutes, or `UNLIMITED`.
    OverTime,
    /// `none`, `cores`, …; `off` is nothing.
    CpuBind,
}

#[rustfmt::skip]
const KEYS: &[(&str, &str, Kind)] = &[
    ("AllowAccounts", "allowaccounts", Kind::List),
    ("DenyAccounts", "denyaccounts", Kind::List),
    ("AllowQos", "allowqos", Kind::List),
    ("DenyQos", "denyqos", Kind::List),
    ("AllowGroups", "allowgroups", Kind::List),
    ("AllocNodes", "allocnodes", Kind::List),
    ("Alternate", "alternate", Kind::Other),
    ("CpuBind", "cpubind", Kind::CpuBind),
    ("Default", "default", Kind::YesNo),
    ("DefaultTime", "defaulttime", Kind::Time),
    ("DefMemPerCPU", "defmempercpu", Kind::MemoryPerCpu),
    ("DefMemPerNode", "defmempernode", Kind::Memory),
    ("DisableRootJobs", "disablerootjobs", Kind::YesNo),
    ("ExclusiveUser", "exclusiveuser", Kind::YesNo),
    ("GraceTime", "gracetime", Kind::Grace),
    ("Hidden", "hidden", Kind::YesNo),
    ("JobDefaults", "jobdefaults", Kind::JobDefaults),
    ("LLN", "lln", Kind::YesNo),
    ("MaxCPUsPerNode", "maxcpuspernode", Kind::Count),
    ("MaxMemPerCPU", "maxmempercpu", Kind::MemoryPerCpu),
    ("MaxMemPerNode", "maxmempernode", Kind::Memory),
    ("MaxNodes", "maxnodes", Kind::NodeCount),
    ("MaxTime", "maxtime", Kind::Time),
    ("MinNodes", "minnodes", Kind::NodeCount),
    ("Nodes", "nodes", Kind::Nodes),
    ("OverSubscribe", "oversubscribe", Kind::Share),
    ("OverTimeLimit", "overtimelimit", Kind::OverTime),
    ("PreemptMode", "preemptmode", Kind::Preempt),
    ("Priority", "priority", Kind::Rank),
    ("PriorityJobFactor", "priorityjobfactor", Kind::Rank),
    ("PriorityTier", "prioritytier", Kind::Rank),
    ("QOS", "qos", Kind::Name),
    ("ReqResv", "reqresv", Kind::YesNo),
    ("RootOnly", "rootonly", Kind::YesNo),
    ("Shared", "oversubscribe", Kind::Share),
    ("State", "state", Kind::State),
    ("TRESBillingWeights", "tresbillingweights", Kind::Name),
];

/// Reads the words.
///
/// # Errors
/// What Slurm says of the first that it refuses; after an update it says one line more than after a
/// creation.
pub fn partition_words(words: &[String], is_new: bool) -> Result<PartitionWords, SaidOfWords> {
    let read = read(words).map_err(|refused| {
        let mut lines = refused.lines;
        if !is_new && !refused.is_all {
            lines.push("slurm_update error: No error".to_owned());
        }
        SaidOfWords { lines }
    })?;
    if !is_new && words.len() < 2 {
        return Err(SaidOfWords::of(&["scontrol: error: No changes specified"]));
    }
    Ok(read)
}

struct Refused {
    lines: Vec<String>,
    /// Nothing follows.
    is_all: bool,
}

impl Refused {
    fn of(lines: &[&str]) -> Refused {
        Refused {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            is_all: false,
        }
    }
}

fn read(words: &[String]) -> Result<PartitionWords, Refused> {
    let mut asked = PartitionWords::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            let text = format!("scontrol: error: Invalid input: {word}  Request aborted");
            return Err(Refused::of(&[&text]));
        };
        if abbreviates(key, "PartitionName", 3) {
            value.clone_into(&mut asked.name);
            continue;
        }
        let mut keys = KEYS.iter();
        let found = keys.find(|(name, _, _)| name.eq_ignore_ascii_case(key));
        let Some((name, setting, kind)) = found else {
            return Err(Refused::of(&[
                &format!("scontrol: error: Update of this parameter is not supported: {word}"),
                "",
                "scontrol: error: Request aborted",
            ]));
        };
        let mut put = |setting: &str, text: String| asked.settings.insert(setting.to_owned(), text);
        match kind {
            // It is both.
            Kind::Rank if *setting == "priority" => {
                let text = setting_of(*kind, name, word, value)?;
                put("priorityjobfactor", text.clone());
                put("prioritytier", text);
            }
            Kind::JobDefaults => job_defaults(word, value, &mut put)?,
            kind => {
                let text = setting_of(*kind, name, word, value)?;
                if !setting.is_empty() {
                    put(setting, text);
                }
                // One of them holds, and that is the last.
                match *setting {
                    "defmempercpu" => drop(put("defmempernode", String::new())),
                    "defmempernode" => drop(put("defmempercpu", String::new())),
                    "maxmempercpu" => drop(put("maxmempernode", String::new())),
                    "maxmempernode" => drop(put("maxmempercpu", String::new())),
                    _ => {}
                }
            }
        }
    }
    Ok(asked)
}

/// A value as it is kept; an empty text says nothing.
fn setting_of(kind: Kind, name: &str, word: &str, value: &str) -> Result<String, Refused> {
    let is = |text: &str| value.eq_ignore_ascii_case(text);
    let is_none = is("UNLIMITED") || is("INFINITE") || value == "-1";
    let one_of = |words: &[&str], said: &str| {
        let found = words.iter().find(|known| is(known));
        found.map(|known| known.to_lowercase()).ok_or_else(|| {
            Refused::of(&[
                &format!("scontrol: error: Invalid input: {word}"),
                &format!("scontrol: error: Acceptable {name} values are {said}"),
            ])
        })
    };
    let whole = || value.parse::<u32>().ok().map(|number| number.to_string());
    match kind {
        Kind::List if is("ALL") => Ok(String::new()),
        Kind::Other if is("NONE") => Ok(String::new()),
        Kind::List | Kind::Name | Kind::Other => Ok(value.to_owned()),
        Kind::Nodes => match node_list::expand(value) {
            Ok(_) => Ok(value.to_owned()),
            Err(_) => Err(Refused {
                lines: vec!["slurm_update error: Invalid node name specified".to_owned()],
                is_all: true,
            }),
        },
        Kind::Time if is_none => Ok(String::new()),
        Kind::Time => match TimeLimitRequest::parse(value) {
            Some(TimeLimitRequest::Limit(Seconds(seconds))) => Ok(seconds.to_string()),
            Some(TimeLimitRequest::Unlimited) => Ok(String::new()),
            None => Err(Refused::of(&[&format!("scontrol: error: Invalid input {word}")])),
        },
        Kind::NodeCount | Kind::Count if is_none => Ok(String::new()),
        Kind::NodeCount | Kind::Count => whole().ok_or_else(|| Refused {
            lines: vec![format!(
                "scontrol: error: Invalid numeric value \"{value}\" for {name}."
            )],
            is_all: true,
        }),
        Kind::Memory if value == "0" => Ok(String::new()),
        Kind::OverTime if is("UNLIMITED") || is("INFINITE") => Ok(Seconds::YEAR.0.to_string()),
        Kind::OverTime => {
            let minutes = value.parse::<u16>().ok().filter(|it| *it < u16::MAX - 1);
            let seconds = minutes.map(|minutes| (u32::from(minutes) * 60).to_string());
            seconds.ok_or_else(|| {
                Refused::of(&[&format!("scontrol: error: Invalid {name} value: {value}")])
            })
        }
        Kind::CpuBind => cpu_bind_setting(value)
            .ok_or_else(|| Refused::of(&[&format!("scontrol: error: Invalid input {word}")])),
        Kind::Memory | Kind::MemoryPerCpu | Kind::Rank | Kind::Grace => whole().ok_or_else(|| {
            Refused::of(&[&format!("scontrol: error: Invalid {name} value: {value}")])
        }),
        Kind::YesNo => one_of(&["YES", "NO"], "YES and NO"),
        Kind::State => one_of(
            &["UP", "DOWN", "DRAIN", "INACTIVE"],
            "UP, DOWN, DRAIN and INACTIVE",
        ),
        Kind::Preempt => {
            let words = ["OFF", "CANCEL", "REQUEUE", "SUSPEND"];
            let found = words.into_iter().find(|known| is(known));
            found.map(str::to_lowercase).ok_or_else(|| {
                Refused::of(&[&format!("scontrol: error: Invalid input: {word}")])
            })
        }
        Kind::Share => share(value).ok_or_else(|| {
            Refused::of(&[
                &format!("scontrol: error: Invalid input: {word}"),
                "scontrol: error: Acceptable OverSubscribe values are NO, EXCLUSIVE, YES:#, and FORCE:#",
            ])
        }),
        Kind::JobDefaults => Ok(String::new()),
    }
}

/// `YES` and `FORCE` without a number are of four jobs.
fn share(value: &str) -> Option<String> {
    let upper = value.to_ascii_uppercase();
    match upper.as_str() {
        "NO" => return Some(String::new()),
        "EXCLUSIVE" => return Some(upper),
        "YES" | "FORCE" => return Some(format!("{upper}:4")),
        _ => {}
    }
    let (word, jobs) = upper.split_once(':')?;
    let jobs: u32 = jobs
        .parse()
        .ok()
        .filter(|jobs| (1..=u32::from(i16::MAX as u16)).contains(jobs))?;
    matches!(word, "YES" | "FORCE").then(|| format!("{word}:{jobs}"))
}

fn job_defaults(
    word: &str,
    value: &str,
    put: &mut impl FnMut(&str, String) -> Option<String>,
) -> Result<(), Refused> {
    put("defcpupergpu", String::new());
    put("defmempergpu", String::new());
    for part in value.split(',').filter(|part| !part.is_empty()) {
        let refused = || Refused::of(&[&format!("scontrol: error: Invalid input: {word}")]);
        let (key, number) = part.split_once('=').ok_or_else(refused)?;
        let number: u32 = number.parse().map_err(|_| refused())?;
        let setting = ["defcpupergpu", "defmempergpu"]
            .into_iter()
            .find(|name| name.eq_ignore_ascii_case(key));
        put(setting.ok_or_else(refused)?, number.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        want.assert_eq(&match partition_words(&words, false) {
            Ok(asked) => format!("{} {:?}", asked.name, asked.settings),
            Err(said) => said.lines.join("\n"),
        });
    }

    #[test]
    fn words_become_settings() {
        check(
            "PartitionName=p MaxTime=1-12 State=up AllowQos=ALL",
            expect![[r#"p {"allowqos": "", "maxtime": "129600", "state": "up"}"#]],
        );
        check(
            "part=p Priority=3 OverSubscribe=yes",
            expect![[
                r#"p {"oversubscribe": "YES:4", "priorityjobfactor": "3", "prioritytier": "3"}"#
            ]],
        );
        check(
            "PartitionName=p AllocNodes=all Alternate=q DisableRootJobs=yes OverTimeLimit=5 CpuBind=core",
            expect![[
                r#"p {"allocnodes": "", "alternate": "q", "cpubind": "cores", "disablerootjobs": "yes", "overtimelimit": "300"}"#
            ]],
        );
        check(
            "PartitionName=p Alternate=none OverTimeLimit=INFINITE CpuBind=off DefMemPerCPU=0",
            expect![[
                r#"p {"alternate": "", "cpubind": "", "defmempercpu": "0", "defmempernode": "", "overtimelimit": "31536000"}"#
            ]],
        );
        check(
            "PartitionName=p JobDefaults=DefCpuPerGPU=2",
            expect![[r#"p {"defcpupergpu": "2", "defmempergpu": ""}"#]],
        );
    }

    #[test]
    fn refusals_are_slurms() {
        check(
            "PartitionName=p",
            expect!["scontrol: error: No changes specified"],
        );
        check(
            "PartitionName=p State=x",
            expect![[r"
                scontrol: error: Invalid input: State=x
                scontrol: error: Acceptable State values are UP, DOWN, DRAIN and INACTIVE
                slurm_update error: No error"]],
        );
        check(
            "PartitionName=p MaxNodes=x",
            expect![[r#"scontrol: error: Invalid numeric value "x" for MaxNodes."#]],
        );
        check(
            "PartitionName=p OverTimeLimit=65534",
            expect![[r"
                scontrol: error: Invalid OverTimeLimit value: 65534
                slurm_update error: No error"]],
        );
        check(
            "PartitionName=p CpuBind=x",
            expect![[r"
                scontrol: error: Invalid input CpuBind=x
                slurm_update error: No error"]],
        );
    }
}
