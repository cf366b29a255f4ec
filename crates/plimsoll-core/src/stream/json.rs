//! JSON 1.0: one record per line.
//!
//! Rule 1: a line has three parts: what stands before `"timestamp"` names the series and repeats every
//! minute, so it is read once and then found by its bytes; the time and the numbers; the unit.
//! Rule 2: a line with an escape, a name twice, a value of another type, or no time is odd. Its place is
//! returned, and the caller reads it.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use memchr::{memchr, memmem};

use super::number::{number, whole};
use super::{PieceReader, Points, Sample, SeriesName, Successors};

/// The name that ends the head of a line.
const TIMESTAMP: &[u8] = b"\"timestamp\"";
/// Bytes in which the end of a usual head is looked for. Without a bound, lines without a time would each
/// be a search through the rest of the file.
const HEAD_MOST: usize = 2048;
/// Index of the numbers that are not read: a stream can have percentiles, too.
const PERCENTILE: usize = 4;

/// Lines that were not read.
#[derive(Debug, PartialEq, Eq)]
pub struct OddLines {
    /// Their bytes in the file, with the line ends between them.
    pub bytes: Range<usize>,
    /// Points that stand before them.
    pub after_points: usize,
}

/// Read a file of lines.
#[must_use]
pub fn read(data: &[u8]) -> (Points, Vec<OddLines>) {
    let (mut reader, mut points) = (Reader::default(), Points::default());
    let mut odd: Vec<OddLines> = Vec::new();
    let mut at = 0;
    while at < data.len() {
        match reader.step(&data[at..], true, &mut points) {
            Step::Read(length) => at += length,
            Step::Odd(length) => {
                let (end, after_points) = (at + length, points.time.len());
                match odd.last_mut() {
                    Some(last) if last.after_points == after_points => last.bytes.end = end,
                    _ => odd.push(OddLines { bytes: at..end, after_points }),
                }
                at = end + 1;
            }
            Step::More => unreachable!("the end of the file ends a line"),
        }
    }
    points.series = reader.new_series();
    (points, odd)
}

/// What was done with the first line.
enum Step {
    /// Its point was added, or it is blank; its length with the line end.
    Read(usize),
    /// Its length without the line end.
    Odd(usize),
    /// It goes on in what follows.
    More,
}

/// What stands before the time, and the series with that, by unit.
struct Head {
    bytes: Vec<u8>,
    name: SeriesName,
    series: Vec<(Option<Vec<u8>>, u32)>,
}

/// A reader that remembers the series of the files before.
pub struct Reader {
    heads: Vec<Head>,
    known: HashMap<Vec<u8>, usize, RandomState>,
    successors: Successors,
    timestamp: memmem::Finder<'static>,
    series_count: u32,
    new_series: Vec<SeriesName>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            heads: Vec::new(),
            known: HashMap::default(),
            successors: Successors::default(),
            timestamp: memmem::Finder::new(TIMESTAMP),
            series_count: 0,
            new_series: Vec::new(),
        }
    }
}

impl PieceReader for Reader {
    fn new_series(&mut self) -> Vec<SeriesName> {
        std::mem::take(&mut self.new_series)
    }

    fn read_piece(&mut self, data: &[u8], is_end: bool, points: &mut Points) -> Option<usize> {
        let mut at = 0;
        while at < data.len() {
            match self.step(&data[at..], is_end, points) {
                Step::Read(length) => at += length,
                Step::Odd(_) => return None,
                Step::More => break,
            }
        }
        Some(at.min(data.len()))
    }
}

impl Reader {
    fn step(&mut self, data: &[u8], is_end: bool, points: &mut Points) -> Step {
        if let Some(length) = self.usual_line(data, points) {
            return Step::Read(length);
        }
        let length = match memchr(b'\n', data) {
            Some(length) => length,
            None if is_end => data.len(),
            None => return Step::More,
        };
        let line = &data[..length];
        if line.iter().all(u8::is_ascii_whitespace) || self.line(line, points).is_some() {
            Step::Read(length + 1)
        } else {
            Step::Odd(length)
        }
    }

