//! `Event` and `Summary` of TensorFlow's protocol, as far as scalars need them.

use super::wire::{Fields, Wire};

/// One event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EventMessage {
    /// Seconds since 1970.
    pub wall_time: f64,
    pub step: i64,
    /// Whether a training begins here: what earlier files say of later steps counts no more.
    pub starts: bool,
    /// Tags and values.
    pub scalars: Vec<(String, f64)>,
}

/// Reads an event; what is not understood is left out.
pub(super) fn event(message: &[u8]) -> EventMessage {
    let mut event = EventMessage::default();
    for field in Fields::of(message) {
        match field {
            (1, Wire::Fixed64(bytes)) => event.wall_time = f64::from_le_bytes(bytes),
            (2, Wire::Varint(step)) => event.step = step.cast_signed(),
            (5, Wire::Bytes(summary)) => {
                let values = Fields::of(summary).filter_map(|field| match field {
                    (1, Wire::Bytes(value)) => scalar(value),
                    _ => None,
                });
                event.scalars.extend(values);
            }
            (7, Wire::Bytes(log)) => {
                event.starts = Fields::of(log).any(|field| field == (1, Wire::Varint(1)));
            }
            _ => {}
        }
    }
    event
}

/// A `Summary.Value` that is a scalar: as `simple_value`, or, as TensorFlow 2 writes it, as a tensor
/// with one element.
fn scalar(value: &[u8]) -> Option<(String, f64)> {
    let (mut tag, mut number) = (None, None);
    for field in Fields::of(value) {
        match field {
            (1, Wire::Bytes(text)) => tag = Some(String::from_utf8_lossy(text).into_owned()),
            (2, Wire::Fixed32(bytes)) => number = Some(f64::from(f32::from_le_bytes(bytes))),
            (8, Wire::Bytes(message)) => number = tensor(message),
            _ => {}
        }
    }
    Some((tag?, number?))
}

/// Types of a tensor's elements.
const FLOAT: u64 = 1;
const DOUBLE: u64 = 2;
const INT32: u64 = 3;
const INT64: u64 = 9;
const BFLOAT16: u64 = 14;
const HALF: u64 = 19;

/// A tensor's only element; `None` where it has several.
fn tensor(message: &[u8]) -> Option<f64> {
    let (mut kind, mut content, mut listed) = (0, None, None);
    for field in Fields::of(message) {
        match field {
            (1, Wire::Varint(value)) => kind = value,
            (2, Wire::Bytes(shape)) if !is_single(shape) => return None,
            (4, Wire::Bytes(bytes)) => content = Some(bytes),
            (5 | 6 | 7 | 10 | 13, wire) => listed = Some(wire),
            _ => {}
        }
    }
    match (content, listed) {
        (Some(bytes), _) => from_content(kind, bytes),
        (None, Some(wire)) => from_list(kind, wire),
        (None, None) => None,
    }
}

