//! OpenTelemetry 1.0: length-delimited `ExportMetricsServiceRequest` messages, as Firehose writes them.
//!
//! Field numbers are those of opentelemetry-proto 1.0.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::fields::{Damaged, Fields, Value, piece, varint};
use super::{PieceReader, Points, Sample, SeriesName, Successors};

/// Lists within lists of an attribute. CloudWatch nests once.
const DEEPEST: usize = 16;
/// Bytes of the longest length of a message.
const LENGTH_BYTES: usize = 10;
/// Accounts and regions that are told apart.
const MOST_RESOURCES: usize = 4096;

/// Read a file of messages; None if any part of it is damaged or unusual.
#[must_use]
pub fn read(data: &[u8]) -> Option<Points> {
    let (mut reader, mut points) = (Reader::default(), Points::default());
    reader.read_piece(data, true, &mut points)?;
    points.series = reader.new_series();
    Some(points)
}

/// What names a series: bytes of a message, and the resource that it is of.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Names<'a> {
    resource: u32,
    metric: &'a [u8],
    unit: &'a [u8],
    /// All attributes, as written.
    attributes: &'a [u8],
}

/// The names of a series that is known.
struct Known {
    resource: u32,
    metric: Vec<u8>,
    unit: Vec<u8>,
    attributes: Vec<u8>,
}

impl Known {
    fn is(&self, names: Names<'_>) -> bool {
        // The attributes first, because they differ most.
        self.attributes == names.attributes
            && self.metric == names.metric
            && self.resource == names.resource
            && self.unit == names.unit
    }
}

/// A reader that remembers the series of the files before.
#[derive(Default)]
pub struct Reader {
    /// Account and region.
    resources: Vec<(String, String)>,
    known: Vec<Known>,
    /// Number of a series by its names one after the other, with their lengths.
    numbers: HashMap<Vec<u8>, u32, RandomState>,
    successors: Successors,
    key: Vec<u8>,
    new_series: Vec<SeriesName>,
}

impl PieceReader for Reader {
    fn new_series(&mut self) -> Vec<SeriesName> {
        std::mem::take(&mut self.new_series)
    }

    fn read_piece(&mut self, data: &[u8], is_end: bool, points: &mut Points) -> Option<usize> {
        let mut rest = data;
        while !rest.is_empty() {
            let Ok((message, after)) = piece(rest) else {
                // A message that goes on has a length that is whole, or too few bytes for one.
                let may_go_on = !is_end && (rest.len() < LENGTH_BYTES || varint(rest).is_ok());
                return may_go_on.then_some(data.len() - rest.len());
            };
            self.request(message, points).ok()?;
            rest = after;
        }
        Some(data.len())
    }
}

impl Reader {
    fn request(&mut self, message: &[u8], points: &mut Points) -> Result<(), Damaged> {
        for field in Fields(message) {
            if let (1, Value::Bytes(resource_metrics)) = field? {
                self.resource(resource_metrics, points)?;
            }
        }
        Ok(())
    }

    fn resource(&mut self, message: &[u8], points: &mut Points) -> Result<(), Damaged> {
        let mut place = (String::new(), String::new());
        for field in Fields(message) {
            if let (1, Value::Bytes(resource)) = field? {
                let pairs = attributes(Fields(resource), 1, 0)?;
                place = (value_of(&pairs, "cloud.account.id"), value_of(&pairs, "cloud.region"));
            }
        }
        let resource = self.resource_number(place)?;
        for field in Fields(message) {
            let (2, Value::Bytes(scope)) = field? else { continue };
            for part in Fields(scope) {
                if let (2, Value::Bytes(metric)) = part? {
                    self.metric(metric, resource, points)?;
                }
            }
        }
        Ok(())
    }

    fn resource_number(&mut self, place: (String, String)) -> Result<u32, Damaged> {
        let known = self.resources.iter().rposition(|known| *known == place);
        let index = known.unwrap_or(self.resources.len());
        // An estate has dozens of accounts and regions; thousands in one file are unusual.
        if index >= MOST_RESOURCES {
            return Err(Damaged);
        }
        if known.is_none() {
            self.resources.push(place);
        }
        u32::try_from(index).map_err(|_| Damaged)
    }

    fn metric(
        &mut self,
        message: &[u8],
        resource: u32,
        points: &mut Points,
    ) -> Result<(), Damaged> {
        let mut names = Names { resource, metric: &[], unit: &[], attributes: &[] };
        let mut summary: &[u8] = &[];
        let mut summaries = 0;
        for field in Fields(message) {
            match field? {
                (1, Value::Bytes(text)) => names.metric = text,
                (3, Value::Bytes(text)) => names.unit = text,
                (11, Value::Bytes(found)) => {
                    summary = found;
                    summaries += 1;
                }
                _ => {}
            }
        }
        if summaries == 1 {
            return self.summary(summary, names, points);
        }
        for field in Fields(message) {
            if let (11, Value::Bytes(summary)) = field? {
                self.summary(summary, names, points)?;
            }
        }
        Ok(())
    }

    fn summary(
        &mut self,
        message: &[u8],
        names: Names<'_>,
        points: &mut Points,
    ) -> Result<(), Damaged> {
        for part in Fields(message) {
            if let (1, Value::Bytes(point)) = part? {
                self.point(point, names, points)?;
            }
        }
        Ok(())
    }