    /// Add the point of the first line if CloudWatch wrote it and its head is known; return its length.
    ///
    /// A known head has no line end, so that the end of the line need not be looked for.
    fn usual_line(&mut self, data: &[u8], points: &mut Points) -> Option<usize> {
        // The series of a minute mostly come in the order of the minute before.
        let next = self.successors.next();
        let head = match next.filter(|&next| data.starts_with(&self.heads[next].bytes)) {
            Some(next) => next,
            None => {
                let at = self.timestamp.find(&data[..data.len().min(HEAD_MOST)])?;
                *self.known.get(&data[..at + TIMESTAMP.len()])?
            }
        };
        let tail = &data[self.heads[head].bytes.len()..];
        let unit = self.heads[head].series.first().and_then(|(unit, _)| unit.as_deref());
        let (unit, sample, rest) = usual_tail(tail, unit)?;
        self.add(head, Some(unit), sample, points)?;
        Some(data.len() - rest.len())
    }

    /// Add the point of a line; None, and no change, if the line is odd.
    fn line(&mut self, line: &[u8], points: &mut Points) -> Option<()> {
        let at = self.timestamp.find(line)? + TIMESTAMP.len();
        let head = self.head(&line[..at])?;
        let mut rest = Cursor(&line[at..]);
        let (unit, sample) = tail(&mut rest)?;
        self.add(head, unit, sample, points)
    }

    fn add(
        &mut self,
        index: usize,
        unit: Option<&[u8]>,
        sample: Sample,
        points: &mut Points,
    ) -> Option<()> {
        let head = &mut self.heads[index];
        let known = head.series.iter().find(|(text, _)| text.as_deref() == unit);
        let series = match known {
            Some(&(_, series)) => series,
            None => {
                let text = unit.map(|u| std::str::from_utf8(u).map(str::to_owned)).transpose();
                let series = self.series_count;
                self.series_count = series.checked_add(1)?;
                self.new_series.push(SeriesName { unit: text.ok()?, ..head.name.clone() });
                head.series.push((unit.map(<[u8]>::to_vec), series));
                series
            }
        };
        self.successors.step(index);
        points.push(series, sample);
        Some(())
    }

    fn head(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some(&known) = self.known.get(bytes) {
            return Some(known);
        }
        let text = std::str::from_utf8(&bytes[..bytes.len() - TIMESTAMP.len()]).ok()?;
        let name = name_of(text)?;
        self.heads.push(Head { bytes: bytes.to_vec(), name, series: Vec::new() });
        self.known.insert(bytes.to_vec(), self.heads.len() - 1);
        Some(self.heads.len() - 1)
    }
}

/// Read `{"account_id": …, "dimensions": {…}, ` up to where the next name begins.
fn name_of(text: &str) -> Option<SeriesName> {
    let mut rest = Cursor(text.as_bytes());
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut name = SeriesName::default();
    rest.take(b'{')?;
    while !rest.is_at_end() {
        let field = rest.text()?;
        if seen.contains(&field) {
            return None;
        }
        seen.push(field);
        rest.take(b':')?;
        match field {
            b"dimensions" => name.dimensions = dimensions(&mut rest)?,
            b"account_id" => name.account = owned(rest.text()?)?,
            b"region" => name.region = owned(rest.text()?)?,
            b"namespace" => name.namespace = Some(owned(rest.text()?)?),
            b"metric_name" => name.metric = owned(rest.text()?)?,
            // Usually after the time; there, the last of two would count.
            b"unit" | b"value" => return None,
            _ => {
                rest.text()?;
            }
        }
        rest.take(b',')?;
    }
    seen.contains(&b"metric_name".as_slice()).then_some(name)
}

