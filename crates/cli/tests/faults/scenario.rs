//! What a seed decides: the training, the fault, its targets and its moments. Pure.

use crate::random::Random;
use std::fmt;

/// One run of the harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Decides all the rest.
    pub seed: u64,
    /// What is trained.
    pub training: Training,
    /// Whether a terminal follows the run. Without one, whatever is left must start the engine again.
    pub follows: bool,
    /// What goes wrong.
    pub fault: Fault,
}

/// A training: steps, each of which changes the parameters, and a checkpoint every few steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Ranks on the node.
    pub ranks: u32,
    /// Steps in all.
    pub steps: u32,
    /// A start that begins before the time limit came once goes no further than to this step, so
    /// that every run comes back from its limit, however quick the machine is.
    pub hold: u32,
    /// Pause after each step.
    pub pace_ms: u32,
}

/// One of our processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The batch step's first process, which waits for the conductor.
    Parent,
    Conductor,
    Agent,
    AgentsSrun,
    RanksSrun,
    RankWrapper,
    BatchSupervisor,
    AgentsSupervisor,
    RanksSupervisor,
    Engine,
    ForkServer,
}

/// Every target.
pub const TARGETS: [Target; 11] = [
    Target::Parent,
    Target::Conductor,
    Target::Agent,
    Target::AgentsSrun,
    Target::RanksSrun,
    Target::RankWrapper,
    Target::BatchSupervisor,
    Target::AgentsSupervisor,
    Target::RanksSupervisor,
    Target::Engine,
    Target::ForkServer,
];

/// The engine with all that outlives it.
pub const EVERYTHING: [Target; 5] = [
    Target::Engine,
    Target::ForkServer,
    Target::BatchSupervisor,
    Target::AgentsSupervisor,
    Target::RanksSupervisor,
];

/// What can be counted while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Run folders.
    Submitted,
    /// Starts whose conductor has begun.
    Started,
    /// Starts whose ranks were started.
    Launched,
    /// Steps that rank 0 computed.
    Steps,
    /// Checkpoints that rank 0 completed on the node.
    Saved,
    /// Checkpoints that were announced as saved in the run folder.
    Announced,
    /// Starts that came to their limit.
    Stopping,
    /// Starts that came back.
    ComingBack,
    /// Ranks that computed their last step.
    Done,
}

/// So long after a counter has risen by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub counter: Counter,
    pub rises_by: u32,
    pub delay_ms: u32,
}

/// Processes that are killed at the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Counted from the wave before, or from the beginning.
    pub moment: Moment,
    pub targets: Vec<Target>,
}

/// A disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disk {
    RunFolder,
    Node,
}

/// What is wrong with a disk for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    Full,
    ReadOnly,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Processes are killed.
    Kills { kind: Kind, waves: Vec<Wave> },
    /// A disk is full or read-only for a while.
    Disk {
        disk: Disk,
        trouble: Trouble,
        moment: Moment,
        lasts_ms: u32,
    },
    /// Another user does what other users can do, all the time.
    Stranger,
}

/// What a run may lose by a fault, as docs/what-survives.md says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// Nothing: no start is lost.
    Nothing,
    /// What was trained after the newest checkpoint that was complete on the node.
    SinceComplete,
    /// What was trained after the newest checkpoint that was copied.
    SinceCopied,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One process is killed.
    One,
    /// Several are, at once.
    Several,
    /// Twice, one or several.
    Waves,
    /// The engine with the fork server and all supervisors.
    Everything,
    /// The same, twice.
    EverythingTwice,
    /// A disk.
    Disk,
    /// Another user.
    Stranger,
}

