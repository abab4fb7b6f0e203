//! What is done to a run while it goes on.

use crate::disks::Disks;
use crate::processes;
use crate::progress::Progress;
use crate::scenario::{Counter, Fault, Moment, TARGETS, Target, Wave};
use crate::stranger::Stranger;
use std::path::Path;
use std::time::{Duration, Instant};

const SIGKILL: i32 = 9;
/// A target that is not there at its moment is looked for so long: it may only just be starting.
const LOOKED_FOR: Duration = Duration::from_secs(3);

/// The faults of one run, in the order in which they happen.
pub struct Faults<'a> {
    environment: &'a Path,
    disks: Option<&'a Disks>,
    stages: Vec<Stage>,
    /// The place of the one that comes next.
    next: usize,
    /// Counters as they were when the stage before was over.
    base: Vec<u32>,
    /// When the next one's counter rose.
    reached: Option<Instant>,
    /// Processes that were killed, with when that was.
    pub log: Vec<String>,
    pub kills: u32,
    /// Whether the run stands still until a client looks after it: the batch step's first process was
    /// killed while no agent and no rank wrapper lived, so that to the cluster it is a script that
    /// failed; or the engine was, while no process of the run lived.
    pub stands: bool,
    stranger: Option<Stranger>,
}

struct Stage {
    moment: Moment,
    action: Action,
}

enum Action {
    Kill(Vec<Target>),
    Break,
    Mend,
}

const COUNTERS: [Counter; 9] = [
    Counter::Submitted,
    Counter::Started,
    Counter::Launched,
    Counter::Steps,
    Counter::Saved,
    Counter::Announced,
    Counter::Stopping,
    Counter::ComingBack,
    Counter::Done,
];

impl<'a> Faults<'a> {
    /// Nothing has happened yet.
    pub fn new(
        fault: &Fault,
        environment: &'a Path,
        disks: Option<&'a Disks>,
        stranger: Option<Stranger>,
    ) -> Faults<'a> {
        let stages = match fault {
            Fault::Kills { waves, .. } => waves.iter().map(Stage::of_wave).collect(),
            Fault::Disk {
                moment, lasts_ms, ..
            } => {
                let broken = Stage {
                    moment: *moment,
                    action: Action::Break,
                };
                let mended = Stage {
                    moment: Moment {
                        counter: Counter::Started,
                        rises_by: 0,
                        delay_ms: *lasts_ms,
                    },
                    action: Action::Mend,
                };
                vec![broken, mended]
            }
            Fault::Stranger => Vec::new(),
        };
        Faults {
            environment,
            disks,
            stages,
            next: 0,
            base: vec![0; COUNTERS.len()],
            reached: None,
            log: Vec::new(),
            kills: 0,
            stands: false,
            stranger,
        }
    }

    /// Does what is due.
    pub fn go_on(&mut self, progress: &Progress) {
        let Some(stage) = self.stages.get(self.next) else {
            return;
        };
        if self.reached.is_none() {
            let place = COUNTERS.iter().position(|one| *one == stage.moment.counter);
            let base = place.map_or(0, |place| self.base[place]);
            if progress.count(stage.moment.counter) < base + stage.moment.rises_by {
                return;
            }
        }
        let reached = *self.reached.get_or_insert_with(Instant::now);
        let due = reached + Duration::from_millis(stage.moment.delay_ms.into());
        let Some(late) = Instant::now().checked_duration_since(due) else {
            return;
        };
        let done = match &stage.action {
            Action::Kill(targets) => {
                let killed = kill(targets, self.environment);
                let done = !killed.is_empty() || late > LOOKED_FOR;
                if done {
                    let parent = killed.iter().any(|(target, _)| *target == Target::Parent);
                    // A killed one may be a moment from gone.
                    let is_killed = |pid: &u32| killed.iter().any(|(_, killed)| killed == pid);
                    let none = |target| {
                        let there = processes::find(target, self.environment);
                        there.iter().all(is_killed)
                    };
                    self.stands |=
                        parent && [Target::Agent, Target::RankWrapper].into_iter().all(none);
                    let engine = killed.iter().any(|(target, _)| *target == Target::Engine);
                    self.stands |= engine && TARGETS.into_iter().all(none);
                    self.kills += u32::try_from(killed.len()).unwrap();
                    self.log.push(format!("{} killed {killed:?}", sys::now()));
                }
                done
            }
            Action::Break => {
                self.log.push(format!("{} disk broken", sys::now()));
                if let Some(disks) = self.disks {
                    disks.fail();
                }
                true
            }
            Action::Mend => {
                self.log.push(format!("{} disk mended", sys::now()));
                if let Some(disks) = self.disks {
                    disks.mend();
                }
                true
            }
        };
        if done {
            self.base = COUNTERS.iter().map(|one| progress.count(*one)).collect();
            self.next += 1;
            self.reached = None;
        }
    }
}

impl Faults<'_> {
    /// Nothing is done any more: what was broken is mended.
    pub fn end(self) {
        drop(self.stranger);
        if let Some(disks) = self.disks {
            disks.mend();
        }
    }
}

impl Stage {
    fn of_wave(wave: &Wave) -> Stage {
        Stage {
            moment: wave.moment,
            action: Action::Kill(wave.targets.clone()),
        }
    }
}

/// Kills those of the targets that are there, all at once.
fn kill(targets: &[Target], environment: &Path) -> Vec<(Target, u32)> {
    let mut found = Vec::new();
    for target in targets {
        let mut pids = processes::find(*target, environment);
        if *target == Target::RankWrapper {
            pids.truncate(1);
        }
        found.extend(pids.into_iter().map(|pid| (*target, pid)));
    }
    // One that has ended since is none that was killed.
    found.retain(|(_, pid)| sys::process::signal(*pid, SIGKILL).is_ok());
    found
}
