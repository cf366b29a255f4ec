//! One-pass statistics over blocks of samples.
//!
//! Rule 1: one look at every sample; a missing one (NaN) is counted out, never read as zero.
//! Rule 2: the same samples give the same statistics on every processor, to the last bit.
//!
//! A block is read in rows of [`WIDTH`] samples. Column by column the rows are compared, added and
//! squared, which the compiler turns into the widest vector instructions there are; at the end the
//! columns are folded together, pair by pair. The order of the additions is therefore fixed by
//! `WIDTH` and not by the processor. Sums are double precision also for single-precision samples:
//! the spread of a plateau is a small difference of two large sums.

use pulp::{Arch, Simd, WithSimd};

/// Samples in a row. Sixteen singles fill the widest register; a shorter row would need more folds
/// per sample, a longer one would leave more of a short block to the padded last row.
const WIDTH: usize = 16;

/// Statistics of every block, one entry each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Samples that are not NaN.
    pub count: Vec<u32>,
    /// Smallest of them; NaN without any.
    pub min: Vec<f64>,
    /// Largest of them; NaN without any.
    pub max: Vec<f64>,
    /// Their sum.
    pub sum: Vec<f64>,
    /// The sum of their squares.
    pub sum_of_squares: Vec<f64>,
}

/// A number that samples are stored as.
pub trait Sample: Copy + PartialOrd + Into<f64> + Send + Sync {
    /// Not a number.
    const NAN: Self;
    /// Nothing.
    const ZERO: Self;
    /// More than any sample.
    const HIGHEST: Self;
    /// Less than any sample.
    const LOWEST: Self;
}

impl Sample for f32 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const HIGHEST: Self = Self::INFINITY;
    const LOWEST: Self = Self::NEG_INFINITY;
}

impl Sample for f64 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const HIGHEST: Self = Self::INFINITY;
    const LOWEST: Self = Self::NEG_INFINITY;
}

/// Statistics over blocks of `length` samples; the last block may be shorter.
///
/// # Panics
/// If `length` is 0, or above `u32::MAX`.
#[must_use]
pub fn block_statistics<T: Sample>(samples: &[T], length: usize) -> Blocks {
    assert!(length > 0 && u32::try_from(length).is_ok(), "a block holds 1 to 2³² − 1 samples");
    Arch::new().dispatch(Job { samples, length })
}

struct Job<'a, T> {
    samples: &'a [T],
    length: usize,
}

impl<T: Sample> WithSimd for Job<'_, T> {
    type Output = Blocks;

    /// Everything below is inlined here and compiled once per instruction set.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Blocks {
        let mut blocks = Blocks::of(self.samples.len().div_ceil(self.length));
        let places = blocks.count.iter_mut().zip(&mut blocks.min).zip(&mut blocks.max);
        let places = places.zip(&mut blocks.sum).zip(&mut blocks.sum_of_squares);
        for (block, place) in self.samples.chunks(self.length).zip(places) {
            let ((((count, min), max), sum), sum_of_squares) = place;
            let columns = Columns::of(block);
            *count = fold(columns.count, |a, b| a + b);
            let known = |number: T| if *count > 0 { number.into() } else { f64::NAN };
            *min = known(fold(columns.min, lesser));
            *max = known(fold(columns.max, greater));
            *sum = fold(columns.sum, |a, b| a + b);
            *sum_of_squares = fold(columns.squares, |a, b| a + b);
        }
        blocks
    }
}

impl Blocks {
    fn of(n: usize) -> Self {
        Self {
            count: vec![0; n],
            min: vec![0.0; n],
            max: vec![0.0; n],
            sum: vec![0.0; n],
            sum_of_squares: vec![0.0; n],
        }
    }
}

struct Columns<T> {
    count: [u32; WIDTH],
    min: [T; WIDTH],
    max: [T; WIDTH],
    sum: [f64; WIDTH],
    squares: [f64; WIDTH],
}

impl<T: Sample> Columns<T> {
    #[inline(always)]
    fn of(block: &[T]) -> Self {
        let mut columns = Self {
            count: [0; WIDTH],
            min: [T::HIGHEST; WIDTH],
            max: [T::LOWEST; WIDTH],
            sum: [0.0; WIDTH],
            squares: [0.0; WIDTH],
        };
        let (rows, rest) = block.as_chunks::<WIDTH>();
        for row in rows {
            columns.add(row);
        }
        if !rest.is_empty() {
            columns.add(&last_row(block, rest));
        }
        columns
    }

    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only NaN differs from itself, and this is one comparison")]
    fn add(&mut self, row: &[T; WIDTH]) {
        for (i, &sample) in row.iter().enumerate() {
            let is_known = sample == sample;
            let known: f64 = if is_known { sample } else { T::ZERO }.into();
            self.count[i] += u32::from(is_known);
            self.min[i] = lesser(sample, self.min[i]);
            self.max[i] = greater(sample, self.max[i]);
            self.sum[i] += known;
            self.squares[i] += known * known;
        }
    }
}

/// The last, incomplete row of a block, filled up with NaN.
///
/// Where the block is long enough a whole row is read, and what was read before is blanked out:
/// copying a handful of samples takes longer than looking at all of them.
#[inline(always)]
fn last_row<T: Sample>(block: &[T], rest: &[T]) -> [T; WIDTH] {
    let mut row = [T::NAN; WIDTH];
    if let Some(whole) = block.last_chunk::<WIDTH>() {
        for (i, sample) in row.iter_mut().enumerate() {
            *sample = if i < WIDTH - rest.len() { T::NAN } else { whole[i] };
        }
    } else {
        row[..rest.len()].copy_from_slice(rest);
    }
    row
}

/// The smaller; `other` where the sample is NaN.
#[inline(always)]
fn lesser<T: Sample>(sample: T, other: T) -> T {
    if sample < other { sample } else { other }
}

/// The larger; `other` where the sample is NaN.
#[inline(always)]
fn greater<T: Sample>(sample: T, other: T) -> T {
    if sample > other { sample } else { other }
}

/// Fold the columns pair by pair: upper half onto lower half until one is left.
#[inline(always)]
fn fold<V: Copy>(mut columns: [V; WIDTH], with: impl Fn(V, V) -> V) -> V {
    let mut half = WIDTH / 2;
    while half > 0 {
        for i in 0..half {
            columns[i] = with(columns[i], columns[i + half]);
        }
        half /= 2;
    }
    columns[0]
}
