//! Histories of a run on several nodes, drawn at random: nodes write their parts at their own pace, copies fail,
//! conductors are killed, nodes are replaced. Whatever happens, each start resumes from the newest checkpoint of
//! which every part is there.

use super::*;
use crate::conductor::copies::{Part, PartsAsked};
use folder::Attempt;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a node's part.
const PART: u64 = 9;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum WorldEvent {
    /// A node begins to write.
    Begin(usize),
    /// A node writes its part of its next checkpoint.
    Write(usize),
    /// An agent carries out its next order; a copy fails where that is said.
    Act { node: usize, copy_fails: bool },
    /// All agents carry out all that they received, and all is published.
    Settle,
    /// What was put together is published, or the disk refuses it.
    Publish { is_refused: bool },
    /// Seconds go by.
    Wait(i64),
    /// The ranks' step is killed: what is complete is brought out.
    LoseRanks,
    /// All that runs in the job is killed; whether the next start finishes what was being published, and which of
    /// the copies fail that it begins with: a bit for each.
    Kill { is_recovered: bool, failing: u8 },
    /// The same, and a node is replaced by another one.
    LoseNode(usize),
}

fn world_event() -> impl Strategy<Value = WorldEvent> {
    use WorldEvent::*;
    prop_oneof![
        1 => (0..3usize).prop_map(Begin),
        8 => (0..3usize).prop_map(Write),
        8 => (0..3usize, prop::bool::weighted(0.2)).prop_map(|(node, copy_fails)| Act { node, copy_fails }),
        3 => Just(Settle),
        4 => prop::bool::weighted(0.2).prop_map(|is_refused| Publish { is_refused }),
        3 => (1..70i64).prop_map(Wait),
        1 => Just(LoseRanks),
        2 => (any::<bool>(), prop_oneof![2 => Just(0), 1 => any::<u8>()]).prop_map(|(is_recovered, failing)| Kill { is_recovered, failing }),
        1 => (0..3usize).prop_map(LoseNode),
    ]
}

/// A part on a node's own disk.
#[derive(Clone, Copy, Debug)]
struct OnDisk {
    /// The start that wrote it.
    version: u32,
    /// The version that was copied last and is not known to be out.
    given: Option<u32>,
    is_out: bool,
}

#[derive(Debug, Default)]
struct Node {
    parts: BTreeMap<String, OnDisk>,
    orders: VecDeque<Order>,
    /// The last step that it wrote.
    step: u64,
}

/// What is about to be published, and of which versions.
#[derive(Debug)]
struct Publication {
    name: String,
    parts: Vec<Part>,
    merge: bool,
    asked: PartsAsked,
}

struct World {
    now: Timestamp,
    start: u32,
    keep_all: bool,
    nodes: Vec<Node>,
    out: WholeCheckpoints,
    /// Of each checkpoint in the run folder which version of each node's part it has.
    versions: BTreeMap<String, BTreeMap<String, u32>>,
    publication: Option<Publication>,
    state: ConductorState,
    /// Which of the next copies and publications of a start fail before it trains, a bit for each.
    failing: u8,
    /// Whether one has.
    has_failed: bool,
    /// Whether some checkpoint with all parts was put together.
    is_known: bool,
    is_training: bool,
    is_over: bool,
    history: Vec<String>,
}

fn name_of(step: u64) -> String {
    format!("step-{step}")
}

/// The start that wrote this version.
fn start_of(version: u32) -> Option<Attempt> {
    Some(Attempt {
        job: version,
        restart: 0,
    })
}

