//! What `Content-Encoding` says of an object, and undoing it on the way.
//!
//! Rule: memory is a few buffers, whatever the size of the object and of what it holds.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// How the content of an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// As one or several members of gzip.
    Gzip,
}

impl Encoding {
    /// Return what a header says; `Err` has the first encoding that is not supported.
    ///
    /// # Errors
    /// The content is encoded otherwise, or twice.
    pub fn of(header: Option<&str>) -> Result<Self, String> {
        let mut found = Self::Plain;
        for part in header.unwrap_or_default().split(',') {
            let name = part.trim().to_ascii_lowercase();
            match name.as_str() {
                // How an upload was sent, of which some stores keep the word: not how the content is.
                "" | "identity" | "aws-chunked" => {}
                "gzip" if found == Self::Plain => found = Self::Gzip,
                _ => return Err(name),
            }
        }
        Ok(found)
    }
}

/// A writer that undoes an encoding.
pub enum Decoder<W: Write> {
    /// Nothing to undo.
    Plain(W),
    /// Unpacks; the flag says whether anything came.
    Gzip(Box<MultiGzDecoder<W>>, bool),
}

impl<W: Write> Decoder<W> {
    /// Decode to `to`.
    pub fn new(encoding: Encoding, to: W) -> Self {
        match encoding {
            Encoding::Plain => Self::Plain(to),
            Encoding::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(to)), false),
        }
    }

    /// Write what is held back, and check that the end is one.
    ///
    /// # Errors
    /// The content is cut off or damaged, or cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Gzip(_, false) => Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Gzip(decoder, true) => decoder.try_finish(),
        }
    }
}

impl<W: Write> Write for Decoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Gzip(decoder, is_begun) => {
                *is_begun = true;
                decoder.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Gzip(decoder, _) => decoder.flush(),
        }
    }
}

/// Return whether an error is one of the content, and not of where it is written to.
#[must_use]
pub fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut text = vec![];
        let mut decoder = Decoder::new(Encoding::Gzip, &mut text);
        for part in bytes.chunks(piece) {
            decoder.write_all(part)?;
        }
        decoder.finish()?;
        drop(decoder);
        Ok(text)
    }

    #[test]
    fn a_header_names_gzip_or_nothing() {
        assert_eq!(Ok(Encoding::Plain), Encoding::of(None));
        assert_eq!(Ok(Encoding::Plain), Encoding::of(Some("")));
        assert_eq!(Ok(Encoding::Plain), Encoding::of(Some("aws-chunked")));
        assert_eq!(Ok(Encoding::Gzip), Encoding::of(Some("gzip")));
        assert_eq!(Ok(Encoding::Gzip), Encoding::of(Some("aws-chunked, GZIP")));
        assert_eq!(Err("br".into()), Encoding::of(Some("br")));
        assert_eq!(Err("zstd".into()), Encoding::of(Some("gzip, zstd")));
        assert_eq!(Err("gzip".into()), Encoding::of(Some("gzip,gzip")));
    }

    #[test]
    fn members_are_unpacked_wherever_pieces_end() {
        let text = b"1,a row\n".repeat(5_000);
        let both = [packed(&text), packed(b""), packed(b"2,the last\n")].concat();
        let wanted = [&text[..], b"2,the last\n"].concat();
        for piece in [1, 7, 4096, usize::MAX] {
            assert_eq!(wanted, unpacked(&both, piece).unwrap());
        }
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_an_error_of_the_content() {
        let whole = packed(&b"1,a row\n".repeat(5_000));
        let mut damaged = whole.clone();
        let end = damaged.len() - 6;
        damaged[end] ^= 1;
        let more = [&whole[..], b"no member"].concat();
        let cut = &whole[..whole.len() - 4];
        for bytes in
            [&b""[..], b"plain text that is long enough", &whole[..9], cut, &damaged, &more]
        {
            assert!(is_damage(&unpacked(bytes, 1000).unwrap_err()), "{} bytes", bytes.len());
        }
    }
}
