"""Where tasks run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import contextlib
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
from urllib.parse import urlparse

from seepage._core import InputError, unknown_name

BACKENDS = ("local", "dask")
SECONDS = 10.0  # to find a scheduler
_LOOPBACK = {"127.0.0.1", "localhost", "::1", None}


class Backend(Protocol):
    """Takes tasks, as many at a time as it has ``slots``. ``shared`` says whether workers see this machine's disk."""

    slots: int
    shared: bool

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]: ...

    def died(self, error: BaseException) -> bool:
        """Whether a task failed because its worker died; the backend is ready for more afterwards."""
        ...


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_backend(name: str, *, jobs: int, scheduler: str | None = None) -> Iterator[Backend]:
    """The backend of this name, while it is used."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    if scheduler is not None and name != "dask":
        raise InputError("A scheduler's address belongs to the backend dask (--backend dask).")
    with _dask(scheduler, jobs) if name == "dask" else _local(jobs) as backend:
        yield backend


class Local:
    """Processes of this machine. They end with the process that started them, however that ends."""

    shared = True

    def __init__(self, jobs: int) -> None:
        self.slots = jobs
        self._pool = self._open()

    def _open(self) -> ProcessPoolExecutor:
        threads = max(1, cores() // self.slots)  # no more threads than cores, all processes together
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.slots, context, initializer=_begin, initargs=(threads, os.getpid()))

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return self._pool.submit(work, *arguments)
        except BrokenProcessPool:
            self.close()
            self._pool = self._open()
            return self._pool.submit(work, *arguments)

    def died(self, error: BaseException) -> bool:
        return isinstance(error, BrokenProcessPool)

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


class Dask:
    """A Dask cluster: the one at an address, or one on this machine's loopback."""

    def __init__(self, client: Any, shared: bool, slots: int) -> None:
        self._client, self.shared, self.slots = client, shared, slots
        self._executor = client.get_executor(retries=2, pure=False)

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(work, *arguments)
        return future

    def died(self, error: BaseException) -> bool:
        from distributed.scheduler import KilledWorker

        return isinstance(error, KilledWorker)


@contextmanager
def _dask(scheduler: str | None, jobs: int) -> Iterator[Dask]:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("The backend dask needs Dask: pip install 'seepage[cluster]'.") from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": SECONDS}))
        if scheduler is None:
            address: Any = stack.enter_context(
                LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=jobs,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=40,
                )
            )
        else:
            address = scheduler
            if urlparse(scheduler).scheme not in ("tcp", "tls"):
                raise InputError(f"The scheduler's address is {scheduler!r}; it looks like tcp://HOST:PORT or tls://….")
        try:
            client = stack.enter_context(Client(address, timeout=SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
        except (OSError, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"No Dask scheduler answers at {scheduler} within {SECONDS:.0f} s ({reason}).") from None
        slots = sum(client.nthreads().values())
        if not slots:
            raise InputError(f"The Dask scheduler at {scheduler} has no workers; start some, or wait for them.")
        shared = scheduler is None or urlparse(scheduler).hostname in _LOOPBACK
        yield Dask(client, shared, slots)
