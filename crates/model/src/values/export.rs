//! `--export`: which variables of the caller a job or step gets.
//!
//! As `env_merge_filter` of Slurm's env.c has it for sbatch, and as a real srun was seen to do it:
//! they differ where `ALL` stands beside a variable that the caller has too.

use std::fmt;

/// What `--export` asks for. It travels as it was written, in `SLURM_EXPORT_ENV`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// `None`: not given, which is `ALL`.
    written: Option<String>,
}

/// Variables of an environment, in order.
type Variables = Vec<(String, String)>;

/// What a text asks for; the case of its words doesn't count.
enum Form<'a> {
    /// All (the default).
    All,
    /// None but Slurm's own: `NONE`.
    None,
    /// Nothing at all, Slurm's own left out too: `NIL`.
    Nil,
    /// A list of names, of `NAME=value`, and of `ALL`.
    List(&'a str),
}

impl Export {
    /// Reads what `--export` takes; no text is refused.
    #[must_use]
    pub fn parse(text: &str) -> Export {
        Export {
            written: Some(text.to_owned()),
        }
    }

    /// Whether it is the default, so that it needs no mention.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self.form(), Form::All)
    }

    /// What is left of the caller's environment for a batch job: words count from left to right, so
    /// that what stands behind `ALL` goes before what the caller has. `SLURM_*` and `SPANK_*` go
    /// along with every form but `NIL`.
    #[must_use]
    pub fn for_job(&self, caller: &[(String, String)]) -> Variables {
        self.left_of(caller, false)
    }

    /// What is left of it for a step: with `ALL` anywhere, what the caller has goes before what is
    /// given here (srun(1)).
    #[must_use]
    pub fn for_step(&self, caller: &[(String, String)]) -> Variables {
        self.left_of(caller, true)
    }

    /// `all_last`: an `ALL` counts as if it stood behind all other words.
    fn left_of(&self, caller: &[(String, String)], all_last: bool) -> Variables {
        let mut kept = Variables::new();
        let mut all = false;
        match self.form() {
            Form::All => return caller.to_vec(),
            Form::Nil => return kept,
            Form::None => {}
            Form::List(list) => {
                for word in words(list) {
                    match word.split_once('=') {
                        _ if is_all(word) && all_last => all = true,
                        _ if is_all(word) => set_all(&mut kept, caller),
                        Some((name, value)) => set(&mut kept, name, value),
                        None => set_all(&mut kept, caller.iter().filter(|(name, _)| name == word)),
                    }
                }
            }
        }
        set_all(
            &mut kept,
            caller.iter().filter(|(name, _)| all || is_slurms(name)),
        );
        kept
    }

    /// The rest of the list from a quote on that is never closed, of which Slurm says that it is
    /// improperly formed and goes on.
    #[must_use]
    pub fn unclosed(&self) -> Option<&str> {
        let Form::List(list) = self.form() else {
            return None;
        };
        let (start, open) = parted(list, |_| ());
        open.then(|| &list[start..])
    }

    fn form(&self) -> Form<'_> {
        match self.written.as_deref() {
            None => Form::All,
            Some(text) if is_all(text) => Form::All,
            Some(text) if text.eq_ignore_ascii_case("NONE") => Form::None,
            Some(text) if text.eq_ignore_ascii_case("NIL") => Form::Nil,
            Some(text) => Form::List(text),
        }
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written.as_deref().unwrap_or("ALL"))
    }
}

fn is_all(word: &str) -> bool {
    word.eq_ignore_ascii_case("ALL")
}

fn is_slurms(name: &str) -> bool {
    name.starts_with("SLURM_") || name.starts_with("SPANK_")
}

fn set(variables: &mut Variables, name: &str, value: &str) {
    // No shell has a variable without a name.
    if name.is_empty() {
        return;
    }
    match variables.iter_mut().find(|(known, _)| known == name) {
        Some(known) => value.clone_into(&mut known.1),
        None => variables.push((name.to_owned(), value.to_owned())),
    }
}

fn set_all<'a>(variables: &mut Variables, others: impl IntoIterator<Item = &'a (String, String)>) {
    for (name, value) in others {
        set(variables, name, value);
    }
}

