//! `#PBS` and `#BSUB` lines, which `sbatch` translates after its own directives (22.05.8's
//! `xlate.c`): options of one of the two kinds, anywhere in the script before a hundred lines that
//! are no comments.

use crate::options::diagnostic::Diagnostic;
use crate::options::getopt::Word;
use crate::options::getopt_long::{self, Wrong, is_option};
use crate::options::given::{Given, Origin};
use crate::options::long_options::LongOption;
use crate::options::option_table::Takes::{No, Optional, Required};
use crate::options::option_table::{Command, OPTIONS, Opt};
use crate::options::reading::Reading;
use crate::scripts::script;
use crate::values::number::leading;
use crate::values::{NodeName, node_list};

/// Lines that are no comments after which Slurm looks no further.
const MOST_OTHER_LINES: usize = 100;

const BSUB: &[LongOption<char>] = &[
    LongOption::new("cwd", Some('c'), Required, 'c'),
    LongOption::new("error_file", Some('e'), Required, 'e'),
    LongOption::new("job_name", Some('J'), Required, 'J'),
    LongOption::new("hostname", Some('m'), Required, 'm'),
    LongOption::new("memory_limit", Some('M'), Required, 'M'),
    LongOption::new("", Some('n'), Required, 'n'),
    LongOption::new("output_file", Some('o'), Required, 'o'),
    LongOption::new("queue_name", Some('q'), Required, 'q'),
    LongOption::new("time", Some('W'), Required, 'W'),
    LongOption::new("exclusive", Some('x'), No, 'x'),
];

const PBS: &[LongOption<char>] = &[
    LongOption::new("start_time", Some('a'), Required, 'a'),
    LongOption::new("account", Some('A'), Required, 'A'),
    LongOption::new("checkpoint", Some('c'), Required, 'c'),
    LongOption::new("working_dir", Some('C'), Required, 'C'),
    LongOption::new("error", Some('e'), Required, 'e'),
    LongOption::new("hold", Some('h'), No, 'h'),
    LongOption::new("interactive", Some('I'), No, 'I'),
    LongOption::new("", Some('j'), Required, 'j'),
    LongOption::new("join", None, Optional, 'j'),
    LongOption::new("job_array", Some('J'), Required, 'J'),
    LongOption::new("keep", Some('k'), Required, 'k'),
    LongOption::new("resource_list", Some('l'), Required, 'l'),
    LongOption::new("mail_options", Some('m'), Required, 'm'),
    LongOption::new("mail_user_list", Some('M'), Required, 'M'),
    LongOption::new("job_name", Some('N'), Required, 'N'),
    LongOption::new("out", Some('o'), Required, 'o'),
    LongOption::new("priority", Some('p'), Required, 'p'),
    LongOption::new("destination", Some('q'), Required, 'q'),
    LongOption::new("rerunable", Some('r'), Required, 'r'),
    LongOption::new("script_path", Some('S'), Required, 'S'),
    LongOption::new("array", Some('t'), Required, 't'),
    LongOption::new("running_user", Some('u'), Required, 'u'),
    LongOption::new("variable_list", Some('v'), Required, 'v'),
    LongOption::new("all_env", Some('V'), No, 'V'),
    LongOption::new("attributes", Some('W'), Required, 'W'),
    LongOption::new("no_std", Some('z'), No, 'z'),
];

/// Reads a script's `#BSUB` lines, or where there are none its `#PBS` lines, into the options that
/// they stand for.
pub(crate) fn read(reading: &mut Reading<'_>, name: &str, text: &str) {
    for (magic, table) in [("#BSUB", BSUB), ("#PBS", PBS)] {
        if let Some(words) = words(reading, name, text, magic) {
            Translator { reading }.run(table, &words, magic == "#BSUB");
            return;
        }
    }
}

/// The words of all lines of one kind; `None` where there is no such line.
fn words(reading: &mut Reading<'_>, name: &str, text: &str, magic: &str) -> Option<Vec<Word>> {
    if !text.contains(magic) {
        return None;
    }
    let mut reader = script::Reader::new(name);
    let (mut found, mut others) = (false, 0);
    for (index, line) in text.split('\n').enumerate() {
        if line.starts_with(magic) {
            found = true;
            reader.line(line, magic.len(), index + 1);
        } else if !line.starts_with('#') {
            others += 1;
            if others > MOST_OTHER_LINES {
                break;
            }
        }
    }
    let (mut words, remarks) = reader.into_parts();
    reading.diagnostics.extend(remarks);
    if magic == "#BSUB" {
        // `getopt_long` knows no long name behind one dash.
        for word in words
            .iter_mut()
            .step_by(2)
            .filter(|word| word.text == "-cwd")
        {
            word.text = "-c".to_owned();
        }
    }
    found.then_some(words)
}

struct Translator<'r, 'a> {
    reading: &'r mut Reading<'a>,
}

