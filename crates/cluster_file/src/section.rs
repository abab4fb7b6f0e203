//! Tables of a cluster file: one declaration gives the struct, its reader, its printer and its
//! documentation.

use super::read::{Given, Reader};
use super::sourced::{Named, Source};
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// A table of a cluster file. Made by `section!`.
pub trait Section: Default + Clone + PartialEq {
    /// Its keys in the order in which they are printed.
    const KEYS: &'static [KeyDoc];
    /// Names of the tables in it.
    const TABLES: &'static [&'static str];
    /// Whether there may be several of one name: `[[path.NAME]]`.
    const SEVERAL: bool = false;

    #[doc(hidden)]
    fn take(&mut self, key: &str, given: &Given<'_, '_>, reader: &mut Reader) -> bool;
    #[doc(hidden)]
    fn take_table(&mut self, key: &str, given: &Given<'_, '_>, reader: &mut Reader) -> bool;
    #[doc(hidden)]
    fn set_span(&mut self, span: Range<usize>);

    /// The values that are there, in the order of [`Section::KEYS`], without those of tables in it.
    fn entries(&self) -> Vec<Entry>;
    /// Visits this table and all tables in it, each with its path such as `partition.gpu`.
    fn visit(&self, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>));
}

/// How a table stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[path]`
    Table,
    /// `[[path]]`
    Listed,
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// The key.
    pub name: &'static str,
    /// Its meaning; one line a paragraph.
    pub meaning: &'static str,
    /// What it takes.
    pub takes: &'static str,
}

/// One value of a table, as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: &'static str,
    /// The value as TOML.
    pub toml: String,
    /// The value as a person reads it.
    pub plain: String,
    /// Where it came from.
    pub source: Source,
    /// What is said elsewhere: value as TOML, value as a person reads it, and where.
    pub others: Vec<(String, String, String)>,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

/// What can stand as a table in a table.
pub(super) trait Child: Default {
    fn read(&mut self, given: &Given<'_, '_>, reader: &mut Reader);
    fn visit(&self, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>));
}

impl<S: Section> Child for S {
    fn read(&mut self, given: &Given<'_, '_>, reader: &mut Reader) {
        if let Some(section) = reader.section(given) {
            *self = section;
        }
    }

    fn visit(&self, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>)) {
        Section::visit(self, path, each);
    }
}

impl<S: Section> Child for Vec<Named<S>> {
    fn read(&mut self, given: &Given<'_, '_>, reader: &mut Reader) {
        let Some(table) = given.value.get_ref().as_table() else {
            let path = &given.path;
            let help = format!("write [{path}.NAME] and its keys below");
            return reader.complain(
                given.value.span(),
                format!("{path} is not a table"),
                "",
                help,
            );
        };
        for (key, value) in table.iter() {
            let path = format!("{}.{}", given.path, bare_or_quoted(key.get_ref()));
            let values = match value.get_ref() {
                DeValue::Array(items) if S::SEVERAL => items,
                _ => std::slice::from_ref(value),
            };
            for value in values {
                let inner = Given {
                    path: path.clone(),
                    value,
                    inherited: given.inherited,
                };
                if let Some(body) = reader.section(&inner) {
                    self.push(Named {
                        name: key.get_ref().clone().into_owned(),
                        span: key.span(),
                        body,
                    });
                }
            }
        }
        // A parsed table is sorted by name; what a person wrote first comes first.
        self.sort_by_key(|named| named.span.start);
    }

    fn visit(&self, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>)) {
        let mut seen = HashMap::new();
        for named in self.iter().filter(|_| S::SEVERAL) {
            *seen.entry(&named.name).or_insert(0) += 1;
        }
        for named in self {
            let path = format!("{path}.{}", bare_or_quoted(&named.name));
            let form = match seen.get(&named.name) {
                Some(2..) => Form::Listed,
                _ => Form::Table,
            };
            each(&path, form, named.body.entries());
            visit_tables(&named.body, &path, each);
        }
    }
}

impl<S: Section> Child for Vec<S> {
    fn read(&mut self, given: &Given<'_, '_>, reader: &mut Reader) {
        let one = std::slice::from_ref(given.value);
        let items: &[Spanned<DeValue<'_>>] = match given.value.get_ref() {
            DeValue::Array(items) => items,
            _ => one,
        };
        for value in items {
            let inner = Given {
                path: given.path.clone(),
                value,
                inherited: given.inherited,
            };
            self.extend(reader.section(&inner));
        }
    }

