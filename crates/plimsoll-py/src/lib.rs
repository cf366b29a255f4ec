//! Python bindings of plimsoll-core.
//!
//! They check what would otherwise panic, release the GIL, and copy; they do no arithmetic. `kernel.py`
//! documents the arguments and checks that they make sense; `wire.py` does so for bytes of files.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1,
    PyUntypedArrayMethods,
};
use plimsoll_core::bucket::Bucket;
use plimsoll_core::candidates;
use plimsoll_core::chain::{self, Account, Phase, Stage};
use plimsoll_core::flow::Backlog;
use plimsoll_core::order::{Unordered, VALUES};
use plimsoll_core::replay::{Demand, Grant, Replay};
use plimsoll_core::stream::PieceReader;
use plimsoll_core::trials::{Candidate, STAGES_MAX, Trials};
use plimsoll_core::units::{BytesPerS, IoSize, OpsPerS};
use plimsoll_core::{gzip, order, stream};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// (baseline, burst, capacity, counts bytes, unit bytes, sequential ratio, stripes)
type StageTuple = (f64, f64, f64, bool, f64, f64, f64);
/// (stages, balances at the start)
type ChainTuple = (Vec<StageTuple>, Vec<f64>);
/// (operations per second, bytes per operation, step in seconds)
type DemandTuple<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64);
/// (first_s, every_s, stages)
type GrantTuple = (f64, f64, Vec<usize>);
/// (account, region, namespace, metric, unit, dimensions)
type SeriesTuple = (String, String, Option<String>, String, Option<String>, Vec<(String, String)>);
/// (first byte, byte after, points before)
type OddTuple = (usize, usize, usize);
type Columns<'py> = PyResult<Bound<'py, PyDict>>;

fn stage_of(tuple: StageTuple) -> Stage {
    let (baseline, burst, capacity, counts_bytes, unit_bytes, sequential_ratio, stripes) = tuple;
    let account =
        if counts_bytes { Account::Bytes } else { Account::Ops { unit_bytes, sequential_ratio } };
    Stage { bucket: Bucket { baseline, burst, capacity }, account, stripes }
}

fn chain_of(tuples: Vec<StageTuple>) -> Vec<Stage> {
    tuples.into_iter().map(stage_of).collect()
}

fn backlog_of(carry: bool) -> Backlog {
    if carry { Backlog::Carry } else { Backlog::Shed }
}

fn demand_of<'a>(demand: &'a DemandTuple<'_>) -> PyResult<Demand<'a>> {
    let (ops_per_s, bytes_per_op, step_s) = demand;
    must(ops_per_s.len() == bytes_per_op.len(), "one I/O size per step")?;
    let (ops_per_s, bytes_per_op) = (ops_per_s.as_slice()?, bytes_per_op.as_slice()?);
    Ok(Demand { ops_per_s, bytes_per_op, step_s: *step_s })
}

fn must(holds: bool, message: &'static str) -> PyResult<()> {
    if holds { Ok(()) } else { Err(PyValueError::new_err(message)) }
}

fn column<'py, T: Element>(py: Python<'py>, values: Vec<T>) -> Bound<'py, PyArray1<T>> {
    values.into_pyarray(py)
}

fn matrix<'py>(
    py: Python<'py>,
    rows: Vec<Vec<f64>>,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [rows.len(), columns];
    rows.concat().into_pyarray(py).reshape(shape)
}

/// Replay one chain; see `plimsoll.kernel.replay`.
#[pyfunction]
fn replay<'py>(
    py: Python<'py>,
    demand: DemandTuple<'py>,
    chain: ChainTuple,
    carry: bool,
    grants: Vec<GrantTuple>,
) -> Columns<'py> {
    let demand = demand_of(&demand)?;
    let (chain, start) = (chain_of(chain.0), chain.1);
    must(chain.len() == start.len(), "one balance per stage")?;
    let grants: Vec<Grant> = grants
        .into_iter()
        .map(|(first_s, every_s, stages)| Grant { first_s, every_s, stages })
        .collect();
    for grant in &grants {
        must(grant.stages.iter().all(|&stage| stage < chain.len()), "no such stage")?;
        must(grant.every_s > 0.0, "grants need time between them")?;
    }
    let steps = demand.ops_per_s.len();
    let done = py.detach(|| {
        plimsoll_core::replay::replay(demand, &chain, start, backlog_of(carry), &grants)
    });
    replay_columns(py, done, steps)
}

