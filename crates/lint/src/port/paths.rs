//! Folders: scratch, project, data, the node's own disk.

use super::folders::{Before, Place, User, before, expands, find};
use super::porter::Porter;
use crate::{Edit, apply};
use cluster_file::{ClusterFile, NodeLocal, Sourced};
use std::ops::Range;

/// A kind of folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    NodeLocal,
    Scratch,
    Project,
    Data,
    Home,
}

/// In the order in which they are looked for.
const KINDS: [Kind; 5] = [
    Kind::NodeLocal,
    Kind::Scratch,
    Kind::Project,
    Kind::Data,
    Kind::Home,
];

impl Kind {
    fn what(self) -> &'static str {
        match self {
            Kind::NodeLocal => "the node's disk",
            Kind::Scratch => "scratch",
            Kind::Project => "the project's folder",
            Kind::Data => "the site's data",
            Kind::Home => "the home folder",
        }
    }

    fn of(self, cluster: &ClusterFile) -> Option<&Sourced<String>> {
        let paths = &cluster.paths;
        match self {
            Kind::NodeLocal => cluster.node_local.path.as_ref(),
            Kind::Scratch => paths.scratch.as_ref(),
            Kind::Project => paths.project.as_ref(),
            Kind::Data => paths.data.as_ref(),
            Kind::Home => paths.home.as_ref(),
        }
    }
}

/// What becomes of a place.
enum Fate {
    /// It stays, and nothing is to be said.
    Stays,
    /// It becomes this.
    Becomes(String),
    /// It stays, and this is asked: what is known, what to decide.
    Question(String, String),
}

