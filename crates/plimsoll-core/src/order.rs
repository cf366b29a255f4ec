//! Points by day, series and time, each once.
//!
//! Rule 1: of several points with the same series and time the last one counts.
//! Rule 2: the number of a series is small, and points come nearly in the order of time. So they are counted and
//! put in their places, and compared only where they are not in order then.

use std::collections::BTreeMap;

/// Values of a point beside its time.
pub const VALUES: usize = 4;

/// Points as columns of one length.
#[derive(Clone, Copy, Debug)]
pub struct Unordered<'a> {
    /// Series of each point, as an index of `rank`.
    pub series: &'a [i64],
    /// Place of each series in the order of series; series of the same place are the same.
    pub rank: &'a [u32],
    /// Start of the step, seconds.
    pub time_s: &'a [i64],
    /// Sum, count, minimum, maximum.
    pub values: [&'a [f64]; VALUES],
}

/// The points of one series and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Days since the epoch.
    pub day: i64,
    /// Of the series.
    pub rank: u32,
    /// Number of points, > 0.
    pub length: usize,
}

/// Sorted points.
#[derive(Debug, Default)]
pub struct Ordered {
    /// One after the other, by day and rank.
    pub runs: Vec<Run>,
    /// Start of the step, seconds.
    pub time_s: Vec<i64>,
    /// Sum, count, minimum, maximum.
    pub values: [Vec<f64>; VALUES],
}

const DAY_S: i64 = 86_400;
/// Places for each point that there may be at most, so that memory is bounded whatever the days are.
const PLACES_A_POINT: usize = 4;
/// Places that do not matter, however few the points.
const PLACES_FREELY: usize = 1 << 20;

/// Sort points; None if the columns do not fit together.
#[must_use]
pub fn by_series(points: &Unordered<'_>) -> Option<Ordered> {
    let length = points.time_s.len();
    let is_even = points.series.len() == length && points.values.iter().all(|v| v.len() == length);
    let is_known = |&one: &i64| usize::try_from(one).is_ok_and(|one| one < points.rank.len());
    if !is_even || !points.series.iter().all(is_known) {
        return None;
    }
    let ranks = points.rank.iter().max().map_or(0, |&most| most as usize + 1);
    let days = days(points.time_s);
    let places = days.len().checked_mul(ranks);
    let mut found = match places {
        Some(places) if places <= PLACES_FREELY.max(PLACES_A_POINT * length) => {
            counted(points, &days, ranks, places)
        }
        _ => compared(points),
    };
    found.keep_last();
    Some(found)
}

/// Return the days that occur, each with its place in their order.
fn days(time_s: &[i64]) -> BTreeMap<i64, usize> {
    let mut found = BTreeMap::new();
    let mut last = None;
    for time_s in time_s {
        let day = time_s.div_euclid(DAY_S);
        if last != Some(day) {
            found.insert(day, 0);
            last = Some(day);
        }
    }
    for (index, place) in found.values_mut().enumerate() {
        *place = index;
    }
    found
}

/// Put points in their places; those of a series stay in the order in which they came.
fn counted(
    points: &Unordered<'_>,
    days: &BTreeMap<i64, usize>,
    ranks: usize,
    places: usize,
) -> Ordered {
    let mut ends = vec![0_usize; places];
    let mut place = Vec::with_capacity(points.time_s.len());
    let (mut day_start, mut first) = (i64::MIN, 0);
    for (&series, &time_s) in points.series.iter().zip(points.time_s) {
        // The day before this one ended, or it is the first.
        if day_start == i64::MIN || !(0..DAY_S).contains(&(time_s - day_start)) {
            let day = time_s.div_euclid(DAY_S);
            (day_start, first) = (day * DAY_S, days[&day] * ranks);
        }
        let at = first + points.rank[series as usize] as usize;
        ends[at] += 1;
        place.push(at);
    }
    let mut runs = Vec::new();
    let mut start = 0;
    for (&day, &index) in days {
        for rank in 0..ranks {
            let count = &mut ends[index * ranks + rank];
            let length = std::mem::replace(count, start);
            start += length;
            if length > 0 {
                runs.push(Run { day, rank: rank as u32, length });
            }
        }
    }
    let mut found = Ordered::of_length(runs, start);
    let [sum, count, min, max] = points.values;
    let [sums, counts, mins, maxs] = &mut found.values;
    for (index, &at) in place.iter().enumerate() {
        let to = ends[at];
        ends[at] += 1;
        found.time_s[to] = points.time_s[index];
        sums[to] = sum[index];
        counts[to] = count[index];
        mins[to] = min[index];
        maxs[to] = max[index];
    }
    found
}

