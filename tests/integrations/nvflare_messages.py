"""NVFlare's messages and contexts, as its server and its clients hand them to filters, without a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.filter import Filter, FilterChainType, FilterContextKey
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.fl_context import FLContext, FLContextManager
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants

WEIGHTS = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "bias": np.zeros(2, np.float32)}


def context(peer: str | None = None, site: str = "server") -> FLContext:
    """The context of a party of a job, talking with another."""
    made: FLContext = FLContextManager(engine=None, identity_name=site, job_id="job").new_context()
    if peer is not None:
        other = FLContext()
        other.set_prop(ReservedKey.IDENTITY_NAME, peer, private=False, sticky=False)
        made.set_peer_context(other)
    return made


def message(
    weights: dict[str, Any], *, round: int = 0, kind: str = DataKind.WEIGHTS, answer: bool = False, **meta: Any
) -> Shareable:
    """A task with weights, or the answer to it: an answer brings the round back in its cookie."""
    made = DXO(data_kind=kind, data=weights, meta=meta).to_shareable()
    if answer:
        made.add_cookie(AppConstants.CONTRIBUTION_ROUND, round)
    else:
        made.set_header(AppConstants.CURRENT_ROUND, round)
    return made


def in_chains(first: Filter, second: Filter) -> tuple[Filter, Filter]:
    """Two filters, marked as NVFlare marks those of the chain of task data and of task results."""
    first.set_prop(FilterContextKey.CHAIN_TYPE, FilterChainType.TASK_DATA_CHAIN)
    second.set_prop(FilterContextKey.CHAIN_TYPE, FilterChainType.TASK_RESULT_CHAIN)
    return first, second
