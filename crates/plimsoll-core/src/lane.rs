//! Numbers the law can be computed with: one `f64`, or a vector of them.
//!
//! The primitives of [`crate::bucket`] are generic over [`Lane`], so that one candidate and sixteen
//! candidates obey the same lines of code.

use core::ops::{Add, Div, Mul, Sub};

use pulp::Simd;

/// A number, or several side by side.
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The smaller of two, lane by lane; `other` where either is NaN.
    #[must_use]
    fn least(self, other: Self) -> Self;
    /// The larger of two, lane by lane; `other` where either is NaN.
    #[must_use]
    fn most(self, other: Self) -> Self;
    /// `number` in every lane. It needs a lane to be made from because only a value of a vector
    /// type proves that this processor has such vectors.
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

/// Most `f64` in a register of any instruction set: 512 bits.
pub const LANES_MAX: usize = 8;

/// As many `f64` as one vector register of the instruction set `S` holds.
#[derive(Clone, Copy)]
pub struct Lanes<S: Simd> {
    /// The instruction set.
    pub simd: S,
    /// The numbers.
    pub value: S::f64s,
}

impl<S: Simd> Lanes<S> {
    /// One number in every lane.
    #[inline(always)]
    pub fn all(simd: S, number: f64) -> Self {
        Self { simd, value: simd.splat_f64s(number) }
    }

    /// One number per lane.
    #[inline(always)]
    pub fn gather(simd: S, number: impl Fn(usize) -> f64) -> Self {
        let numbers: [f64; LANES_MAX] =
            core::array::from_fn(|lane| number(lane.min(S::F64_LANES - 1)));
        Self { simd, value: simd.partial_load_f64s(&numbers[..S::F64_LANES]) }
    }

    /// The numbers of all lanes; 0 beyond the width of the register.
    #[inline(always)]
    #[must_use]
    pub fn scatter(self) -> [f64; LANES_MAX] {
        let mut numbers = [0.0; LANES_MAX];
        self.simd.partial_store_f64s(&mut numbers[..S::F64_LANES], self.value);
        numbers
    }

    /// The smallest of all lanes.
    #[inline(always)]
    #[must_use]
    pub fn lowest(self) -> f64 {
        self.simd.reduce_min_f64s(self.value)
    }

    /// `self` where `a < b`, otherwise `other`, lane by lane.
    #[inline(always)]
    #[must_use]
    pub fn where_less(self, a: Self, b: Self, other: Self) -> Self {
        let mask = self.simd.less_than_f64s(a.value, b.value);
        Self { value: self.simd.select_f64s(mask, self.value, other.value), ..self }
    }
}

impl<S: Simd> Add for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { value: self.simd.add_f64s(self.value, other.value), ..self }
    }
}

impl<S: Simd> Sub for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { value: self.simd.sub_f64s(self.value, other.value), ..self }
    }
}

impl<S: Simd> Mul for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self { value: self.simd.mul_f64s(self.value, other.value), ..self }
    }
}

impl<S: Simd> Div for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self { value: self.simd.div_f64s(self.value, other.value), ..self }
    }
}

impl<S: Simd> Lane for Lanes<S> {
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        Self { value: self.simd.min_f64s(self.value, other.value), ..self }
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        Self { value: self.simd.max_f64s(self.value, other.value), ..self }
    }

    #[inline(always)]
    fn splat(self, number: f64) -> Self {
        Self::all(self.simd, number)
    }
}
