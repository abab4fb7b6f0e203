//! What the engine says to the fork server: a line, and after it a spec that the fork server hands on
//! without reading it.
//!
//! ```text
//! start <key as JSON> <length>\n<spec>
//! shutdown\n
//! ```

use crate::SupervisorKey;

/// One order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A supervisor is wanted.
    Start { key: SupervisorKey, spec: Vec<u8> },
    /// The engine ends on purpose.
    Shutdown,
}

impl Order {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Order::Start { key, spec } => {
                let key =
                    serde_json::to_string(key).expect("invariant: a key is numbers and names");
                let mut bytes = format!("start {key} {}\n", spec.len()).into_bytes();
                bytes.extend_from_slice(spec);
                bytes
            }
            Order::Shutdown => b"shutdown\n".to_vec(),
        }
    }

    /// Takes the first order off what was read; `None` while it is not whole.
    ///
    /// # Errors
    /// It is no order.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Result<Option<Order>, String> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let unknown = || format!("not understood: {line}");
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("shutdown"), None, None) => {
                bytes.drain(..=end);
                Ok(Some(Order::Shutdown))
            }
            (Some("start"), Some(key), Some(length)) => {
                let key = serde_json::from_str(key).map_err(|_| unknown())?;
                let length: usize = length.parse().map_err(|_| unknown())?;
                let whole = end + 1 + length;
                if bytes.len() < whole {
                    return Ok(None);
                }
                let spec = bytes[end + 1..whole].to_vec();
                bytes.drain(..whole);
                Ok(Some(Order::Start { key, spec }))
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobId, StepId};

    #[test]
    fn orders_come_whole_however_they_are_cut() {
        let start = |step, spec: &[u8]| Order::Start {
            key: SupervisorKey {
                job: JobId(7),
                restart: 1,
                step,
                node: 2,
                tag: Some(crate::RecordTag::new("store", "token")),
            },
            spec: spec.to_vec(),
        };
        let orders = [
            start(StepId::Batch, b"{\n}\nstart"),
            start(StepId::Number(3), b""),
            Order::Shutdown,
        ];
        let bytes: Vec<u8> = orders.iter().flat_map(Order::to_bytes).collect();
        let mut read = Vec::new();
        let mut seen = Vec::new();
        for byte in bytes {
            read.push(byte);
            while let Some(order) = Order::take(&mut read).unwrap() {
                seen.push(order);
            }
        }
        assert_eq!(seen, orders);
        assert!(Order::take(&mut b"stop\n".to_vec()).is_err());
    }
}
