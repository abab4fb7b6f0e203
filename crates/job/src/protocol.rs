//! What conductor and agents say to each other: JSON lines, orders on the agents' standard input
//! (srun sends it to all of them), reports on their labelled standard output.
//!
//! A line stays under [`LONGEST`]: Slurm's srun passes output on in messages of 1,024 bytes, and what it
//! breaks in two is put together by [`crate::labelled_reports`]. Lists of files travel through the run
//! folder and not through here.

use crate::rank_stack::RankStack;
use folder::{Attempt, Companion, Event, Pointer};
use model::Timestamp;
use serde::{Deserialize, Serialize};

/// The longest line in bytes, its end included.
pub const LONGEST: usize = 1000;

/// The number of an agent: its task number in the agents' step.
pub type AgentId = u32;

/// A folder that several agents may share: machine and boot, disk, folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId {
    /// The boot id of the machine.
    pub boot_id: String,
    /// `st_dev` of the folder.
    pub device: u64,
    /// `st_ino` of the folder.
    pub inode: u64,
}

/// The conductor's orders; each agent reads all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Says which agents move files: one for each distinct disk. The others only hand on signals.
    Roles {
        /// Their numbers.
        copiers: Vec<AgentId>,
    },
    /// Bring the data onto your node, then say [`Report::Staged`]; where nodes share a disk one brings it and the
    /// others wait.
    Stage,
    /// Leave the staging: the start ends.
    AbortStage,
    /// Bring this checkpoint of the run folder to `{resume}`, checking its hashes on the way.
    Restore {
        /// Its name in the run folder.
        name: String,
        /// Whether it is taken from what this node kept of an earlier start, and not from the run
        /// folder.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
        /// What goes with it and comes to the same place.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<Companion>,
    },
    /// The ranks are about to start: watch `{checkpoints}` from now on.
    Watch {
        /// What `{resume}` must hold, and nothing else; `None`: nothing at all.
        resume: Option<String>,
    },
    /// The ranks are being started: start the services beside them, on the first node.
    StartServices {
        /// What `{resume}` holds.
        resume: Option<String>,
    },
    /// Agents before you were lost: end what is left of the ranks, and look at what stands in
    /// `{checkpoints}`.
    Rescue,
    /// A node has the marker of this entry: what you have of it is complete too once it is not written any more.
    Marked {
        /// Its name in `{checkpoints}`.
        name: String,
    },
    /// Copy your part of this entry; say so when it is missing.
    Copy {
        /// The entry's name in `{checkpoints}`.
        name: String,
        /// Who is asked.
        from: Vec<AgentId>,
    },
    /// Copy no more of it now: a newer one goes first. Say [`Report::NotCopied`], or that your part is there.
    BreakOff {
        /// Its name in `{checkpoints}`.
        name: String,
    },
    /// The entry is saved: nodes need not keep what was copied of it.
    Out {
        /// Its name in `{checkpoints}`.
        name: String,
    },
    /// The entry is no longer wanted, copied or not.
    Forget {
        /// Its name in `{checkpoints}`.
        name: String,
    },
    /// Tell the rank processes: the file, or the signal, that the run file names.
    Notify,
    /// Send SIGTERM to the ranks of this node.
    Terminate {
        /// Whether the cluster ends the job: then it sends SIGTERM to all of its processes, and a second one would
        /// come in the middle of what a program saves after the first. Where this agent had none, only the batch
        /// step got one (`scancel --batch`), and the ranks get it now.
        by_cluster: bool,
    },
    /// Send SIGKILL to all processes of the ranks of this node.
    Kill,
    /// The ranks were asked to save and end, and all have ended by an exit of their own: what they closed they
    /// had finished.
    Left,
    /// Copy out everything that is complete, then say [`Report::Drained`].
    Drain {
        /// Tells this drain from an earlier one.
        round: u32,
        /// How long an entry that is just being written is waited for.
        until: Timestamp,
        /// Whether no process writes any more: what has a temporary name stays unfinished.
        ranks_gone: bool,
        /// Whether they ended by themselves and well: then what stands there is whole.
        finished: bool,
    },
    /// Say where each rank stands, then [`Report::Looked`]; and write their stacks into the run
    /// folder.
    Stacks,
    /// End at once and leave everything as it is: fresh agents take over, since one of you was lost.
    MakeRoom,
    /// Do nothing any more, and end with the orders; with `clean`, remove the node-local folders. An
    /// agent stays until it is said what becomes of the run: it may have to say so itself.
    Finish {
        /// Whether all that was complete is saved.
        clean: bool,
    },
}

