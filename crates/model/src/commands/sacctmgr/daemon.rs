//! Words of `sacctmgr` that are about slurmdbd, and those that set how its own prompt answers.

use super::is;
use super::words::Answer;

/// How the commands after them are answered, or an end: alone they do nothing. Each with how many of its letters
/// are enough.
const SETTINGS: &[(&str, usize)] = &[
    ("associations", 3),
    ("exit", 4),
    ("oneliner", 1),
    ("quiet", 4),
    ("quit", 4),
    ("readonly", 4),
    ("verbose", 4),
];

/// What a first word answers that shows and changes nothing.
pub(super) fn answer(verb: &str, words: &[String]) -> Result<Answer, Answer> {
    let too_many = |said: String| Err(Answer::refused(format!("too many arguments for {said}\n")));
    let mut settings = SETTINGS.iter();
    if let Some((name, _)) = settings.find(|(name, least)| is(verb, name, *least)) {
        return match (*name, words) {
            ("associations", _) | (_, []) => Ok(Answer::default()),
            ("readonly" | "verbose", _) => too_many(format!("{verb} keyword")),
            _ => too_many(format!("keyword:{verb}")),
        };
    }
    if is(verb, "help", 2) {
        return too_many(format!("keyword:{verb}"));
    }
    if is(verb, "version", 4) {
        return too_many(format!("{verb} keyword"));
    }
    if is(verb, "archive", 3) {
        return Err(match words.first() {
            Some(entity) if is(entity, "dump", 1) => nothing_of_slurmdbd(
                "archive dump",
                "how long jobs are kept is set by TRAINYARD_KEEP_DAYS and TRAINYARD_KEEP_JOBS",
            ),
            Some(entity) if is(entity, "load", 1) => nothing_of_slurmdbd(
                "archive load",
                "sacctmgr load reads accounts; jobs of other clusters are not kept here",
            ),
            _ => Answer::refused(
                "No valid entity in archive command\nInput line must include, \"Dump\", or \"load\"\n"
                    .to_owned(),
            ),
        });
    }
    if is(verb, "clear", 3) {
        return Err(match words.first() {
            Some(entity) if is(entity, "stats", 1) => nothing_of_slurmdbd(
                "clear stats",
                "sdiag --reset begins the engine's counts anew",
            ),
            _ => Answer::refused(
                "No valid entity in list command\nInput line must include \"Stats\"\n".to_owned(),
            ),
        });
    }
    if is(verb, "reconfigure", 4) {
        return match words {
            [] => Err(nothing_of_slurmdbd(
                "reconfigure",
                "scontrol reconfigure reads the cluster's file again",
            )),
            _ => too_many(format!("{verb} keyword")),
        };
    }
    if is(verb, "shutdown", 4) {
        return Err(nothing_of_slurmdbd(
            "shutdown",
            "yard engine stop ends the engine",
        ));
    }
    // What jobs use is counted at once.
    if is(verb, "rollup", 2) {
        return Ok(Answer::default());
    }
    Err(Answer::refused(format!("invalid keyword: {verb}\n")))
}

/// There is no slurmdbd.
fn nothing_of_slurmdbd(asked: &str, todo: &str) -> Answer {
    Answer::refused(format!(
        "sacctmgr: error: there is no slurmdbd here\n\
         sacctmgr:   asked   {asked}\n\
         sacctmgr:   there   accounts and jobs, kept by the engine itself\n\
         sacctmgr:   do      {todo}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_refused_as_in_slurm() {
        let check = |line: &str, want: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let (Ok(answer) | Err(answer)) = self::answer(&words[0], &words[1..]);
            let first = answer.stderr.lines().next().unwrap_or_default();
            assert_eq!(format!("{first} ({})", answer.status), want, "{line}");
        };
        check("readonly", " (0)");
        check("readonly x", "too many arguments for readonly keyword (1)");
        check("exit x", "too many arguments for keyword:exit (1)");
        check("associations x", " (0)");
        check("archive", "No valid entity in archive command (1)");
        check(
            "archive dump",
            "sacctmgr: error: there is no slurmdbd here (1)",
        );
        check("clear x", "No valid entity in list command (1)");
        check("reco x", "too many arguments for reco keyword (1)");
        check("nosuch", "invalid keyword: nosuch (1)");
        check("s", "invalid keyword: s (1)");
    }
}