impl World {
    /// A run that has saved its first checkpoint, or is at its beginning.
    fn new(nodes: usize, keep_all: bool, has_saved: bool) -> World {
        let names = (0..nodes).map(|node| format!("n{node}"));
        let mut first = KnownCheckpoint::named(&name_of(1));
        first.proven = true;
        first.bytes = Some(PART * u64::try_from(nodes).unwrap());
        first.parts.nodes = names.clone().collect();
        first.parts.of = nodes;
        let mut world = World {
            now: Timestamp(0),
            start: 0,
            keep_all,
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            out: WholeCheckpoints::default(),
            versions: BTreeMap::new(),
            publication: None,
            state: ConductorState::new(facts()),
            failing: 0,
            has_failed: false,
            is_known: has_saved,
            is_training: false,
            is_over: false,
            history: Vec::new(),
        };
        if has_saved {
            world.out.publish(first);
            let versions = names.map(|name| (name, 0)).collect();
            world.versions.insert(name_of(1), versions);
        }
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.start += 1;
        self.history.push(format!("start {}", self.start));
        self.is_training = false;
        self.is_over = false;
        self.publication = None;
        self.state = ConductorState::new(Facts {
            nodes: u32::try_from(self.nodes.len()).unwrap(),
            deadlines: None,
            hello_by: later(self.now, Duration::from_secs(600)),
            checkpoints: self.out.clone(),
            keep_all: self.keep_all,
            ..facts()
        });
        let _ = self.state.begin();
        for node in 0..self.nodes.len() {
            self.nodes[node].orders.clear();
            let parts = self.nodes[node].parts.iter_mut();
            for (_, part) in parts {
                part.given = None;
            }
            let parts = self.nodes[node].parts.iter();
            let kept: Vec<(String, u32)> = parts
                .filter(|(_, part)| !part.is_out)
                .map(|(name, part)| (name.clone(), part.version))
                .collect();
            for (name, version) in kept {
                self.say(
                    node,
                    Report::Kept {
                        name,
                        written: None,
                        bytes: Some(PART),
                        start: start_of(version),
                    },
                );
            }
            let number = u32::try_from(node).unwrap();
            let StateEvent::Report(_, hello) = event(&["hello", &number.to_string()]) else {
                unreachable!()
            };
            self.say(node, hello);
        }
        self.settle();
        self.failing = 0;
        self.has_failed = false;
        assert!(self.is_training, "it trains: {:#?}", self.history);
    }

    fn say(&mut self, node: usize, report: Report) {
        self.take(StateEvent::Report(u32::try_from(node).unwrap(), report));
    }

    fn take(&mut self, event: StateEvent) {
        self.history.push(format!("  {event:?}"));
        for effect in self.state.handle(event, self.now) {
            self.history.push(format!("    {}", render(&effect)));
            match effect {
                Effect::Send(order) => {
                    for node in &mut self.nodes {
                        node.orders.push_back(order.clone());
                    }
                }
                Effect::StartRanks { resume, .. } => self.train_from(resume.as_ref()),
                Effect::Publish {
                    name,
                    parts,
                    merge,
                    asked,
                } => {
                    self.publication = Some(Publication {
                        name,
                        parts,
                        merge,
                        asked,
                    });
                }
                Effect::PassOver(names) => names.iter().for_each(|name| self.out.pass_over(name)),
                Effect::Lack(names) => {
                    let names = names.iter();
                    names.for_each(|(name, lacks)| self.out.lacks(name, *lacks));
                }
                Effect::Requeue => self.take(StateEvent::Requeued(Ok(()))),
                Effect::Exit(_) => self.is_over = true,
                _ => {}
            }
        }
    }

    /// The newest step of which all parts of one version are there, in the run folder or on the nodes.
    fn newest_whole(&self) -> u64 {
        let all = |versions: Vec<u32>| {
            versions.len() == self.nodes.len() && versions.windows(2).all(|two| two[0] == two[1])
        };
        let out = self.versions.iter();
        let out = out.filter(|(_, parts)| all(parts.values().copied().collect()));
        let out = out.map(|(name, _)| name.clone());
        let names = self.nodes.iter().flat_map(|node| node.parts.keys());
        let here = names.filter(|name| {
            let nodes = self.nodes.iter().enumerate();
            let parts = nodes.filter_map(|(at, node)| {
                let here = node.parts.get(*name).map(|part| part.version);
                let out = self.versions.get(*name);
                here.or_else(|| out?.get(&format!("n{at}")).copied())
            });
            all(parts.collect())
        });
        let steps = out.chain(here.cloned());
        steps
            .filter_map(|name| folder::step_of(&name))
            .max()
            .unwrap_or(0)
    }

