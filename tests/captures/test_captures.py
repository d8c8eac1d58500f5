"""Captures: what is written is read back, privately, and nothing that is there is written over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from seepage import captures
from seepage._core import InputError
from seepage.captures.tensors import Tensors

RANDOM = np.random.default_rng(0)


def weights(shift: float = 0.0, **changes: Any) -> dict[str, Any]:
    """A state dict; name the tensors that differ."""
    state = {
        "0.weight": np.arange(6, dtype=np.float32).reshape(2, 3) + np.float32(shift),
        "0.bias": np.full(2, shift, dtype=np.float32),
    }
    return {name: value for name, value in (state | changes).items() if value is not None}


def made(folder: Path, **changes: Any) -> captures.Capture:
    usual: dict[str, Any] = {
        "before": weights(), "after": weights(0.5), "rows": 8, "batch_size": 4, "learning_rate": 0.1,
    }  # fmt: skip
    given = {name: value for name, value in (usual | changes).items() if value is not None}
    return captures.write(folder, **given)


def equal(one: Tensors, other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], np.asarray(other[name])) for name in one)


def test_what_is_written_is_read_back_to_the_last_digit(tmp_path: Path) -> None:
    before = {"w": torch.randn(3, 4), "n.num_batches_tracked": torch.tensor(3)}
    after = {"w": before["w"] + 1e-3, "n.num_batches_tracked": torch.tensor(9)}
    made(tmp_path / "one", before=before, after=after, round=7, client="hospital-a")
    entry = captures.read(tmp_path / "one").entries[0]
    assert (entry.round, entry.protocol, entry.facts.batch_size) == (7, "fedavg", 4)
    assert equal(entry.before(), before)
    assert equal(entry.sent(), after)
    assert equal(entry.update(), {"w": after["w"] - before["w"]})  # a counter is no weight


def test_a_gradient_and_a_change_are_taken_as_they_are(tmp_path: Path) -> None:
    slope = weights(3.0)
    entry = captures.write(tmp_path / "g", before=weights(), gradient=slope, rows=5).entries[0]
    assert (entry.protocol, entry.facts.batch_size) == ("fedsgd", 5)
    assert equal(entry.update(), slope)
    moved = made(tmp_path / "c", after=None, change=slope).entries[0]
    assert (moved.protocol, equal(moved.update(), slope)) == ("fedavg", True)


def test_files_of_safetensors_and_npz_are_the_same_capture(tmp_path: Path) -> None:
    save_file(weights(), tmp_path / "a.safetensors")
    np.savez(tmp_path / "a.npz", **weights())
    np.savez_compressed(tmp_path / "b.npz", **weights(0.5))
    one = made(tmp_path / "one", before=tmp_path / "a.safetensors", after=tmp_path / "b.npz")
    two = made(tmp_path / "two", before=str(tmp_path / "a.npz"), client=one.clients[0])
    assert one.entries[0].stored == two.entries[0].stored


def test_arrays_in_the_order_of_columns_and_of_another_machine_are_understood(tmp_path: Path) -> None:
    value = np.asfortranarray(RANDOM.normal(size=(3, 5)).astype(">f4"))
    np.savez(tmp_path / "a.npz", w=value)
    assert equal(captures.read_tensors(tmp_path / "a.npz"), {"w": value})


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    made(tmp_path / "new" / "capture")
    for path in (tmp_path / "new").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_name_is_nowhere_in_a_capture(tmp_path: Path) -> None:
    made(tmp_path / "one", client="Charite Berlin")
    for path in (tmp_path / "one").rglob("*"):
        assert b"Charite" not in (path.read_bytes() if path.is_file() else b"")


def test_a_salt_makes_a_name_the_same_in_every_process() -> None:
    assert captures.pseudonym("a", b"12345678") == "client-b1b4eaff1f43ebf5"
    assert captures.pseudonym("a", b"12345678") != captures.pseudonym("a", b"87654321") != captures.pseudonym("a")


def test_rounds_and_clients_are_added_and_what_all_were_sent_is_kept_once(tmp_path: Path) -> None:
    for number in (2, 1):
        for name in ("a", "b"):
            made(tmp_path / "one", client=name, round=number, after=weights(1000 * number + ord(name)), add=True)
    capture = captures.read(tmp_path / "one")
    assert [entry.round for entry in capture.entries] == [1, 1, 2, 2]
    assert capture.clients == (captures.pseudonym("a"), captures.pseudonym("b"))
    assert len(list((tmp_path / "one" / "tensors").iterdir())) == 5


def test_a_lone_client_needs_no_name(tmp_path: Path) -> None:
    made(tmp_path / "one")
    assert len(made(tmp_path / "one", round=2, add=True).clients) == 1
    made(tmp_path / "one", round=2, client="b", add=True)
    with pytest.raises(InputError, match="say whose this is"):
        made(tmp_path / "one", round=3, add=True)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    made(tmp_path / "one", client="a")
    before = {path: path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="is a capture already; add to it"):
        made(tmp_path / "one", round=2)
    with pytest.raises(InputError, match=r"holds round 1 of client-.* already; nothing was written"):
        made(tmp_path / "one", client="a", after=weights(9.0), add=True)
    assert before == {path: path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is no capture"):
        made(tmp_path / "other", add=True)


def test_clients_that_end_where_they_should_begin_are_told(tmp_path: Path) -> None:
    made(tmp_path / "one", before=weights(1.0), after=weights(), client="a")
    with pytest.warns(UserWarning, match="before and after look swapped"):
        made(tmp_path / "one", before=weights(2.0), after=weights(), client="b", add=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"after": weights(1.0, extra=np.ones(2, np.float32))}, "has a tensor 'extra' that the weights before"),
        ({"after": weights(1.0, **{"0.bias": None})}, "has no tensor '0.bias'"),
        ({"after": weights(1.0, **{"0.bias": np.ones(3, np.float32)})}, r"'0.bias' has the shape \(3,\)"),
        ({"after": weights(1.0, **{"0.bias": np.ones(2)})}, "is of type float64; weights must be float32"),
        ({"after": weights(1.0, **{"0.bias": torch.ones(2).half()})}, "half precision"),
        ({"after": weights(1.0, **{"0.bias": torch.ones(2).bfloat16()})}, "half precision"),
        ({"after": weights(1.0, **{"0.bias": np.array([1, np.nan], np.float32)})}, "not a number, or is infinite"),
        ({"after": weights(1.0, **{"0.bias": [1.0, 2.0]})}, "is of type list"),
        ({"after": weights()}, "before and after are equal"),
        ({"after": None, "gradient": weights(1.0)}, "no local training, so 'learning_rate' would have no effect"),
        ({"after": None}, "What did the client send"),
        ({"gradient": weights(1.0)}, "What did the client send"),
        ({"after": []}, "it must be a state dict"),
        ({"after": {}}, "holds no tensor"),
        ({"rows": 0}, "'rows' is 0: must be at least 1"),
        ({"rows": None}, "How many rows are behind the update"),
        ({"rows": 3}, "The batch size is 4, more than the 3 rows"),
        ({"learning_rate": float("nan")}, "'learning_rate' is nan"),
        ({"speed": 3}, "'speed'"),
        ({"optimiser": "lion"}, "'sgd', 'adam' or 'adamw'"),
        ({"nesterov": True}, "needs a momentum"),
        ({"optimiser": "adam", "momentum": 0.9}, "The momentum belongs to sgd"),
        ({"round": -1}, "The round is -1"),
        ({"client": ""}, "The client's name is ''"),
    ],
)
def test_a_mistake_is_a_sentence_and_nothing_is_written(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        captures.write(tmp_path / "one", **_given(changes))
    assert not (tmp_path / "one").exists()


def _given(changes: dict[str, Any]) -> dict[str, Any]:
    usual = {"before": weights(), "after": weights(0.5), "rows": 8, "batch_size": 4, "learning_rate": 0.1}
    return {name: value for name, value in (usual | changes).items() if value is not None}


def _head(told: Any, data: bytes = b"") -> bytes:
    text = json.dumps(told).encode() if not isinstance(told, bytes) else told
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a whole safetensors file"),
        ((10 << 30).to_bytes(8, "little") + b"{}", "its head would have 10,737,418,240 bytes"),
        (_head(b"{"), "its head is not JSON"),
        (_head(b"[" * 100_000), "its head is not JSON"),
        (_head([]), "no table of tensors"),
        (_head({}), "holds no tensor"),
        (_head({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}), "'w' cannot be"),
        (_head({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}), "'w' cannot be"),
        (_head({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 7), "'w' cannot be"),
        (_head({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 9), "need 8 bytes, it has 9"),
        (_head({"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, b"\0" * 8), "do not follow each other"),
        (_head({"w": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}, b"\0" * 2), "half precision"),
        (_head({"w": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8), "must be float32"),
        (b"\x80\x04\x95", "is a pickle"),
        (b"PK\x03\x04 and no zip", "not a whole npz file"),
    ],
)
def test_a_file_that_cannot_be_is_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=said):
        captures.read_tensors(tmp_path / "a.safetensors")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    torch.save(weights(), tmp_path / "a.pt")
    with pytest.raises(InputError, match=r"safetensors.torch.save_file\(torch.load\("):
        captures.read_tensors(tmp_path / "a.pt")
    np.savez(tmp_path / "a.npz", w=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="Python objects"):
        captures.read_tensors(tmp_path / "a.npz")


def test_an_npz_that_swells_is_not_opened(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", w=np.zeros(30_000_000, np.float32))
    with pytest.raises(InputError, match="far more than its"):
        captures.read_tensors(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["capture.json", "tensors"])
def test_damage_is_told(tmp_path: Path, name: str) -> None:
    capture = made(tmp_path / "one")
    file = tmp_path / "one" / name
    file = next(file.iterdir()) if file.is_dir() else file
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        _read_whole(capture.folder)


def _read_whole(folder: Path) -> None:
    for entry in captures.read(folder).entries:
        entry.before()
        entry.sent()


def test_a_folder_without_a_capture_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="holds no capture"):
            captures.read(folder)
