"""The shadow factory on a real Dask cluster: the same models as in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seepage.attacks.properties import load_shadows
from tests.attacks.properties.test_factory import run, same

distributed = pytest.importorskip("distributed")


@contextmanager
def cluster(**options: Any) -> Iterator[Any]:
    """A client of workers with a thread each and no web page."""
    with (
        distributed.LocalCluster(threads_per_worker=1, dashboard_address=None, **options) as made,
        distributed.Client(made) as client,
    ):
        yield client


def test_threads_of_a_cluster_make_the_same_models(tmp_path: Path) -> None:
    run(tmp_path / "here")
    with cluster(n_workers=1, processes=False) as client:
        made = run(tmp_path / "there", executor=client.get_executor())
    assert made.trained == 3
    assert same(load_shadows(tmp_path / "there"), load_shadows(tmp_path / "here"))


@pytest.mark.slow
def test_processes_of_a_cluster_make_the_same_models_and_go_on_where_others_stopped(tmp_path: Path) -> None:
    run(tmp_path / "here")
    run(tmp_path / "there")
    (tmp_path / "there" / "shard-00001.safetensors").unlink()
    (tmp_path / "there" / "shard-00002.safetensors").unlink()
    with cluster(n_workers=2, processes=True, host="127.0.0.1") as client:
        addresses = [worker["nanny"] for worker in client.scheduler_info()["workers"].values()]
        made = run(tmp_path / "there", executor=client.get_executor())
    assert len(addresses) == 2
    assert all("127.0.0.1" in address for address in addresses)
    assert (made.trained, made.found) == (2, 1)
    assert same(load_shadows(tmp_path / "there"), load_shadows(tmp_path / "here"))
