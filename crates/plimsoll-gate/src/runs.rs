//! Which requests of a file follow one another, so that they may be merged.
//!
//! Rule 1: a request continues a run if it begins where the run ends or ends where it begins, as a
//! block layer merges at the back and at the front.
//! Rule 2: a flush ends the runs of writes: what was reported as written cannot be merged any more.
//!
//! Two threads take requests from the kernel, so neighbours of one stream may arrive in the wrong
//! order, and several streams may read one file. Some runs are therefore remembered, the one that
//! was extended longest ago making room for a new one.

/// Runs remembered per direction: more than the streams that a reader ahead usually has.
const RUNS: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u64,
    end: u64,
    extended: u64,
}

/// Runs of reads and of writes of one file.
#[derive(Debug, Default)]
pub struct Runs {
    runs: [[Run; RUNS]; 2],
    requests: u64,
}

impl Runs {
    /// Whether a request continues a run; it becomes part of that run, or begins one.
    pub fn continues(&mut self, is_write: bool, offset: u64, bytes: u64) -> bool {
        self.requests += 1;
        let end = offset.saturating_add(bytes);
        let runs = &mut self.runs[usize::from(is_write)];
        let touching = |run: &&mut Run| {
            run.extended > 0 && (run.end == offset || run.start == end) && bytes > 0
        };
        if let Some(run) = runs.iter_mut().find(touching) {
            run.start = run.start.min(offset);
            run.end = run.end.max(end);
            run.extended = self.requests;
            return true;
        }
        if let Some(oldest) = runs.iter_mut().min_by_key(|run| run.extended) {
            *oldest = Run { start: offset, end, extended: self.requests };
        }
        false
    }

    /// What is written from now on begins anew.
    pub fn flush(&mut self) {
        self.runs[1] = Default::default();
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

        // 16 opens a run of its own, and 8 joins the first one; from there on both touch 24.
        assert_eq!(vec![false, false, true, true, true], continued);
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