impl Scenario {
    /// What the seed decides.
    pub fn of(seed: u64) -> Scenario {
        let mut random = Random::new(seed);
        let steps = random.between(40, 90);
        let training = Training {
            ranks: random.between(1, 2),
            steps,
            hold: random.between(steps / 2, steps - 10),
            pace_ms: random.between(15, 40),
        };
        let follows = random.between(0, 1) == 0;
        // The first kinds are drawn more often: they have more targets and moments.
        let kind = match random.between(0, 19) {
            0..=7 => Kind::One,
            8..=10 => Kind::Several,
            11..=13 => Kind::Waves,
            14 => Kind::Everything,
            15 => Kind::EverythingTwice,
            16..=18 => Kind::Disk,
            _ => Kind::Stranger,
        };
        let fault = match kind {
            Kind::One => kills(kind, vec![wave(&mut random, &training, 1)]),
            Kind::Several => {
                let size = random.between(2, 4);
                kills(kind, vec![wave(&mut random, &training, size)])
            }
            Kind::Waves => {
                let sizes = [random.between(1, 5), random.between(1, 5)];
                let waves = sizes.map(|size| wave(&mut random, &training, size));
                kills(kind, waves.to_vec())
            }
            Kind::Everything => kills(kind, vec![everything(&mut random, &training)]),
            Kind::EverythingTwice => {
                let first = everything(&mut random, &training);
                kills(kind, vec![first, everything(&mut random, &training)])
            }
            Kind::Disk => Fault::Disk {
                disk: random.one_of(&[Disk::RunFolder, Disk::Node]),
                trouble: random.one_of(&[Trouble::Full, Trouble::ReadOnly]),
                moment: after_submission(&mut random, &training),
                lasts_ms: random.between(200, 2500),
            },
            Kind::Stranger => Fault::Stranger,
        };
        Scenario {
            seed,
            training,
            follows,
            fault,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match &self.fault {
            Fault::Kills { kind, .. } => *kind,
            Fault::Disk { .. } => Kind::Disk,
            Fault::Stranger => Kind::Stranger,
        }
    }

    /// What it may lose.
    pub fn promise(&self) -> Promise {
        let waves = match &self.fault {
            Fault::Kills { waves, .. } => waves,
            // A program that can't save there has no complete checkpoint to lose.
            Fault::Disk { .. } => return Promise::SinceComplete,
            Fault::Stranger => return Promise::Nothing,
        };
        let of_waves = waves.iter().map(|wave| promise(&wave.targets));
        match of_waves.max() {
            // The second may kill what copies after the first.
            Some(Promise::SinceComplete) if waves.len() > 1 => Promise::SinceCopied,
            promise => promise.unwrap_or(Promise::Nothing),
        }
    }

    /// What of ours is under attack, for the table.
    pub fn targets(&self) -> Vec<String> {
        match &self.fault {
            Fault::Kills { kind, waves } => match kind {
                Kind::One | Kind::Several | Kind::Waves => {
                    let mut targets: Vec<Target> =
                        waves.iter().flat_map(|wave| wave.targets.clone()).collect();
                    targets.sort_unstable();
                    targets.dedup();
                    targets.iter().map(|target| format!("{target:?}")).collect()
                }
                _ => vec![format!("{kind:?}")],
            },
            Fault::Disk { disk, trouble, .. } => vec![format!("{disk:?} {trouble:?}")],
            Fault::Stranger => vec!["Stranger".to_owned()],
        }
    }
}

/// What a run may lose by the loss of these processes at once.
fn promise(targets: &[Target]) -> Promise {
    let of_one = |target: &Target| match target {
        Target::Engine | Target::ForkServer => Promise::Nothing,
        Target::Parent
        | Target::Conductor
        | Target::Agent
        | Target::AgentsSrun
        | Target::RanksSrun
        | Target::RankWrapper => Promise::SinceComplete,
        Target::BatchSupervisor | Target::AgentsSupervisor | Target::RanksSupervisor => {
            Promise::SinceCopied
        }
    };
    // Without the parent no process starts other agents.
    let agents = [Target::Agent, Target::AgentsSrun];
    if targets.contains(&Target::Parent) && agents.iter().any(|agent| targets.contains(agent)) {
        return Promise::SinceCopied;
    }
    targets.iter().map(of_one).max().unwrap_or(Promise::Nothing)
}

fn kills(kind: Kind, waves: Vec<Wave>) -> Fault {
    Fault::Kills { kind, waves }
}

fn everything(random: &mut Random, training: &Training) -> Wave {
    Wave {
        moment: moment(random, training),
        targets: EVERYTHING.to_vec(),
    }
}

fn wave(random: &mut Random, training: &Training, size: u32) -> Wave {
    let mut targets = Vec::new();
    while targets.len() < size as usize {
        let target = random.one_of(&TARGETS);
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Wave {
        moment: moment(random, training),
        targets,
    }
}

/// A run that can't even be submitted is refused.
fn after_submission(random: &mut Random, training: &Training) -> Moment {
    loop {
        let moment = moment(random, training);
        if moment.counter != Counter::Submitted {
            return moment;
        }
    }
}

fn moment(random: &mut Random, training: &Training) -> Moment {
    let (counter, rises_by, longest_ms) = match random.between(0, 16) {
        0 => (Counter::Started, 1, 150),
        1 => (Counter::Started, 2, 150),
        2 => (Counter::Launched, 1, 200),
        3 => (Counter::Launched, 2, 200),
        4..=7 => (Counter::Steps, random.between(1, training.steps - 5), 60),
        8 | 9 => (
            Counter::Saved,
            random.between(1, training.steps / 5 - 1),
            120,
        ),
        10 => (Counter::Announced, random.between(1, 5), 60),
        11 | 12 => (Counter::Stopping, 1, 60),
        13 => (Counter::ComingBack, 1, 60),
        14 => (Counter::Submitted, 1, 200),
        _ => (Counter::Done, random.between(1, training.ranks), 120),
    };
    Moment {
        counter,
        rises_by,
        delay_ms: random.between(0, longest_ms),
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Training {
            ranks,
            steps,
            hold,
            pace_ms,
        } = self.training;
        let client = if self.follows { "followed" } else { "detached" };
        write!(
            out,
            "{ranks} ranks, {steps} steps of {pace_ms} ms, held at {hold}, {client}: "
        )?;
        match &self.fault {
            Fault::Kills { waves, .. } => {
                for (place, wave) in waves.iter().enumerate() {
                    let then = if place == 0 { "kill" } else { "; then" };
                    write!(out, "{then} {:?} {}", wave.targets, wave.moment)?;
                }
                Ok(())
            }
            Fault::Disk {
                disk,
                trouble,
                moment,
                lasts_ms,
            } => write!(out, "{disk:?} {trouble:?} {moment} for {lasts_ms} ms"),
            Fault::Stranger => out.write_str("another user interferes"),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment {
            counter,
            rises_by,
            delay_ms,
        } = self;
        write!(out, "at {counter:?} +{rises_by} +{delay_ms} ms")
    }
}

#[test]
fn what_is_promised() {
    use Target::{Agent, AgentsSupervisor, Conductor, Engine, ForkServer, Parent};
    let check = |targets: &[Target], want: Promise| assert_eq!(promise(targets), want);
    check(&[Engine, ForkServer], Promise::Nothing);
    check(&[Engine, Parent], Promise::SinceComplete);
    check(&[Conductor, Agent], Promise::SinceComplete);
    check(&[Conductor, Agent, Parent], Promise::SinceCopied);
    check(&[AgentsSupervisor], Promise::SinceCopied);
}

#[test]
fn a_seed_decides_everything_and_seeds_differ() {
    let all: Vec<Scenario> = (0..500).map(Scenario::of).collect();
    assert_eq!(all[7], Scenario::of(7));
    for target in TARGETS {
        let name = format!("{target:?}");
        let there = all.iter().any(|one| one.targets().contains(&name));
        assert!(there, "no seed kills {name}");
    }
    assert!(all.iter().any(|one| one.kind() == Kind::Stranger));
    assert!(all.iter().any(|one| one.kind() == Kind::EverythingTwice));
    assert!(all.iter().any(|one| one.training.ranks == 2));
    for one in &all {
        assert!(one.training.hold < one.training.steps, "{one}");
    }
}
