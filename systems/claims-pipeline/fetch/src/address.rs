//! Where an object is: host, path and how its key is written there.

use std::fmt::Write;

use crate::arguments::Arguments;
use crate::problem::{Kind, Problem};

/// An object's address.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    /// `http` or `https`.
    pub scheme: String,
    /// Host, with a port if it is not the scheme's own.
    pub host: String,
    /// Path with the key, encoded.
    pub path: String,
}

impl Address {
    /// Return the whole URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme, self.host, self.path)
    }
}

/// Return the address of an object: with its bucket in the path where an endpoint is given or TLS asks for it.
///
/// # Errors
/// The endpoint or the bucket cannot be an address.
pub fn address_of(arguments: &Arguments) -> Result<Address, Problem> {
    let bad = |what: &str| Problem::new(Kind::Usage, what.to_owned());
    let (bucket, key) = (&arguments.bucket, encoded(&arguments.key, true));
    let is_name = |text: &str, also: &str| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || also.as_bytes().contains(&b))
    };
    if !is_name(bucket, "-._") {
        return Err(bad("the bucket has characters that no bucket has"));
    }
    if !is_name(&arguments.region, "-") {
        return Err(bad("the region has characters that no region has"));
    }
    if let Some(endpoint) = &arguments.endpoint {
        let (scheme, rest) =
            endpoint.split_once("://").ok_or_else(|| bad("the endpoint is no URL"))?;
        let host = rest.trim_end_matches('/');
        if !matches!(scheme, "http" | "https") || host.is_empty() || !is_name(host, "-._:[]") {
            return Err(bad("the endpoint is no URL of a host"));
        }
        let path = format!("/{bucket}/{key}");
        return Ok(Address { scheme: scheme.into(), host: host.into(), path });
    }
    let region = &arguments.region;
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    let host = format!("s3.{region}.amazonaws.com{suffix}");
    // A certificate of *.s3 covers no name with another dot.
    let (host, path) = if bucket.contains('.') {
        (host, format!("/{bucket}/{key}"))
    } else {
        (format!("{bucket}.{host}"), format!("/{key}"))
    };
    Ok(Address { scheme: "https".into(), host, path })
}

/// Encode text as signature version 4 asks: all but unreserved characters, in upper case.
#[must_use]
pub fn encoded(text: &str, keeps_slash: bool) -> String {
    let mut found = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keeps_slash && byte == b'/')
        {
            found.push(char::from(byte));
        } else {
            let _ = write!(found, "%{byte:02X}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(bucket: &str, endpoint: Option<&str>) -> Arguments {
        Arguments {
            bucket: bucket.into(),
            key: "a b/ü'$(x)\n".into(),
            region: "eu-west-1".into(),
            endpoint: endpoint.map(str::to_owned),
            ..Arguments::default()
        }
    }

    #[test]
    fn every_character_of_a_key_is_one_of_the_path() {
        let found = address_of(&arguments("raw", Some("http://127.0.0.1:9000/"))).unwrap();

        assert_eq!("http://127.0.0.1:9000/raw/a%20b/%C3%BC%27%24%28x%29%0A", found.url());
    }

    #[test]
    fn a_bucket_is_part_of_the_host_unless_it_has_a_dot() {
        let host = |bucket| address_of(&arguments(bucket, None)).unwrap().host;

        assert_eq!("raw.s3.eu-west-1.amazonaws.com", host("raw"));
        assert_eq!("s3.eu-west-1.amazonaws.com", host("raw.claims"));
    }

    #[test]
    fn hosts_cannot_be_smuggled_in() {
        assert!(address_of(&arguments("evil/@host", None)).is_err());
        assert!(address_of(&arguments("raw", Some("http://a/b"))).is_err());
        assert!(address_of(&arguments("raw", Some("file:///etc"))).is_err());
    }
}