    fn visit(&self, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>)) {
        for section in self {
            each(path, Form::Listed, section.entries());
            visit_tables(section, path, each);
        }
    }
}

/// Visits what is in a table, without the table itself.
fn visit_tables<S: Section>(section: &S, path: &str, each: &mut dyn FnMut(&str, Form, Vec<Entry>)) {
    let mut first = true;
    section.visit(path, &mut |path, form, entries| {
        if !std::mem::take(&mut first) {
            each(path, form, entries);
        }
    });
}

/// The path of a key of a table.
pub(super) fn joined(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

/// A key as TOML has it.
pub(super) fn bare_or_quoted(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !key.is_empty() && key.bytes().all(bare) {
        key.to_owned()
    } else {
        super::value::quoted(key)
    }
}

/// Declares a table: values first, then the tables in it. A key is named as its field unless
/// `= "key"` says otherwise. Of a name with `several = true` there may be several.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        $name:ident $(several = $several:literal)? {
            $( $(#[doc = $doc:literal])* $field:ident: $kind:ty $(= $key:literal)?, )*
        }
        $( holds { $( $(#[doc = $held_doc:literal])* $held:ident: $held_kind:ty, )* } )?
        $( tables { $( $(#[doc = $table_doc:literal])* $table:ident: $child:ty $(= $table_key:literal)?, )* } )?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $($( $(#[doc = $held_doc])* pub $held: $held_kind, )*)?
            $( $(#[doc = $doc])* pub $field: Option<$crate::Sourced<$kind>>, )*
            $($( $(#[doc = $table_doc])* pub $table: $child, )*)?
            /// The table's bytes in the file.
            pub span: std::ops::Range<usize>,
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                true $($( && self.$held == other.$held )*)? $( && self.$field == other.$field )* $($( && self.$table == other.$table )*)?
            }
        }

        impl $crate::section::Section for $name {
            const KEYS: &'static [$crate::section::KeyDoc] = &[
                $( $crate::section::KeyDoc {
                    name: $crate::section::key_of!($field $($key)?),
                    meaning: concat!($($doc, "\n"),*),
                    takes: <$kind as $crate::value::Value>::TAKES,
                }, )*
            ];
            $( const SEVERAL: bool = $several; )?
            const TABLES: &'static [&'static str] =
                &[ $($( $crate::section::key_of!($table $($table_key)?), )*)? ];

            fn take(
                &mut self,
                key: &str,
                given: &$crate::read::Given<'_, '_>,
                reader: &mut $crate::read::Reader,
            ) -> bool {
                $( if key == $crate::section::key_of!($field $($key)?) {
                    self.$field = reader.sourced(given);
                    return true;
                } )*
                let _ = (key, given, reader);
                false
            }

            fn take_table(
                &mut self,
                key: &str,
                given: &$crate::read::Given<'_, '_>,
                reader: &mut $crate::read::Reader,
            ) -> bool {
                $($( if key == $crate::section::key_of!($table $($table_key)?) {
                    $crate::section::Child::read(&mut self.$table, given, reader);
                    return true;
                } )*)?
                let _ = (key, given, reader);
                false
            }

            fn set_span(&mut self, span: std::ops::Range<usize>) {
                self.span = span;
            }

            fn entries(&self) -> Vec<$crate::section::Entry> {
                let mut entries = Vec::new();
                $( if let Some(value) = &self.$field {
                    let key = $crate::section::key_of!($field $($key)?);
                    entries.push($crate::value::entry(key, value));
                } )*
                entries
            }

            fn visit(
                &self,
                path: &str,
                each: &mut dyn FnMut(
                    &str,
                    $crate::section::Form,
                    Vec<$crate::section::Entry>,
                ),
            ) {
                each(path, $crate::section::Form::Table, self.entries());
                $($(
                    let key = $crate::section::key_of!($table $($table_key)?);
                    let path_of_table = $crate::section::joined(path, key);
                    $crate::section::Child::visit(&self.$table, &path_of_table, each);
                )*)?
            }
        }
    };
}

/// The key of a field.
macro_rules! key_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

pub(super) use key_of;
pub(super) use section;
