"""From a configuration to a running party: its table is read here, and nobody else's."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import torch

from seepage._core import InputError, unknown_name
from seepage._core.files import make_folders
from seepage.data.own_table import read_own_frame
from seepage.data.row_keys import read_keys
from seepage.federation.network.agreement import Agreement, HostRows
from seepage.federation.network.config import GuestConfig, HostConfig, PartyConfig
from seepage.federation.network.guest_party import GuestParty
from seepage.federation.network.guest_tables import GuestTables
from seepage.federation.network.host_run import open_run
from seepage.federation.network.hosting import HostParty
from seepage.federation.network.message_log import MessageLog
from seepage.federation.network.remote import Remote
from seepage.federation.network.serving import Door
from seepage.models.tabnet_split import TabNetParts

LOG = "log"
MOST_CLASSES = 1_000


def as_a_program(threads: int) -> None:
    """How a process calculates that is a party and nothing else.

    A party's threads hand messages to each other. Python lets a waiting thread in after 5 ms, which is longer than a
    message takes: with 0.2 ms an epoch of five guests is a sixth faster.
    """
    torch.set_num_threads(threads)
    sys.setswitchinterval(2e-4)


def open_door(config: GuestConfig, tell: Callable[[str], None]) -> Door:
    """A guest that listens. Its table is read once before, so that a mistake is told at once."""
    identity = config.identity()
    _table(config, config.table)
    make_folders(config.folder)
    tables = GuestTables(
        name=config.name,
        host=config.host,
        training=lambda: _table(config, config.table),
        new=None if config.new is None else lambda: _table(config, Path(str(config.new))),
        keys=config.key,
        form=config.key_format.form,
        most=config.most_keys,
        seed=config.seed,
    )
    party = GuestParty(tables, config.folder, MessageLog(config.folder / LOG, config.name, identity))
    return Door(party, config.host, config.listen, identity, tell)


@contextmanager
def open_host(config: HostConfig) -> Iterator[tuple[HostParty, HostRows]]:
    """A host with its table and the way to its guests."""
    identity = config.identity()
    rows = host_rows(config, config.table)
    agreement = _agreement(config)
    make_folders(config.folder)
    run = open_run(config.folder, _fingerprint(config, agreement, rows))
    log = MessageLog(config.folder / LOG, config.name, identity)
    remote = Remote(config.guests, run, identity=identity, patience=config.patience.patience, log=log)
    try:
        yield HostParty(rows, agreement, remote, config.folder, log), rows
    finally:
        remote.close()
        log.close()


def host_rows(config: HostConfig, path: Path, *, labelled: bool = True) -> HostRows:
    """What the host brings of a file: labels, its own columns, and who the rows are.

    Args:
        labelled: False for new people, whose labels nobody knows yet.
    """
    frame = _table(config, path, config.target)
    classes: tuple[str, ...] = ()
    codes = np.zeros(frame.height, dtype=np.int64)
    if labelled:
        if config.target not in frame.columns:
            raise unknown_name("target", config.target, frame.columns)
        labels = frame[config.target]
        if labels.null_count():
            raise InputError(f"The target {config.target!r} is empty in {labels.null_count()} rows.")
        names, codes = np.unique(labels.to_numpy(), return_inverse=True)
        classes = tuple(str(name) for name in names)
        if not 2 <= len(classes) <= MOST_CLASSES:
            raise InputError(f"The target {config.target!r} has {len(classes)} values; 2 to {MOST_CLASSES} are needed.")
    own = frame.drop([*config.key, config.target], strict=False)
    keys = None
    if config.key:
        keys = read_keys(config.name, *(frame[key] for key in config.key), form=config.key_format.form)
    return HostRows(
        name=config.name,
        target=config.target,
        labels=codes.astype(np.int64),
        classes=classes,
        frame=own if config.columns and own.width else None,
        keys=keys,
    )


def _table(config: PartyConfig, path: Path, target: str | None = None) -> pl.DataFrame:
    keep = (*config.key, *([target] if target else []))
    frame = read_own_frame(path, keep=keep)
    for key in config.key:
        if key not in frame.columns:
            raise unknown_name(f"key of party {config.name!r}", key, frame.columns)
    for name in config.leave_out:
        if name not in frame.columns:
            raise unknown_name(f"column of party {config.name!r}", name, frame.columns)
    frame = frame.drop(config.leave_out)
    if target is None and not set(frame.columns) - set(config.key):
        raise InputError(f"Party {config.name!r} has no columns beside the key.")
    return frame


def _agreement(config: HostConfig) -> Agreement:
    said = config.training
    return Agreement(
        design=said.design,
        aggregation=said.aggregation,
        parts=replace(TabNetParts(), latent=said.latent, attention=said.latent, steps=said.steps),
        training=said.training,
        absent="cache" if config.absent == "wait" else config.absent,
        waits=config.absent == "wait",
        validation=said.validation,
        test=said.test,
        seed=config.seed,
    )


def _fingerprint(config: HostConfig, agreement: Agreement, rows: HostRows) -> str:
    """Changes with every setting that changes the result, and with the host's rows."""
    found = hashlib.blake2b(repr((agreement, config.key, config.columns, sorted(config.guests))).encode())
    found.update(rows.labels.tobytes())
    if rows.frame is not None:
        found.update(rows.frame.hash_rows(0).to_numpy().tobytes())
    return found.hexdigest()[:32]
