//! What a field may hold, and how it is written into a row.
//!
//! Rule 1: a field that is blank is NULL: nothing between two commas.
//! Rule 2: what PostgreSQL would refuse, round or cut is a fault here, so that COPY never fails because of a record.

use crate::layout::Type;

/// Digits before the point that numeric(17,2) holds; a wider field gets a wider column.
const AMOUNT_DIGITS: usize = 15;

/// Why a record is not a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Fewer bytes than the layout has.
    Truncated,
    /// More bytes than the layout has.
    Long,
    /// Not CCYY-MM-DD, or no day of the calendar.
    Date,
    /// Not a number of the field's format.
    Number,
    /// A control character in a text.
    Control,
    /// Bytes that are not UTF-8.
    Encoding,
    /// A field of the key is blank.
    Key,
}

/// All faults, in the order of their numbers.
pub const FAULTS: [Fault; 7] = [
    Fault::Truncated,
    Fault::Long,
    Fault::Date,
    Fault::Number,
    Fault::Control,
    Fault::Encoding,
    Fault::Key,
];

impl Fault {
    /// Returns the beginning of a reason, which names its class.
    pub fn class(self) -> &'static str {
        match self {
            Fault::Truncated => "truncated record",
            Fault::Long => "long record",
            Fault::Date => "bad date",
            Fault::Number => "bad number",
            Fault::Control => "control character",
            Fault::Encoding => "not UTF-8",
            Fault::Key => "missing key",
        }
    }
}

/// Returns a field without the blanks around it.
pub fn trimmed(raw: &[u8]) -> &[u8] {
    let Some(first) = raw.iter().position(|&byte| byte != b' ') else { return &[] };
    let last = raw.iter().rposition(|&byte| byte != b' ').unwrap_or(first);
    &raw[first..=last]
}

/// Returns whether all bytes are printable ASCII and none needs quotes.
pub fn is_plain(bytes: &[u8]) -> bool {
    // No early exit: so the compiler compares many bytes at once.
    bytes.iter().fold(true, |plain, &byte| {
        plain & (b' '..=b'~').contains(&byte) & (byte != b'"') & (byte != b',')
    })
}

/// Appends a text, in quotes if it needs them.
///
/// # Errors
///
/// Bytes that are not UTF-8, or a control character.
pub fn push_text(row: &mut Vec<u8>, value: &[u8]) -> Result<(), Fault> {
    let text = std::str::from_utf8(value).map_err(|_| Fault::Encoding)?;
    if text.chars().any(char::is_control) {
        return Err(Fault::Control);
    }
    push_quoted(row, value);
    Ok(())
}

/// Appends a text, in quotes if it needs them; it is not checked.
pub fn push_quoted(row: &mut Vec<u8>, value: &[u8]) {
    if !value.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r')) {
        row.extend_from_slice(value);
        return;
    }
    row.push(b'"');
    for &byte in value {
        if byte == b'"' {
            row.push(b'"');
        }
        row.push(byte);
    }
    row.push(b'"');
}

/// Appends a date; the days that mean none are NULL.
///
/// # Errors
///
/// No day of the calendar.
pub fn push_date(row: &mut Vec<u8>, value: &[u8]) -> Result<(), Fault> {
    let date: &[u8; 10] = value.try_into().map_err(|_| Fault::Date)?;
    if date == b"1000-01-01" || date == b"9999-12-31" {
        return Ok(());
    }
    if !is_date(date) {
        return Err(Fault::Date);
    }
    row.extend_from_slice(date);
    Ok(())
}

fn is_date(date: &[u8; 10]) -> bool {
    let digit = |at: usize| u32::from(date[at].wrapping_sub(b'0'));
    let digits = [0, 1, 2, 3, 5, 6, 8, 9].map(digit);
    if date[4] != b'-' || date[7] != b'-' || digits.iter().any(|&digit| digit > 9) {
        return false;
    }
    let year = digits[..4].iter().fold(0, |number, digit| number * 10 + digit);
    let (month, day) = (digits[4] * 10 + digits[5], digits[6] * 10 + digits[7]);
    year > 0 && day > 0 && day <= days_in(year, month)
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 0,
    }
}

/// Returns a number in units of its last decimal: cents, for an amount.
///
/// # Errors
///
/// No number; more decimals than the format; more digits, or a larger number, than the column holds.
pub fn number_of(value: &[u8], holds: Type, width: usize) -> Result<i128, Fault> {
    let (is_negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..point], digits.get(point + 1..).unwrap_or(&[]));
    let decimals = decimals_of(holds);
    let is_whole = point == digits.len();
    if whole.len() + fraction.len() == 0
        || fraction.len() > decimals
        || (decimals == 0 && !is_whole)
        || !whole.iter().chain(fraction).all(u8::is_ascii_digit)
    {
        return Err(Fault::Number);
    }
    let scale = 10_i128.pow(decimals as u32);
    let missing = 10_i128.pow((decimals - fraction.len()) as u32);
    let size = decimal(whole) * scale + decimal(fraction) * missing;
    let number = if is_negative { -size } else { size };
    if is_in_range(number, holds, width, scale) { Ok(number) } else { Err(Fault::Number) }
}

fn decimals_of(holds: Type) -> usize {
    match holds {
        Type::Amount => 2,
        Type::Quantity(decimals) => usize::from(decimals),
        _ => 0,
    }
}

