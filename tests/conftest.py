"""Shared by all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

# The suite runs in two processes on two cores, and its tensors are tiny: more threads only wait for each other. Said
# before numpy and torch are loaded, and inherited by the processes that tests start. `make test-portable` tries two
# all the same: sums are then made in another order.
THREADS = os.environ.get("SEEPAGE_TEST_THREADS", "1")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = THREADS
if not os.environ.get("ATEN_CPU_CAPABILITY", "unset"):
    del os.environ["ATEN_CPU_CAPABILITY"]  # empty: the machine's own

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

# A busy machine is no failure: how long an example takes is a matter for benchmarks.
settings.register_profile("seepage", deadline=None)
settings.load_profile("seepage")

torch.set_num_threads(int(THREADS))


@pytest.fixture(scope="module", autouse=True)
def _objects_are_forgotten() -> Iterator[None]:
    """Attacks and defences that a module gives as objects stay known to the process; the next module starts without."""
    yield
    registry = sys.modules.get("seepage.plans.registry")
    if registry is not None and registry._shelf.cache_info().currsize:
        for kind in registry.KINDS:
            registry._shelf(kind).handed.clear()
