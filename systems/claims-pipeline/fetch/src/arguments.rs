//! The command line.

use crate::problem::{Kind, Problem};

/// What the program was told.
#[derive(Debug, Default)]
pub struct Arguments {
    /// Bucket of the object.
    pub bucket: String,
    /// Key of the object; any text.
    pub key: String,
    /// Region for the signature.
    pub region: String,
    /// Address of an S3 that is not AWS's.
    pub endpoint: Option<String>,
    /// File with credentials, as AWS's own programs have it.
    pub credentials: Option<String>,
    /// Say size and entity tag as a row of csv, instead of the content.
    pub head: bool,
    /// Read only this version of the object: its entity tag.
    pub etag: Option<String>,
    /// SHA-256 that the object must have as it is stored, in hexadecimal.
    pub sha256: Option<String>,
    /// A connection is given up after so long, in seconds; the next one goes on where it ended.
    pub connection_s: u64,
    /// So often in a row an attempt may bring nothing.
    pub attempts: u32,
}

/// Shown by `--help`.
pub const HELP: &str = "\
claims-fetch --bucket BUCKET --key KEY [options]

Write an object of S3 to standard output. Broken connections are resumed; a failure is one sentence and a status.
An object whose metadata has Content-Encoding: gzip is unpacked.

  --region REGION      region of the bucket (default: AWS_REGION, or us-east-1)
  --endpoint URL       an S3 that is not AWS's (default: AWS_ENDPOINT_URL_S3, or AWS's own)
  --credentials FILE   file with credentials (default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
                       AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials)
  --head               write size,etag,problem as a row of csv instead
  --etag ETAG          read only this version
  --sha256 HEX         fail unless the object, as it is stored, has this SHA-256
  --connection SECONDS  renew a connection after so long, so that one that hangs is noticed (default: 20)
  --attempts N         give up after so many attempts in a row without a byte (default: 8)
";

/// Understand the command line; `None` asks for help.
///
/// # Errors
/// An argument is unknown, has no value, or is missing.
pub fn arguments_of(words: impl IntoIterator<Item = String>) -> Result<Option<Arguments>, Problem> {
    let bad = |sentence: String| Problem::new(Kind::Usage, sentence);
    let mut found = Arguments { connection_s: 20, attempts: 8, ..Arguments::default() };
    let mut words = words.into_iter();
    while let Some(name) = words.next() {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--head" => {
                found.head = true;
                continue;
            }
            _ => {}
        }
        let value = words.next().ok_or_else(|| bad(format!("{name} needs a value")))?;
        let number = || value.parse().map_err(|_| bad(format!("{name} is no number: '{value}'")));
        match name.as_str() {
            "--bucket" => found.bucket = value,
            "--key" => found.key = value,
            "--region" => found.region = value,
            "--endpoint" => found.endpoint = Some(value),
            "--credentials" => found.credentials = Some(value),
            "--etag" => found.etag = Some(value),
            "--sha256" => found.sha256 = Some(value.to_ascii_lowercase()),
            "--connection" => found.connection_s = number()?,
            "--attempts" => found.attempts = u32::try_from(number()?).unwrap_or(u32::MAX).max(1),
            _ => return Err(bad(format!("{name} is no option"))),
        }
    }
    if found.bucket.is_empty() || found.key.is_empty() {
        return Err(bad("--bucket and --key are needed".into()));
    }
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    if found.region.is_empty() {
        found.region = variable("AWS_REGION")
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .unwrap_or_else(|| "us-east-1".into());
    }
    found.endpoint = found.endpoint.or_else(|| variable("AWS_ENDPOINT_URL_S3"));
    Ok(Some(found))
}