fn replay_columns(py: Python<'_>, done: Replay, steps: usize) -> Columns<'_> {
    let columns = PyDict::new(py);
    columns.set_item("served_ops", column(py, done.served_ops))?;
    columns.set_item("served_bytes", column(py, done.served_bytes))?;
    columns.set_item("backlog_ops", column(py, done.backlog_ops))?;
    columns.set_item("backlog_bytes", column(py, done.backlog_bytes))?;
    columns.set_item("shed_ops", column(py, done.shed_ops))?;
    columns.set_item("shed_bytes", column(py, done.shed_bytes))?;
    columns.set_item("throttled_ratio", column(py, done.throttled_ratio))?;
    columns.set_item("binding", column(py, done.binding))?;
    columns.set_item("at_burst", column(py, done.at_burst))?;
    columns.set_item("balance", matrix(py, done.balance, steps)?)?;
    Ok(columns)
}

/// Replay many chains; see `plimsoll.kernel.replay_candidates`.
#[pyfunction]
fn replay_candidates<'py>(
    py: Python<'py>,
    demand: DemandTuple<'py>,
    chains: Vec<ChainTuple>,
    carry: bool,
    allowed_steps: Option<u32>,
) -> Columns<'py> {
    let demand = demand_of(&demand)?;
    let trials: Vec<Candidate> = chains
        .into_iter()
        .map(|(chain, start)| Candidate { chain: chain_of(chain), start })
        .collect();
    for trial in &trials {
        must(trial.chain.len() <= STAGES_MAX, "too many stages")?;
        must(trial.chain.len() == trial.start.len(), "one balance per stage")?;
        must(counts_like(trial, &trials[0]), "every chain must count alike")?;
    }
    let done = py.detach(|| {
        candidates::replay_candidates(demand, &trials, backlog_of(carry), allowed_steps)
    });
    trial_columns(py, done, trials.len())
}

fn counts_like(a: &Candidate, b: &Candidate) -> bool {
    a.chain.len() == b.chain.len()
        && a.chain.iter().zip(&b.chain).all(|(a, b)| a.account == b.account)
}

fn trial_columns(py: Python<'_>, done: Trials, count: usize) -> Columns<'_> {
    let columns = PyDict::new(py);
    columns.set_item("throttled_steps", column(py, done.throttled_steps))?;
    columns.set_item("served_ops", column(py, done.served_ops))?;
    columns.set_item("served_bytes", column(py, done.served_bytes))?;
    columns.set_item("backlog_ops", column(py, done.backlog_ops))?;
    columns.set_item("backlog_bytes", column(py, done.backlog_bytes))?;
    columns.set_item("balance_min", matrix(py, done.balance_min, count)?)?;
    Ok(columns)
}

/// Return what a chain allows at each I/O size; see `plimsoll.kernel.ceiling_curve`.
#[pyfunction]
fn ceiling_curve<'py>(
    py: Python<'py>,
    chain: Vec<StageTuple>,
    io_size_bytes: PyReadonlyArray1<'py, f64>,
    burst: bool,
) -> Columns<'py> {
    let chain = chain_of(chain);
    let curve = chain::curve(&chain, io_size_bytes.as_slice()?, phase_of(burst));
    let columns = PyDict::new(py);
    columns.set_item("ops_per_s", column(py, curve.ops_per_s))?;
    columns.set_item("bytes_per_s", column(py, curve.bytes_per_s))?;
    columns.set_item("stage", column(py, curve.stage))?;
    columns.set_item("next_ops_per_s", column(py, curve.next_ops_per_s))?;
    columns.set_item("next_stage", column(py, curve.next_stage))?;
    Ok(columns)
}

