//! Find requests of a file that follow one another, so that they may be merged.
//!
//! Rule 1: a request continues a run if it starts where the run ends or ends where it starts, because a
//! block layer merges at the back and at the front.
//! Rule 2: a flush ends the runs of writes: data that was reported as written cannot be merged any more.
//!
//! Rule 3: if a run turns out to be the rest of another one, its start was counted in error, and the next
//! start is not counted. So as many operations are charged as if no requests had been reordered.
//!
//! Several threads take requests from the kernel, so neighbours of one stream may arrive in the wrong
//! order, and several streams may read one file. So several runs are remembered; a new one replaces the
//! run that was extended longest ago.

/// Runs remembered per direction: more streams than readahead usually has.
const RUNS: usize = 8;

/// Most starts that may be owed: reordered requests are in flight at the same time, and only few threads
/// have just taken a request.
const OWED_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u64,
    end: u64,
    extended: u64,
}

/// Runs of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    runs: [Run; RUNS],
    /// Starts that were counted in error, less those made up for.
    owed: u32,
}

/// Runs of reads and of writes of one file.
#[derive(Debug, Default)]
pub struct Runs {
    sides: [Side; 2],
    requests: u64,
}

impl Runs {
    /// Return whether a request continues a run; it becomes part of that run, or starts one.
    pub fn continues(&mut self, is_write: bool, offset: u64, bytes: u64) -> bool {
        self.requests += 1;
        let side = &mut self.sides[usize::from(is_write)];
        let mut whole =
            Run { start: offset, end: offset.saturating_add(bytes), extended: self.requests };
        let mut touched = 0;
        for run in &mut side.runs {
            if run.extended > 0 && bytes > 0 && (run.end == whole.start || run.start == whole.end) {
                whole.start = whole.start.min(run.start);
                whole.end = whole.end.max(run.end);
                *run = Run::default();
                touched += 1;
            }
        }
        if let Some(oldest) = side.runs.iter_mut().min_by_key(|run| run.extended) {
            *oldest = whole;
        }
        if touched > 0 {
            side.owed = (side.owed + touched - 1).min(OWED_MAX);
            return true;
        }
        let is_owed = side.owed > 0 && bytes > 0;
        side.owed -= u32::from(is_owed);
        is_owed
    }

    /// End all runs of writes.
    pub fn flush(&mut self) {
        self.sides[1] = Side::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream is one run, even where two of its requests change places.
    #[test]
    fn a_stream_goes_on_also_when_neighbours_swap() {
        let mut runs = Runs::default();

        let continued: Vec<bool> =
            [0, 16, 8, 24, 32].iter().map(|&at| runs.continues(false, at, 8)).collect();

        // 16 opens a run of its own, and 8 joins both.
        assert_eq!(vec![false, false, true, true, true], continued);
    }

    /// Every swap begins a run that is none, and the next swap makes up for it: over a long stream
    /// nearly as many operations are charged as without any.
    #[test]
    fn what_a_swap_charged_too_much_is_made_up_for() {
        let mut runs = Runs::default();
        let swapped = (0..100).flat_map(|pair| [2 * pair + 1, 2 * pair]);

        let begun = swapped.filter(|&at| !runs.continues(false, at * 8, 8)).count();

        assert!(begun <= 2, "{begun} beginnings");
        // Once: what is far away begins anew again.
        runs.continues(false, 1_000_000, 8);
        assert!(!runs.continues(false, 2_000_000, 8));
    }

    /// Random requests continue nothing, and reads do not continue writes.
    #[test]
    fn what_does_not_touch_begins_anew() {
        let mut runs = Runs::default();

        assert!(![0, 800, 160, 4096].iter().any(|&at| runs.continues(true, at, 8)));
        assert!(!runs.continues(false, 8, 8));
    }

    /// As many streams as there are runs go on side by side.
    #[test]
    fn some_streams_go_on_side_by_side() {
        let mut runs = Runs::default();
        let starts: Vec<u64> = (0..RUNS as u64).map(|stream| stream * 1_000_000).collect();

        assert!(!starts.iter().any(|&at| runs.continues(false, at, 8)));
        assert!(starts.iter().all(|&at| runs.continues(false, at + 8, 8)));
    }

    /// What was flushed has been written: the next write is an operation of its own.
    #[test]
    fn a_flush_ends_the_runs_of_writes_only() {
        let mut runs = Runs::default();
        runs.continues(true, 0, 8);
        runs.continues(false, 0, 8);

        runs.flush();

        assert!(!runs.continues(true, 8, 8));
        assert!(runs.continues(false, 8, 8));
    }
}
