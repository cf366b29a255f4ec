//! What ends the program, as one sentence and an exit status that tells the database which it was.

use std::fmt;

/// Why an object could not be read. The numbers are exit statuses; `aws_s3.sql` knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Whoever reads our output went away.
    Output = 1,
    /// Arguments or credentials are missing or wrong.
    Usage = 2,
    /// There is no such bucket or object.
    Missing = 3,
    /// S3 refuses the credentials.
    Denied = 4,
    /// S3 does not answer, or fails again and again.
    Away = 5,
    /// The object was replaced while it was read.
    Changed = 6,
    /// The content is not the one that was asked for.
    Content = 7,
}

/// A sentence and its kind.
#[derive(Debug)]
pub struct Problem {
    /// Which kind it is.
    pub kind: Kind,
    /// One sentence, in lower case, without a full stop.
    pub sentence: String,
}

impl Problem {
    /// Make one.
    pub fn new(kind: Kind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.sentence)
    }
}
