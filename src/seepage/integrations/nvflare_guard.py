"""NVFlare's clients: a filter that looks at an update before it leaves, and can hold it back."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.dxo_filter import DXOFilter
from nvflare.apis.event_type import EventType
from nvflare.apis.filter import ContentBlockedException, FilterChainType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import ALL_SITES
from nvflare.apis.shareable import Shareable
from nvflare.job_config.api import FedJob
from nvflare.job_config.defs import FilterType
from nvflare.recipe.spec import Recipe

from seepage._core import InputError, unknown_name
from seepage._core.paths import user_path
from seepage._core.plugins import object_at
from seepage.integrations.nvflare_messages import (
    HELD,
    KINDS,
    ROWS,
    TASKS,
    cannot_be_audited,
    chain_of,
    copied,
    say_if_untried,
)

if TYPE_CHECKING:
    from seepage.integrations.guarding import Guard

Answer = Literal["error", "empty"]
SITE = "{site}"  # in a path: the client's name
PATHS = ("schema", "preprocessing", "rows", "client_rows", "public")


class _NoErrors(logging.Filter):
    """NVFlare's clients stream what they log as an error to the server, and its text may hold a row."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        if kind is not None:
            record.msg, record.args = f"{record.getMessage()} ({kind.__name__})", ()
        record.exc_info = record.exc_text = record.stack_info = None
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


quiet = logging.getLogger("seepage.guard.nvflare")
quiet.addFilter(_NoErrors())

_guards: dict[tuple[str, str, str], Guard | InputError] = {}  # by job, client and settings: one for both chains
_arrived: dict[tuple[str, str], dict[str, Any]] = {}  # by job and client: the weights that it was sent last
_refused: dict[tuple[str, str], str] = {}  # by job and client: what is wrong with them