/// The element whose little-endian bytes these are.
fn from_content(kind: u64, bytes: &[u8]) -> Option<f64> {
    match kind {
        FLOAT => Some(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        DOUBLE => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
        INT32 => Some(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        INT64 => Some(i64::from_le_bytes(bytes.try_into().ok()?) as f64),
        BFLOAT16 => Some(bfloat16(u16::from_le_bytes(bytes.try_into().ok()?))),
        HALF => Some(half(u16::from_le_bytes(bytes.try_into().ok()?))),
        _ => None,
    }
}

/// The element of a repeated field, packed or not.
fn from_list(kind: u64, wire: Wire<'_>) -> Option<f64> {
    let whole = || match wire {
        Wire::Varint(value) => Some(value),
        Wire::Bytes(packed) => Fields::of(packed).varint(),
        Wire::Fixed32(_) | Wire::Fixed64(_) => None,
    };
    let short = || u16::try_from(whole()?).ok();
    match (kind, wire) {
        (FLOAT, Wire::Fixed32(bytes)) => Some(f32::from_le_bytes(bytes).into()),
        (DOUBLE, Wire::Fixed64(bytes)) => Some(f64::from_le_bytes(bytes)),
        (FLOAT | DOUBLE, Wire::Bytes(packed)) => from_content(kind, packed),
        (INT32 | INT64, _) => Some(whole()?.cast_signed() as f64),
        (BFLOAT16, _) => Some(bfloat16(short()?)),
        (HALF, _) => Some(half(short()?)),
        _ => None,
    }
}

/// The upper half of an IEEE 754 32-bit number.
fn bfloat16(bits: u16) -> f64 {
    f32::from_bits(u32::from(bits) << 16).into()
}

fn is_single(shape: &[u8]) -> bool {
    Fields::of(shape).all(|field| match field {
        (2, Wire::Bytes(dimension)) => Fields::of(dimension)
            .all(|field| !matches!(field, (1, Wire::Varint(size)) if size != 1)),
        _ => true,
    })
}

/// IEEE 754's 16-bit number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

/// A field of bytes, for tests that write events.
#[cfg(test)]
pub(super) fn bytes_field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128 && number < 16);
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// An event with one scalar, as torch's `SummaryWriter` writes it.
#[cfg(test)]
pub(super) fn scalar_event(wall_time: f64, step: u8, tag: &str, value: f32) -> Vec<u8> {
    let mut inner = bytes_field(1, tag.as_bytes());
    inner.push(2 << 3 | 5);
    inner.extend(value.to_le_bytes());
    event_with(wall_time, step, &bytes_field(1, &inner))
}

#[cfg(test)]
fn event_with(wall_time: f64, step: u8, summary: &[u8]) -> Vec<u8> {
    assert!(step < 128);
    let mut message = vec![1 << 3 | 1];
    message.extend(wall_time.to_le_bytes());
    message.extend([2 << 3, step]);
    message.extend(bytes_field(5, summary));
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_simple_value() {
        let event = event(&scalar_event(12.5, 7, "loss", 0.25));
        assert_eq!((event.wall_time, event.step), (12.5, 7));
        assert_eq!(event.scalars, [("loss".to_owned(), 0.25)]);
    }

    #[track_caller]
    fn check_tensor(message: &[u8], want: Option<f64>) {
        let value = [bytes_field(1, b"acc"), bytes_field(8, message)].concat();
        let event = event(&event_with(1.0, 3, &bytes_field(1, &value)));
        assert_eq!(event.scalars.first().map(|scalar| scalar.1), want);
    }

    #[test]
    fn tensors_of_one_element() {
        let content = |kind: u8, bytes: &[u8]| [vec![1 << 3, kind], bytes_field(4, bytes)].concat();
        check_tensor(&content(1, &0.5f32.to_le_bytes()), Some(0.5));
        check_tensor(&content(2, &0.1f64.to_le_bytes()), Some(0.1));
        check_tensor(&content(3, &(-4i32).to_le_bytes()), Some(-4.0));
        check_tensor(
            &content(9, &(1i64 << 40).to_le_bytes()),
            Some((1i64 << 40) as f64),
        );
        check_tensor(&content(19, &0x3c00u16.to_le_bytes()), Some(1.0));
        check_tensor(&content(14, &0x3fc0u16.to_le_bytes()), Some(1.5));
        // float_val, packed; and half_val as a number.
        let packed = [vec![1 << 3, 1], bytes_field(5, &2.0f32.to_le_bytes())].concat();
        check_tensor(&packed, Some(2.0));
        check_tensor(&[1 << 3, 19, 13 << 3, 0x80, 0x78], Some(1.0));
        // Several elements, texts, nothing.
        check_tensor(&content(1, &[0; 8]), None);
        let shape = bytes_field(2, &bytes_field(2, &[1 << 3, 2]));
        check_tensor(&[content(1, &[0; 4]), shape].concat(), None);
        check_tensor(&content(7, b"text"), None);
        check_tensor(&[], None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            event(&bytes);
        }
    }
}