    /// Whether the run folder, or the only node, has all of it.
    fn is_whole_here(&self, step: u64) -> bool {
        let nodes = self.nodes.len();
        let out = self.versions.get(&name_of(step));
        let mut versions: Vec<u32> = out.into_iter().flatten().map(|(_, it)| *it).collect();
        let parts = versions.len();
        versions.dedup();
        step == 0 || nodes == 1 || (parts == nodes && versions.len() == 1)
    }

    fn fails(&mut self) -> bool {
        let fails = self.failing & 1 == 1;
        self.failing >>= 1;
        self.has_failed |= fails;
        fails
    }

    /// While nothing has told how many parts there are, one may be taken for whole that lacks some; where there is
    /// none, one that lacks some is gone on from.
    fn is_taken_for_whole(&self, step: u64) -> bool {
        let known = self.out.get(&name_of(step));
        let is_last_resort = self.newest_whole() == 0;
        known.is_some_and(|known| known.parts.may_grow()) && (!self.is_known || is_last_resort)
    }

    fn train_from(&mut self, resume: Option<&KnownCheckpoint>) {
        let step = resume.and_then(|known| known.step).unwrap_or(0);
        let newest = self.newest_whole();
        let is_right = step == newest
            || (step > newest && self.is_taken_for_whole(step))
            || (self.has_failed && (self.is_whole_here(step) || self.is_taken_for_whole(step)));
        assert!(is_right, "{step}, not {newest}: {:#?}", self.history);
        self.is_training = true;
        for node in &mut self.nodes {
            node.step = step;
        }
    }

    fn act(&mut self, at: usize, copy_fails: bool) {
        let Some(order) = self.nodes[at].orders.pop_front() else {
            return;
        };
        let me = u32::try_from(at).unwrap();
        match order {
            Order::Restore { name, .. } => self.say(at, Report::Restored { name }),
            Order::Copy { name, from } if from.contains(&me) => {
                let part = self.nodes[at]
                    .parts
                    .get_mut(&name)
                    .filter(|part| !part.is_out);
                let report = match part {
                    None => Report::NoPart { name },
                    Some(_) if copy_fails => Report::NotCopied {
                        name,
                        why: "disk full".to_owned(),
                        again: true,
                        disk: true,
                    },
                    Some(part) => {
                        part.given = Some(part.version);
                        Report::Part {
                            name,
                            incoming: part.version.to_string(),
                            bytes: PART,
                            took_ms: 1,
                            proven: true,
                            start: start_of(part.version),
                            written: None,
                        }
                    }
                };
                self.say(at, report);
            }
            Order::Out { name } => {
                if let Some(part) = self.nodes[at].parts.get_mut(&name)
                    && part.given.take() == Some(part.version)
                {
                    part.is_out = true;
                }
            }
            Order::Forget { name } => {
                let newest = self.newest_whole();
                let removed = self.nodes[at].parts.remove(&name);
                let is_left = newest == self.newest_whole();
                assert!(is_left, "{name} {removed:?}: {:#?}", self.history);
            }
            Order::Drain { round, .. } => self.say(at, Report::Drained { round }),
            Order::Finish { .. } => self.say(at, Report::Finished),
            _ => {}
        }
    }

