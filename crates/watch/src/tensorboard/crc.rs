//! CRC-32C as TensorFlow's record files have it, masked.

/// Reflected polynomial of CRC-32C (Castagnoli).
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// `TABLES[k][b]`: the remainder of byte `b` with `k` bytes after it; eight bytes go in one step.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let low = crc ^ u32::from_le_bytes([eight[0], eight[1], eight[2], eight[3]]);
        let [a, b, c, d] = low.to_le_bytes();
        let place = |table: usize, byte: u8| TABLES[table][usize::from(byte)];
        crc = place(7, a)
            ^ place(6, b)
            ^ place(5, c)
            ^ place(4, d)
            ^ place(3, eight[4])
            ^ place(2, eight[5])
            ^ place(1, eight[6])
            ^ place(0, eight[7]);
    }
    for byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    !crc
}

/// The checksum that stands in the file: one of bytes that hold a checksum must not look like it.
#[must_use]
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        // The check value of the algorithm's description, and RFC 3720's of 32 zeros.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b""), 0);
    }
}
