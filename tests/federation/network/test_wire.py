"""Frames from strangers: bounded, typed and checked; a fault is one sentence that names the party."""

from __future__ import annotations

import json
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from seepage.federation.network.wire import (
    MOST_HEADER,
    Frame,
    Header,
    opened_frame,
    opened_message,
    opened_tensors,
    packed_message,
    packed_tensors,
)
from seepage.federation.vertical import Instruction, Kind, Message, PartyError, Phase, Stamp

SESSION = "ab" * 16
STAMP = Stamp(Phase.FINETUNING, 3, 4)


def a_message(**tensors: torch.Tensor) -> Message:
    return Message("host", "lab", Instruction.COMPUTE, STAMP, {Kind[name]: value for name, value in tensors.items()})


@given(rows=st.integers(0, 5), width=st.integers(0, 4), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_message_arrives_as_it_was_sent(rows: int, width: int, seed: int) -> None:
    values = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    sent = a_message(INTERMEDIATE=values, MASK=values > 0, BATCH_IDS=torch.arange(rows, dtype=torch.int32))
    found = opened_message(opened_frame(packed_message(sent, SESSION, 7), "lab"), "host", "lab")
    assert (found.task, found.stamp) == (sent.task, sent.stamp)
    assert found.payload.keys() == sent.payload.keys()
    assert all(torch.equal(found.payload[kind], sent.payload[kind]) for kind in sent.payload)


def test_a_gradient_beyond_float32_is_announced_and_not_sent() -> None:
    sent = Message("host", "lab", Instruction.LEARN, STAMP, {Kind.GRADIENT: torch.full((3, 2), torch.inf)})
    packed = packed_message(sent, SESSION, 1)
    found = opened_message(opened_frame(packed, "lab"), "host", "lab")
    assert found.payload[Kind.GRADIENT].shape == (3, 2)
    assert bool(found.payload[Kind.GRADIENT].isnan().all())


def test_two_frames_of_one_message_differ() -> None:
    assert packed_message(a_message(), SESSION, 1) != packed_message(a_message(), SESSION, 1)


GOOD = Frame(Header(session=SESSION, number=1, step="align")).packed()


def changed(**facts: object) -> bytes:
    """A frame whose header says something else."""
    start = struct.Struct("<4sHI")
    header = {"session": SESSION, "number": 1, "step": "align", "nonce": "0" * 32} | facts
    text = json.dumps(header).encode()
    return start.pack(b"SEEP", 1, len(text)) + text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "0 bytes, too few"),
        (b"GET / HTTP/1.1\r\n\r\n", "not a message of Seepage"),
        (GOOD[:4] + b"\x02\x00" + GOOD[6:], "speaks version 2 of the protocol, this party version 1"),
        (GOOD[:6] + struct.pack("<I", MOST_HEADER + 1) + GOOD[10:], "length is not what it says"),
        (GOOD[:6] + struct.pack("<I", len(GOOD)) + GOOD[10:], "length is not what it says"),
        (GOOD[:-1], "length is not what it says|wrong header"),
        (changed(session="zz"), "wrong header .session"),
        (changed(number=-1), "wrong header .number"),
        (changed(number="1"), "wrong header .number"),
        (changed(more=1), "wrong header .more"),
        (changed(step="x" * 33), "wrong header .step"),
        (changed(stamp={"phase": "lunch", "epoch": 0, "batch": 0, "training": True}), "wrong header .stamp"),
        (changed(facts=[1]), "wrong header .facts"),
    ],
)
def test_frames_that_are_none(content: bytes, told: str) -> None:
    with pytest.raises(PartyError, match=f"Party 'lab' .*({told})"):
        opened_frame(content, "lab")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"garbage", "cannot be read"),
        (struct.pack("<Q", 10 * 2**30) + b"{}", "cannot be read"),
        (save({"COLUMNS": torch.zeros(2)}), "a kind of tensor that there is not"),
        (save({"INTERMEDIATE": torch.zeros(2, 2, dtype=torch.float64)}), "float64 with 2 axes; float32 is expected"),
        (save({"INTERMEDIATE": torch.zeros(2, 2, 2)}), "float32 with 3 axes"),
        (save({"BATCH_IDS": torch.zeros(2)}), "float32 with 1 axes; int32 is expected"),
        (save({"INTERMEDIATE": torch.tensor([[float("nan")]])}), "intermediate results that are not finite"),
        (save({"GRADIENT": torch.tensor([[float("inf")]])}), "gradients that are not finite"),
    ],
)
def test_tensors_that_are_none(body: bytes, told: str) -> None:
    with pytest.raises(PartyError, match=f"Party 'lab' sent .*{told}"):
        opened_tensors(body, "lab")


@pytest.mark.parametrize("shape", [[-1], [2**40], [2**20, 2**20], "big", [1, 2, 3], [1.5]])
def test_a_gradient_of_no_possible_shape_is_not_announced(shape: object) -> None:
    content = changed(
        step="learn",
        facts={"beyond": shape},
        stamp={"phase": "fine-tuning", "epoch": 0, "batch": 0, "training": True},
    )
    with pytest.raises(PartyError, match="no possible shape"):
        opened_message(opened_frame(content, "lab"), "lab", "host")


@given(st.binary(max_size=200), st.integers(0, 250), st.integers(0, 255))
@settings(max_examples=300, deadline=None)
def test_nothing_but_a_sentence_comes_of_garbage(noise: bytes, place: int, byte: int) -> None:
    good = packed_message(a_message(INTERMEDIATE=torch.ones(2, 3)), SESSION, 1)
    damaged = bytearray(good)
    damaged[place % len(damaged)] = byte
    for content in (noise, bytes(damaged), good[:place], GOOD + noise):
        try:
            opened_message(opened_frame(content, "lab"), "lab", "host")
        except PartyError as error:
            assert "'lab'" in str(error)  # noqa: PT017  garbage may also be a good frame


def test_tensors_pack_to_what_their_shapes_say() -> None:
    values = torch.ones(512, 30)
    packed = packed_message(a_message(INTERMEDIATE=values), SESSION, 1)
    assert len(packed) < 1.02 * values.numel() * 4
    assert packed_tensors({}) == b""