    fn publish(&mut self, is_refused: bool) {
        let Some(Publication {
            name,
            parts,
            merge,
            asked,
        }) = self.publication.take()
        else {
            return;
        };
        if is_refused {
            let why = "disk full".to_owned();
            let result = Err(NotOut { why, disk: true });
            return self.take(StateEvent::Published { name, result });
        }
        let start = parts.iter().filter_map(|part| part.start).max();
        let old = self.out.get(&name).filter(|_| merge);
        let is_joined = old.is_some_and(|old| old.parts.is_of(start));
        let mut versions = match self.versions.get(&name) {
            Some(versions) if is_joined => versions.clone(),
            _ => BTreeMap::new(),
        };
        for part in &parts {
            versions.insert(part.node.clone(), part.incoming.parse().unwrap());
        }
        // What all have written in the end takes the place of a whole one, and nothing else does.
        let newest = self.newest_whole();
        let nodes: Vec<String> = versions.keys().cloned().collect();
        let known = KnownCheckpoint {
            bytes: Some(PART * u64::try_from(nodes.len()).unwrap()),
            proven: true,
            parts: folder::Parts {
                start,
                ..asked.parts_of(nodes)
            },
            ..KnownCheckpoint::named(&name)
        };
        let out = Out { known, took_ms: 1 };
        self.out.publish(out.known.clone());
        self.is_known |= versions.len() == self.nodes.len();
        self.versions.insert(name.clone(), versions);
        let is_left = newest <= self.newest_whole();
        assert!(is_left, "{name} over the whole one: {:#?}", self.history);
        if !self.keep_all {
            let newest = self.newest_whole();
            for name in self.out.superfluous(1) {
                self.out = WholeCheckpoints::new(
                    self.out
                        .iter()
                        .filter(|known| known.name != name)
                        .cloned()
                        .collect(),
                );
                self.versions.remove(&name);
            }
            assert_eq!(newest, self.newest_whole(), "{:#?}", self.history);
        }
        self.take(StateEvent::Published {
            name,
            result: Ok(out),
        });
    }

    /// Until no order is open.
    fn settle(&mut self) {
        while self.publication.is_some() || self.nodes.iter().any(|node| !node.orders.is_empty()) {
            for node in 0..self.nodes.len() {
                let orders = &self.nodes[node].orders;
                let is_copy = matches!(orders.front(), Some(Order::Copy { .. }));
                let copy_fails = is_copy && self.fails();
                self.act(node, copy_fails);
            }
            let is_refused = self.publication.is_some() && self.fails();
            self.publish(is_refused);
        }
    }

    fn apply(&mut self, what: WorldEvent) {
        self.history.push(format!("{what:?}"));
        let there = self.nodes.len();
        match what {
            WorldEvent::Write(node) if self.is_training => {
                let (at, version) = (node % there, self.start);
                // Ranks meet after each step: none is two ahead of another.
                let slowest = self.nodes.iter().map(|node| node.step).min().unwrap();
                if self.nodes[at].step > slowest {
                    return;
                }
                let node = &mut self.nodes[at];
                node.step += 1;
                let name = name_of(node.step);
                let given = node.parts.get(&name).and_then(|part| part.given);
                let part = OnDisk {
                    version,
                    given,
                    is_out: false,
                };
                node.parts.insert(name.clone(), part);
                self.say(
                    at,
                    Report::Complete {
                        name,
                        bytes: PART,
                        written: None,
                    },
                );
            }
            WorldEvent::Begin(node) if self.is_training => self.say(node % there, Report::Writes),
            WorldEvent::Write(_) | WorldEvent::Begin(_) => {}
            WorldEvent::Act { node, copy_fails } => self.act(node % there, copy_fails),
            WorldEvent::Settle => self.settle(),
            WorldEvent::Publish { is_refused } => self.publish(is_refused),
            WorldEvent::Wait(seconds) => {
                self.now = Timestamp(self.now.0 + seconds * 1000);
                for node in 0..there {
                    self.say(node, Report::Alive { progress: None });
                }
                self.take(StateEvent::Tick);
            }
            WorldEvent::LoseRanks => {
                self.is_training = false;
                self.take(event(&["wrapper-killed"]));
            }
            WorldEvent::Kill {
                is_recovered,
                failing,
            } => {
                if is_recovered {
                    self.publish(false);
                }
                self.failing = failing;
                self.begin();
            }
            WorldEvent::LoseNode(node) => {
                self.nodes[node % there] = Node::default();
                self.begin();
            }
        }
        if self.is_over {
            self.begin();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 5000, ..ProptestConfig::default() })]

    #[test]
    fn each_start_resumes_from_the_newest_checkpoint_that_is_whole(
        nodes in 1..=3usize,
        keep_all in any::<bool>(),
        has_saved in any::<bool>(),
        events in prop::collection::vec(world_event(), 0..60),
    ) {
        let mut world = World::new(nodes, keep_all, has_saved);
        for what in events {
            world.apply(what);
        }
    }
}
