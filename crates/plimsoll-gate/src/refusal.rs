//! The errors of the gate: the cause, then a hint.

use std::fmt;

/// A cause in lower case without full stop, and a remedy that is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: String,
}

impl Refusal {
    /// Return a refusal with this cause and this remedy.
    pub fn new(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { error: error.into(), hint: hint.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}\nhint: {}", self.error, self.hint)
    }
}

impl std::error::Error for Refusal {}
