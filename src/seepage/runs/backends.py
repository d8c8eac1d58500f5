"""Where tasks run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from seepage._core import InputError, unknown_name

BACKENDS = ("local", "dask")


class Backend(Protocol):
    """Takes tasks, as many at a time as it has ``slots``. ``shared`` says whether workers see this machine's disk."""

    slots: int
    shared: bool

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]: ...

    def died(self, error: BaseException) -> bool:
        """Whether a task failed because its worker died; the backend is ready for more afterwards."""
        ...

    def lost(self) -> str:
        """Why nothing will come back any more, as a sentence; empty while there is somebody to work."""
        ...


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_backend(name: str, *, jobs: int, scheduler: str | None = None, plain_tcp: bool = False) -> Iterator[Backend]:
    """The backend of this name, while it is used.

    Args:
        scheduler: the address of a Dask scheduler; without one, a cluster of this process's own.
        plain_tcp: take a scheduler that is not encrypted.
    """
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    if scheduler is not None and name != "dask":
        raise InputError("A scheduler's address belongs to the backend dask (--backend dask).")
    if plain_tcp and scheduler is None:
        raise InputError("--plain-tcp is about a scheduler's address (--scheduler), and none is given. Leave it out.")
    with _dask(scheduler, jobs, plain_tcp) if name == "dask" else _local(jobs) as backend:
        yield backend


@contextmanager
def asked_backend(
    name: str | None, *, jobs: int | None, amount: int | None, scheduler: str | None, plain_tcp: bool
) -> Iterator[Backend | None]:
    """The backend that a user's options mean, while it is used; None for this process.

    Args:
        name: of the backend, if one was given.
        jobs: that were asked for, if any were.
        amount: processes to open; None if one is enough.
    """
    if plain_tcp and scheduler is None:
        raise InputError("--plain-tcp is about a scheduler's address (--scheduler), and none is given. Leave it out.")
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs would have no effect: a cluster (--scheduler) has its own workers. Leave it out.")
    if amount is None:
        yield None
        return
    chosen = name or ("dask" if scheduler else "local")
    with open_backend(chosen, jobs=amount, scheduler=scheduler, plain_tcp=plain_tcp) as opened:
        yield opened


class Local:
    """Processes of this machine. They end with the process that started them, however that ends."""

    shared = True

    def __init__(self, jobs: int) -> None:
        self.slots, self.threads = jobs, max(1, cores() // jobs)  # no more threads than cores, all processes together
        self._pool = self._open()

    def _open(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.slots, context, initializer=_begin, initargs=(self.threads, os.getpid()))

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return self._pool.submit(work, *arguments)
        except BrokenProcessPool:
            self.close()
            self._pool = self._open()
            return self._pool.submit(work, *arguments)

    def died(self, error: BaseException) -> bool:
        return isinstance(error, BrokenProcessPool)

    def lost(self) -> str:
        return ""  # a pool that broke is opened anew

    def close(self) -> None:
        """End all workers now; what they were doing is not needed any more."""
        workers = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()


@contextmanager
def _local(jobs: int) -> Iterator[Local]:
    backend = Local(jobs)
    try:
        yield backend
    finally:
        backend.close()


def _begin(threads: int, parent: int) -> None:
    """A worker's first act: to die with its parent, to leave Ctrl-C to it, and to use its own cores only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it was gone before we asked
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(threads)


@contextmanager
def _dask(scheduler: str | None, jobs: int, plain_tcp: bool) -> Iterator[Backend]:
    try:
        from seepage.runs.cluster import cluster_at, own_cluster
    except ImportError:
        raise InputError("The backend dask needs Dask: pip install 'seepage[cluster]'.") from None
    with own_cluster(jobs) if scheduler is None else cluster_at(scheduler, plain_tcp=plain_tcp) as backend:
        yield backend
