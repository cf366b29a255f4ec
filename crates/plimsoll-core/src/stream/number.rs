//! Numbers as JSON writes them.
//!
//! Rule 1: a number is the float nearest to its text, the same that Rust's own reader returns.
//! Rule 2: where the arithmetic here does not settle which float that is, Rust's reader is asked.

/// Bytes of a number. The shortest text that gives back any float has 24.
const LONGEST: usize = 40;
/// Digits of an integer that a float has exactly.
const EXACT_DIGITS: usize = 15;
/// Digits of which every integer fits in 64 bits.
const WORD_DIGITS: usize = 19;
/// The greatest integer up to which all are floats.
const EXACT_MOST: u64 = 1 << 53;
/// The greatest power of ten that a float has exactly, and the greatest of five that fits in 63 bits.
const POWERS: usize = 27;
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// For each power of five, 128 bits of its reciprocal, rounded down, and how far they are shifted to the left.
const RECIPROCALS: [(u128, i32); POWERS + 1] = reciprocals();

/// Return the number at the start of `data` and its length; None without one, or beyond every float.
#[inline]
pub fn number(data: &[u8]) -> Option<(f64, usize)> {
    let is_negative = data.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let (mut word, mut at) = digits(data, start, 0);
    if at == start || (data[start] == b'0' && at > start + 1) {
        return None;
    }
    // Zeros in front say nothing, and are not counted.
    let mut significant = if data[start] == b'0' { 0 } else { at - start };
    let mut power = 0_i64;
    if data.get(at) == Some(&b'.') {
        let point = at + 1;
        at = point;
        if significant == 0 {
            at += data[point..].iter().take_while(|&&byte| byte == b'0').count();
        }
        let first = at;
        (word, at) = digits(data, first, word);
        if at == point {
            return None;
        }
        significant += at - first;
        power = -((at - point) as i64);
    }
    if matches!(data.get(at), Some(b'e' | b'E')) {
        let is_less = data.get(at + 1) == Some(&b'-');
        let first = at + 1 + usize::from(is_less || data.get(at + 1) == Some(&b'+'));
        let (exponent, end) = digits(data, first, 0);
        if end == first || end - first > 4 {
            return None;
        }
        at = end;
        power += if is_less { -(exponent as i64) } else { exponent as i64 };
    }
    if at > LONGEST {
        return None;
    }
    let size = if significant <= WORD_DIGITS { nearest(word, power) } else { None };
    let value = match size {
        Some(size) if is_negative => -size,
        Some(size) => size,
        None => std::str::from_utf8(&data[..at]).ok()?.parse().ok()?,
    };
    value.is_finite().then_some((value, at))
}

/// Return the integer without sign at the start of `data`, exact as a float, and its length.
#[inline]
pub fn whole(data: &[u8]) -> Option<(f64, usize)> {
    let (word, length) = digits(data, 0, 0);
    let is_json = length == 1 || (length > 1 && data[0] != b'0');
    (is_json && length <= EXACT_DIGITS).then_some((word as f64, length))
}

/// Append the digits from `at` on to a number, and return it with the place after them; it may overflow.
#[inline]
fn digits(data: &[u8], mut at: usize, mut word: u64) -> (u64, usize) {
    while let Some(eight) = data.get(at..).and_then(<[u8]>::first_chunk) {
        let Some(value) = eight_digits(u64::from_le_bytes(*eight)) else { break };
        word = word.wrapping_mul(100_000_000).wrapping_add(value);
        at += 8;
    }
    while let Some(digit) = data.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10) {
        word = word.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (word, at)
}

/// Return the number of eight digits, the first in the lowest byte.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    const HIGH: u64 = 0xF0F0_F0F0_F0F0_F0F0;
    // A digit is 0x30 to 0x39: its upper half is 3, also after 6 is added.
    let after = text.wrapping_add(0x0606_0606_0606_0606);
    if (text & HIGH) | ((after & HIGH) >> 4) != 0x3333_3333_3333_3333 {
        return None;
    }
    let ones = text & 0x0F0F_0F0F_0F0F_0F0F;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