impl Porter<'_> {
    pub fn paths(&mut self) {
        let text = self.script.text;
        let mut seen: Vec<Range<usize>> = Vec::new();
        let mut asked: Vec<&str> = Vec::new();
        let mut on_disk = false;
        for kind in KINDS {
            let Some(folder) = kind.of(self.from) else {
                continue;
            };
            let mut places: Vec<(&String, Place)> = Vec::new();
            for folder in folder.all() {
                places.extend(find(text, folder).into_iter().map(|place| (folder, place)));
            }
            for (folder, place) in places {
                let range = place.range.clone();
                let meets =
                    |other: &Range<usize>| other.start < range.end && range.start < other.end;
                if !self.is_read(range.start) || seen.iter().any(meets) {
                    continue;
                }
                seen.push(range.clone());
                match self.fate(kind, folder, &place) {
                    Fate::Stays => {}
                    Fate::Becomes(new) => {
                        on_disk |= kind == Kind::NodeLocal;
                        self.replace(range, new, self.why(kind));
                    }
                    // What becomes of a variable is asked once, of all its forms.
                    Fate::Question(..) if folder.starts_with('$') => {}
                    Fate::Question(about, ask) => {
                        // What stands in twenty lines is asked once.
                        if !asked.contains(&&text[range.clone()]) {
                            asked.push(&text[range.clone()]);
                            let line = self.script.lines.number(range.start);
                            self.ask(Some(line), about, ask);
                        }
                    }
                }
            }
        }
        self.unknown_folders(&seen);
        if on_disk {
            self.left_behind();
        }
        self.closed_folders();
    }

    /// A text with the folders of the other cluster, where there is no question about them; for
    /// text that is written anew.
    pub fn translated(&self, text: &str) -> String {
        let mut edits: Vec<Edit> = Vec::new();
        for kind in KINDS {
            let Some(folder) = kind.of(self.from) else {
                continue;
            };
            for place in find(text, folder) {
                let open = before(text, place.range.start) == Before::Nothing;
                let Some(new) = self.counterpart(kind, folder, &place).filter(|_| open) else {
                    continue;
                };
                let edit = Edit::new(place.range, new);
                if !edits.iter().any(|other| other.meets(&edit)) {
                    edits.push(edit);
                }
            }
        }
        apply(text, &edits)
    }

    /// What stands for a folder on the other cluster; none where that is not clear.
    fn counterpart(&self, kind: Kind, folder: &str, place: &Place) -> Option<String> {
        let to = kind.of(self.to)?;
        let own = to.contains("$USER");
        let private = |disk: &NodeLocal, path: &str| {
            let variable = disk.variable.is_some() && path.starts_with('$');
            variable || path.contains("$SLURM_JOB_ID") || path.contains("$SLURM_TMPDIR")
        };
        if kind == Kind::NodeLocal
            && private(&self.from.node_local, folder)
            && !private(&self.to.node_local, to)
        {
            return None;
        }
        match &place.user {
            User::Named(_) => None,
            User::Whoever(form) => own.then(|| to.replace("$USER", form)),
            User::Unnamed => (!own || kind == Kind::NodeLocal).then(|| to.value.clone()),
        }
    }

    fn fate(&self, kind: Kind, folder: &str, place: &Place) -> Fate {
        let text = self.script.text;
        let (from, cluster) = (&self.from.name, &self.to.name);
        let Range { start, end } = place.range;
        let written = &text[start..end];
        let what = kind.what();
        match before(text, start) {
            Before::Nothing | Before::List => {}
            Before::Mount => return Fate::Stays,
            Before::Host => {
                let about = format!("{written} behind a colon is on another machine, so it stays");
                return Fate::Question(about, format!("can jobs of {cluster} reach it?"));
            }
        }
        if self.is_of_ssh(start) {
            let about = format!("{written} is on the machine that ssh goes to, so it stays");
            return Fate::Question(about, format!("can jobs of {cluster} reach it?"));
        }
        let Some(to) = kind.of(self.to) else {
            // Every Linux has a /tmp.
            if folder == "/tmp" {
                return Fate::Stays;
            }
            let about = format!("{written} is {what} of {from}");
            return Fate::Question(
                about,
                format!("where is it on {cluster}? its file doesn't say"),
            );
        };
        if to.value == folder {
            return Fate::Stays;
        }
        if let User::Named(name) = &place.user {
            let about = format!("{written} is {what} of {name} on {from}");
            let ask = format!(
                "whose is it, and where are those files on {cluster}? yours are in {to}",
                to = to.value
            );
            return Fate::Question(about, ask);
        }
        let Some(new) = self.counterpart(kind, folder, place) else {
            let (about, ask) = match (kind, &place.user) {
                (Kind::NodeLocal, User::Unnamed) => (
                    format!(
                        "{written} is a folder of the job alone; {cluster} has {}",
                        to.value
                    ),
                    "which folder in it? the script must make it, and remove it at its end",
                ),
                (Kind::NodeLocal, _) => (
                    format!(
                        "{written} is a folder of yours; {cluster} has {} for all",
                        to.value
                    ),
                    "which folder in it? the script must make it",
                ),
                _ => (
                    format!("{written} is {what} of {from}; {cluster}'s is {}", to.value),
                    "which folder in it is yours?",
                ),
            };
            return Fate::Question(about, ask.to_owned());
        };
        if new.contains('$') && !written.contains(['$', '`']) {
            let line = self.script.lines.number(start);
            let begin = self.script.lines.with_end(line).start;
            let shown = self.script.lines.line(line);
            if shown.starts_with("#SBATCH") {
                let about = format!("{written} in a directive, where nothing is expanded");
                return Fate::Question(about, format!("write {} with your own name", to.value));
            }
            let is_text = self.script.shell.is_text(start) || !self.script.shell.sound;
            if !self.script.is_shell || is_text || !expands(shown, start - begin) {
                let about = format!("{written} stands where {new} may not be expanded");
                return Fate::Question(about, "which folder there?".to_owned());
            }
        }
        if written.contains('$')
            && self
                .script
                .lines
                .line(self.script.lines.number(start))
                .starts_with("#SBATCH")
        {
            let about = format!("{written} in a directive, where nothing is expanded");
            return Fate::Question(about, format!("write {} with your own name", to.value));
        }
        Fate::Becomes(new)
    }

    fn why(&self, kind: Kind) -> String {
        let Some(to) = kind.of(self.to) else {
            return String::new();
        };
        let note = if to.is_assumed() {
            ", which is assumed"
        } else {
            ""
        };
        format!("{}: {} has {}{note}", kind.what(), self.to.name, to.value)
    }

    /// Whether that byte is in a word of an `ssh`: another machine reads it.
    fn is_of_ssh(&self, at: usize) -> bool {
        let mut commands = self.script.shell.commands.iter();
        commands.any(|command| command.name() == "ssh" && command.range.contains(&at))
    }

    /// What a job leaves on a disk that no job wipes.
    fn left_behind(&mut self) {
        let stays = self
            .to
            .node_local
            .survives_jobs
            .as_ref()
            .is_some_and(|stays| stays.value);
        let stayed = self
            .from
            .node_local
            .survives_jobs
            .as_ref()
            .is_some_and(|stays| stays.value);
        if stays && !stayed {
            let path = self
                .to
                .node_local
                .path
                .as_ref()
                .map_or("there", |path| path.as_str());
            let about = format!("what a job writes to {path} stays there after it");
            self.ask(
                None,
                about,
                "does the script remove it, also when it is killed?",
            );
        }
    }

    /// Whether the shell or Slurm reads that byte: no comment.
    pub(super) fn is_read(&self, at: usize) -> bool {
        let line = self.script.lines.number(at);
        let text = self.script.lines.line(line);
        let start = text.trim_start();
        let from = self.script.lines.with_end(line).start;
        let behind_mark = self.script.text[from..at].contains(" # ");
        (!start.starts_with('#') && !behind_mark) || text.starts_with("#SBATCH")
    }

    /// Folders of the other cluster in which jobs can't run.
    fn closed_folders(&mut self) {
        let Some(closed) = &self.to.paths.no_jobs else {
            return;
        };
        let open = [&self.to.paths.scratch, &self.to.paths.project];
        let open: Vec<&str> = open
            .into_iter()
            .flatten()
            .map(|path| path.as_str())
            .collect();
        let about = format!(
            "jobs of {} can't run in {}",
            self.to.name,
            closed.join(", ")
        );
        let ask = if open.is_empty() {
            "from where is it submitted?".to_owned()
        } else {
            format!("submit it from {}", open.join(" or "))
        };
        self.ask(None, about, ask);
    }
}