fn phase_of(burst: bool) -> Phase {
    if burst { Phase::Burst } else { Phase::Baseline }
}

/// Return the operations per second that one stage allows; see `plimsoll.kernel.Stage.ceiling_ops_per_s`.
#[pyfunction]
fn ceiling_ops_per_s(stage: StageTuple, io_size_bytes: f64, burst: bool) -> f64 {
    stage_of(stage).ceiling(IoSize(io_size_bytes), phase_of(burst)).0
}

/// Return the credits one operation takes from each stripe; see `plimsoll.kernel.Stage.cost_per_op`.
#[pyfunction]
fn cost_per_op(stage: StageTuple, io_size_bytes: f64) -> f64 {
    stage_of(stage).cost_per_op(io_size_bytes)
}

/// Return the seconds to an empty bucket; see `plimsoll.kernel.Stage.time_to_empty_s`.
#[pyfunction]
fn time_to_empty_s(stage: StageTuple, balance: f64, rate_per_s: f64) -> f64 {
    stage_of(stage).bucket.time_to_empty_s(balance, rate_per_s)
}

/// Return the I/O size at the knee; see `plimsoll.kernel.knee_bytes`.
#[pyfunction]
fn knee_bytes(bytes_per_s: f64, ops_per_s: f64) -> f64 {
    chain::knee(BytesPerS(bytes_per_s), OpsPerS(ops_per_s)).0
}

/// Unpack a gzip file of one member; see `plimsoll.wire.unpacked`.
#[pyfunction]
fn unpacked<'py>(
    py: Python<'py>,
    packed: &Bound<'py, PyBytes>,
    most_bytes: usize,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let packed = packed.as_bytes();
    let Some(size) = gzip::named_size(packed).filter(|&size| size <= most_bytes) else {
        return Ok(None);
    };
    let mut is_whole = false;
    let content = PyBytes::new_with(py, size, |content| {
        is_whole = py.detach(|| gzip::unpack(packed, content));
        Ok(())
    })?;
    Ok(is_whole.then_some(content))
}

/// Read JSON lines of a metric stream; see `plimsoll.wire.stream_lines`.
#[pyfunction]
fn stream_lines<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
) -> PyResult<(Bound<'py, PyDict>, Vec<OddTuple>)> {
    let data = data.as_bytes();
    let (points, odd) = py.detach(|| stream::json::read(data));
    let odd = odd.into_iter().map(|run| (run.bytes.start, run.bytes.end, run.after_points));
    Ok((point_columns(py, points)?, odd.collect()))
}

/// Read messages of a metric stream; see `plimsoll.wire.stream_messages`.
#[pyfunction]
fn stream_messages<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let data = data.as_bytes();
    py.detach(|| stream::otel::read(data)).map(|points| point_columns(py, points)).transpose()
}

/// Reads packed files of metric streams; see `plimsoll.wire.StreamReader`.
#[pyclass]
#[derive(Default)]
struct StreamReader {
    // Boxed, because it holds vectors of 32 bytes, and Python aligns its objects to 16.
    lines: Box<stream::json::Reader>,
    messages: Box<stream::otel::Reader>,
}

#[pymethods]
impl StreamReader {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn lines<'py>(
        &mut self,
        py: Python<'py>,
        packed: &Bound<'py, PyBytes>,
        most_bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        read_packed(&mut *self.lines, py, packed, most_bytes)
    }

    fn messages<'py>(
        &mut self,
        py: Python<'py>,
        packed: &Bound<'py, PyBytes>,
        most_bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        read_packed(&mut *self.messages, py, packed, most_bytes)
    }
}

fn read_packed<'py>(
    reader: &mut (impl PieceReader + Send),
    py: Python<'py>,
    packed: &Bound<'py, PyBytes>,
    most_bytes: usize,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let packed = packed.as_bytes();
    let Some(size) = gzip::named_size(packed).filter(|&size| size <= most_bytes) else {
        return Ok(None);
    };
    let read = py.detach(|| {
        let mut points = stream::Points::default();
        let take = |piece: &[u8], is_end| reader.read_piece(piece, is_end, &mut points);
        if !gzip::unpack_in_pieces(packed, size, take) {
            // The series that were found are counted, and are handed over with those of the next file.
            return None;
        }
        points.series = reader.new_series();
        Some(points)
    });
    read.map(|points| point_columns(py, points)).transpose()
}

