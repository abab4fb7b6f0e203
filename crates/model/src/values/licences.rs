//! `matlab:2,ansys`: licences, as `--licenses` asks for them and `Licenses` of slurm.conf counts them.

/// So many licences of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LicenceCount {
    /// The name; of a remote one with its server (`matlab@db`).
    pub name: String,
    /// How many; 1 where no number stands there.
    pub count: u32,
}

/// Reads such a list; a name that stands twice counts together. None where Slurm would not take it:
/// a number is none, or a name is missing (`_build_license_list` of 22.05's `licenses.c`).
#[must_use]
pub fn parse_licences(text: &str) -> Option<Vec<LicenceCount>> {
    let mut all: Vec<LicenceCount> = Vec::new();
    for part in text.split([',', ';']).filter(|part| !part.is_empty()) {
        let (name, count) = match part.split_once(':') {
            Some((name, count)) => (name, count.parse().ok()?),
            None => (part, 1),
        };
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.count = known.count.saturating_add(count),
            None => all.push(LicenceCount {
                name: name.to_owned(),
                count,
            }),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&[(&str, u32)]>) {
        let got = parse_licences(text);
        let got = got.as_ref().map(|all| {
            let each = all.iter().map(|one| (one.name.as_str(), one.count));
            each.collect::<Vec<_>>()
        });
        assert_eq!(got.as_deref(), want, "{text}");
    }

    #[test]
    fn lists() {
        check("matlab", Some(&[("matlab", 1)]));
        check("matlab:2,ansys", Some(&[("matlab", 2), ("ansys", 1)]));
        check("a:1;a:2", Some(&[("a", 3)]));
        check("fast@db:4", Some(&[("fast@db", 4)]));
        check("", Some(&[]));
        check("a:4294967295,a:9", Some(&[("a", u32::MAX)]));
    }

    #[test]
    fn what_slurm_does_not_take() {
        for text in ["a:x", "a:-1", ":2", "a b", "a:"] {
            check(text, None);
        }
    }
}
