//! Python bindings of plimsoll-core.
//!
//! They check what would otherwise panic, release the GIL, and copy; they do no arithmetic. `kernel.py`
//! documents the arguments and checks that they make sense.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1,
    PyUntypedArrayMethods,
};
use plimsoll_core::bucket::Bucket;
use plimsoll_core::candidates;
use plimsoll_core::chain::{self, Account, Phase, Stage};
use plimsoll_core::flow::Backlog;
use plimsoll_core::replay::{Demand, Grant, Replay};
use plimsoll_core::trials::{Candidate, STAGES_MAX, Trials};
use plimsoll_core::units::{BytesPerS, IoSize, OpsPerS};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// (baseline, burst, capacity, counts bytes, unit bytes, sequential ratio, stripes)
type StageTuple = (f64, f64, f64, bool, f64, f64, f64);
/// (stages, balances at the start)
type ChainTuple = (Vec<StageTuple>, Vec<f64>);
/// (operations per second, bytes per operation, step in seconds)
type DemandTuple<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64);
/// (first_s, every_s, stages)
type GrantTuple = (f64, f64, Vec<usize>);
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
    Ok(())
}