    fn point<'a>(
        &mut self,
        message: &'a [u8],
        mut names: Names<'a>,
        points: &mut Points,
    ) -> Result<(), Damaged> {
        let mut sample =
            Sample { time: f64::NAN, sum: 0.0, count: 0.0, min: f64::NAN, max: f64::NAN };
        let mut fields = Fields(message);
        let (mut first, mut end) = (0, 0);
        loop {
            let start = message.len() - fields.0.len();
            let Some(field) = fields.next() else { break };
            match field? {
                // Nanoseconds and counts are far below 2^53 times their precision; the other reader
                // rounds them in the same way.
                (2, Value::Eight(bits)) => sample.time = bits as f64,
                (4, Value::Eight(bits)) => sample.count = bits as f64,
                (5, Value::Eight(bits)) => sample.sum = f64::from_bits(bits),
                (6, Value::Bytes(quantile)) => add_quantile(quantile, &mut sample)?,
                (7, Value::Bytes(_)) => {
                    first = if end == 0 { start } else { first };
                    // Everything that writes messages writes the values of a field one after the other.
                    if end != 0 && start != end {
                        return Err(Damaged);
                    }
                    end = message.len() - fields.0.len();
                }
                _ => {}
            }
        }
        names.attributes = &message[first..end];
        let series = self.series(message, names)?;
        points.push(series, sample);
        Ok(())
    }

    /// Return the number of the series of a point.
    fn series(&mut self, point: &[u8], names: Names<'_>) -> Result<u32, Damaged> {
        // The series of a minute mostly come in the order of the minute before.
        let next = self.successors.next().filter(|&next| self.known[next].is(names));
        let series = match next {
            Some(next) => next as u32,
            None => self.searched(point, names)?,
        };
        self.successors.step(series as usize);
        Ok(series)
    }

    fn searched(&mut self, point: &[u8], names: Names<'_>) -> Result<u32, Damaged> {
        self.key.clear();
        self.key.extend_from_slice(&names.resource.to_le_bytes());
        for part in [names.metric, names.unit, names.attributes] {
            self.key.extend_from_slice(&part.len().to_le_bytes());
            self.key.extend_from_slice(part);
        }
        if let Some(&known) = self.numbers.get(&self.key) {
            return Ok(known);
        }
        let (account, region) = self.resources[names.resource as usize].clone();
        let (metric, unit) = (text_of(names.metric), text_of(names.unit));
        let dimensions = attributes(Fields(point), 7, 0)?;
        let series = u32::try_from(self.known.len()).map_err(|_| Damaged)?;
        let unit = Some(unit).filter(|unit| !unit.is_empty());
        let namespace = None;
        self.new_series.push(SeriesName { account, region, namespace, metric, unit, dimensions });
        self.numbers.insert(self.key.clone(), series);
        self.known.push(Known {
            resource: names.resource,
            metric: names.metric.to_vec(),
            unit: names.unit.to_vec(),
            attributes: names.attributes.to_vec(),
        });
        Ok(series)
    }
}

/// Quantile 0 is the minimum, 1 the maximum; a number that is not written is zero.
fn add_quantile(message: &[u8], sample: &mut Sample) -> Result<(), Damaged> {
    let (mut quantile, mut value) = (0.0, 0.0);
    for field in Fields(message) {
        match field? {
            (1, Value::Eight(bits)) => quantile = f64::from_bits(bits),
            (2, Value::Eight(bits)) => value = f64::from_bits(bits),
            _ => {}
        }
    }
    if quantile == 0.0 {
        sample.min = value;
    } else if quantile == 1.0 {
        sample.max = value;
    }
    Ok(())
}

/// Return the pairs in a field, with those of nested lists among them; of equal names the last counts.
fn attributes(
    message: Fields<'_>,
    number: u64,
    depth: usize,
) -> Result<Vec<(String, String)>, Damaged> {
    if depth > DEEPEST {
        return Err(Damaged);
    }
    let mut found = Vec::new();
    for field in message {
        let (field_number, value) = field?;
        if let (true, Value::Bytes(pair)) = (field_number == number, value) {
            for (name, text) in one_pair(pair, depth)? {
                set(&mut found, name, text);
            }
        }
    }
    Ok(found)
}

fn one_pair(pair: &[u8], depth: usize) -> Result<Vec<(String, String)>, Damaged> {
    let (mut name, mut value): (&[u8], &[u8]) = (&[], &[]);
    for field in Fields(pair) {
        match field? {
            (1, Value::Bytes(bytes)) => name = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    let (mut text, mut list) = (value, None);
    // A value that is no message is a text (OpenTelemetry 0.7): the other reader tells the two apart.
    for field in Fields(value) {
        match field? {
            (1, Value::Bytes(bytes)) => text = bytes,
            (6, Value::Bytes(bytes)) => list = Some(bytes),
            _ => {}
        }
    }
    match list {
        Some(list) => attributes(Fields(list), 1, depth + 1),
        None => Ok(vec![(text_of(name), text_of(text))]),
    }
}

fn set(found: &mut Vec<(String, String)>, name: String, text: String) {
    match found.iter_mut().find(|(known, _)| *known == name) {
        Some(pair) => pair.1 = text,
        None => found.push((name, text)),
    }
}

fn value_of(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone()).unwrap_or_default()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
