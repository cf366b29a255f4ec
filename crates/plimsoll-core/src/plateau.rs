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

use core::ops::Add;

use pulp::{Arch, Simd, WithSimd};

/// Samples in a row. Sixteen singles fill the widest register; a shorter row would need more folds
/// per sample, a longer one would leave more of a short block to the padded last row.
const WIDTH: usize = 16;

/// Statistics of every block, one entry each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Samples that are not NaN.
    pub count: Vec<u32>,
    /// Row after row: smallest, largest, sum, sum of squares. One allocation, because memory that
    /// is fresh from the system costs more than the arithmetic.
    pub rows: Vec<f64>,
}

impl Blocks {
    /// Rows of [`Blocks::rows`].
    pub const ROWS: usize = 4;

    /// Smallest sample of each block; NaN without any.
    #[must_use]
    pub fn min(&self) -> &[f64] {
        self.row(0)
    }

    /// Largest sample of each block; NaN without any.
    #[must_use]
    pub fn max(&self) -> &[f64] {
        self.row(1)
    }

    /// Sum of each block; 0 without any sample.
    #[must_use]
    pub fn sum(&self) -> &[f64] {
        self.row(2)
    }

    /// Sum of the squares of each block; 0 without any sample.
    #[must_use]
    pub fn sum_of_squares(&self) -> &[f64] {
        self.row(3)
    }

    fn row(&self, index: usize) -> &[f64] {
        let n = self.count.len();
        &self.rows[index * n..(index + 1) * n]
    }
}

/// A number that samples are stored as.
pub trait Sample:
    Copy + PartialOrd + Add<Output = Self> + Into<f64> + Send + Sync + 'static
{
    /// Not a number.
    const NAN: Self;
    /// Nothing.
    const ZERO: Self;
    /// More than any sample.
    const HIGHEST: Self;
    /// Less than any sample.
    const LOWEST: Self;
    /// A row of NaN, then a row of nothing.
    const NAN_THEN_ZERO: &'static [Self; 2 * WIDTH];
}

impl Sample for f32 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const HIGHEST: Self = Self::INFINITY;
    const LOWEST: Self = Self::NEG_INFINITY;
    const NAN_THEN_ZERO: &'static [Self; 2 * WIDTH] = &{
        let mut both = [0.0; 2 * WIDTH];
        let mut i = 0;
        while i < WIDTH {
            both[i] = Self::NAN;
            i += 1;
        }
        both
    };
}

impl Sample for f64 {
    const NAN: Self = Self::NAN;
    const ZERO: Self = 0.0;
    const HIGHEST: Self = Self::INFINITY;
    const LOWEST: Self = Self::NEG_INFINITY;
    const NAN_THEN_ZERO: &'static [Self; 2 * WIDTH] = &{
        let mut both = [0.0; 2 * WIDTH];
        let mut i = 0;
        while i < WIDTH {
            both[i] = Self::NAN;
            i += 1;
        }
        both
    };
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
    fn with_simd<S: Simd>(self, simd: S) -> Blocks {
        let n = self.samples.len().div_ceil(self.length);
        let mut blocks = Blocks { count: vec![0; n], rows: vec![0.0; Blocks::ROWS * n] };
        let (min, rows) = blocks.rows.split_at_mut(n);
        let (max, rows) = rows.split_at_mut(n);
        let (sum, squares) = rows.split_at_mut(n);
        let places = blocks.count.iter_mut().zip(min).zip(max).zip(sum).zip(squares);
        for (block, ((((count, min), max), sum), squares)) in
            self.samples.chunks(self.length).zip(places)
        {
            let columns = Columns::of(block);
            *count = fold(columns.count, |a, b| a + b);
            let known = |number: T| if *count > 0 { number.into() } else { f64::NAN };
            *min = known(fold(columns.min, lesser));
            *max = known(fold(columns.max, greater));
            *sum = fold_sum(simd, &columns.sum);
            *squares = fold_sum(simd, &columns.squares);
        }
        blocks
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
/// Where the block is long enough a whole row is read, and what was read before is blanked out by
/// adding NaN to it: copying a handful of samples takes longer than looking at all of them.
#[inline(always)]
fn last_row<T: Sample>(block: &[T], rest: &[T]) -> [T; WIDTH] {
    let mut row = [T::NAN; WIDTH];
    if let Some(whole) = block.last_chunk::<WIDTH>() {
        let blank = &T::NAN_THEN_ZERO[rest.len()..rest.len() + WIDTH];
        for ((place, &sample), &blank) in row.iter_mut().zip(whole).zip(blank) {
            *place = sample + blank;
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

/// [`fold`] by addition, register by register: the same additions, which the compiler would
/// otherwise do one by one.
#[inline(always)]
fn fold_sum<S: Simd>(simd: S, columns: &[f64; WIDTH]) -> f64 {
    match *S::as_simd_f64s(columns).0 {
        [a, b] => simd.reduce_sum_f64s(simd.add_f64s(a, b)),
        [a, b, c, d] => {
            let (even, odd) = (simd.add_f64s(a, c), simd.add_f64s(b, d));
            simd.reduce_sum_f64s(simd.add_f64s(even, odd))
        }
        _ => fold(*columns, |a, b| a + b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule 2: the widest instructions of this processor and none at all give the same bits.
    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let samples: Vec<f32> = (0..5_000).map(|i| (i as f32).sin() * 1e6).collect();
        for length in [1, 15, 16, 17, 64, 72, 999] {
            let job = || Job { samples: &samples, length };
            let plain = Simd::vectorize(pulp::Scalar::new(), job());
            assert_eq!(plain, Arch::new().dispatch(job()), "blocks of {length}");
            #[cfg(target_arch = "x86_64")]
            if let Some(avx2) = pulp::x86::V3::try_new() {
                assert_eq!(plain, Simd::vectorize(avx2, job()), "blocks of {length}");
            }
        }
    }
}
