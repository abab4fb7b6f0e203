//! Which process of a run is which.

use crate::scenario::Target;
use std::fs;
use std::path::Path;

/// Processes of the target that belong to the folder of a run's environment.
pub fn find(target: Target, environment: &Path) -> Vec<u32> {
    let ours = testkit::that_mention(environment).into_iter();
    let matching = ours.filter(|(pid, command)| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        classify(name.trim_end(), command) == Some(target)
    });
    matching.map(|(pid, _)| pid).collect()
}

/// By its name, which supervisors and the fork server set, and its command line.
fn classify(name: &str, command: &str) -> Option<Target> {
    if let Some(role) = name.strip_prefix("yard:") {
        return if role.ends_with(".batch") {
            Some(Target::BatchSupervisor)
        } else if role.ends_with(".0") {
            Some(Target::AgentsSupervisor)
        } else if role.ends_with(".1") {
            Some(Target::RanksSupervisor)
        } else if role == "rest" || role == "idle" {
            None
        } else {
            Some(Target::ForkServer)
        };
    }
    let words: Vec<&str> = command.split(' ').collect();
    let has = |two: [&str; 2]| words.windows(2).any(|pair| pair == two);
    if words.first() == Some(&"srun") {
        let steps = [("agent", Target::AgentsSrun), ("rank", Target::RanksSrun)];
        let step = steps.iter().find(|(what, _)| has(["job", what]));
        return step.map(|(_, target)| *target);
    }
    let programs = [
        (["engine", "serve"], Target::Engine),
        (["job", "conductor"], Target::Parent),
        (["job", "conduct"], Target::Conductor),
        (["job", "agent"], Target::Agent),
        (["job", "rank"], Target::RankWrapper),
    ];
    let program = programs.iter().find(|(two, _)| has(*two));
    program.map(|(_, target)| *target)
}

#[test]
fn our_processes_are_told_apart() {
    let check = |name: &str, command: &str, want: Option<Target>| {
        assert_eq!(classify(name, command), want, "{name}: {command}");
    };
    let serve = "/x/yard engine serve --dir /x";
    check("yard", serve, Some(Target::Engine));
    check("yard:fork", serve, Some(Target::ForkServer));
    check("yard:12.batch", serve, Some(Target::BatchSupervisor));
    check("yard:12.1", serve, Some(Target::RanksSupervisor));
    check("yard:idle", serve, None);
    check(
        "srun",
        "srun --nodes 1 /x/yard job rank 1.0 /x",
        Some(Target::RanksSrun),
    );
    check("yard", "/x/yard job rank 1.0 /x", Some(Target::RankWrapper));
    check("yard", "/x/yard job conduct /x 1", Some(Target::Conductor));
    check("yard", "/x/yard run --on local", None);
}
