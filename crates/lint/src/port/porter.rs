//! Collects changes and questions.

use crate::script::Script;
use crate::{Edit, apply};
use cluster_file::{ClusterFile, Named, User};
use model::option_table::Key;
use model::script_lines::LineKind;
use model::{Given, MemoryRequest};
use resources::Denial;
use std::ops::Range;

/// A script for another cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Ported {
    /// The script.
    pub text: String,
    /// Why `sbatch` refuses the script as it was, whatever the cluster.
    pub refused: Vec<Mistake>,
    /// What was changed, in the order of the lines.
    pub changes: Vec<Change>,
    /// What a person must decide, in the order of the lines.
    pub questions: Vec<Question>,
}

/// Why `sbatch` refuses a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line that it is about; none for the script as a whole.
    pub line: Option<usize>,
    /// `sbatch`'s own words.
    pub words: String,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The line of the script as it was, from 1.
    pub line: usize,
    /// What stood there; empty for what is new.
    pub from: String,
    /// What stands there now; empty for what went.
    pub to: String,
    /// Why.
    pub why: String,
}

/// What the cluster files don't decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The line that it is about; none for the script as a whole.
    pub line: Option<usize>,
    /// What stands there and what is known.
    pub about: String,
    /// What to decide.
    pub ask: String,
    /// The refusal that it has already told of.
    pub(super) covers: Option<Denial>,
}

/// Collects what a port changes.
pub(super) struct Porter<'a> {
    pub script: &'a Script<'a>,
    pub from: &'a ClusterFile,
    pub to: &'a ClusterFile,
    /// Whose job it is there; anybody's where none is named.
    pub user: Option<&'a str>,
    /// The script asks for GPUs.
    pub asks_gpus: bool,
    /// The model of the GPUs that the script asks for, as people know it.
    pub model: Option<String>,
    /// The GRES type of the GPUs that the job gets there, where they have one.
    pub type_there: Option<String>,
    /// The other cluster has that model.
    pub model_there: bool,
    /// GPUs of one node that the job can get there.
    pub most_gpus: Option<u32>,
    /// The machine that it runs on now, where its nodes are of one kind.
    pub machine: Option<String>,
    pub(super) edits: Vec<(Edit, Change)>,
    pub(super) questions: Vec<Question>,
}

