//! Signature version 4 of a request without a body.
//!
//! Source: Amazon S3 API reference, "Authenticating Requests: Using the Authorization Header". The test is its example.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::fmt::Write;

use crate::credentials::Credentials;

/// SHA-256 of nothing.
pub const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Write bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Write a time, in seconds since 1970, as `20130524T000000Z`.
#[must_use]
pub fn stamp(unix_s: u64) -> String {
    let (day, second) = ((unix_s / 86_400).cast_signed(), unix_s % 86_400);
    // Civil date from days: eras of 400 years that begin in March.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}{month:02}{date:02}T{:02}{:02}{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Return the headers of a signed request; `more` are signed too, in lower case.
#[must_use]
pub fn signed(
    method: &str,
    host: &str,
    path: &str,
    more: &[(&str, &str)],
    (region, time): (&str, &str),
    credentials: &Credentials,
) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> =
        [("host", host), ("x-amz-content-sha256", EMPTY), ("x-amz-date", time)]
            .iter()
            .chain(more)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
    if let Some(token) = &credentials.token {
        headers.push(("x-amz-security-token".into(), token.clone()));
    }
    headers.sort();
    let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let lines = headers.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name}:{value}");
        text
    });
    let request = format!("{method}\n{path}\n\n{lines}\n{names}\n{EMPTY}");
    let day = &time[..8];
    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(&request)));
    let mut key = format!("AWS4{}", credentials.secret).into_bytes();
    for part in [day, region, "s3", "aws4_request"] {
        key = keyed(&key, part.as_bytes());
    }
    let signature = hex(&keyed(&key, text.as_bytes()));
    headers.retain(|(name, _)| name != "host");
    headers.push((
        "authorization".into(),
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
            credentials.key_id
        ),
    ));
    headers
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_reference_has_its_signature() {
        let credentials = Credentials {
            key_id: "AKIAIOSFODNN7EXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            token: None,
        };
        let found = signed(
            "GET",
            "examplebucket.s3.amazonaws.com",
            "/test.txt",
            &[("range", "bytes=0-9")],
            ("us-east-1", "20130524T000000Z"),
            &credentials,
        );

        let (_, authorization) = found.last().unwrap();
        assert!(
            authorization.ends_with(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            "{authorization}"
        );
    }

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!("20130524T000000Z", stamp(1_369_353_600));
        assert_eq!("20240229T235959Z", stamp(1_709_251_199));
        assert_eq!("19700101T000000Z", stamp(0));
    }
}