/// Return the float nearest to `word` × 10^`power`; None where that is left to Rust's reader.
#[inline]
fn nearest(word: u64, power: i64) -> Option<f64> {
    if word == 0 {
        return Some(0.0);
    }
    let size = usize::try_from(power.unsigned_abs()).ok()?;
    if word <= EXACT_MOST && size < TENS.len() {
        // Both are floats, so one operation rounds once.
        let ten = TENS[size];
        return Some(if power < 0 { word as f64 / ten } else { word as f64 * ten });
    }
    if power >= 0 || size > POWERS {
        return None;
    }
    let zeros = word.leading_zeros();
    let factor = u128::from(word << zeros);
    let (reciprocal, shift) = RECIPROCALS[size];
    let low = factor * (reciprocal & u128::from(u64::MAX));
    let product = factor * (reciprocal >> 64) + (low >> 64);
    let lead = product.leading_zeros();
    let product = product << lead;
    // The reciprocal was cut off, and so was the product: it is less than four too small. Close to the middle
    // between two floats that could decide, and nowhere else.
    let rest = product & ((1 << 75) - 1);
    if rest.abs_diff(1 << 74) <= 4 {
        return None;
    }
    let mantissa = (product >> 75) as u64 + u64::from(rest > 1 << 74);
    let exponent = 139 - shift - zeros as i32 - lead as i32 - size as i32;
    // Between 2^-90 and 2^64, so that the power of two is a float, and no float is below the usual ones.
    let two = f64::from_bits(((exponent + 1023) as u64) << 52);
    Some(mantissa as f64 * two)
}

const fn reciprocals() -> [(u128, i32); POWERS + 1] {
    let mut found = [(0, 0); POWERS + 1];
    let (mut five, mut index) = (1_u64, 1);
    while index <= POWERS {
        five *= 5;
        let shift = 127 + (64 - five.leading_zeros() as i32);
        // Long division of 2^shift, bit by bit.
        let (mut quotient, mut rest, mut bit) = (0_u128, 0_u64, shift);
        while bit >= 0 {
            rest = rest * 2 + if bit == shift { 1 } else { 0 };
            quotient <<= 1;
            if rest >= five {
                rest -= five;
                quotient |= 1;
            }
            bit -= 1;
        }
        found[index] = (quotient, shift);
        index += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{number, whole};
    use proptest::prelude::*;

    #[test]
    fn what_follows_a_number_is_left() {
        assert_eq!(number(b"12.5,"), Some((12.5, 4)));
        assert_eq!(number(b"1.2.3"), Some((1.2, 3)));
        assert_eq!(number(b"-0}"), Some((-0.0, 2)));
        assert_eq!(whole(b"1700000000000,"), Some((1.7e12, 13)));
    }

    #[test]
    fn what_json_does_not_allow_is_no_number() {
        for text in ["", "-", "+1", "01", "00.5", "-01", ".5", "1.", "1.e5", "1e", "1e+", "NaN"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        for text in ["", "01", "-1", "1234567890123456"] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_in_the_middle_between_two_floats_are_rounded_to_the_even_one() {
        for text in ["9007199254740993", "9007199254740993.0", "4503599627370496.5", "0.5e-10"] {
            assert_eq!(
                number(text.as_bytes()),
                Some((text.parse().unwrap(), text.len())),
                "{text}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn a_number_is_what_rust_reads(word: u64, digits in 1..20_u32, point in 0..30_usize, exponent in -40..40) {
            let word = word % 10_u64.pow(digits.min(19));
            let padded = format!("{word:0width$}", width = point + 1);
            let (whole, rest) = padded.split_at(padded.len() - point);
            let dot = if rest.is_empty() { "" } else { "." };
            for text in [format!("{whole}{dot}{rest}"), format!("-{whole}{dot}{rest}e{exponent}")] {
                let expected = text.parse::<f64>().unwrap();
                let found = number(text.as_bytes());
                match found {
                    Some((value, length)) => {
                        prop_assert_eq!(value.to_bits(), expected.to_bits());
                        prop_assert_eq!(length, text.len());
                    }
                    None => prop_assert!(text.len() > super::LONGEST),
                }
            }
        }

        #[test]
        fn the_shortest_text_of_a_float_gives_it_back(value in -1e12..1e12_f64, small in 0.0..1e-3_f64) {
            for value in [value, small, value * small] {
                let text = format!("{value:?}");
                prop_assert_eq!(number(text.as_bytes()), Some((value, text.len())));
            }
        }
    }
}