class GuardFilter(DXOFilter):  # type: ignore[misc]  # NVFlare has no types
    """Looks on a client at what it is about to send. What passes is passed on as it is.

    It belongs into both chains of the client: that of task data, where the weights arrive, and, as the last filter,
    that of task results. All arguments can stand in a JSON file.

    Args:
        options: of :class:`seepage.integrations.guarding.Guard`: ``model``, ``schema``, ``facts``, ``action``, limits
            such as ``max_exact``, ``attack_seconds``, ``rows`` and so on. ``{site}`` in a path is the client's name.
        answer: what the server gets in place of an update that is held back: an ``error``, whose text is the reason,
            or an ``empty`` model, which FedAvg skips and goes on without.

    Guarantees:
        Nothing is written, and the reason that the server gets names no data. With ``action="hold"``, what cannot be
        looked at is held back too.

    Example:
        >>> guard = GuardFilter({"model": "nets:build", "schema": "/data/schema.toml", "action": "hold"})
    """

    def __init__(self, options: dict[str, Any], answer: Answer = "error") -> None:
        super().__init__(supported_data_kinds=list(KINDS), data_kinds_to_filter=None)
        if answer not in get_args(Answer):
            raise unknown_name("answer of a guard", answer, get_args(Answer))
        self.options, self.answer = options, answer

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """The message, or what stands for it if it is held back."""
        try:
            self._stop_at_others(shareable)
            super().process(shareable, fl_ctx)
        except ContentBlockedException as reason:
            return held_back(str(reason), self.answer)
        return shareable

    def process_dxo(self, dxo: DXO, shareable: Shareable, fl_ctx: FLContext) -> DXO | None:
        """Look at weights.

        Raises:
            ContentBlockedException: with the reason, if they must not leave.
        """
        where = _where(fl_ctx)
        guard = self._guard(where)
        if chain_of(self) == FilterChainType.TASK_DATA_CHAIN:
            self._arriving(guard, where, dxo)
            return None
        reason = _refused.get(where) or self._leaving(guard, where, dxo)
        if reason is not None:
            raise ContentBlockedException(reason)
        return None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Forget the weights when the job ends."""
        if event_type == EventType.END_RUN:
            where = _where(fl_ctx)
            for kept in (_arrived, _refused):
                kept.pop(where, None)
            for key in [each for each in _guards if each[:2] == where]:
                _guards.pop(key, None)

    def _stop_at_others(self, shareable: Shareable) -> None:
        """An answer that may hold anything is not let through by a guard that holds back."""
        if chain_of(self) != FilterChainType.TASK_RESULT_CHAIN or shareable.get_return_code() != ReturnCode.OK:
            return
        try:
            kind = from_shareable(shareable).data_kind
        except ValueError:
            kind = "no data exchange object"
        if kind in (*KINDS, DataKind.METRICS, DataKind.COLLECTION):
            return
        what = f"The answer holds no weights that can be looked at ({getattr(kind, 'value', kind)})."
        reason = self._unknown(what, "its form is unknown")
        if reason is not None:
            raise ContentBlockedException(reason)

    def _arriving(self, guard: Guard | InputError, where: tuple[str, str], dxo: DXO) -> None:
        """Keep the weights, to compare with, and let the guard look for what is wrong with them."""
        _arrived.pop(where, None)
        _refused.pop(where, None)
        if cannot_be_audited(dxo) is not None or isinstance(guard, InputError):
            return
        weights = _arrived[where] = copied(dxo.data)
        verdict = guard.check_arrived(lambda: weights)
        if verdict.held:
            _refused[where] = verdict.reason

    def _leaving(self, guard: Guard | InputError, where: tuple[str, str], dxo: DXO) -> str | None:
        """Why an update must not leave; None if it may."""
        unfit = cannot_be_audited(dxo)
        if isinstance(guard, InputError):
            return self._unknown(f"The guard cannot begin: {guard}", "it cannot begin")
        if unfit is not None:
            return self._unknown(unfit, "the update is encoded")
        if where not in _arrived:
            return self._unknown(
                "The weights that this client was sent were not seen: the guard belongs into the chain of task data "
                "too.",
                "it did not see what the client was sent",
            )
        said, before = dxo.get_meta_prop(ROWS), _arrived[where]
        rows = said if type(said) is int else None
        verdict = guard.check(lambda: before, lambda: copied(dxo.data), kind=KINDS[dxo.data_kind], rows=rows)
        return verdict.reason if verdict.held else None

    def _unknown(self, what: str, why: str) -> str | None:
        """What is done where nothing can be said: a guard that holds back holds back."""
        quiet.warning("Seepage's guard: %s", what)
        if self.options.get("action") != "hold" or self.options.get("accept_weak"):
            return None
        return f"Seepage's guard of this client held its update back: {why}. Its own log says more."

    def _guard(self, where: tuple[str, str]) -> Guard | InputError:
        key = (*where, repr(self.options))
        if key not in _guards:
            try:
                _guards[key] = made_of(self.options, where[1])
            except InputError as error:
                _guards[key] = error
        return _guards[key]


def guard(
    job: Recipe | FedJob,
    *,
    answer: Answer = "error",
    tasks: Sequence[str] = TASKS,
    clients: Sequence[str] | None = None,
    **options: Any,
) -> None:
    """Attach a guard to the clients of a job.

    Args:
        job: a recipe, or a :class:`FedJob`.
        answer: what the server gets in place of an update that is held back, see :class:`GuardFilter`.
        tasks: whose data and results are looked at.
        clients: that are guarded; all if not given.
        options: of :class:`seepage.integrations.guarding.Guard`. Relative paths are below the folder where this is
            called; ``{site}`` in a path is the client's name.
    """
    say_if_untried()
    given = {name: _whole(value) if name in PATHS else value for name, value in options.items()}
    if Path(given.get("schema", "")).is_file():
        made_of(given, "site")  # a mistake is told here, not on a client in the middle of the night
    names = None if clients is None else list(clients)
    if isinstance(job, Recipe):
        job.add_client_input_filter(GuardFilter(given, answer), tasks=list(tasks), clients=names)
        job.add_client_output_filter(GuardFilter(given, answer), tasks=list(tasks), clients=names)
        return
    for chain in (FilterType.TASK_DATA, FilterType.TASK_RESULT):
        for each in names or [ALL_SITES]:
            job.to(GuardFilter(given, answer), each, filter_type=chain, tasks=list(tasks))


def made_of(options: Mapping[str, Any], site: str) -> Guard:
    """The guard of a client."""
    from seepage.integrations.guarding import guard_of  # brings torch, which a server that records needs not

    own: dict[str, Any] = {
        name: value.replace(SITE, site) if name in PATHS and isinstance(value, str) else value
        for name, value in options.items()
    }
    if isinstance(own.get("arrived"), str):
        own["arrived"] = object_at(own["arrived"])
    return guard_of({**own, "logger": quiet})


def held_back(reason: str, answer: Answer) -> Shareable:
    """What the server gets in place of an update: nothing of it, and the reason."""
    reply = DXO(data_kind=DataKind.WEIGHTS, data={}).to_shareable()
    reply.set_header(HELD, reason)
    if answer == "error":
        # NVFlare's controllers write the code of a failed answer into the server's log, so it says why.
        reply.set_return_code(f"{ReturnCode.TASK_RESULT_FILTER_ERROR} ({reason})")
    return reply


def _where(fl_ctx: FLContext) -> tuple[str, str]:
    return str(fl_ctx.get_job_id()), str(fl_ctx.get_identity_name())


def _whole(path: Any) -> Any:
    return str(user_path(path).absolute()) if isinstance(path, str | Path) else path
