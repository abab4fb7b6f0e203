//! The mark that `torchrun` puts before each line of a rank where it writes them into its own output (`PET_TEE`): `[default1:5]:`
//! as the launcher asks for it, with the rank of the training last, or what a torch writes that does not know how to,
//! `[default1]:`, with the number on the node alone.

/// Marks are no longer than that, in bytes.
const LONGEST: usize = 64;

/// Which rank wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMark {
    /// Its number on the node.
    pub local: u32,
    /// Its number in the training, where the mark tells it.
    pub rank: Option<u32>,
}

impl LineMark {
    /// The mark of a line, and what the rank wrote. What ranks mark themselves (`[rank5]: Traceback`) is none.
    #[must_use]
    pub fn split(line: &[u8]) -> Option<(LineMark, &[u8])> {
        let head = &line[..line.len().min(LONGEST)];
        let end = head.windows(2).position(|two| two == b"]:")?;
        let mark = std::str::from_utf8(head[..end].strip_prefix(b"[")?).ok()?;
        let (local, rank) = match mark.split_once(':') {
            Some((local, rank)) => (local, Some(rank.parse().ok()?)),
            None => (mark, None),
        };
        let word = local.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let is_word = word.starts_with(char::is_alphabetic)
            && word
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
        let number = local[word.len()..].parse().ok()?;
        // Without the rank, torchrun's own role alone tells it from what programs print (`[epoch3]: loss`).
        let is_mark = is_word && (rank.is_some() || word == "default");
        is_mark.then(|| {
            (
                LineMark {
                    local: number,
                    rank,
                },
                &line[end + 2..],
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Option<(u32, Option<u32>, &str)>) {
        let found = LineMark::split(line.as_bytes());
        let want = want.map(|(local, rank, text)| (LineMark { local, rank }, text.as_bytes()));
        assert_eq!(found, want, "{line}");
    }

    #[test]
    fn marks_of_torchrun_and_no_others() {
        check("[default1]:step 3", Some((1, None, "step 3")));
        check(
            "[default1:5]:[rank5]: no",
            Some((1, Some(5), "[rank5]: no")),
        );
        check("[trainer-x0:0]:", Some((0, Some(0), "")));
        check("[epoch3]: loss", None);
        check("[rank5]: Traceback", None);
        check("[12:30:01]: step", None);
        check("[epoch 1]: loss", None);
        check("step [default1]:", None);
        check("[default]:", None);
    }
}
