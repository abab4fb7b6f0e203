//! JSON with indents, to the letter as `serde_json::to_writer_pretty` writes it, in a third of its time.
//!
//! Most of a long answer (`squeue --json` of 5000 jobs has 16 MB) is indents and the names of fields. Here an indent
//! is one copy, and the names of a struct's fields are not looked through for what has to be escaped.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// What is kept before it is handed on.
const PORTION: usize = 64 << 10;

/// Between two entries, with indents for the deepest that are copied at once.
const LINE: &[u8] = b",\n                                                                ";

/// Writes a value, in portions: of what may be long nothing is kept.
///
/// # Errors
/// The value's own, and a key of a map that is no text and no number.
pub fn write_pretty(
    value: &impl Serialize,
    mut write: impl FnMut(&[u8]),
) -> Result<(), serde_json::Error> {
    let mut json = PrettyJson {
        text: Vec::with_capacity(2 * PORTION),
        depth: 0,
        write: &mut write,
    };
    value.serialize(&mut json)?;
    let rest = std::mem::take(&mut json.text);
    write(&rest);
    Ok(())
}

struct PrettyJson<'w> {
    text: Vec<u8>,
    depth: usize,
    write: &'w mut dyn FnMut(&[u8]),
}

impl PrettyJson<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    fn string(&mut self, text: &str) -> Result<(), serde_json::Error> {
        if is_plain(text) {
            self.name(text);
            return Ok(());
        }
        serde_json::to_writer(&mut self.text, text)
    }

    /// A text in which nothing has to be escaped.
    fn name(&mut self, text: &str) {
        self.put(b"\"");
        self.put(text.as_bytes());
        self.put(b"\"");
    }

    fn line(&mut self, is_first: bool) {
        if self.text.len() >= PORTION {
            (self.write)(&self.text);
            self.text.clear();
        }
        let indent = 2 * self.depth;
        let copied = indent.min(LINE.len() - 2);
        self.put(&LINE[usize::from(is_first)..2 + copied]);
        self.text.resize(self.text.len() + indent - copied, b' ');
    }
}

/// Whether nothing in it has to be escaped; all of it is looked at, many bytes at once.
fn is_plain(text: &str) -> bool {
    let escapes = text.bytes().fold(false, |escapes, byte| {
        escapes | (byte < b' ') | (byte == b'"') | (byte == b'\\')
    });
    !escapes
}

/// What is in brackets.
struct Entries<'a, 'w> {
    json: &'a mut PrettyJson<'w>,
    is_empty: bool,
    end: &'static [u8],
}

impl<'a, 'w> Entries<'a, 'w> {
    fn new(json: &'a mut PrettyJson<'w>, is_map: bool) -> Entries<'a, 'w> {
        let (begin, end): (&[u8], &[u8]) = if is_map { (b"{", b"}") } else { (b"[", b"]") };
        json.put(begin);
        json.depth += 1;
        Entries {
            json,
            is_empty: true,
            end,
        }
    }

    /// Begins another entry.
    fn next(&mut self) {
        self.json.line(self.is_empty);
        self.is_empty = false;
    }

    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.next();
        value.serialize(&mut *self.json)
    }

    fn field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        debug_assert!(is_plain(name), "{name}");
        self.next();
        self.json.name(name);
        self.json.put(b": ");
        value.serialize(&mut *self.json)
    }

    fn close(self) {
        self.json.depth -= 1;
        if !self.is_empty {
            self.json.line(true);
        }
        self.json.put(self.end);
    }
}

/// The only entry of a map: a variant that has values.
struct Variant<'a, 'w>(Entries<'a, 'w>);

impl<'a, 'w> Variant<'a, 'w> {
    fn new(json: &'a mut PrettyJson<'w>, name: &'static str, is_map: bool) -> Variant<'a, 'w> {
        let mut outer = Entries::new(json, true);
        outer.next();
        outer.json.name(name);
        outer.json.put(b": ");
        Variant(Entries::new(outer.json, is_map))
    }

    /// Closes it, and the map in which it is the only entry.
    fn close(self) {
        let Entries {
            json,
            is_empty,
            end,
        } = self.0;
        let inner = Entries {
            json: &mut *json,
            is_empty,
            end,
        };
        inner.close();
        let outer = Entries {
            json,
            is_empty: false,
            end: b"}",
        };
        outer.close();
    }
}

/// Scalars, which have no lines.
macro_rules! scalars {
    ($($method:ident: $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Result<(), serde_json::Error> {
            serde_json::to_writer(&mut self.text, &value)
        })*
    };
}

