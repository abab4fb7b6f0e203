//! `gres.conf`: types of GPUs that `slurm.conf` doesn't name.

use super::conf_line::{ConfLine, conf_lines};
use super::{ConfText, Importer, known_options, said};
use crate::{Gpu, GpuSockets, Named, Nodes, Sourced};
use std::collections::HashSet;
use std::rc::Rc;

/// A node with more GPUs has none whose socket counts.
const MOST_GPUS: u32 = 64;

/// Items of a `Gres` value; commas in brackets part nothing.
pub(super) fn items(value: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_usize;
    for letter in value.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = items.last_mut() {
            last.push(letter);
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

/// `4`, `2K`
pub(super) fn count(text: &str) -> Option<u32> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    digits.parse::<u32>().ok()?.checked_mul(factor)
}

/// The types of the GPUs of slurm.conf, for each group of nodes.
type TypesBefore = Vec<Vec<String>>;

impl Importer {
    pub(super) fn gres_conf(&mut self, conf: ConfText<'_>) {
        let lines = conf_lines(conf.name, conf.text);
        let mut everywhere = HashSet::new();
        let before = self.types_before();
        for line in &lines {
            self.left_over(line);
        }
        for line in lines.iter().filter(|line| !line.pairs.is_empty()) {
            if let Some(way) = line.value("AutoDetect") {
                if !way.eq_ignore_ascii_case("off") {
                    let why = "types and counts that nodes find themselves are only known to them: yard cluster check shows what is missing";
                    self.note(line, &format!("AutoDetect={way}"), why);
                }
                if line.value("Name").is_none() {
                    continue;
                }
            }
            for pair in &line.pairs {
                let key = pair.key.to_ascii_lowercase();
                match key.as_str() {
                    "name" | "nodename" | "type" | "count" | "file" | "autodetect" | "cores"
                    | "cpus" => {}
                    "link" | "links" | "flags" | "files" | "multiplefiles" => {
                        self.daemon(line, &pair.key);
                    }
                    _ => self.not_taken(line, pair, None, known_options::GRES),
                }
            }
            self.gres_line(line, &mut everywhere, &before);
        }
        // Of GPUs of which some are at no socket alone, none is said to be at one.
        for nodes in &mut self.file.nodes {
            for gpu in &mut nodes.body.gpus {
                let count = gpu.count.as_ref().map_or(1, |count| count.value);
                let is_all = |own: &Sourced<GpuSockets>| own.value.0.len() == count as usize;
                gpu.sockets = gpu.sockets.take().filter(is_all);
            }
        }
    }

    /// `everywhere` has the types of lines before that are for all nodes.
    fn gres_line(
        &mut self,
        line: &ConfLine,
        everywhere: &mut HashSet<String>,
        before: &[Vec<String>],
    ) {
        let Some(name) = line.value("Name") else {
            return;
        };
        if !name.eq_ignore_ascii_case("gpu") {
            return self.note(
                line,
                &format!("Name={name}"),
                "what nodes have of it stands in slurm.conf",
            );
        }
        let kind = line.value("Type").filter(|kind| !kind.trim().is_empty());
        let files = line
            .value("File")
            .or(line.value("Files"))
            .or(line.value("MultipleFiles"))
            .map(|file| self.listed.count(file).unwrap_or(1));
        let counted = line.value("Count").and_then(count);
        if let (None, Some(odd)) = (counted, line.value("Count")) {
            self.refused(line, &format!("Count={odd}"), "Slurm takes no such value");
        }
        let number = counted
            .or(files.and_then(|files| u32::try_from(files).ok()))
            .unwrap_or(1);
        let groups = match line.value("NodeName") {
            // A second line of that type finds nothing that is left to it.
            None if !everywhere.insert(kind.unwrap_or_default().to_owned()) => return,
            None => Ok(Rc::new((0..self.file.nodes.len()).collect())),
            Some(names) => self.listed.groups_of(names),
        };
        let option = || format!("NodeName={}", line.value("NodeName").unwrap_or_default());
        match groups {
            Err(why) => self.refused(line, &option(), why),
            Ok(groups) if groups.is_empty() => {
                self.note(line, &option(), "no such node in slurm.conf");
            }
            Ok(groups) => {
                let mut is_used = false;
                for index in groups.iter().copied() {
                    if let Some(kind) = kind {
                        self.typed(line, index, kind, number);
                    }
                    is_used |= self.at_sockets(line, index, kind, number);
                }
                for key in ["Cores", "CPUs"] {
                    if line.value(key).is_some() && !is_used {
                        self.daemon(line, key);
                    }
                }
                if let Some(kind) = kind {
                    self.other_types(line, &groups, kind, before);
                }
            }
        }
    }

    /// Says that the nodes' types in slurm.conf, which are taken, are others.
    fn other_types(
        &mut self,
        line: &ConfLine,
        groups: &[usize],
        kind: &str,
        before: &[Vec<String>],
    ) {
        let mut kinds: Vec<&str> = groups
            .iter()
            .flat_map(|index| before[*index].iter().map(String::as_str))
            .collect();
        if kinds.is_empty() || kinds.contains(&kind) {
            return;
        }
        kinds.sort_unstable();
        kinds.dedup();
        let kinds = kinds.join(", ");
        let why = format!("slurm.conf has other types there, which are taken: {kinds}");
        self.note(line, &format!("Type={kind}"), why);
    }

    /// The types of the GPUs that slurm.conf names, by groups of nodes.
    fn types_before(&self) -> TypesBefore {
        let kinds = |nodes: &Named<Nodes>| {
            let gpus = nodes.gpus.iter();
            gpus.filter_map(|gpu| Some(gpu.kind.as_ref()?.value.clone()))
                .collect()
        };
        self.file.nodes.iter().map(kinds).collect()
    }

    /// Notes at which socket the GPUs of a line are, where all of their cores are of one: whether they are.
    fn at_sockets(
        &mut self,
        line: &ConfLine,
        index: usize,
        kind: Option<&str>,
        number: u32,
    ) -> bool {
        let cores = line.value("Cores").or(line.value("CPUs"));
        let nodes = &mut self.file.nodes[index].body;
        let each = nodes
            .cores_per_socket
            .as_ref()
            .map(|each| each.value.max(1));
        let socket = cores.zip(each).and_then(|(cores, each)| {
            let ends = cores
                .split([',', '-'])
                .map(|core| core.trim().parse::<u32>());
            let mut sockets = ends.map(|core| core.map(|core| core / each));
            let first = sockets.next()?.ok()?;
            sockets.all(|socket| socket == Ok(first)).then_some(first)
        });
        let own = |gpu: &&mut Gpu| gpu.kind.as_ref().map(|own| own.value.as_str()) == kind;
        let (Some(socket), Some(gpu)) = (socket, nodes.gpus.iter_mut().find(own)) else {
            return false;
        };
        let mut sockets = gpu.sockets.take().map_or_else(Vec::new, |own| own.value.0);
        sockets.extend((0..number.min(MOST_GPUS)).map(|_| socket));
        gpu.sockets = said(line, GpuSockets(sockets));
        true
    }

    /// Gives GPUs without a type theirs.
    fn typed(&mut self, line: &ConfLine, index: usize, kind: &str, number: u32) {
        let nodes: &mut Named<Nodes> = &mut self.file.nodes[index];
        let same = |gpu: &&Gpu| gpu.kind.as_ref().is_some_and(|own| own.value == kind);
        if nodes.gpus.iter().any(|gpu| same(&gpu)) {
            return;
        }
        let Some(untyped) = nodes.body.gpus.iter().position(|gpu| gpu.kind.is_none()) else {
            return;
        };
        let all = nodes.gpus[untyped]
            .count
            .as_ref()
            .map_or(0, |count| count.value);
        if number >= all {
            nodes.body.gpus[untyped].kind = said(line, kind.to_owned());
            return;
        }
        // Several types share the number that slurm.conf has.
        nodes.body.gpus[untyped].count = said(line, all - number);
        nodes.body.gpus.push(Gpu {
            kind: said(line, kind.to_owned()),
            count: said(line, number),
            ..Gpu::default()
        });
    }
}
