//! Where keys come from: a named file, the environment, or the file that AWS's programs use.

use crate::problem::{Kind, Problem};

/// Keys of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Public part.
    pub key_id: String,
    /// Secret part.
    pub secret: String,
    /// Of temporary keys.
    pub token: Option<String>,
}

/// Find the keys.
///
/// # Errors
/// The file cannot be read or has no keys, or there are none anywhere.
pub fn find(file: Option<&str>) -> Result<Credentials, Problem> {
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    if file.is_none()
        && let (Some(key_id), Some(secret)) =
            (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
    {
        return Ok(Credentials { key_id, secret, token: variable("AWS_SESSION_TOKEN") });
    }
    let path = file
        .map(str::to_owned)
        .or_else(|| variable("AWS_SHARED_CREDENTIALS_FILE"))
        .or_else(|| variable("HOME").map(|home| format!("{home}/.aws/credentials")))
        .unwrap_or_default();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Problem::new(Kind::Usage, format!("no credentials: unable to read '{path}': {error}"))
    })?;
    let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
    parse(&text, &profile).ok_or_else(|| {
        Problem::new(Kind::Usage, format!("'{path}' has no keys of the profile '{profile}'"))
    })
}

/// Read a profile of a file of credentials.
#[must_use]
pub fn parse(text: &str, profile: &str) -> Option<Credentials> {
    let (mut is_inside, mut key_id, mut secret, mut token) = (false, None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_inside = name.trim() == profile;
        } else if is_inside && let Some((name, value)) = line.split_once('=') {
            let value = Some(value.trim().to_owned());
            match name.trim() {
                "aws_access_key_id" => key_id = value,
                "aws_secret_access_key" => secret = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    Some(Credentials { key_id: key_id?, secret: secret?, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_and_others_are_not() {
        let text = "[other]\naws_access_key_id=X\n\n[default]\n# mine\naws_access_key_id = A\n\
                    aws_secret_access_key = b=/c\n";
        let found = parse(text, "default").unwrap();

        assert_eq!(("A", "b=/c", None), (&*found.key_id, &*found.secret, found.token));
        assert!(parse(text, "other").is_none());
    }
}
