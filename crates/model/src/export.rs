//! `--export`: which variables of the caller a job or step gets.

use std::fmt;

/// What `--export` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Export {
    /// All (the default).
    #[default]
    All,
    /// All, and these set besides.
    AllAnd(Vec<ExportedVariable>),
    /// None but Slurm's own: `NONE`.
    None,
    /// Nothing at all, Slurm's own left out too: `NIL`.
    Nil,
    /// These and Slurm's own.
    Only(Vec<ExportedVariable>),
}

/// A variable that `--export` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedVariable {
    /// Its name.
    pub name: String,
    /// `NAME=value`; `None` takes the caller's value.
    pub value: Option<String>,
}

impl Export {
    /// Reads what `--export` takes. Commas part the names, except inside of quotes, which are taken
    /// away around a value.
    #[must_use]
    pub fn parse(text: &str) -> Export {
        match text.trim_matches(',').to_ascii_uppercase().as_str() {
            "ALL" => return Export::All,
            "NONE" => return Export::None,
            "NIL" => return Export::Nil,
            _ => {}
        }
        let mut all = false;
        let mut variables = Vec::new();
        for word in words(text) {
            if word.eq_ignore_ascii_case("ALL") {
                all = true;
                continue;
            }
            let variable = match word.split_once('=') {
                Some((name, value)) => (name, Some(unquoted(value).to_owned())),
                None => (word, None),
            };
            variables.push(ExportedVariable {
                name: variable.0.to_owned(),
                value: variable.1,
            });
        }
        match (all, variables.is_empty()) {
            (true, true) => Export::All,
            (true, false) => Export::AllAnd(variables),
            (false, _) => Export::Only(variables),
        }
    }

    /// The environment that is left of the caller's. `SLURM_*` variables go along with every
    /// form but `NIL`. A variable that the caller has keeps its value where `ALL` is exported.
    #[must_use]
    pub fn filter(&self, environment: &[(String, String)]) -> Vec<(String, String)> {
        let of_slurm = |name: &str| name.starts_with("SLURM_") || name.starts_with("SPANK_");
        let (mut kept, named): (Vec<(String, String)>, &[ExportedVariable]) = match self {
            Export::All => (environment.to_vec(), &[]),
            Export::AllAnd(named) => (environment.to_vec(), named),
            Export::Nil => (Vec::new(), &[]),
            Export::None => (
                environment
                    .iter()
                    .filter(|v| of_slurm(&v.0))
                    .cloned()
                    .collect(),
                &[],
            ),
            Export::Only(named) => (
                environment
                    .iter()
                    .filter(|v| of_slurm(&v.0))
                    .cloned()
                    .collect(),
                named,
            ),
        };
        for variable in named {
            let has = kept.iter().any(|(name, _)| *name == variable.name);
            let of_caller = || environment.iter().find(|(name, _)| *name == variable.name);
            let value = match &variable.value {
                Some(value) => Some(value.clone()),
                None => of_caller().map(|(_, value)| value.clone()),
            };
            if let (Some(value), false) = (value, has) {
                kept.push((variable.name.clone(), value));
            }
        }
        kept
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, named): (&str, &[ExportedVariable]) = match self {
            Export::All => ("ALL", &[]),
            Export::None => ("NONE", &[]),
            Export::Nil => ("NIL", &[]),
            Export::AllAnd(named) => ("ALL", named),
            Export::Only(named) => ("", named),
        };
        f.write_str(first)?;
        for (index, variable) in named.iter().enumerate() {
            f.write_str(if index > 0 || !first.is_empty() {
                ","
            } else {
                ""
            })?;
            f.write_str(&variable.name)?;
            if let Some(value) = &variable.value {
                write!(f, "={}", quoted(value))?;
            }
        }
        Ok(())
    }
}

/// A value as it reads back: in quotes where it has none of its own that keep its commas together.
fn quoted(value: &str) -> String {
    let written = ["", "'", "\""].map(|quote| format!("{quote}{value}{quote}"));
    let reads_back = |text: &&String| {
        let followed = format!("{text},x");
        words(&followed).last() == Some(&"x")
            && words(text).concat() == **text
            && unquoted(text) == value
    };
    // A quote that nobody closes was the last thing that was read, and is the last written.
    let found = written.iter().find(reads_back);
    found.unwrap_or(&written[0]).clone()
}

/// Parts a text at commas outside of quotes.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (index, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'\'' | b'"', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b',', None) => {
                words.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

fn unquoted(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, printed: &str, left: &str) {
        let export = Export::parse(text);
        assert_eq!(export.to_string(), printed);
        assert_eq!(Export::parse(printed), export);
        let environment = [("HOME", "/h"), ("A", "old"), ("SLURM_JOB_ID", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let kept: Vec<String> = export
            .filter(&environment)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(kept.join(" "), left);
    }

    #[test]
    fn forms() {
        check("all", "ALL", "HOME=/h A=old SLURM_JOB_ID=1");
        check("NONE", "NONE", "SLURM_JOB_ID=1");
        check("NIL", "NIL", "");
        check("all,", "ALL", "HOME=/h A=old SLURM_JOB_ID=1");
        check("HOME,B=x", "HOME,B=x", "SLURM_JOB_ID=1 HOME=/h B=x");
        check(
            "ALL,A=b,C=d",
            "ALL,A=b,C=d",
            "HOME=/h A=old SLURM_JOB_ID=1 C=d",
        );
        check("C='1,2',NOSUCH", "C='1,2',NOSUCH", "SLURM_JOB_ID=1 C=1,2");
        check("C='1,'2'", "C=\"1,'2\"", "SLURM_JOB_ID=1 C=1,'2");
        check(
            "C=\"it's 1\",D=x",
            "C=\"it's 1\",D=x",
            "SLURM_JOB_ID=1 C=it's 1 D=x",
        );
        check("C='1", "C=\"'1\"", "SLURM_JOB_ID=1 C='1");
        check("C='1\"2", "C='1\"2", "SLURM_JOB_ID=1 C='1\"2");
    }
}
