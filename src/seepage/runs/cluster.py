"""Tasks on a Dask cluster: one of this machine's own, or one that the user runs.

Whoever reaches a Dask port runs code as the owner of the workers, so nothing here speaks in the open: a cluster of our
own uses TLS with a key that is made for the run and known to nobody else, also on the loopback, where other users of
the machine are. Dask opens a port for its web page in the scheduler and in every worker, whatever it is told; ours
open none.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlparse

import dask
from distributed import Client, Nanny, Scheduler, Security, SpecCluster, Worker
from distributed.scheduler import KilledWorker
from distributed.versions import get_versions

from seepage._core import InputError, RunStopped
from seepage._core.scratch import scratch_folder
from seepage.runs.identity import PACKAGES, differences, identity

SECONDS = 10.0  # to find a scheduler, or to have an answer from it
WORKERLESS = 30.0  # seconds without any worker until a run gives up
LOOK = 2.0  # seconds between two looks at who works
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class _NoPage:
    """A scheduler or worker without the web page that Dask always opens a port for."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no port."""


class _Scheduler(_NoPage, Scheduler):
    pass


class _Worker(_NoPage, Worker):
    pass


class Dask:
    """A Dask cluster whose workers are all what this process is."""

    def __init__(self, client: Any, where: str, *, shared: bool) -> None:
        self._client, self._where, self.shared = client, where, shared
        self._checked: set[str] = set()
        self._looked = time.monotonic()
        self._alone: float | None = None  # since when there are no workers
        self._executor = client.get_executor(retries=2, pure=False)
        self.slots = sum(self._workers().values())
        if not self.slots:
            raise InputError(f"{where} has no workers; start some, or wait for them.")

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Give a task to a worker; one that joined since the last look is asked again what it is."""
        future: Future[Any] = self._executor.submit(_as_expected, identity(), work, *arguments)
        return future

    def died(self, error: BaseException) -> bool:
        """Whether a task failed because its worker died."""
        return isinstance(error, KilledWorker)

    def lost(self) -> str:
        """Why nothing will come back any more; empty while there is a scheduler with workers."""
        now = time.monotonic()
        if self._client.status != "running":  # it would try to connect again, but its tasks are lost
            return f"{self._where} is gone."
        if now - self._looked < LOOK:
            return ""
        self._looked = now
        try:
            there = self._workers()
        except RunStopped as error:
            return str(error)
        except (OSError, TimeoutError, RuntimeError):
            return f"{self._where} is gone."
        self._alone = None if there else self._alone or now
        if self._alone is not None and now - self._alone > WORKERLESS:
            return f"{self._where} has had no workers for {WORKERLESS:.0f} s."
        return ""

    def _workers(self) -> dict[str, int]:
        """Threads of every worker; those that are new must be what we are."""
        threads: dict[str, int] = self._client.sync(self._client.scheduler.ncores, callback_timeout=SECONDS)
        if new := set(threads) - self._checked:
            self._checked |= _checked(self._client, sorted(new))
        return threads


def _as_expected(ours: dict[str, str], work: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker does with a task: nothing, if it is not what the run was begun with."""
    if found := differences(ours, identity()):
        raise RunStopped(f"A worker has {found}; numbers of both would be mixed.")
    return work(*arguments)


def _checked(client: Any, workers: list[str]) -> set[str]:
    """Those of the workers that answered; one that has other versions, forms or code stops the run.

    Versions are asked by Dask's own message first: a function of ours cannot be sent to a worker of another Python. A
    worker that is too busy to answer is asked again later, and itself looks before each task.
    """
    ours = _versions(get_versions(PACKAGES))
    question = {"msg": {"op": "versions", "packages": list(PACKAGES)}, "workers": workers, "on_error": "ignore"}
    try:
        told = client.sync(client.scheduler.broadcast, **question, callback_timeout=SECONDS)
        for address, answer in told.items():
            _stop_if(address, differences(ours, _versions(answer)))
        found = client.run(identity, workers=list(told), on_error="return") if told else {}
    except (OSError, TimeoutError):  # the worker died meanwhile: whether the scheduler is there is asked elsewhere
        return set()
    for address, answer in found.items():
        if isinstance(answer, dict):
            _stop_if(address, differences(identity(), answer))
        elif not isinstance(answer, OSError):  # it is there, and has no such function
            _stop_if(address, "another Seepage")
    return {address for address, answer in found.items() if isinstance(answer, dict)}


def _stop_if(address: str, differs: str) -> None:
    if differs:
        raise RunStopped(f"The worker at {address} has {differs}; numbers of both would be mixed.")


def _versions(answer: dict[str, Any]) -> dict[str, str]:
    packages = answer["packages"]
    return {"python": str(answer["host"]["python"])} | {name: str(packages.get(name)) for name in PACKAGES}


