//! `NodeCnt=`, `CoreCnt=` and `TRES=` of a reservation (`state_control.c` of 22.05).

/// What `TRES=` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TresCounts {
    pub(crate) nodes: Option<String>,
    pub(crate) cores: Option<String>,
}

/// What Slurm counts without being told to, beside GRES.
const TRES: [&str; 8] = [
    "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages",
];

/// `2,1`, `1k`: the numbers before the first 0, the largest first. `Ok(None)` where nothing stands there.
pub(crate) fn node_counts(text: &str) -> Result<Option<Vec<u32>>, ()> {
    let count = |word: &str| {
        let split = word.len() - usize::from(word.ends_with(['k', 'K', 'm', 'M']));
        let (number, unit) = word.split_at(split);
        let unit = match unit {
            "" => 1,
            "k" | "K" => 1024,
            _ => 1024 * 1024,
        };
        let number: u64 = number.parse().map_err(|_| ())?;
        if number >= i64::MAX as u64 {
            return Err(());
        }
        Ok(u32::try_from(number.saturating_mul(unit)).unwrap_or(u32::MAX))
    };
    let mut counts = until_zero(text, count)?;
    if let Some(counts) = &mut counts {
        counts.sort_unstable_by(|one, other| other.cmp(one));
    }
    Ok(counts)
}

/// `4,2`: the numbers before the first 0. One below zero is more than there is.
pub(crate) fn core_counts(text: &str) -> Result<Option<Vec<u32>>, ()> {
    let count = |word: &str| {
        let number: i64 = word.parse().map_err(|_| ())?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    };
    until_zero(text, count)
}

fn until_zero(text: &str, count: impl Fn(&str) -> Result<u32, ()>) -> Result<Option<Vec<u32>>, ()> {
    let words = text.split(',').filter(|word| !word.is_empty());
    let counts = words.map(count).collect::<Result<Vec<u32>, ()>>()?;
    let is_said = !counts.is_empty();
    let counts = counts.into_iter().take_while(|count| *count > 0).collect();
    Ok(is_said.then_some(counts))
}

/// Reads `cpu=4,2,node=2`.
///
/// # Errors
/// In Slurm's words.
pub(crate) fn tres(text: &str) -> Result<TresCounts, String> {
    let mut counts = TresCounts::default();
    let mut words = text.split(',').filter(|word| !word.is_empty()).peekable();
    let add = |to: &mut Option<String>, value: &str| match to {
        Some(to) => *to = format!("{to},{value}"),
        None => *to = Some(value.to_owned()),
    };
    let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if value.is_empty() {
            return Err(format!("invalid TRES '{name}'"));
        }
        let lower = name.to_ascii_lowercase();
        if !TRES.contains(&&*lower) && !lower.starts_with("gres/") {
            return Err(format!("couldn't identify configured TRES '{name}'"));
        }
        match &*lower {
            "cpu" if !is_number(value) => return Err(format!("invalid TRES cpu value '{value}'")),
            "cpu" => {
                add(&mut counts.cores, value);
                while let Some(value) = words.next_if(|value| is_number(value)) {
                    add(&mut counts.cores, value);
                }
            }
            "node" => add(&mut counts.nodes, value),
            _ => {
                return Err(format!(
                    "TRES type '{name}' not supported with reservations"
                ));
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As recorded from a real one.
    #[test]
    fn counts() {
        let check = |text: &str, want: Result<Option<&[u32]>, ()>| {
            let counts = node_counts(text);
            assert_eq!(
                counts.as_ref().map(Option::as_deref),
                want.as_ref().copied().map_err(|()| &()),
                "{text}"
            );
        };
        check("", Ok(None));
        check(",", Ok(None));
        check("0", Ok(Some(&[])));
        check("1", Ok(Some(&[1])));
        check("1,2,1", Ok(Some(&[2, 1, 1])));
        check("1k", Ok(Some(&[1024])));
        for text in ["-1", "x", "1,x", "99999999999999999999"] {
            check(text, Err(()));
        }
        assert_eq!(core_counts("2,3,0,4"), Ok(Some(vec![2, 3])));
        assert_eq!(core_counts("-1"), Ok(Some(vec![u32::MAX])));
        assert_eq!(core_counts("1k"), Err(()));
    }

    /// As recorded from a real one.
    #[test]
    fn resources_by_name() {
        let counts = |nodes: Option<&str>, cores: Option<&str>| TresCounts {
            nodes: nodes.map(str::to_owned),
            cores: cores.map(str::to_owned),
        };
        assert_eq!(tres(""), Ok(counts(None, None)));
        assert_eq!(tres("cpu=4,cpu=2"), Ok(counts(None, Some("4,2"))));
        assert_eq!(tres("cpu=4,2,node=2"), Ok(counts(Some("2"), Some("4,2"))));
        for (text, want) in [
            (
                "gres/gpu=1",
                "TRES type 'gres/gpu' not supported with reservations",
            ),
            ("mem=5", "TRES type 'mem' not supported with reservations"),
            ("foo=1", "couldn't identify configured TRES 'foo'"),
            (
                "license/foo=1",
                "couldn't identify configured TRES 'license/foo'",
            ),
            ("cpu", "invalid TRES 'cpu'"),
            ("cpu=", "invalid TRES 'cpu'"),
            ("cpu=x", "invalid TRES cpu value 'x'"),
        ] {
            assert_eq!(tres(text), Err(want.to_owned()));
        }
    }
}
