//! Fields of a message in the protobuf wire format.
//!
//! Source: protobuf.dev, "Encoding": a message is a row of (key, value); the key is field × 8 + type.

/// The message is not in the wire format, is cut off, or is nested more deeply than any stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged;

/// Bytes of a 64-bit number at seven bits each.
const LONGEST_VARINT: usize = 10;

/// The value of a field; numbers as varints are passed over, because no field that is read has one.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A string, a message or bytes.
    Bytes(&'a [u8]),
    /// Eight bytes, as a fixed integer or a float.
    Eight(u64),
}

/// Return the number at the start of `data`, and its length in bytes.
#[inline]
pub fn varint(data: &[u8]) -> Result<(u64, usize), Damaged> {
    match data {
        // Nearly all keys and most lengths.
        [byte @ 0..0x80, ..] => Ok((u64::from(*byte), 1)),
        [low @ 0x80..=0xff, high @ 0..0x80, ..] => {
            Ok((u64::from(low & 0x7f) | u64::from(*high) << 7, 2))
        }
        _ => long_varint(data),
    }
}

fn long_varint(data: &[u8]) -> Result<(u64, usize), Damaged> {
    let mut value: u64 = 0;
    for (index, &byte) in data.iter().take(LONGEST_VARINT).enumerate() {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit; a longer number names no length that a file could have.
        if index == LONGEST_VARINT - 1 && bits > 1 {
            return Err(Damaged);
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Ok((value, index + 1));
        }
    }
    Err(Damaged)
}

/// Return the piece that begins with its own length, and what follows it.
#[inline]
pub fn piece(data: &[u8]) -> Result<(&[u8], &[u8]), Damaged> {
    let (length, size) = varint(data)?;
    let length = usize::try_from(length).map_err(|_| Damaged)?;
    data[size..].split_at_checked(length).ok_or(Damaged)
}

/// The fields of a message in the order written.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Damaged>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            match self.one() {
                Ok(None) => {}
                Ok(Some(field)) => return Some(Ok(field)),
                Err(damaged) => {
                    self.0 = &[];
                    return Some(Err(damaged));
                }
            }
        }
        None
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn one(&mut self) -> Result<Option<(u64, Value<'a>)>, Damaged> {
        let (key, size) = varint(self.0)?;
        self.0 = &self.0[size..];
        let number = key >> 3;
        match key & 7 {
            0 => {
                let (_, size) = varint(self.0)?;
                self.0 = &self.0[size..];
                Ok(None)
            }
            1 => {
                let (eight, rest) = self.0.split_first_chunk::<8>().ok_or(Damaged)?;
                self.0 = rest;
                Ok(Some((number, Value::Eight(u64::from_le_bytes(*eight)))))
            }
            2 => {
                let (value, rest) = piece(self.0)?;
                self.0 = rest;
                Ok(Some((number, Value::Bytes(value))))
            }
            5 => {
                self.0 = self.0.get(4..).ok_or(Damaged)?;
                Ok(None)
            }
            _ => Err(Damaged),
        }
    }
}