@contextmanager
def own_cluster(jobs: int) -> Iterator[Dask]:
    """A cluster of this process on the loopback, which only this process can talk to."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quietly())
        # Workers leave lock files; Dask's own place for them is shared by all users.
        scratch = str(stack.enter_context(scratch_folder()))
        security = _keys_of_this_run()
        common: dict[str, Any] = {"host": "127.0.0.1", "protocol": "tls://", "security": security}
        # Without a limit nothing is spilled: what comes back from a task may hold private rows.
        own = {"nthreads": 1, "memory_limit": 0, "local_directory": scratch, "silence_logs": logging.CRITICAL}
        nanny = {"cls": Nanny, "options": {**common, **own, "worker_class": _Worker}}
        scheduler = {"cls": _Scheduler, "options": {**common, "port": 0, "dashboard": False}}
        try:
            cluster = stack.enter_context(
                SpecCluster(  # type: ignore[no-untyped-call]
                    workers=dict.fromkeys(range(jobs), nanny),
                    scheduler=scheduler,
                    security=security,
                    silence_logs=logging.CRITICAL,
                )
            )
        except RuntimeError as error:  # a worker that was killed while it began, for one
            raise RunStopped(f"The Dask cluster of this machine cannot be started: {error}") from None
        client = stack.enter_context(Client(cluster, timeout=SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
        yield Dask(client, "The Dask cluster of this machine", shared=True)


def _keys_of_this_run() -> Security:
    """A key and certificate that are known to this run alone. They are handed to its processes in memory."""
    try:
        return Security.temporary()  # type: ignore[no-untyped-call, no-any-return]
    except ImportError:
        raise InputError("The backend dask needs the package cryptography: pip install 'seepage[cluster]'.") from None


@contextmanager
def cluster_at(scheduler: str, *, plain_tcp: bool) -> Iterator[Dask]:
    """The cluster of a scheduler that the user runs."""
    security = _keys_of_the_user(scheduler, plain_tcp=plain_tcp)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quietly())
        try:
            client = stack.enter_context(
                Client(scheduler, timeout=SECONDS, set_as_default=False, security=security)  # type: ignore[no-untyped-call]
            )
        except (OSError, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"No Dask scheduler answers at {scheduler} within {SECONDS:.0f} s ({reason}).") from None
        yield Dask(client, f"The Dask scheduler at {scheduler}", shared=urlparse(scheduler).hostname in LOOPBACK)


def _keys_of_the_user(scheduler: str, *, plain_tcp: bool) -> Security | None:
    """The certificates that Dask is configured with; none only for an address that is said to be in the open."""
    scheme = urlparse(scheduler).scheme
    if scheme not in ("tcp", "tls"):
        raise InputError(f"The scheduler's address is {scheduler!r}; it looks like tls://HOST:PORT.")
    if scheme == "tcp":
        if plain_tcp:
            return None
        raise InputError(
            f"{scheduler} is not encrypted: whoever can reach its port, on the network or as another user of this "
            "machine, can run code as you. Use tls://, or say --plain-tcp if nobody else can reach it."
        )
    if plain_tcp:
        raise InputError(f"--plain-tcp would have no effect: {scheduler} is encrypted. Leave it out.")
    needed = ("ca-file", "client.cert", "client.key")
    if missing := [name for name in needed if not dask.config.get(f"distributed.comm.tls.{name}", None)]:
        names = [
            f"DASK_DISTRIBUTED__COMM__TLS__{name.replace('.', '__').replace('-', '_').upper()}" for name in missing
        ]
        raise InputError(f"{scheduler} needs your certificates, as Dask's own settings name them: {', '.join(names)}.")
    security = Security(require_encryption=True)  # type: ignore[no-untyped-call]
    try:
        security.get_connection_args("client")  # type: ignore[no-untyped-call]
    except OSError as error:  # also what the ssl module raises
        raise InputError(f"The certificates for {scheduler} cannot be used: {error}.") from None
    return security


@contextmanager
def _quietly() -> Iterator[None]:
    """Without Dask's log: it holds tracebacks of what we tell in a sentence, and may hold what was sent."""
    logging.getLogger("distributed")
    loggers = [each for name, each in logging.root.manager.loggerDict.items() if name.startswith("distributed")]
    awake = [each for each in loggers if isinstance(each, logging.Logger) and not each.disabled]
    for each in awake:
        each.disabled = True
    try:
        # A worker that is not back within this time is never started again; one may die twice in a row.
        patient = {"distributed.deploy.lost-worker-timeout": "365 days"}
        with dask.config.set({"distributed.comm.timeouts.connect": SECONDS} | patient):
            yield
    finally:
        for each in awake:
            each.disabled = False
