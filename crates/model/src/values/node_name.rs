//! A node's name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A node's name as Slurm's node lists hold it.
///
/// A list may name a million nodes, and hardly any name is longer than 22 bytes: those take no
/// memory of their own.
#[derive(Clone)]
pub struct NodeName(Held);

/// Most bytes that a name holds in itself.
const SHORT: usize = 22;

#[derive(Clone)]
enum Held {
    /// So many bytes, of which so many are the name, UTF-8.
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

impl NodeName {
    /// A name.
    #[must_use]
    pub fn new(name: &str) -> NodeName {
        NodeName(match u8::try_from(name.len()) {
            Ok(length) if name.len() <= SHORT => {
                let mut bytes = [0; SHORT];
                bytes[..name.len()].copy_from_slice(name.as_bytes());
                Held::Short(length, bytes)
            }
            _ => Held::Long(name.into()),
        })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Held::Short(..) => {
                str::from_utf8(self.as_bytes()).expect("invariant: the bytes are a text's")
            }
            Held::Long(name) => name,
        }
    }

    /// The name's bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Short(length, bytes) => &bytes[..usize::from(*length)],
            Held::Long(name) => name.as_bytes(),
        }
    }
}

impl From<String> for NodeName {
    fn from(name: String) -> NodeName {
        NodeName::new(&name)
    }
}

impl Default for NodeName {
    fn default() -> NodeName {
        NodeName::new("")
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeName").field(&self.as_str()).finish()
    }
}

// As their texts.
impl PartialEq for NodeName {
    fn eq(&self, other: &NodeName) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for NodeName {}

impl PartialOrd for NodeName {
    fn partial_cmp(&self, other: &NodeName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NodeName {
    fn cmp(&self, other: &NodeName) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for NodeName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Serialize for NodeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NodeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NodeName, D::Error> {
        String::deserialize(deserializer).map(NodeName::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_no_larger_than_a_string() {
        assert_eq!(size_of::<NodeName>(), size_of::<String>());
    }

    proptest! {
        #[test]
        fn a_name_is_its_text(one in "\\PC{0,30}", two in "[a-b]{0,30}") {
            let (first, second) = (NodeName::new(&one), NodeName::new(&two));
            prop_assert_eq!(first.as_str(), &one);
            prop_assert_eq!(first.cmp(&second), one.as_str().cmp(two.as_str()));
            prop_assert_eq!(&first, &NodeName::from(one.clone()));
            prop_assert_eq!(format!("{first:?}"), format!("NodeName({one:?})"));
        }
    }
}