impl<'a> Porter<'a> {
    pub fn new(
        script: &'a Script<'a>,
        from: &'a ClusterFile,
        to: &'a ClusterFile,
        user: Option<&'a str>,
    ) -> Porter<'a> {
        Porter {
            script,
            from,
            to,
            user,
            asks_gpus: false,
            model: None,
            type_there: None,
            model_there: false,
            most_gpus: None,
            machine: None,
            edits: Vec::new(),
            questions: Vec::new(),
        }
    }

    /// What the other cluster's file says of the user, or of those of whom it says nothing else.
    pub fn user_there(&self) -> Option<&'a Named<User>> {
        let to: &'a ClusterFile = self.to;
        to.user(self.user.unwrap_or("*"))
    }

    /// Rewrites what the options of a job, or of one of its components, ask for.
    pub fn options(&mut self) {
        self.gpus();
        self.partition();
        self.sizes();
        self.time();
        self.account();
        self.qos();
        self.mail();
        self.of_one_cluster();
    }

    pub fn finish(mut self, text: &str) -> Ported {
        self.edits.sort_by(|one, other| one.0.cmp(&other.0));
        let edits: Vec<Edit> = self.edits.iter().map(|(edit, _)| edit.clone()).collect();
        self.questions
            .sort_by_key(|question| question.line.unwrap_or(usize::MAX));
        Ported {
            text: apply(text, &edits),
            refused: Vec::new(),
            changes: self.edits.into_iter().map(|(_, change)| change).collect(),
            questions: self.questions,
        }
    }

    /// Puts `text` in the place of some bytes; the first change of a place counts.
    pub fn replace(
        &mut self,
        range: Range<usize>,
        text: impl Into<String>,
        why: impl Into<String>,
    ) {
        let text = text.into();
        let from = self.script.text.get(range.clone()).unwrap_or_default();
        if from == text {
            return;
        }
        let edit = Edit::new(range, text);
        if self.edits.iter().any(|(other, _)| other.meets(&edit)) {
            return;
        }
        let change = Change {
            line: self.script.lines.number(edit.start),
            from: from.trim_end_matches('\n').to_owned(),
            to: edit.text.trim_end_matches('\n').to_owned(),
            why: why.into(),
        };
        self.edits.push((edit, change));
    }

    /// Gives an option of the script another value.
    pub fn set_value(&mut self, given: &Given, value: &str, why: impl Into<String>) {
        let Some(range) = given
            .value_span
            .as_ref()
            .and_then(|span| self.script.bytes(span))
        else {
            return;
        };
        let old = self.script.text.get(range.clone()).unwrap_or_default();
        // In a directive blanks part words and a `#` begins a remark.
        let plain = !value.contains(|c: char| c.is_whitespace() || "#'\"\\".contains(c));
        let value = if plain {
            value.to_owned()
        } else {
            format!("{value:?}")
        };
        // Where quotes stand in a word with its option, the word is written anew.
        let whole =
            given.value_span.as_ref() == Some(&given.span) && given.value.as_deref() != Some(old);
        let value = if whole {
            format!("--{}={value}", given.option.long)
        } else {
            value
        };
        self.replace(range, value, why);
    }

    /// Takes an option out, and those before it that it had replaced: they would count again.
    pub fn remove(&mut self, given: &Given, why: impl Into<String>) {
        let script: &'a Script<'a> = self.script;
        let replaced = script
            .directives()
            .take_while(|other| other.span != given.span);
        let same = |other: &&Given| other.option.long == given.option.long;
        for other in replaced.filter(same) {
            let why = format!(
                "--{} comes again, and only the last counts",
                other.option.long
            );
            self.remove_one(other, why);
        }
        self.remove_one(given, why);
    }

    /// Takes an option out: its line, where it stands alone on it.
    fn remove_one(&mut self, given: &Given, why: impl Into<String>) {
        let Some(range) = self.script.whole(given) else {
            return;
        };
        let line = self.script.lines.number(range.start);
        let others = self.script.directives().any(|other| {
            other.span != given.span
                && self
                    .script
                    .bytes(&other.span)
                    .is_some_and(|other| self.script.lines.number(other.start) == line)
        });
        if !others {
            return self.replace(self.script.lines.with_end(line), "", why);
        }
        // The blanks before it go too.
        let before = &self.script.text[..range.start];
        let start = before.trim_end_matches([' ', '\t']).len();
        self.replace(start..range.end, "", why);
    }

    /// Adds a directive behind the last one.
    pub fn add(&mut self, options: &str, why: impl Into<String>) {
        let mut edit = self.script.new_directive(options);
        // Behind that line are the options of another component.
        if let Some(line) = self.next_component() {
            let start = self.script.lines.with_end(line).start;
            if edit.start > start {
                edit = Edit::new(start..start, format!("#SBATCH {options}\n"));
            }
        }
        // Several additions stand at one place: they become one.
        if let Some((other, change)) = self
            .edits
            .iter_mut()
            .find(|(other, _)| other.start == edit.start && other.end == edit.start)
        {
            other.text.push_str(&edit.text);
            change.to.push_str(&format!(" and {options}"));
            change.why.push_str(&format!("; {}", why.into()));
            return;
        }
        let line = self.script.lines.number(edit.start);
        let change = Change {
            line,
            from: String::new(),
            to: format!("#SBATCH {options}"),
            why: why.into(),
        };
        self.edits.push((edit, change));
    }

    pub fn ask(&mut self, line: Option<usize>, about: impl Into<String>, ask: impl Into<String>) {
        self.ask_about(line, about, ask, None);
    }

    pub fn ask_about(
        &mut self,
        line: Option<usize>,
        about: impl Into<String>,
        ask: impl Into<String>,
        covers: Option<Denial>,
    ) {
        let question = Question {
            line,
            about: about.into(),
            ask: ask.into(),
            covers,
        };
        // What is asked of one line need not be asked of the next.
        let same = |known: &Question| known.about == question.about && known.ask == question.ask;
        if !self.questions.iter().any(same) {
            self.questions.push(question);
        }
    }

    /// The line at which the second component of a heterogeneous job begins.
    pub fn next_component(&self) -> Option<usize> {
        let mut kinds = self.script.kinds.kinds.iter();
        let parts = kinds.position(|kind| matches!(kind, LineKind::Separator));
        parts.map(|index| index + 1)
    }

    /// Whether a change took away what stands at those bytes.
    pub fn is_changed(&self, range: &Range<usize>) -> bool {
        let written = self.script.text.get(range.clone()).unwrap_or_default();
        let meets = |edit: &Edit| {
            edit.start < range.end && range.start < edit.end && !edit.text.contains(written)
        };
        self.edits.iter().any(|(edit, _)| meets(edit))
    }

    /// The line of an option.
    pub fn line(&self, given: &Given) -> Option<usize> {
        let range = self.script.bytes(&given.span)?;
        Some(self.script.lines.number(range.start))
    }

    /// The option of that key that counts, where it stands in the script.
    pub fn last(&self, key: Key) -> Option<&'a Given> {
        let script: &'a Script<'a> = self.script;
        script
            .last(key)
            .filter(|given| script.bytes(&given.span).is_some())
    }

    /// As it is written in the script.
    pub fn written(&self, given: &Given) -> &'a str {
        let range = self.script.whole(given).unwrap_or(0..0);
        self.script.text.get(range).unwrap_or_default()
    }

    /// GPUs of each node that the job asks for, where that is known.
    pub fn gpus_of_node(&self) -> Option<u32> {
        let request = self.script.request();
        if let Some(gpus) = &request.gpus_per_node {
            return Some(gpus.count);
        }
        let nodes = request.max_nodes.or(request.min_nodes).unwrap_or(1).max(1);
        let all = request.gpus.as_ref().map(|gpus| gpus.count)?;
        (all % nodes == 0).then_some(all / nodes)
    }

    /// GPUs of each node that it can get there.
    pub fn gpus_of_node_there(&self) -> Option<u32> {
        let asked = self.gpus_of_node()?;
        Some(self.most_gpus.map_or(asked, |most| asked.min(most)))
    }

    /// MiB of each node that the job asks for.
    pub fn memory_of_node(&self) -> Option<u64> {
        match self.script.request().memory? {
            MemoryRequest::PerNode(size) => Some(size),
            MemoryRequest::PerCpu(_) | MemoryRequest::PerGpu(_) => None,
        }
    }
}

/// `line 3`, `lines 3, 7 and 9`, `lines 3, 7, 9 and 4 more`.
pub(super) fn lines_words(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    let shown: Vec<String> = lines.iter().take(4).map(ToString::to_string).collect();
    match (&shown[..], lines.len()) {
        ([one], _) => format!("line {one}"),
        ([first @ .., last], count) if count <= 4 => {
            format!("lines {} and {last}", first.join(", "))
        }
        (shown, count) => format!(
            "lines {} and {} more",
            shown.join(", "),
            count - shown.len()
        ),
    }
}
