//! `[notify]`: who gets mail, and which web hook is called.

use super::choices::words;
use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{HookForm, MailServer, NotifySection, Resolved};
use model::MailEvent;

impl Section for NotifySection {
    const KEYS: &'static [Key<NotifySection>] = &[
        Key {
            row: KeyRow {
                name: "mail",
                value: Value::Text,
                default: KeyDefault::Described("no mail"),
                flag: None,
                doc: "The address that mail goes to. The run's job sends it through `server`; without \
                      one the embedded engine uses this machine's `sendmail`, and a real Slurm \
                      sends its own mail.",
                example: "\"me@example.org\"",
            },
            read: |row, own, reader, raw| own.mail = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "on",
                value: Value::SomeOf(words::<MailEvent>),
                default: KeyDefault::Is("[\"end\", \"fail\"]"),
                flag: None,
                doc: "What mail is sent and the web hook is called about. `end` is the end of the \
                      run, however it comes.",
                example: "[\"fail\"]",
            },
            read: |row, own, reader, raw| own.on = reader.several(row, raw),
        },
        Key {
            row: KeyRow {
                name: "server",
                value: Value::Text,
                default: KeyDefault::Described("`sendmail`, or a real Slurm's own mail"),
                flag: None,
                doc: "The mail server that the job's node sends through: `smtp://HOST:PORT`, or \
                      `smtps://` for TLS from the start; with `USER@` before the host it logs in. \
                      TLS is used where the server offers it.",
                example: "\"smtp://me@mail.example.org:587\"",
            },
            read: |row, own, reader, raw| own.server = server(row, reader, raw),
        },
        Key {
            row: KeyRow {
                name: "password_file",
                value: Value::Path,
                default: KeyDefault::Described("no password"),
                flag: None,
                doc: "A file that only you can read, with the mail server's password in its first \
                      line.",
                example: "\"~/.config/trainyard/mail-password\"",
            },
            read: |row, own, reader, raw| own.password_file = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "from",
                value: Value::Text,
                default: KeyDefault::Described("the address in `mail`"),
                flag: None,
                doc: "The address that mail comes from.",
                example: "\"cluster@example.org\"",
            },
            read: |row, own, reader, raw| own.from = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "hook_file",
                value: Value::Path,
                default: KeyDefault::Described("no web hook"),
                flag: None,
                doc: "A file that only you can read, with the address of a web hook in its first \
                      line. The address is a secret: it stands in no log and in no file of the run.",
                example: "\"~/.config/trainyard/slack-hook\"",
            },
            read: |row, own, reader, raw| own.hook_file = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "hook_form",
                value: Value::OneOf(words::<HookForm>),
                default: KeyDefault::Is("\"json\""),
                flag: None,
                doc: "What the web hook takes: a JSON document (docs/notify.md), or what Slack or \
                      Mattermost takes.",
                example: "\"slack\"",
            },
            read: |row, own, reader, raw| own.hook_form = reader.word(row, raw),
        },
    ];
}

fn server(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<MailServer>> {
    let text = reader.text(row, raw)?;
    match text.value.parse() {
        Ok(server) => Some(Resolved::new(server, text.source)),
        Err(why) => {
            let help = "such as smtp://mail.example.org:25; a password stands in password_file";
            reader.complain(span(raw), why, "", help);
            None
        }
    }
}