impl<'a, 'w> Serializer for &'a mut PrettyJson<'w> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = Entries<'a, 'w>;
    type SerializeTuple = Entries<'a, 'w>;
    type SerializeTupleStruct = Entries<'a, 'w>;
    type SerializeTupleVariant = Variant<'a, 'w>;
    type SerializeMap = Entries<'a, 'w>;
    type SerializeStruct = Entries<'a, 'w>;
    type SerializeStructVariant = Variant<'a, 'w>;

    scalars!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char
    );

    fn serialize_str(self, text: &str) -> Result<(), serde_json::Error> {
        self.string(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), serde_json::Error> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), serde_json::Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), serde_json::Error> {
        self.put(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), serde_json::Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), serde_json::Error> {
        self.string(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        let mut only = Entries::new(self, true);
        only.field(variant, value)?;
        only.close();
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Entries<'a, 'w>, serde_json::Error> {
        Ok(Entries::new(self, false))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Entries<'a, 'w>, serde_json::Error> {
        Ok(Entries::new(self, false))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Entries<'a, 'w>, serde_json::Error> {
        Ok(Entries::new(self, false))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Variant<'a, 'w>, serde_json::Error> {
        Ok(Variant::new(self, variant, false))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Entries<'a, 'w>, serde_json::Error> {
        Ok(Entries::new(self, true))
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Entries<'a, 'w>, serde_json::Error> {
        Ok(Entries::new(self, true))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Variant<'a, 'w>, serde_json::Error> {
        Ok(Variant::new(self, variant, true))
    }
}

/// Lists: of elements that stand one after another.
macro_rules! lists {
    ($($list:ident.$method:ident),*) => {
        $(impl $list for Entries<'_, '_> {
            type Ok = ();
            type Error = serde_json::Error;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), serde_json::Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), serde_json::Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

lists!(
    SerializeSeq.serialize_element,
    SerializeTuple.serialize_element,
    SerializeTupleStruct.serialize_field
);

impl SerializeTupleVariant for Variant<'_, '_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.0.element(value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close();
        Ok(())
    }
}

impl SerializeStruct for Entries<'_, '_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close();
        Ok(())
    }
}

impl SerializeStructVariant for Variant<'_, '_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.0.field(name, value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close();
        Ok(())
    }
}

impl SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        self.next();
        // Numbers are texts there, which a map of one entry knows.
        let pair = serde_json::to_string(&OneKey(key))?;
        let name = pair
            .strip_prefix('{')
            .and_then(|pair| pair.strip_suffix(":0}"));
        self.json.put(name.unwrap_or_default().as_bytes());
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(
        &mut self,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.json.put(b": ");
        value.serialize(&mut *self.json)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        self.close();
        Ok(())
    }
}

struct OneKey<'a, T: ?Sized>(&'a T);

impl<T: ?Sized + Serialize> Serialize for OneKey<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &0)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[track_caller]
    fn check(value: &impl Serialize) {
        let mut text = Vec::new();
        write_pretty(value, |portion| text.extend_from_slice(portion)).unwrap();
        let want = serde_json::to_string_pretty(value).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), want);
    }

    #[derive(Serialize)]
    enum Kind {
        Unit,
        Newtype(u8),
        Tuple(u8, Option<u8>),
        Empty(),
        Struct { a: u8, b: Vec<u8> },
    }

    #[derive(Serialize)]
    struct All {
        text: &'static str,
        none: Option<u8>,
        some: Option<i64>,
        unit: (),
        tuple: (u8, f64, char, bool),
        nothing: [u8; 0],
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<u8>,
        kinds: Vec<Kind>,
        numbers: BTreeMap<u32, Kind>,
        empty: BTreeMap<String, u8>,
    }

    #[test]
    fn it_is_what_serde_json_writes() {
        check(
            &json!({ "a": [1, -2, 1.5, 1e300, null, true, {}, [], "ü\u{7f}"], "q\"\n": { "b": { "c": [[1]] } } }),
        );
        check(&"a\\b\"\u{1}\t");
        check(&f64::NAN);
        check(&u64::MAX);
        check(&All {
            text: "a \"b\" \u{1b}[2J ü",
            none: None,
            some: Some(-7),
            unit: (),
            tuple: (1, 2.0, 'x', false),
            nothing: [],
            skipped: None,
            kinds: vec![
                Kind::Unit,
                Kind::Newtype(1),
                Kind::Tuple(1, None),
                Kind::Empty(),
                Kind::Struct {
                    a: 1,
                    b: vec![2, 3],
                },
            ],
            numbers: BTreeMap::from([(7, Kind::Unit), (8, Kind::Struct { a: 1, b: vec![] })]),
            empty: BTreeMap::new(),
        });
    }

    #[test]
    fn long_and_deep_values_are_written_in_portions() {
        let long: Vec<_> = (0..20_000)
            .map(|number| json!({ "number": number }))
            .collect();
        check(&long);
        let deep = (0..50).fold(json!(1), |value, _| json!([value, { "a": 2 }]));
        check(&deep);
    }
}