fn dimensions(rest: &mut Cursor<'_>) -> Option<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    rest.take(b'{')?;
    if rest.take(b'}').is_some() {
        return Some(found);
    }
    loop {
        let name = owned(rest.text()?)?;
        rest.take(b':')?;
        if found.iter().any(|(known, _)| *known == name) {
            return None;
        }
        found.push((name, owned(rest.text()?)?));
        if rest.take(b'}').is_some() {
            return Some(found);
        }
        rest.take(b',')?;
    }
}

/// Read what follows `"timestamp"` as CloudWatch writes it, up to the end of the line.
///
/// `unit` is the one to be expected.
fn usual_tail<'a>(data: &'a [u8], unit: Option<&[u8]>) -> Option<(&'a [u8], Sample, &'a [u8])> {
    let data = data.strip_prefix(b":")?;
    let (time, length) = whole(data)?;
    let data = data[length..].strip_prefix(b",\"value\":{\"max\":")?;
    let (max, length) = number(data)?;
    let (text, data) = data.split_at(length);
    // A minute with one sample has the same number three times.
    let or_max = |data: &'a [u8]| match data.strip_prefix(text) {
        Some(rest) if rest.first() == Some(&b',') => Some((max, rest)),
        _ => number(data).map(|(value, length)| (value, &data[length..])),
    };
    let (min, data) = or_max(data.strip_prefix(b",\"min\":")?)?;
    let (sum, data) = or_max(data.strip_prefix(b",\"sum\":")?)?;
    let data = data.strip_prefix(b",\"count\":")?;
    let (count, length) = number(data)?;
    let data = data[length..].strip_prefix(b"},\"unit\":")?;
    let sample = Sample { time, sum, count, min, max };
    let expected = unit.and_then(|unit| {
        let (text, rest) = data.strip_prefix(b"\"")?.split_at_checked(unit.len())?;
        (text == unit).then_some((text, rest.strip_prefix(b"\"}\n")?))
    });
    if let Some((unit, rest)) = expected {
        return Some((unit, sample, rest));
    }
    let mut rest = Cursor(data);
    let unit = rest.text()?;
    Some((unit, sample, rest.0.strip_prefix(b"}\n")?))
}

/// Read `: 1700000000000, "value": {…}, "unit": …}`.
fn tail<'a>(rest: &mut Cursor<'a>) -> Option<(Option<&'a [u8]>, Sample)> {
    rest.take(b':')?;
    rest.skip_space();
    let (time, length) = whole(rest.0)?;
    rest.0 = &rest.0[length..];
    rest.take(b',')?;
    if rest.text()? != b"value" {
        return None;
    }
    rest.take(b':')?;
    let mut sample = Sample { time, sum: f64::NAN, count: f64::NAN, min: f64::NAN, max: f64::NAN };
    values(rest, &mut sample)?;
    let mut unit = None;
    if rest.take(b',').is_some() {
        if rest.text()? != b"unit" {
            return None;
        }
        rest.take(b':')?;
        unit = Some(rest.text()?);
    }
    rest.take(b'}')?;
    rest.is_at_end().then_some((unit, sample))
}

fn values(rest: &mut Cursor<'_>, sample: &mut Sample) -> Option<()> {
    rest.take(b'{')?;
    let mut seen = [false; 5];
    let mut ignored = f64::NAN;
    loop {
        let name = rest.text()?;
        rest.take(b':')?;
        let value = rest.number()?;
        let (index, field) = match name {
            b"max" => (0, &mut sample.max),
            b"min" => (1, &mut sample.min),
            b"sum" => (2, &mut sample.sum),
            b"count" => (3, &mut sample.count),
            _ => (PERCENTILE, &mut ignored),
        };
        if std::mem::replace(&mut seen[index], index != PERCENTILE) {
            return None;
        }
        *field = value;
        if rest.take(b'}').is_some() {
            return Some(());
        }
        rest.take(b',')?;
    }
}

/// What is left of a line.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.0.is_empty()
    }

    /// Take one sign, if it comes next.
    fn take(&mut self, sign: u8) -> Option<()> {
        self.skip_space();
        let (first, rest) = self.0.split_first()?;
        (*first == sign).then(|| self.0 = rest)
    }

    /// Take a text without escapes and control characters, and return what is between its quotes.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let length =
            self.0.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
        let (text, rest) = self.0.split_at(length);
        if rest[0] != b'"' {
            return None;
        }
        self.0 = &rest[1..];
        Some(text)
    }

    /// Take a number by the grammar of JSON.
    fn number(&mut self) -> Option<f64> {
        self.skip_space();
        let (value, length) = number(self.0)?;
        self.0 = &self.0[length..];
        Some(value)
    }
}

fn owned(text: &[u8]) -> Option<String> {
    std::str::from_utf8(text).ok().map(str::to_owned)
}