/// How far a copy is that an agent makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Which way.
    pub kind: Copying,
    /// The checkpoint.
    pub name: String,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Bytes in all.
    pub of: u64,
}

/// Which way a checkpoint is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copying {
    /// Out of the node.
    Save,
    /// To the node.
    Restore,
}

/// What agents report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// The program keeps this beside its checkpoints to find the newest.
    Pointer {
        /// What.
        pointer: Pointer,
    },
    /// An earlier start of this run left a complete checkpoint on this node's disk that is not saved:
    /// said before [`Report::Hello`].
    Kept {
        /// Its name.
        name: String,
        /// When the program wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<Timestamp>,
        /// Its size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
        /// Which start wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Attempt>,
    },
    /// Says that the agent is there.
    Hello {
        /// The node's name (`SLURMD_NODENAME`, else the host's).
        node: String,
        /// Its index in the job.
        node_index: u32,
        /// The folder that holds `{checkpoints}`.
        disk: DiskId,
        /// An address at which the other nodes reach this one.
        address: String,
        /// A TCP port that was free a moment ago.
        port: u16,
    },
    /// Something for the run's events.
    Record {
        /// What.
        event: Event,
    },
    /// The data is on the node.
    Staged,
    /// It could not be brought there.
    NotStaged {
        /// In words.
        why: String,
    },
    /// The checkpoint is in `{resume}` and its hashes fit.
    Restored {
        /// Its name.
        name: String,
    },
    /// It could not be brought, or its bytes are not those of the manifest.
    NotRestored {
        /// Its name.
        name: String,
        /// In words.
        why: String,
        /// Whether its bytes are not those of the manifest.
        #[serde(default)]
        is_damaged: bool,
    },
    /// An entry of `{checkpoints}` is complete; nothing was copied yet.
    Complete {
        /// Its name.
        name: String,
        /// What this node has of it.
        bytes: u64,
        /// When the program wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<Timestamp>,
    },
    /// This node writes into its `{checkpoints}`, be it parts of checkpoints or other files: said once.
    Writes,
    /// This agent's part of an entry stands in the run folder's incoming place.
    Part {
        /// The entry's name.
        name: String,
        /// The folder below the incoming place that holds the part and its list of files.
        incoming: String,
        /// Its size.
        bytes: u64,
        /// How long the copy took, in milliseconds.
        took_ms: u64,
        /// Whether its completeness was seen and not only waited for.
        proven: bool,
        /// Which start wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Attempt>,
        /// When the program wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<Timestamp>,
    },
    /// This agent has no part of the entry.
    NoPart {
        /// The entry's name.
        name: String,
    },
    /// The part could not be copied; nothing of it was left in the run folder.
    NotCopied {
        /// The entry's name.
        name: String,
        /// In words.
        why: String,
        /// Whether this agent keeps its part, and another try may do better.
        again: bool,
        /// Whether a disk refuses it for a while.
        disk: bool,
    },
    /// The entry was not seen to be whole before the ranks were gone; it stays behind.
    Unfinished {
        /// The entry's name.
        name: String,
        /// In words.
        why: String,
        /// Whether nothing tells that something of it is missing.
        #[serde(default)]
        may_be_whole: bool,
    },
    /// Something in `{checkpoints}` can't be copied at all; it stays behind.
    Left {
        /// Its name, as far as it can be shown.
        name: String,
        /// In words.
        why: String,
    },
    /// Where a rank stands.
    Stack(RankStack),
    /// All ranks of the node were looked at.
    Looked,
    /// All that was complete is saved.
    Drained {
        /// The order's number.
        round: u32,
    },
    /// The order to finish is carried out.
    Finished,
    /// The agent lives: said now and then.
    Alive {
        /// How far the copy is that it makes, where that takes long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<Progress>,
    },
    /// Something that a person should read.
    Note {
        /// In words.
        text: String,
    },
    /// The agent can't go on.
    Broken {
        /// In words.
        why: String,
        /// Whether a disk refuses it for a while.
        disk: bool,
    },
}

