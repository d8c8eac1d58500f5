"""NVFlare: a recorder on the server and a guard on the clients, both filters.

    from seepage.integrations.nvflare import record

    recipe = FedAvgRecipe(...)
    record(recipe, "capture", batch_size=32, local_epochs=2, learning_rate=0.05)

A filter in NVFlare sees one of two chains: what a server sends out (task data) or what comes back (task results). Ours
are attached to both, and tell by NVFlare's own mark which one they are in.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nvflare
from nvflare.apis.dxo import DXO, MetaKey
from nvflare.apis.dxo_filter import DXOFilter
from nvflare.apis.event_type import EventType
from nvflare.apis.filter import FilterChainType
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.job_config.api import FedJob
from nvflare.job_config.defs import FilterType
from nvflare.recipe.spec import Recipe

from seepage._core import InputError
from seepage._core.errors import shown
from seepage._core.paths import user_path
from seepage.captures.reading import Framework
from seepage.integrations.nvflare_guard import GuardFilter, guard
from seepage.integrations.nvflare_messages import (
    HELD,
    KINDS,
    ROWS,
    TASKS,
    cannot_be_audited,
    chain_of,
    copied,
    log,
    peer_of,
    plain,
    round_of,
    say_if_untried,
)
from seepage.integrations.recording import Bounds, Recorder

__all__ = ["GuardFilter", "RecorderFilter", "guard", "record"]

_recorders: dict[str, Recorder] = {}  # one for both chains, which NVFlare builds apart
_lock = threading.Lock()


class RecorderFilter(DXOFilter):  # type: ignore[misc]  # NVFlare has no types
    """Records on the server what it sends out and what comes back; everything is passed on as it is.

    Args:
        folder: of the capture, with its whole path: a server's job runs in a folder of NVFlare's choice.
        facts: of the protocol, see :class:`seepage.captures.CaptureFacts`: ``batch_size``, ``local_epochs``,
            ``learning_rate``, and ``rows`` if all clients have as many.
        bounds: how much is kept, see :class:`seepage.integrations.recording.Bounds`.
        rows: of each client, by its name. A client that puts ``rows`` into the meta of its model says it itself.

    Example:
        >>> recorder = RecorderFilter("/captures/hospitals", facts={"batch_size": 32, "learning_rate": 0.05})
    """

    def __init__(
        self,
        folder: str,
        facts: dict[str, Any] | None = None,
        bounds: dict[str, Any] | None = None,
        rows: dict[str, int] | None = None,
    ) -> None:
        super().__init__(supported_data_kinds=list(KINDS), data_kinds_to_filter=None)
        if not Path(folder).is_absolute():
            raise InputError(
                f"The recorder's folder is {shown(folder)}; give its whole path, since NVFlare runs a job in a folder "
                "of its own."
            )
        self.folder, self.facts, self.bounds, self.rows = folder, facts, bounds, rows
        self._given: tuple[int, Any] | None = None  # the round, and the weights that were sent out last
        _recorder(self)

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """Look at what passes by. Nothing that happens here reaches the training."""
        try:
            self._tell_of_failures(shareable, fl_ctx)
            super().process(shareable, fl_ctx)
        except Exception as error:  # noqa: BLE001 (an error in a filter would lose the client's update)
            _recorder(self).tell("error", f"An update was not recorded ({type(error).__name__}).")
        return shareable

    def process_dxo(self, dxo: DXO, shareable: Shareable, fl_ctx: FLContext) -> DXO | None:
        """Hand weights to the recorder."""
        recorder = _recorder(self)
        unfit = cannot_be_audited(dxo)
        number = round_of(shareable, fl_ctx)
        if unfit is not None:
            recorder.tell(unfit, unfit)
        elif number is None:
            recorder.tell("round", "A task names no round, so it is not recorded.")
        elif chain_of(self) == FilterChainType.TASK_DATA_CHAIN:
            self._sent(recorder, number, dxo, fl_ctx)
        else:
            self._received(recorder, number, dxo, fl_ctx)
        return None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Write what waits when the job ends: NVFlare may end the process without a word."""
        if event_type == EventType.END_RUN:
            with _lock:
                recorder = _recorders.pop(_key(self), None)
            if recorder is not None:
                recorder.close()

    def _sent(self, recorder: Recorder, number: int, dxo: DXO, fl_ctx: FLContext) -> None:
        """What all clients of a round are sent is one object, and is kept once."""
        first = self._given is None or self._given[0] != number
        if first or self._given is None or self._given[1] is not dxo.data:
            arrays = copied(dxo.data)
            recorder.sent(number, lambda: arrays, None if first else peer_of(fl_ctx))
        if first:
            self._given = (number, dxo.data)

    def _received(self, recorder: Recorder, number: int, dxo: DXO, fl_ctx: FLContext) -> None:
        arrays, client = copied(dxo.data), peer_of(fl_ctx)
        facts: dict[str, Any] = {"rows": self._rows_of(dxo, client)}
        changed_by = dxo.get_meta_prop(MetaKey.FILTER_HISTORY)
        if changed_by:  # noise, rounding, left-out weights: filters sign what they change
            facts["covered"] = True
        size = sum(array.nbytes for array in arrays.values())
        recorder.received(number, client, lambda: arrays, size=size, kind=KINDS[dxo.data_kind], **facts)

    def _rows_of(self, dxo: DXO, client: str) -> int | None:
        said = dxo.get_meta_prop(ROWS)
        return said if type(said) is int else (self.rows or {}).get(client)

    def _tell_of_failures(self, shareable: Shareable, fl_ctx: FLContext) -> None:
        if chain_of(self) == FilterChainType.TASK_DATA_CHAIN:
            return
        reason = shareable.get_header(HELD)
        code = shareable.get_return_code()
        if reason is not None:
            log.warning("%s sent no update. %s", peer_of(fl_ctx), plain(reason))
        elif code != ReturnCode.OK:
            log.warning("%s sent no update (%s); nothing of it is recorded.", peer_of(fl_ctx), plain(code))