/// Parts a list at commas outside of quotes (`find_quote_token`, env.c). Single and double quotes
/// are counted apart, so that `"it's"` is never closed and the rest of the list is its word. Quotes
/// around a whole word are taken away, those around a value stay its own.
fn words(list: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (start, _) = parted(list, |word| words.push(unquoted(word)));
    words.push(unquoted(&list[start..]));
    words.retain(|word| !word.is_empty());
    words
}

/// Takes the words that a comma ends; tells where the last word begins and whether a quote in it is
/// left open.
fn parted<'a>(list: &'a str, mut take: impl FnMut(&'a str)) -> (usize, bool) {
    let (mut start, mut single, mut double) = (0, false, false);
    for (index, byte) in list.bytes().enumerate() {
        match byte {
            b'\'' => single = !single,
            b'"' => double = !double,
            b',' if !single && !double => {
                take(&list[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    (start, single || double)
}

fn unquoted(word: &str) -> &str {
    let inside = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a real 22.05.8 gave a batch job and a step for a caller with A=old and FOO=foo
    /// (`A=old FOO=foo sbatch --export=… job.sh`, and the same of srun), without what a login and
    /// Slurm itself set.
    #[track_caller]
    fn check(text: &str, job: &str, step: &str) {
        let export = Export::parse(text);
        assert_eq!(export.to_string(), text);
        let caller = [("A", "old"), ("FOO", "foo"), ("SLURM_X", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let printed = |mut kept: Variables| {
            kept.sort();
            kept.retain(|(name, _)| name != "SLURM_X");
            let words: Vec<String> = kept.iter().map(|(n, v)| format!("{n}={v}")).collect();
            words.join("|")
        };
        assert_eq!(printed(export.for_job(&caller)), job, "job, {text}");
        assert_eq!(printed(export.for_step(&caller)), step, "step, {text}");
        let slurms = |kept: Variables| kept.iter().any(|(name, _)| name == "SLURM_X");
        assert_eq!(slurms(export.for_job(&caller)), text != "NIL");
    }

    #[test]
    fn lists() {
        check("ALL,A=b,C=d", "A=b|C=d|FOO=foo", "A=old|C=d|FOO=foo");
        check("A=b,ALL", "A=old|FOO=foo", "A=old|FOO=foo");
        check("ALL,", "A=old|FOO=foo", "A=old|FOO=foo");
        check("A=b", "A=b", "A=b");
        check("FOO", "FOO=foo", "FOO=foo");
        check("FO", "", "");
        check(",A", "A=old", "A=old");
        check("C=,D", "C=", "C=");
        check("A=b,A=c", "A=c", "A=c");
        check("NONE,", "", "");
        check("", "", "");
        check("=x", "", "");
    }

    #[test]
    fn words_that_stand_alone() {
        check("all", "A=old|FOO=foo", "A=old|FOO=foo");
        check("none", "", "");
        check("NIL", "", "");
    }

    #[test]
    fn quotes() {
        check("C='1,2',D=3", "C='1,2'|D=3", "C='1,2'|D=3");
        check("'C=1,2',D=3", "C=1,2|D=3", "C=1,2|D=3");
        check("\"C=1 2\",D=3", "C=1 2|D=3", "C=1 2|D=3");
        check("C=\"it's 1\",D=x", "C=\"it's 1\",D=x", "C=\"it's 1\",D=x");
        check("C='1", "C='1", "C='1");
        let unclosed = |text| Export::parse(text).unclosed().map(str::to_owned);
        assert_eq!(unclosed("B=1,A='x,B=2").as_deref(), Some("A='x,B=2"));
        assert_eq!(
            unclosed("C=\"it's 1\",D=x").as_deref(),
            Some("C=\"it's 1\",D=x")
        );
        assert_eq!(unclosed("A='x',B=\"y\""), None);
    }

    proptest! {
        #[test]
        fn print_then_parse(text in "(ALL|NONE|NIL|[A-C](=[a-c,'\"]{0,4})?)?(,(ALL|NONE|[A-C](=[a-c' ]{0,3})?)?){0,4}") {
            let read = Export::parse(&text);
            prop_assert_eq!(&read.to_string(), &text);
            prop_assert_eq!(Export::parse(&read.to_string()), read);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let read = Export::parse(&text);
            let _ = (read.for_job(&[]), read.for_step(&[]), read.unclosed());
        }
    }
}
