"""The same reports on every processor: the golden tests once more, on what this one can do least."""

import os
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from alike import is_alike
from contract.tree import ROOT
from golden.together import script
from programs import ran

# numpy and its linear algebra choose their loops by what the processor can do. These are the plainest.
PLAINEST_BLAS = {"x86_64": "Prescott", "aarch64": "ARMV8"}
FOLDER = Path(__file__).parent


def optional_features() -> list[str]:
    """What numpy uses here and can do without."""
    from numpy._core import _multiarray_umath as core

    return [f for f in core.__cpu_dispatch__ if core.__cpu_features__[f]]


def plain_environment() -> dict[str, str]:
    blas = PLAINEST_BLAS.get(platform.machine())
    already_off = os.environ.get("NPY_DISABLE_CPU_FEATURES", "")
    return (
        dict(os.environ)
        | {"NPY_DISABLE_CPU_FEATURES": " ".join([*optional_features(), *already_off.split()])}
        | ({"OPENBLAS_CORETYPE": blas} if blas else {})
    )


@pytest.mark.deep
def test_the_features_are_really_off():
    """A process of that environment has none of them, so what runs there runs as on an older machine."""
    script = "from golden.test_other_processors import optional_features as f; print(f())"
    paths = os.pathsep.join([str(FOLDER.parent), *sys.path])
    result = ran([sys.executable, "-c", script], check=True, env=plain_environment() | {"PYTHONPATH": paths})

    assert "[]\n" == result.stdout


@pytest.mark.deep
@pytest.mark.parametrize(
    "tests", ["test_examples.py", "test_comparisons.py", "test_reviewed.py", "test_who_does_it.py"]
)
def test_an_older_processor_gives_the_same_reports(tests: str):
    """Examples are reproduced and reports read the same where numpy has no vector instructions."""
    result = ran(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FOLDER / tests)],
        cwd=ROOT,
        env=plain_environment(),
    )

    assert 0 == result.returncode, result.stdout[-3000:]


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ('{"a": 0.3, "b": [12, "x"]}', True),
        ('{"a": 0.30000000000000004, "b": [12, "x"]}', True),
        ('{"a": 0.30000000001, "b": [12, "x"]}', False),
        ('{"a": 0.3, "b": [13, "x"]}', False),
        ('{"a": 0.3, "b": [12, "y"]}', False),
        ('{"a": 0.3, "b": [12]}', False),
    ],
)
def test_alike_is_equal_to_twelve_digits(other: str, is_same: bool):
    """A last bit is no difference; anything that a reader could see is."""
    assert is_same is is_alike('{"a": 0.3, "b": [12, "x"]}', other)


def test_rounding_leaves_no_trace_of_the_processor():
    """The examples' values are the shortest decimals of their digits, wherever powers were computed."""
    rounded = script("reconstruct").rounded
    values = np.array([0.0, 2.128e8, 1.2345678e-5, 99999.96, 7.0])

    assert [0.0, 212800000.0, 1.235e-05, 100000.0, 7.0] == rounded(values, 4).tolist()