/// Sort points by comparing them, where few points lie in many days.
fn compared(points: &Unordered<'_>) -> Ordered {
    let key = |index: &usize| {
        let rank = points.rank[points.series[*index] as usize];
        (points.time_s[*index].div_euclid(DAY_S), rank)
    };
    let mut order: Vec<usize> = (0..points.time_s.len()).collect();
    order.sort_by_key(key);
    let mut runs: Vec<Run> = Vec::new();
    for index in &order {
        let (day, rank) = key(index);
        match runs.last_mut() {
            Some(run) if (run.day, run.rank) == (day, rank) => run.length += 1,
            _ => runs.push(Run { day, rank, length: 1 }),
        }
    }
    Ordered {
        runs,
        time_s: order.iter().map(|&index| points.time_s[index]).collect(),
        values: points.values.map(|values| order.iter().map(|&index| values[index]).collect()),
    }
}

impl Ordered {
    fn of_length(runs: Vec<Run>, length: usize) -> Self {
        Self { runs, time_s: vec![0; length], values: std::array::from_fn(|_| vec![0.0; length]) }
    }

    /// Sort each run by time, and keep the last of the points that have the same time.
    fn keep_last(&mut self) {
        let (mut start, mut kept) = (0, 0);
        let mut runs = std::mem::take(&mut self.runs);
        for run in &mut runs {
            let end = start + run.length;
            let is_in_order = self.time_s[start..end].is_sorted_by(|before, after| before < after);
            if is_in_order && kept == start {
                kept = end;
            } else {
                run.length = self.move_run(start, end, kept);
                kept += run.length;
            }
            start = end;
        }
        self.runs = runs;
        self.time_s.truncate(kept);
        for values in &mut self.values {
            values.truncate(kept);
        }
    }

    /// Write the points of `start..end` that count from `to` on, and return their number.
    fn move_run(&mut self, start: usize, end: usize, to: usize) -> usize {
        let time_s = &self.time_s;
        let mut order: Vec<usize> = (start..end).collect();
        order.sort_by_key(|&index| time_s[index]);
        let is_last =
            |at: usize| at + 1 == order.len() || time_s[order[at]] != time_s[order[at + 1]];
        let order: Vec<usize> =
            (0..order.len()).filter(|&at| is_last(at)).map(|at| order[at]).collect();
        move_to(&mut self.time_s, &order, to);
        for values in &mut self.values {
            move_to(values, &order, to);
        }
        order.len()
    }
}

fn move_to<T: Copy>(column: &mut [T], order: &[usize], to: usize) {
    let moved: Vec<T> = order.iter().map(|&index| column[index]).collect();
    column[to..to + moved.len()].copy_from_slice(&moved);
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, Ordered, Unordered, by_series, compared, counted, days};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const RANK: [u32; 4] = [2, 0, 1, 0];

    fn with_columns<T>(rows: &[(i64, i64)], work: impl FnOnce(&Unordered<'_>) -> T) -> T {
        let (series, time_s): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
        let sum: Vec<f64> = (0..rows.len()).map(|index| index as f64).collect();
        let rest = vec![1.0; rows.len()];
        let values = [&sum[..], &rest, &rest, &rest];
        work(&Unordered { series: &series, rank: &RANK, time_s: &time_s, values })
    }

    fn rows_of(found: &Ordered) -> Vec<((i64, u32, i64), f64)> {
        let mut at = 0;
        let mut rows = Vec::new();
        for run in &found.runs {
            for index in at..at + run.length {
                rows.push(((run.day, run.rank, found.time_s[index]), found.values[0][index]));
            }
            at += run.length;
        }
        rows
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        assert!(with_columns(&[(4, 0)], by_series).is_none());
        assert!(with_columns(&[(-1, 0)], by_series).is_none());
        assert!(with_columns(&[], by_series).is_some_and(|found| found.runs.is_empty()));
    }

    proptest! {
        #[test]
        fn each_point_is_there_once_in_order(
            rows in prop::collection::vec((0..4_i64, (-3..3_i64, -2..2_i64)), 0..60),
        ) {
            let rows: Vec<(i64, i64)> =
                rows.into_iter().map(|(series, (day, s))| (series, day * DAY_S + s)).collect();
            let expected: BTreeMap<(i64, u32, i64), f64> = rows
                .iter()
                .enumerate()
                .map(|(index, &(series, time_s))| {
                    ((time_s.div_euclid(DAY_S), RANK[series as usize], time_s), index as f64)
                })
                .collect();
            let expected: Vec<_> = expected.into_iter().collect();
            with_columns(&rows, |points| {
                let days = days(points.time_s);
                let places = days.len() * 3;
                let mut found = [counted(points, &days, 3, places), compared(points)];
                for found in &mut found {
                    found.keep_last();
                    prop_assert_eq!(&rows_of(found), &expected);
                    prop_assert!(found.values.iter().all(|v| v.len() == found.time_s.len()));
                    prop_assert_eq!(found.time_s.len(), expected.len());
                }
                Ok(())
            })?;
        }
    }
}
