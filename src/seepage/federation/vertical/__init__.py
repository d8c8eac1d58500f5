"""Vertical federated learning: parties with different columns of the same people, and a host with the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily
from seepage.data.row_keys import KeyFormat, Keys, read_keys
from seepage.federation.vertical.align import Alignment, align
from seepage.federation.vertical.channel import Channel, InProcess, Threads, Traffic
from seepage.federation.vertical.columns import Columns, dealt
from seepage.federation.vertical.designs import AGGREGATIONS, Design, LocalEncoders, LocalTabNets, TabVFL
from seepage.federation.vertical.failures import METHODS, Failures
from seepage.federation.vertical.guest import Guest
from seepage.federation.vertical.host import Host
from seepage.federation.vertical.messages import Instruction, Kind, Message, PartyError, Phase, SilentPartyError, Stamp
from seepage.federation.vertical.named_designs import DESIGNS, make_design
from seepage.federation.vertical.psi import GuestSide, HostSide, align_privately, new_session, shared_by_all
from seepage.federation.vertical.rows import AlignedRows
from seepage.federation.vertical.schedule import Epoch, History, Training
from seepage.federation.vertical.state import Checkpoint
from seepage.federation.vertical.training import Federation

if TYPE_CHECKING:
    from seepage.federation.vertical.estimator import TabVFLClassifier as TabVFLClassifier
    from seepage.federation.vertical.estimator import fit_together as fit_together
    from seepage.federation.vertical.regressor import TabVFLRegressor as TabVFLRegressor

__all__ = [
    "AGGREGATIONS",
    "DESIGNS",
    "METHODS",
    "AlignedRows",
    "Alignment",
    "Channel",
    "Checkpoint",
    "Columns",
    "Design",
    "Epoch",
    "Failures",
    "Federation",
    "Guest",
    "GuestSide",
    "History",
    "Host",
    "HostSide",
    "InProcess",
    "Instruction",
    "KeyFormat",
    "Keys",
    "Kind",
    "LocalEncoders",
    "LocalTabNets",
    "Message",
    "PartyError",
    "Phase",
    "SilentPartyError",
    "Stamp",
    "TabVFL",
    "TabVFLClassifier",
    "TabVFLRegressor",
    "Threads",
    "Traffic",
    "Training",
    "align",
    "align_privately",
    "dealt",
    "fit_together",
    "make_design",
    "new_session",
    "read_keys",
    "shared_by_all",
]

__getattr__ = lazily(  # scikit-learn takes a second to load
    __name__, {"TabVFLClassifier": "estimator", "TabVFLRegressor": "regressor", "fit_together": "estimator"}
)