impl Translator<'_, '_> {
    fn run(&mut self, table: &[LongOption<char>], words: &[Word], bsub: bool) {
        let known: Vec<&LongOption<char>> = table.iter().collect();
        let mut rest = words.iter();
        while let Some(word) = rest.as_slice().first() {
            if word.text == "--" {
                rest.next();
                break;
            }
            if !is_option(&word.text) {
                break;
            }
            rest.next();
            let all = getopt_long::read(&known, &word.text, || {
                rest.next().map(|word| word.text.clone())
            });
            for read in all {
                match read {
                    Ok((option, value)) => {
                        let value = value.unwrap_or_default();
                        match option.key() {
                            Some(letter) if bsub => self.bsub(letter, &value, word),
                            Some(letter) => self.pbs(letter, &value, word),
                            None => {}
                        }
                    }
                    Err(Wrong { message, .. }) => {
                        let said =
                            Diagnostic::warning("foreign-option", word.span.clone(), message);
                        self.reading.diagnostics.push(said);
                        self.error(word, "Unrecognized command line parameter ?");
                    }
                }
            }
        }
        if let Some(word) = rest.next() {
            self.error(word, &format!("Invalid argument: {}", word.text));
        }
    }

    fn error(&mut self, word: &Word, message: &str) {
        let error = Diagnostic::error("foreign-option", word.span.clone(), message, 1);
        self.reading.diagnostics.push(error);
    }

    /// Gives one of `sbatch`'s own options.
    fn give(&mut self, long: &str, value: &str, word: &Word) {
        let dialect = self.reading.surroundings.dialect();
        // The name first: of a thousand lines each is looked up.
        let known = |option: &&Opt| {
            option.long == long && option.is_of(Command::Sbatch) && dialect.has(option)
        };
        let Some(option) = OPTIONS.iter().find(known) else {
            return;
        };
        let value = (option.takes != No && !value.is_empty()).then(|| value.to_owned());
        let given = Given {
            option,
            value_span: value.as_ref().map(|_| word.span.clone()),
            value,
            written: word.text.clone(),
            span: word.span.clone(),
            origin: Origin::Script,
        };
        self.reading.read_one(given);
    }

    fn bsub(&mut self, letter: char, value: &str, word: &Word) {
        match letter {
            'c' => self.give("chdir", value, word),
            'e' => self.give("error", value, word),
            'J' => self.give("job-name", value, word),
            'o' => self.give("output", value, word),
            'm' => self.give("nodelist", &value.replace(' ', ","), word),
            // A bare number is in KiB there.
            'M' if value.ends_with(|c: char| c.is_ascii_digit()) => {
                self.give("mem-per-cpu", &format!("{value}K"), word);
            }
            'M' => self.give("mem-per-cpu", value, word),
            'n' => match value.split_once(',') {
                Some((_, "")) => {
                    self.error(
                        word,
                        &format!("#BSUB -n format not correct given: '{value}'"),
                    );
                }
                Some((_, most)) => self.give("ntasks", most, word),
                None => self.give("ntasks", value, word),
            },
            'q' => self.give("partition", value, word),
            'W' => self.give("time", value, word),
            _ => self.give("exclusive", "", word),
        }
    }

    fn pbs(&mut self, letter: char, value: &str, word: &Word) {
        match letter {
            'a' => self.give("begin", value, word),
            'A' => self.give("account", value, word),
            'e' => self.give("error", value, word),
            'o' => self.give("output", value, word),
            'h' => self.give("hold", "", word),
            'J' | 't' => self.give("array", value, word),
            'l' => self.resources(value, word),
            'm' => self.give("mail-type", &mail_types(value), word),
            'M' => self.give("mail-user", value, word),
            'N' => self.give("job-name", value, word),
            'p' => self.give("nice", value, word),
            'q' => self.give("partition", value, word),
            'v' => {
                let before = self.reading.options.export.as_ref();
                let before = before.map_or(String::new(), |export| format!("{export},"));
                self.give("export", &format!("{before}{value}"), word);
            }
            'W' => {
                let lower = value.to_ascii_lowercase();
                if let Some(umask) = lower.strip_prefix("umask=") {
                    if leading(umask)
                        .0
                        .is_some_and(|umask| !(0..=0o777).contains(&umask))
                    {
                        self.error(word, "Invalid -W umask= specification");
                    }
                } else if lower.starts_with("depend=") {
                    self.give("dependency", &value["depend=".len()..], word);
                }
            }
            // Checkpoints, working folders, joined streams, users and shells: passed over.
            _ => {}
        }
    }