def record(
    job: Recipe | FedJob,
    folder: str | Path,
    *,
    rows: Mapping[str, int] | None = None,
    bounds: Mapping[str, Any] | None = None,
    tasks: Sequence[str] = TASKS,
    **facts: Any,
) -> None:
    """Attach a recorder to a job.

    Args:
        job: a recipe, or a :class:`FedJob`.
        folder: of the capture, on the server. A relative one is below the folder where this is called.
        rows: of each client, by its name, where clients do not say it themselves.
        bounds: how much is kept, see :class:`seepage.integrations.recording.Bounds`.
        tasks: whose data and results are recorded.
        facts: of the protocol, see :class:`seepage.captures.CaptureFacts`.
    """
    say_if_untried()
    place = str(user_path(folder).absolute())
    given = (place, facts or None, dict(bounds) if bounds else None, dict(rows) if rows else None)
    if isinstance(job, Recipe):
        job.add_server_output_filter(RecorderFilter(*given), tasks=list(tasks))
        job.add_server_input_filter(RecorderFilter(*given), tasks=list(tasks))
    else:
        for chain in (FilterType.TASK_DATA, FilterType.TASK_RESULT):
            job.to_server(RecorderFilter(*given), filter_type=chain, tasks=list(tasks))


def _recorder(asking: RecorderFilter) -> Recorder:
    """The recorder of a folder: both chains write to one."""
    with _lock:
        key = _key(asking)
        if key not in _recorders:
            framework = Framework(name="nvflare", version=nvflare.__version__)
            bounds = Bounds(**(asking.bounds or {}))
            _recorders[key] = Recorder(asking.folder, framework=framework, bounds=bounds, facts=asking.facts)
        return _recorders[key]


def _key(asking: RecorderFilter) -> str:
    return json.dumps([asking.folder, asking.facts, asking.bounds], sort_keys=True)