fn is_in_range(number: i128, holds: Type, width: usize, scale: i128) -> bool {
    match holds {
        Type::Integer => i32::try_from(number).is_ok(),
        Type::Id => i64::try_from(number).is_ok(),
        Type::Amount => {
            let whole = AMOUNT_DIGITS.max(width - 4);
            number.abs() < 10_i128.pow(whole as u32) * scale
        }
        // numeric(width − 2, decimals): without the sign and the point.
        _ => number.abs() < 10_i128.pow((width - 2) as u32),
    }
}

/// A field has at most 24 digits, which fit into 128 bits; those that fit are computed in 64.
fn decimal(digits: &[u8]) -> i128 {
    let value = |byte: &u8| u64::from(byte - b'0');
    let (head, tail) = digits.split_at(digits.len().saturating_sub(18));
    let low = tail.iter().fold(0_u64, |number, byte| number * 10 + value(byte));
    if head.is_empty() {
        return i128::from(low);
    }
    let high = head.iter().fold(0_i128, |number, byte| number * 10 + i128::from(value(byte)));
    high * 10_i128.pow(18) + i128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Result<String, Fault> {
        let mut row = Vec::new();
        push_date(&mut row, text.as_bytes()).map(|()| String::from_utf8(row).unwrap())
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        assert_eq!(date("2024-02-29"), Ok("2024-02-29".to_owned()));
        assert_eq!(date("2000-02-29"), Ok("2000-02-29".to_owned()));
        for bad in
            ["2023-02-29", "1900-02-29", "2023-13-01", "2023-00-10", "2023-04-31", "0000-01-01"]
        {
            assert_eq!(date(bad), Err(Fault::Date), "{bad}");
        }
        for bad in ["2023/01/01", "2023-1-01", "20230101", "2023-01-0a", "2023-01-011"] {
            assert_eq!(date(bad), Err(Fault::Date), "{bad}");
        }
    }

    #[test]
    fn the_days_that_mean_none_are_null() {
        assert_eq!(date("1000-01-01"), Ok(String::new()));
        assert_eq!(date("9999-12-31"), Ok(String::new()));
    }

    fn amount(text: &str) -> Result<i128, Fault> {
        number_of(text.as_bytes(), Type::Amount, 17)
    }

    #[test]
    fn an_amount_is_counted_in_cents() {
        assert_eq!(amount("12.34"), Ok(1234));
        assert_eq!(amount("-0000000012.3"), Ok(-1230));
        assert_eq!(amount("+7"), Ok(700));
        assert_eq!(amount(".05"), Ok(5));
        assert_eq!(amount("999999999999999.9"), Ok(99_999_999_999_999_990));
    }

    #[test]
    fn what_a_column_would_refuse_or_round_is_a_fault() {
        for bad in ["", "-", ".", "1,5", "12.345", "1O.00", "1.2.3", "--1", "1e3", "1 2", "NaN"] {
            assert_eq!(amount(bad), Err(Fault::Number), "{bad}");
        }
        assert_eq!(amount("1000000000000000"), Err(Fault::Number), "numeric(17,2) has 15 digits");
        assert_eq!(amount("0000000000000001"), Ok(100), "zeros in front do not count");
        let id = |text: &str| number_of(text.as_bytes(), Type::Id, 13);
        assert_eq!(id("0000000000042"), Ok(42));
        assert_eq!(id("1.0"), Err(Fault::Number));
        let integer = |text: &str| number_of(text.as_bytes(), Type::Integer, 10);
        assert_eq!(integer("2147483647"), Ok(2_147_483_647));
        assert_eq!(integer("2147483648"), Err(Fault::Number));
    }

    #[test]
    fn a_wide_amount_is_exact() {
        let text = "123456789012345678.91";

        assert_eq!(
            number_of(text.as_bytes(), Type::Amount, 22),
            Ok(12_345_678_901_234_567_891_i128)
        );
    }

    #[test]
    fn a_text_is_quoted_if_it_has_to_be() {
        let quoted = |text: &str| {
            let mut row = Vec::new();
            push_text(&mut row, text.as_bytes()).map(|()| String::from_utf8(row).unwrap())
        };

        assert_eq!(quoted("O'NEIL"), Ok("O'NEIL".to_owned()));
        assert_eq!(quoted("a,b"), Ok("\"a,b\"".to_owned()));
        assert_eq!(quoted("6\" TALL"), Ok("\"6\"\" TALL\"".to_owned()));
        assert_eq!(quoted("PEÑA"), Ok("PEÑA".to_owned()));
        assert_eq!(quoted("a\tb"), Err(Fault::Control));
        assert_eq!(quoted("a\u{85}b"), Err(Fault::Control));
        assert_eq!(push_text(&mut Vec::new(), b"PE\xd1A"), Err(Fault::Encoding));
    }

    #[test]
    fn only_printable_bytes_without_quotes_are_plain() {
        assert!(is_plain(b"ABC xyz~"));
        for byte in [b'"', b',', b'\n', 0, 0x7f, 0x80, 0xff] {
            assert!(!is_plain(&[b'a', byte, b'b']), "{byte}");
        }
        assert_eq!(trimmed(b"  a b "), b"a b");
        assert_eq!(trimmed(b"   "), b"");
    }
}
