"""What NVFlare's messages hold, for our filters: weights, rounds, clients, and what cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import nvflare
from nvflare.apis.dxo import DXO, DataKind, MetaKey
from nvflare.apis.filter import Filter, FilterContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants

from seepage._core.errors import shown
from seepage.captures.reading import Kind

TRIED = ("2.9.0",)
LONGEST = 400  # characters of what a client says
TASKS = ("train",)  # of NVFlare's workflows that train
ROWS = "rows"  # in the meta of a model: how many rows are behind it
HELD = "seepage_held_back"  # a header: why a guard sent nothing
KINDS: Mapping[str, Kind] = {DataKind.WEIGHTS: "after", DataKind.WEIGHT_DIFF: "change"}

log = logging.getLogger("seepage.nvflare")


def cannot_be_audited(dxo: DXO) -> str | None:
    """Why the weights of a message cannot be audited; None if they can."""
    if dxo.get_meta_prop("quantized_flag"):  # NVFlare's ModelQuantizer sets it
        return (
            "The weights are quantised, and what they were is not known here: attach the filter where they are plain "
            "(on a server after ModelDequantizer, on a client before ModelQuantizer)."
        )
    algorithm = dxo.get_meta_prop(MetaKey.PROCESSED_ALGORITHM)
    if algorithm is not None:  # HE's filters set it
        return (
            f"The weights are encoded ({shown(algorithm)}) and cannot be read here without a key, so single updates "
            "cannot be audited; what the average of all of them tells is not looked at."
        )
    return None


def copied(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Weights as arrays or tensors of their own: those of a message may be changed after it has passed."""
    found = {}
    for name, value in weights.items():
        lazy = getattr(value, "materialize", None)  # weights that NVFlare left on the disk
        plain = lazy() if callable(lazy) else value
        found[name] = plain.detach().cpu().clone() if hasattr(plain, "detach") else np.array(plain)
    return found


def chain_of(asking: Filter) -> str | None:
    """Whether a filter stands in the chain of task data or in that of task results; NVFlare marks it."""
    found: str | None = asking.get_prop(FilterContextKey.CHAIN_TYPE)
    return found


def round_of(shareable: Shareable, fl_ctx: FLContext) -> int | None:
    """The round of a task: its own word, or the word that its answer brings back."""
    for found in (
        shareable.get_cookie(AppConstants.CONTRIBUTION_ROUND),
        shareable.get_header(AppConstants.CURRENT_ROUND),
        fl_ctx.get_prop(AppConstants.CURRENT_ROUND),
    ):
        if type(found) is int:
            return found
    return None


def peer_of(fl_ctx: FLContext) -> str:
    """The name of the client that a server talks with."""
    peer = fl_ctx.get_peer_context()
    return str(peer.get_identity_name()) if peer is not None else "unknown"


def plain(text: object) -> str:
    """What a client says, for a line of the server's log: short, and without characters that would end the line."""
    return "".join(each for each in str(text)[:LONGEST] if each.isprintable())


def say_if_untried() -> None:
    """A version that nobody tried is said, and used."""
    if nvflare.__version__ not in TRIED:
        log.warning("Seepage was tried with NVFlare %s; this is %s.", " and ".join(TRIED), nvflare.__version__)
