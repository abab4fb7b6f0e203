//! Redirections, and the bodies of here-documents, which begin at the next line.

use super::reader::Reader;

impl<'a> Reader<'a> {
    pub(super) fn newline(&mut self) {
        self.at += 1;
        for (delimiter, tabs) in std::mem::take(&mut self.waiting) {
            let start = self.at;
            let mut found = false;
            while self.at < self.bytes.len() {
                let line_start = self.at;
                self.comment();
                let line = &self.text[line_start..self.at];
                self.at = (self.at + 1).min(self.bytes.len());
                let line = line.strip_suffix('\r').unwrap_or(line);
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                // In `$(cat <<E … E)` the closing parenthesis may stand behind the delimiter.
                if line == delimiter
                    || (self.closing.is_some() && line.strip_suffix(')') == Some(&delimiter))
                {
                    if line.ends_with(')') && !delimiter.ends_with(')') {
                        self.at = line_start + delimiter.len();
                    }
                    self.shell.heredocs.push(start..line_start);
                    found = true;
                    break;
                }
            }
            if !found {
                self.shell.heredocs.push(start..self.bytes.len());
                self.shell.sound = false;
            }
        }
    }

    /// `> file`, `2>&1`, `<<EOF`, `<<< word`.
    pub(super) fn redirection(&mut self) {
        let rest = &self.bytes[self.at..];
        let heredoc = rest.starts_with(b"<<") && !rest.starts_with(b"<<<");
        while matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
            self.at += 1;
        }
        let tabs = heredoc && self.peek() == Some(b'-');
        if tabs {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(') {
            self.at += 2;
            self.substitute(b')');
            return;
        }
        let word = self.word();
        if heredoc && !word.text.is_empty() && self.take_room() {
            self.waiting.push((word.text.into_owned(), tabs));
        }
    }
}