/// Unpack the first bytes of a gzip file; see `plimsoll.wire.unpacked_head`.
#[pyfunction]
fn unpacked_head<'py>(
    py: Python<'py>,
    packed: &Bound<'py, PyBytes>,
    most_bytes: usize,
) -> Option<(Bound<'py, PyBytes>, usize)> {
    let size = gzip::named_size(packed.as_bytes())?;
    Some((PyBytes::new(py, &gzip::head(packed.as_bytes(), most_bytes.min(size))), size))
}

/// Sort points by day, series and time; see `plimsoll.wire.by_series`.
#[pyfunction]
fn by_series<'py>(
    py: Python<'py>,
    series: PyReadonlyArray1<'py, i64>,
    rank: PyReadonlyArray1<'py, u32>,
    time_s: PyReadonlyArray1<'py, i64>,
    values: [PyReadonlyArray1<'py, f64>; VALUES],
) -> PyResult<Bound<'py, PyDict>> {
    let [sum, count, min, max] = &values;
    let points = Unordered {
        series: series.as_slice()?,
        rank: rank.as_slice()?,
        time_s: time_s.as_slice()?,
        values: [sum.as_slice()?, count.as_slice()?, min.as_slice()?, max.as_slice()?],
    };
    let found = py.detach(|| order::by_series(&points));
    let found = found.ok_or_else(|| PyValueError::new_err("columns of one length"))?;
    let columns = PyDict::new(py);
    columns.set_item("day", column(py, found.runs.iter().map(|run| run.day).collect()))?;
    columns.set_item("rank", column(py, found.runs.iter().map(|run| run.rank).collect()))?;
    let lengths = found.runs.iter().map(|run| run.length as i64).collect();
    columns.set_item("length", column(py, lengths))?;
    columns.set_item("time_s", column(py, found.time_s))?;
    for (name, values) in ["sum", "count", "min", "max"].into_iter().zip(found.values) {
        columns.set_item(name, column(py, values))?;
    }
    Ok(columns)
}

fn point_columns(py: Python<'_>, points: stream::Points) -> Columns<'_> {
    let columns = PyDict::new(py);
    let series: Vec<SeriesTuple> = points
        .series
        .into_iter()
        .map(|s| (s.account, s.region, s.namespace, s.metric, s.unit, s.dimensions))
        .collect();
    columns.set_item("series", series)?;
    columns.set_item("series_index", column(py, points.series_index))?;
    columns.set_item("time", column(py, points.time))?;
    columns.set_item("sum", column(py, points.sum))?;
    columns.set_item("count", column(py, points.count))?;
    columns.set_item("min", column(py, points.min))?;
    columns.set_item("max", column(py, points.max))?;
    Ok(columns)
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("STAGES_MAX", STAGES_MAX)?;
    m.add_function(wrap_pyfunction!(replay, m)?)?;
    m.add_function(wrap_pyfunction!(replay_candidates, m)?)?;
    m.add_function(wrap_pyfunction!(ceiling_curve, m)?)?;
    m.add_function(wrap_pyfunction!(ceiling_ops_per_s, m)?)?;
    m.add_function(wrap_pyfunction!(cost_per_op, m)?)?;
    m.add_function(wrap_pyfunction!(time_to_empty_s, m)?)?;
    m.add_function(wrap_pyfunction!(knee_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(unpacked, m)?)?;
    m.add_function(wrap_pyfunction!(unpacked_head, m)?)?;
    m.add_function(wrap_pyfunction!(by_series, m)?)?;
    m.add_class::<StreamReader>()?;
    m.add_function(wrap_pyfunction!(stream_lines, m)?)?;
    m.add_function(wrap_pyfunction!(stream_messages, m)?)?;
    Ok(())
}