    /// `-l`: names with values, looked for at every place of the text.
    fn resources(&mut self, list: &str, word: &Word) {
        let (mut at, mut gpus, mut pro) = (0, 0_u32, [false; 3]);
        while at < list.len() {
            let Some(rest) = list.get(at..) else {
                at += 1;
                continue;
            };
            let Some((name, end)) = resource(rest) else {
                at += 1;
                continue;
            };
            let value = rest[name.len() + 1..].split(end).next().unwrap_or_default();
            at += name.len() + 1 + value.len() + 1;
            match name.to_ascii_lowercase().as_str() {
                "accelerator" => {
                    // Only the name is passed over.
                    at -= value.len() + 1;
                    if value.to_ascii_lowercase().starts_with("true") {
                        gpus = gpus.max(1);
                    }
                }
                "cput" | "pcput" | "walltime" => self.give("time", value, word),
                "file" => self.give("tmp", without_b(value), word),
                "mem" => self.give("mem", without_b(value), word),
                "mpiprocs" => {
                    pro[0] = true;
                    self.give("ntasks-per-node", value, word);
                }
                "naccelerators" => match leading(value) {
                    (Some(count @ 1..), "") => gpus = u32::try_from(count).unwrap_or(u32::MAX),
                    _ => {
                        let message =
                            format!("Invalid numeric value \"{value}\" for naccelerators.");
                        self.error(word, &message);
                    }
                },
                "ncpus" => {
                    pro[1] = true;
                    self.give("mincpus", value, word);
                }
                "nice" => self.give("nice", value, word),
                "nodes" => self.nodes(value, word),
                "proc" => {
                    let before = self.reading.options.constraint.as_ref();
                    let before = before.map_or(String::new(), |features| format!(",{features}"));
                    self.give("constraint", &format!("{value}{before}"), word);
                }
                "select" => {
                    pro[2] = true;
                    self.give("nodes", value, word);
                }
                _ => {}
            }
        }
        let o = &self.reading.options;
        if let (Some(cpus), Some(tasks), [true, true, true]) = (o.min_cpus, o.tasks_per_node, pro)
            && cpus > tasks
        {
            self.give("cpus-per-task", &(cpus / tasks).to_string(), word);
        }
        if gpus > 0 {
            let before = self.reading.options.gres.clone().flatten();
            let before = before.map_or(String::new(), |gres| format!("{gres},"));
            self.give("gres", &format!("{before}gpu:{gpus}"), word);
        }
    }

    /// `nodes=2:ppn=4:gpus=1+n7`.
    fn nodes(&mut self, value: &str, word: &Word) {
        let (mut tasks, mut count, mut names) = (0_i64, 0_i64, Vec::new());
        for part in value.split(['+', ':']) {
            let number = |text| leading(text).0.unwrap_or(0);
            if let Some(gpus) = part.strip_prefix("gpus=") {
                self.give("gpus-per-node", gpus, word);
            } else if let Some(ppn) = part.strip_prefix("ppn=") {
                tasks = tasks.saturating_add(number(ppn));
            } else if part.starts_with(|c: char| c.is_ascii_digit()) {
                count = count.saturating_add(number(part));
            } else if part.starts_with(|c: char| c.is_ascii_alphabetic()) {
                names.push(NodeName::new(part));
            }
        }
        if count != 0 {
            self.give("nodes", &count.to_string(), word);
        }
        if tasks != 0 {
            let tasks = tasks.saturating_mul(count.max(1));
            self.give("ntasks", &tasks.to_string(), word);
        }
        if !names.is_empty() {
            self.give("nodelist", &node_list::fold(&names), word);
        }
    }
}

/// The resource that a text begins with, and what its value ends at.
fn resource(text: &str) -> Option<(&str, char)> {
    /// Names in the order in which Slurm tries them; those that PBS Pro has in a `select`, which
    /// parts with colons, stand behind in any case of letters.
    const NAMES: &[(&str, char)] = &[
        ("arch", ','),
        ("cput", ','),
        ("file", ','),
        ("host", ','),
        ("mem", ','),
        ("nice", ','),
        ("nodes", ','),
        ("opsys", ','),
        ("other", ','),
        ("pcput", ','),
        ("pmem", ','),
        ("proc", ','),
        ("pvmem", ','),
        ("software", ','),
        ("vmem", ','),
        ("walltime", ','),
    ];
    const ANY_CASE: &[(&str, char)] = &[
        ("accelerator", ','),
        ("mpiprocs", ':'),
        ("naccelerators", ','),
        ("ncpus", ':'),
        ("select", ':'),
    ];
    let find = |names: &[(&str, char)], same: fn(&str, &str) -> bool| {
        names.iter().find_map(|(name, end)| {
            let start = text.get(..name.len()).filter(|start| same(start, name))?;
            text[name.len()..]
                .starts_with('=')
                .then_some((start.len(), *end))
        })
    };
    let found = find(NAMES, |one, other| one == other);
    let (length, end) = found.or_else(|| find(ANY_CASE, str::eq_ignore_ascii_case))?;
    Some((&text[..length], end))
}

/// `4gb` is `4g` to Slurm.
fn without_b(size: &str) -> &str {
    size.strip_suffix(['b', 'B']).unwrap_or(size)
}

fn mail_types(letters: &str) -> String {
    let has = |letter: char| letters.to_ascii_lowercase().contains(letter);
    if has('n') {
        return "NONE".to_owned();
    }
    let words = [('b', "BEGIN"), ('e', "END"), ('a', "FAIL")];
    let words = words.iter().filter(|(letter, _)| has(*letter));
    let words: Vec<&str> = words.map(|(_, word)| *word).collect();
    words.join(",")
}