impl Order {
    /// The order as a line, its end included.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("invariant: strings and numbers only");
        line.push('\n');
        line
    }

    /// Reads a line.
    ///
    /// # Errors
    /// It is not an order.
    pub fn parse(line: &str) -> Result<Order, serde_json::Error> {
        serde_json::from_str(line)
    }
}

impl Report {
    /// The report as a line, its end included; words that would make it too long are cut.
    #[must_use]
    pub fn line(mut self) -> String {
        loop {
            let mut line =
                serde_json::to_string(&self).expect("invariant: strings and numbers only");
            line.push('\n');
            if line.len() <= LONGEST {
                return line;
            }
            match self.words() {
                // Escapes make a character longer, never shorter: halving ends.
                Some(words) if words.chars().count() > 1 => {
                    let half = words.char_indices().nth(words.chars().count() / 2);
                    words.truncate(half.map_or(0, |(at, _)| at));
                    words.push('…');
                }
                _ => return line,
            }
        }
    }

    fn words(&mut self) -> Option<&mut String> {
        match self {
            Report::NotRestored { why, .. }
            | Report::NotStaged { why }
            | Report::NotCopied { why, .. }
            | Report::Unfinished { why, .. }
            | Report::Left { why, .. }
            | Report::Broken { why, .. }
            | Report::Note { text: why }
            | Report::Stack(RankStack { place: why, .. }) => Some(why),
            Report::Record {
                event: Event::Staging { what: words, .. } | Event::Service { address: words, .. },
            } => Some(words),
            Report::Alive { progress } => progress.as_mut().map(|progress| &mut progress.name),
            Report::Hello { .. }
            | Report::Kept { .. }
            | Report::Pointer { .. }
            | Report::Restored { .. }
            | Report::Complete { .. }
            | Report::Part { .. }
            | Report::NoPart { .. }
            | Report::Record { .. }
            | Report::Staged
            | Report::Finished
            | Report::Looked
            | Report::Drained { .. }
            | Report::Writes => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back() {
        let orders = [
            Order::Roles {
                copiers: vec![0, 1],
            },
            Order::Copy {
                name: "a b".into(),
                from: vec![1],
            },
            Order::Watch { resume: None },
            Order::StartServices {
                resume: Some("step-5".into()),
            },
            Order::Drain {
                round: 1,
                until: Timestamp(5),
                ranks_gone: false,
                finished: false,
            },
            Order::Finish { clean: true },
        ];
        for order in orders {
            assert_eq!(Order::parse(&order.line()).unwrap(), order);
        }
        assert!(Order::parse("{\"order\":\"dance\"}").is_err());
    }

    #[test]
    fn a_line_fits_one_message_of_srun() {
        let why = "\"é\u{1}".repeat(5000);
        let line = Report::NotCopied {
            name: "x".repeat(255),
            why,
            again: true,
            disk: true,
        }
        .line();
        assert!(line.len() <= LONGEST, "{}", line.len());
        assert!(serde_json::from_str::<Report>(&line).is_ok());
        let name = "n".repeat(255);
        let part = Report::Part {
            name: name.clone(),
            incoming: name,
            bytes: u64::MAX,
            took_ms: u64::MAX,
            proven: true,
            start: Some(Attempt {
                job: u32::MAX,
                restart: u32::MAX,
            }),
            written: Some(Timestamp(i64::MAX)),
        };
        assert!(part.line().len() <= LONGEST);
        let progress = Some(Progress {
            kind: Copying::Save,
            name: "\u{1}".repeat(255),
            bytes: u64::MAX,
            of: u64::MAX,
        });
        assert!(Report::Alive { progress }.line().len() <= LONGEST);
    }
}
