//! One-pass statistics over blocks of samples.
//!
//! Rule 1: one look at every sample; a missing one (NaN) is counted out, never read as zero.
//!
//! A block is read in rows of [`WIDTH`] samples. Column by column the rows are added, compared and
//! squared, which the compiler turns into vector instructions; the columns are folded together at
//! the end, pair by pair. A last, shorter row is padded with NaN, so that it takes the same path.
//! Single-precision sums are taken over at most [`ROWS_IN_SINGLE`] rows and added up in double.

use pulp::Arch;

/// Samples in a row: the columns that are worked on side by side.
const WIDTH: usize = 32;

/// Rows whose sums are kept in single precision, before they are added to a double.
const ROWS_IN_SINGLE: usize = 64;

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
    /// `self + other`
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self²`
    #[must_use]
    fn squared(self) -> Self;
}

macro_rules! sample {
    ($float:ty) => {
        impl Sample for $float {
            const NAN: Self = <$float>::NAN;
            const ZERO: Self = 0.0;
            const HIGHEST: Self = <$float>::INFINITY;
            const LOWEST: Self = <$float>::NEG_INFINITY;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn squared(self) -> Self {
                self * self
            }
        }
    };
}

sample!(f32);
sample!(f64);

/// Statistics over blocks of `length` samples; the last block may be shorter.
///
/// # Panics
/// If `length` is 0.
#[must_use]
pub fn block_statistics<T: Sample>(samples: &[T], length: usize) -> Blocks {
    assert!(length > 0, "a block holds at least one sample");
    let blocks = samples.len().div_ceil(length);
    let mut out = Blocks {
        count: Vec::with_capacity(blocks),
        min: Vec::with_capacity(blocks),
        max: Vec::with_capacity(blocks),
        sum: Vec::with_capacity(blocks),
        sum_of_squares: Vec::with_capacity(blocks),
    };
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for block in samples.chunks(length) {
                out.push(block);
            }
        },
    );
    out
}

impl Blocks {
    #[inline(always)]
    fn push<T: Sample>(&mut self, block: &[T]) {
        let mut total = Total { count: 0, min: T::HIGHEST, max: T::LOWEST, sum: 0.0, squares: 0.0 };
        for piece in block.chunks(WIDTH * ROWS_IN_SINGLE) {
            total.add(piece);
        }
        let known = |number: T| if total.count > 0 { number.into() } else { f64::NAN };
        self.count.push(total.count);
        self.min.push(known(total.min));
        self.max.push(known(total.max));
        self.sum.push(total.sum);
        self.sum_of_squares.push(total.squares);
    }
}

struct Total<T> {
    count: u32,
    min: T,
    max: T,
    sum: f64,
    squares: f64,
}

impl<T: Sample> Total<T> {
    #[inline(always)]
    fn add(&mut self, piece: &[T]) {
        let mut columns = Columns::new();
        let (rows, rest) = piece.as_chunks::<WIDTH>();
        for row in rows {
            columns.add(row);
        }
        if !rest.is_empty() {
            let mut row = [T::NAN; WIDTH];
            row[..rest.len()].copy_from_slice(rest);
            columns.add(&row);
        }
        self.count += fold(columns.count, |a, b| a + b);
        self.min = lesser(fold(columns.min, lesser), self.min);
        self.max = greater(fold(columns.max, greater), self.max);
        self.sum += fold(columns.sum, T::plus).into();
        self.squares += fold(columns.squares, T::plus).into();
    }
}

struct Columns<T> {
    count: [u32; WIDTH],
    min: [T; WIDTH],
    max: [T; WIDTH],
    sum: [T; WIDTH],
    squares: [T; WIDTH],
}

impl<T: Sample> Columns<T> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            count: [0; WIDTH],
            min: [T::HIGHEST; WIDTH],
            max: [T::LOWEST; WIDTH],
            sum: [T::ZERO; WIDTH],
            squares: [T::ZERO; WIDTH],
        }
    }

    #[inline(always)]
    #[allow(
        clippy::eq_op,
        reason = "only NaN differs from itself, and this compiles to one compare"
    )]
    fn add(&mut self, row: &[T; WIDTH]) {
        for (i, &sample) in row.iter().enumerate() {
            let is_known = sample == sample;
            let known = if is_known { sample } else { T::ZERO };
            self.count[i] += u32::from(is_known);
            self.min[i] = lesser(sample, self.min[i]);
            self.max[i] = greater(sample, self.max[i]);
            self.sum[i] = self.sum[i].plus(known);
            self.squares[i] = self.squares[i].plus(known.squared());
        }
    }
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
