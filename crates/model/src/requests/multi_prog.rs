//! `srun --multi-prog`: the file that says which program each task runs.

/// The command line of each task, by rank.
///
/// A line has ranks (`0`, `1-3`, `0,2` or `*` for those that no line before it names), a program and
/// arguments; `%t` is the task's rank and `%o` its place in the line's ranks, from 0, outside of
/// single quotes. A backslash takes the next character as it is, the end of a line too. `more` are
/// arguments after the file's name, which every task gets.
///
/// # Errors
/// What Slurm says, a line each: `srun: error: ` goes before.
pub fn read(
    name: &str,
    text: &str,
    tasks: u32,
    more: &[String],
) -> Result<Vec<Vec<String>>, Vec<String>> {
    let mut commands: Vec<Option<Vec<String>>> = vec![None; tasks as usize];
    let mut others = None;
    for (number, line) in lines(text) {
        let invalid = |why: Option<String>| {
            let of_file = format!("Line {number} of configuration file {name} invalid");
            why.into_iter().chain([of_file]).collect::<Vec<_>>()
        };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (ranks, program) = line
            .split_once(char::is_whitespace)
            .filter(|(_, program)| !program.trim().is_empty())
            .ok_or_else(|| invalid(None))?;
        if ranks == "*" {
            others = Some(program.to_owned());
            continue;
        }
        let ranks = ranks_of(ranks, tasks).map_err(|why| invalid(Some(why)))?;
        for (offset, rank) in (0..).zip(ranks) {
            let place = &mut commands[rank as usize];
            if place.is_some() {
                return Err(invalid(Some(format!("Duplicate record for task {rank}"))));
            }
            *place = Some(words(program, rank, offset));
        }
    }
    if let Some(program) = others {
        for (rank, place) in (0..).zip(&mut commands) {
            // Counted from the first task of all, as the real one does.
            place.get_or_insert_with(|| words(&program, rank, rank));
        }
    }
    let mut all = Vec::with_capacity(commands.len());
    for (rank, command) in commands.into_iter().enumerate() {
        let mut command = command.ok_or_else(|| {
            vec![format!(
                "Configuration file {name} invalid, no record for task id {rank}"
            )]
        })?;
        command.extend(more.iter().cloned());
        all.push(command);
    }
    Ok(all)
}

/// Lines with their numbers, those put together that end in a backslash.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        let (line, more) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some((_, before)) if goes_on => before.push_str(line),
            _ => lines.push((number, line.to_owned())),
        }
        goes_on = more;
    }
    lines
}

fn ranks_of(text: &str, tasks: u32) -> Result<Vec<u32>, String> {
    let number = |text: &str| text.parse::<u32>().ok();
    let mut ranks = Vec::new();
    for part in text.split(',') {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(part).map(|one| (one, one)),
        };
        let (first, last) = range
            .filter(|(first, last)| first <= last)
            .ok_or_else(|| format!("Invalid task range specification ({text})"))?;
        if last >= tasks {
            return Err(format!("Invalid task id, {last} >= ntasks"));
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}

fn words(program: &str, rank: u32, offset: u32) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = program.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if quoted => word.get_or_insert_default().push(c),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            // Any other letter goes with its sign.
            '%' => match chars.next() {
                Some('t') => word.get_or_insert_default().push_str(&rank.to_string()),
                Some('o') => word.get_or_insert_default().push_str(&offset.to_string()),
                Some(_) | None => {
                    word.get_or_insert_default();
                }
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 22.05.8 did with the same file: `srun -nTASKS -l --multi-prog FILE MORE`.
    #[track_caller]
    fn check(tasks: u32, text: &str, more: &[&str], want: &[&str]) {
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        let got = match read("mp.conf", text, tasks, &more) {
            Ok(commands) => commands.iter().map(|words| words.join("|")).collect(),
            Err(lines) => lines,
        };
        assert_eq!(got, want);
    }

    #[test]
    fn programs_by_rank() {
        check(
            4,
            "# comment\n0   echo zero %t %o\n1-2  echo one two %t %o\n*   echo star %t %o\n",
            &[],
            &[
                "echo|zero|0|0",
                "echo|one|two|1|0",
                "echo|one|two|2|1",
                "echo|star|3|3",
            ],
        );
        check(
            4,
            "1,3 echo odd %t %o\n0,2 echo even %t %o\n",
            &["extra", "args"],
            &[
                "echo|even|0|0|extra|args",
                "echo|odd|1|0|extra|args",
                "echo|even|2|1|extra|args",
                "echo|odd|3|1|extra|args",
            ],
        );
        check(
            1,
            "0 sh -c 'echo \"one $SLURM_PROCID %t\"' c\\ d <%s> \"e f\"\\\n k\n",
            &[],
            &["sh|-c|echo \"one $SLURM_PROCID %t\"|c d|<>|\"e|f\"|k"],
        );
    }

    #[test]
    fn slurms_words() {
        let of_line = |number: u32| format!("Line {number} of configuration file mp.conf invalid");
        let no_record = "Configuration file mp.conf invalid, no record for task id 1";
        check(2, "0 echo a\n", &[], &[no_record]);
        check(
            2,
            "0-9 echo a\n",
            &[],
            &["Invalid task id, 9 >= ntasks", &of_line(1)],
        );
        check(
            2,
            "x echo a\n",
            &[],
            &["Invalid task range specification (x)", &of_line(1)],
        );
        check(
            2,
            "0 echo\n\n0 echo\n",
            &[],
            &["Duplicate record for task 0", &of_line(3)],
        );
        check(2, "0\n1 true\n", &[], &[&of_line(1)]);
    }
}
