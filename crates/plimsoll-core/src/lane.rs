//! Number types for the law: one `f64`, or a vector of them.
//!
//! The primitives of [`crate::bucket`] are generic over [`Lane`], so that one candidate and sixteen
//! candidates run the same code.

use core::ops::{Add, Div, Mul, Sub};

use pulp::Simd;

/// A number, or several in parallel.
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Return the smaller of two, lane by lane; `other` if either is NaN.
    #[must_use]
    fn least(self, other: Self) -> Self;
    /// Return the larger of two, lane by lane; `other` if either is NaN.
    #[must_use]
    fn most(self, other: Self) -> Self;
    /// Return `number` in every lane. It needs an existing lane, because only a value of a vector type
    /// proves that this processor has such vectors.
    #[must_use]
    fn splat(self, number: f64) -> Self;
}

impl Lane for f64 {
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    #[inline(always)]
    fn splat(self, number: f64) -> Self {
        number
    }
}

/// Vector registers that are processed together, so that no lane waits for another's division.
///
/// Four hide the latency of a division on the processors we measured. Eight do not fit into the register
/// file together with the other values of a step.
const REGISTERS: usize = 4;

/// Most `f64` in parallel, for any instruction set: four registers of 512 bits.
pub const LANES_MAX: usize = 8 * REGISTERS;

/// As many `f64` as a few vector registers of the instruction set `S` can hold.
///
/// Aligned to a cache line, so that no register is loaded from two lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Lanes<S: Simd> {
    simd: S,
    value: [S::f64s; REGISTERS],
}

impl<S: Simd> Lanes<S> {
    /// Number of lanes.
    pub const COUNT: usize = REGISTERS * S::F64_LANES;

    /// Return one number in every lane.
    #[inline(always)]
    pub fn all(simd: S, number: f64) -> Self {
        Self { simd, value: [simd.splat_f64s(number); REGISTERS] }
    }

    /// Return one number per lane.
    #[inline(always)]
    pub fn gather(simd: S, number: impl Fn(usize) -> f64) -> Self {
        let mut lanes = Self::all(simd, 0.0);
        for (register, value) in lanes.value.iter_mut().enumerate() {
            let mut numbers = [0.0; LANES_MAX];
            for (lane, place) in numbers[..S::F64_LANES].iter_mut().enumerate() {
                *place = number(register * S::F64_LANES + lane);
            }
            *value = simd.partial_load_f64s(&numbers[..S::F64_LANES]);
        }
        lanes
    }

    /// Return the number in one lane.
    #[inline(always)]
    #[must_use]
    pub fn at(self, lane: usize) -> f64 {
        let mut numbers = [0.0; LANES_MAX];
        let value = self.value[lane / S::F64_LANES];
        self.simd.partial_store_f64s(&mut numbers[..S::F64_LANES], value);
        numbers[lane % S::F64_LANES]
    }

    /// Return the smallest of all lanes.
    #[inline(always)]
    #[must_use]
    pub fn lowest(self) -> f64 {
        let least = |value: S::f64s| self.simd.reduce_min_f64s(value);
        self.value.into_iter().map(least).fold(f64::INFINITY, f64::min)
    }

    /// Return whether `self < other` in any lane.
    #[inline(always)]
    #[must_use]
    pub fn is_any_less(self, other: Self) -> bool {
        let simd = self.simd;
        let mut any = simd.less_than_f64s(self.value[0], other.value[0]);
        for r in 1..REGISTERS {
            any = simd.or_m64s(any, simd.less_than_f64s(self.value[r], other.value[r]));
        }
        simd.first_true_m64s(any) < S::F64_LANES
    }

    /// Return `self` where `a < b`, otherwise `other`, lane by lane.
    #[inline(always)]
    #[must_use]
    pub fn where_less(mut self, a: Self, b: Self, other: Self) -> Self {
        for r in 0..REGISTERS {
            let mask = self.simd.less_than_f64s(a.value[r], b.value[r]);
            self.value[r] = self.simd.select_f64s(mask, self.value[r], other.value[r]);
        }
        self
    }

    #[inline(always)]
    fn zip(mut self, other: Self, with: impl Fn(S, S::f64s, S::f64s) -> S::f64s) -> Self {
        for (mine, its) in self.value.iter_mut().zip(other.value) {
            *mine = with(self.simd, *mine, its);
        }
        self
    }
}

impl<S: Simd> Add for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.add_f64s(a, b),
        )
    }
}

impl<S: Simd> Sub for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.sub_f64s(a, b),
        )
    }
}

impl<S: Simd> Mul for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.mul_f64s(a, b),
        )
    }
}

impl<S: Simd> Div for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.div_f64s(a, b),
        )
    }
}

impl<S: Simd> Lane for Lanes<S> {
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.min_f64s(a, b),
        )
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        self.zip(
            other,
            #[inline(always)]
            |simd, a, b| simd.max_f64s(a, b),
        )
    }

    #[inline(always)]
    fn splat(self, number: f64) -> Self {
        Self::all(self.simd, number)
    }
}
