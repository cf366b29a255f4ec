//! Points of CloudWatch metric streams, read from bytes in memory.
//!
//! Rule 1: only what is certain is read. Whatever a line or a message has beyond the usual form is left to
//! the caller, whose reader knows every form: [`json`] says where such lines are, [`otel`] gives up.
//! Rule 2: names are not interpreted. A series is named by what the file says of it, once for all its points.
//!
//! Source: Amazon CloudWatch User Guide, "CloudWatch metric stream output in JSON format" and "Translations
//! with OpenTelemetry 1.0.0 format".

mod fields;
pub mod json;
mod number;
pub mod otel;

/// What a file says of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesName {
    /// AWS account; empty if not given.
    pub account: String,
    /// Region; empty if not given.
    pub region: String,
    /// Namespace; of OpenTelemetry it is a part of the metric's name instead.
    pub namespace: Option<String>,
    /// Name of the metric, as written.
    pub metric: String,
    /// Unit, as written.
    pub unit: Option<String>,
    /// Dimensions (JSON) or attributes (OpenTelemetry), each name once.
    pub dimensions: Vec<(String, String)>,
}

/// Points as columns of one length, in the order of the file. What is not given is NaN.
#[derive(Debug, Default)]
pub struct Points {
    /// The series, each named once.
    pub series: Vec<SeriesName>,
    /// Index of the series of each point.
    pub series_index: Vec<u32>,
    /// Start of the step as written: seconds, milliseconds or nanoseconds since the epoch.
    pub time: Vec<f64>,
    /// Sum of the samples.
    pub sum: Vec<f64>,
    /// Number of samples.
    pub count: Vec<f64>,
    /// Smallest sample.
    pub min: Vec<f64>,
    /// Largest sample.
    pub max: Vec<f64>,
}

/// The numbers of one point.
#[derive(Clone, Copy, Debug)]
struct Sample {
    time: f64,
    sum: f64,
    count: f64,
    min: f64,
    max: f64,
}

impl Points {
    fn push(&mut self, series: u32, sample: Sample) {
        self.series_index.push(series);
        self.time.push(sample.time);
        self.sum.push(sample.sum);
        self.count.push(sample.count);
        self.min.push(sample.min);
        self.max.push(sample.max);
    }
}

/// Reads files piece by piece, and remembers the series of the files before.
pub trait PieceReader {
    /// Add the points of a piece of a file, and return the bytes that are used up.
    ///
    /// The last line or message may go on in the next piece, unless `is_end`. None if one is damaged or unusual.
    fn read_piece(&mut self, data: &[u8], is_end: bool, points: &mut Points) -> Option<usize>;

    /// Return the series that were found since the last time; each follows the ones before in number.
    fn new_series(&mut self) -> Vec<SeriesName>;
}

/// What came after each series the last time: a guess that the reader checks.
#[derive(Debug, Default)]
struct Successors {
    after: Vec<usize>,
    last: Option<usize>,
}

impl Successors {
    /// Return what is expected next.
    fn next(&self) -> Option<usize> {
        self.after.get(self.last?).copied().filter(|&next| next != usize::MAX)
    }

    /// Take note of what came.
    fn step(&mut self, came: usize) {
        if came >= self.after.len() {
            self.after.resize(came + 1, usize::MAX);
        }
        if let Some(last) = self.last {
            self.after[last] = came;
        }
        self.last = Some(came);
    }
}
