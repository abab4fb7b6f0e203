//! Lines of Slurm's configuration files: `Key=value Key="a value" # a remark`.

/// A line, continued ones put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfLine {
    pub file: String,
    /// Where it begins, from 1.
    pub number: usize,
    pub pairs: Vec<Pair>,
    /// What of it is no `Key=value`, at which Slurm stops.
    pub junk: Vec<String>,
    /// Its text without remarks.
    text: String,
}

/// `Key=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub key: String,
    pub value: String,
}

impl ConfLine {
    /// The first key; empty where there is none.
    pub fn first(&self) -> &str {
        self.pairs.first().map_or("", |pair| &pair.key)
    }

    /// The value of a key, in any case.
    pub fn value(&self, key: &str) -> Option<&str> {
        let is = |pair: &&Pair| pair.key.eq_ignore_ascii_case(key);
        self.pairs.iter().find(is).map(|pair| pair.value.as_str())
    }

    /// The file that an `Include` line names.
    pub fn include(&self) -> Option<String> {
        let text = self.text.trim();
        let (word, path) = text.split_once(char::is_whitespace)?;
        word.eq_ignore_ascii_case("include")
            .then(|| path.trim().to_owned())
    }
}

/// Parts a text into lines; remarks and empty lines have no pairs.
pub(super) fn conf_lines(file: &str, text: &str) -> Vec<ConfLine> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.split('\n').enumerate() {
        let line = without_remark(line.trim_end_matches('\r'));
        let (number, mut whole) = open.take().unwrap_or((index + 1, String::new()));
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                open = Some((number, whole));
            }
            None => {
                whole.push_str(&line);
                lines.push(conf_line(file, number, whole));
            }
        }
    }
    if let Some((number, whole)) = open {
        lines.push(conf_line(file, number, whole));
    }
    lines
}

fn conf_line(file: &str, number: usize, text: String) -> ConfLine {
    let (pairs, junk) = pairs(&text);
    ConfLine {
        file: file.to_owned(),
        number,
        pairs,
        junk,
        text,
    }
}

/// A `#` begins a remark, `\#` is a `#`.
fn without_remark(line: &str) -> String {
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'#') => kept.extend(letters.next()),
            '#' => break,
            letter => kept.push(letter),
        }
    }
    kept
}

/// As `s_p_parse_line` of `parse_config.c` reads a line: what follows no key is left over.
fn pairs(text: &str) -> (Vec<Pair>, Vec<String>) {
    let mut pairs = Vec::new();
    let mut junk = Vec::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('=') {
        let mut words = before.split_whitespace();
        // `+=` adds in newer versions.
        let key = words.next_back().unwrap_or_default();
        let key = key.trim_end_matches(['+', '-', '*', '/']).to_owned();
        junk.extend(words.map(clean));
        let tail = tail.trim_start();
        let (value, after) = match tail.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or_else(|| {
                junk.push(clean(tail));
                (quoted, "")
            }),
            None => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
        };
        match key.is_empty() {
            true => junk.push(format!("={}", clean(value))),
            false => pairs.push(Pair {
                key: clean(&key),
                value: clean(value),
            }),
        }
        rest = after;
    }
    junk.extend(rest.split_whitespace().map(clean));
    (pairs, junk)
}

/// A value without what no cluster file can hold.
pub(super) fn clean(value: &str) -> String {
    let plain = value
        .trim()
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.collect()
}
