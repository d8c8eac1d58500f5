"""Files of tensors that strangers wrote: safetensors and npz, checked and bounded before anything is allocated.

The head of a safetensors file is read here and not by its package, so that what it promises is compared with the size
of the file first. A pickle is never opened.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from seepage._core import InputError
from seepage._core.errors import shown
from seepage._core.paths import user_path

Tensors = dict[str, np.ndarray]

HEAD = 16 << 20  # bytes of a head
LARGEST = 4 << 30  # bytes of a file, and of what is in it
COUNT = 100_000  # tensors
AXES = 8
NAME = 1000  # characters
SWELLING = 50  # how much larger than its file the content of an npz may be, beyond SMALL
SMALL = 64 << 20
HALF = {"F16", "BF16", "F8_E4M3", "F8_E5M2", "float16"}
COUNTER = "num_batches_tracked"  # of a BatchNorm: a whole number
_KINDS: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}
_BYTES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4,
          "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8}  # fmt: skip


def read_tensors(path: str | Path) -> Tensors:
    """The tensors of a safetensors or npz file, all float32 and finite, and counters of BatchNorm."""
    file = user_path(path)
    try:
        size = file.stat().st_size
        if file.is_dir():
            raise InputError(f"{file} is a folder; name a safetensors or npz file.")
        if size > LARGEST:
            raise InputError(f"{file} has {size:,} bytes; at most {LARGEST:,} are read.")
        with file.open("rb") as stream:
            begin = stream.read(16)
            stream.seek(0)
            if begin[:4] == b"PK\x03\x04":
                return checked(_npz(stream, size, file), str(file))
            if begin[8:9] != b"{" and _is_pickle(begin, file):
                raise _pickle(file)
            return checked(_safetensors(stream, size, str(file)), str(file))
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from None


def _is_pickle(begin: bytes, file: Path) -> bool:
    return begin[:1] == b"\x80" or file.suffix.lower() in (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib")


def _pickle(file: Path) -> InputError:
    return InputError(
        f"{file} is a pickle, which can run code when it is opened, so it is not. Convert it where you trust it: "
        f"safetensors.torch.save_file(torch.load({str(file)!r}, weights_only=True), 'weights.safetensors')."
    )


def _safetensors(stream: IO[bytes], size: int, where: str) -> Tensors:
    broken = f"{where} is not a whole safetensors file"
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > size - 8:
        raise InputError(f"{broken}: its head would have {length:,} bytes, the file has {size:,}.")
    if length > HEAD:
        raise InputError(f"{where} has a head of {length:,} bytes; at most {HEAD:,} are read.")
    try:
        head = json.loads(stream.read(length))
    except (ValueError, RecursionError):
        raise InputError(f"{broken}: its head is not JSON.") from None
    if not isinstance(head, dict):
        raise InputError(f"{broken}: its head is no table of tensors.")
    head.pop("__metadata__", None)
    if len(head) > COUNT:
        raise InputError(f"{where} has {len(head):,} tensors; at most {COUNT:,} are read.")
    room = size - 8 - length
    places = sorted((_place(name, entry, room, where) for name, entry in head.items()), key=lambda each: each[3:5])
    found, at = {}, 0
    for name, kind, shape, begin, end in places:
        if begin != at:
            raise InputError(f"{broken}: its tensors do not follow each other.")
        found[name] = np.frombuffer(stream.read(end - begin), dtype=kind).reshape(shape)
        at = end
    if at != room:
        raise InputError(f"{broken}: its tensors need {at:,} bytes, it has {room:,}.")
    return {name: found[name] for name in head}


def _place(name: str, entry: Any, room: int, where: str) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    """What the head says of one tensor, compared with the room that there is."""
    wrong = InputError(f"{where} is not a whole safetensors file: what its head says of {shown(name)} cannot be.")
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        raise wrong
    shape: Any = entry.get("shape")
    place: Any = entry.get("data_offsets")
    kind: str = entry["dtype"]
    if not (_whole(shape, AXES) and _whole(place, 2) and len(place) == 2 and kind in _BYTES):
        raise wrong
    if place[1] - place[0] != math.prod(shape) * _BYTES[kind] or place[1] > room:
        raise wrong
    check_kind(name, kind, where)
    return name, _KINDS[kind], tuple(shape), place[0], place[1]


def _whole(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(type(each) is int and each >= 0 for each in value)


def check_kind(name: str, kind: str, where: str) -> None:
    """Stop at a tensor of another type than the ones that are attacked."""
    if kind in HALF:
        raise InputError(
            f"{where}: {shown(name)} is in half precision ({kind}), which rounds away what is to be read; capture the "
            "weights in float32, as they are before they are made smaller."
        )
    whole = kind in ("I64", "int64")
    if (whole and name.endswith(COUNTER)) or kind in ("F32", "float32"):
        return
    raise InputError(f"{where}: {shown(name)} is of type {kind}; weights must be float32 (convert with .float()).")


def _npz(stream: IO[bytes], size: int, file: Path) -> Tensors:
    where = str(file)
    try:
        with zipfile.ZipFile(stream) as packed:
            members = packed.infolist()
            if any(each.filename.endswith("data.pkl") for each in members):
                raise _pickle(file)
            if len(members) > COUNT:
                raise InputError(f"{where} has {len(members):,} arrays; at most {COUNT:,} are read.")
            total = sum(each.file_size for each in members)
            if total > min(LARGEST, max(SMALL, SWELLING * size)):
                raise InputError(f"{where} would become {total:,} bytes, far more than its {size:,}; it is not opened.")
            found: Tensors = {}
            for each in members:
                name = each.filename.removesuffix(".npy")
                if name in found or name == each.filename:
                    raise InputError(f"{where} is not an npz file of arrays, each with a name of its own.")
                with packed.open(each) as member:
                    found[name] = _array(member, each.file_size, name, where)
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError, OverflowError,
            KeyError, TypeError, SyntaxError, IndexError, OSError) as error:  # fmt: skip
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{where} is not a whole npz file.") from None


def _array(member: IO[bytes], size: int, name: str, where: str) -> np.ndarray:
    """One array, of which the head was compared with the room before it is read."""
    major, minor = npy.read_magic(member)
    if (major, minor) not in ((1, 0), (2, 0)):
        raise ValueError(major)
    shape, by_column, kind = npy.read_array_header_1_0(member) if major == 1 else npy.read_array_header_2_0(member)
    if kind.hasobject:
        raise InputError(f"{where}: {shown(name)} holds Python objects (a pickle), which are never loaded.")
    check_kind(name, kind.newbyteorder("=").name, where)
    if len(shape) > AXES or any(each < 0 for each in shape) or math.prod(shape) * kind.itemsize != size - member.tell():
        raise ValueError(shape)
    values = np.frombuffer(member.read(), dtype=kind).reshape(shape, order="F" if by_column else "C")
    return np.ascontiguousarray(values.astype(kind.newbyteorder("="), copy=False))


def checked(tensors: Mapping[str, np.ndarray], where: str) -> Tensors:
    """The tensors, if they have names, are finite, and there are some."""
    if not tensors:
        raise InputError(f"{where} holds no tensor.")
    if len(tensors) > COUNT:
        raise InputError(f"{where} has {len(tensors):,} tensors; at most {COUNT:,} are read.")
    for name, value in tensors.items():
        if not isinstance(name, str) or not 0 < len(name) <= NAME or not name.isprintable():
            raise InputError(f"{where} has a tensor named {shown(name)}; a name is a text of 1 to {NAME} characters.")
        check_kind(name, value.dtype.name, where)
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise InputError(f"{where}: {shown(name)} holds a value that is not a number, or is infinite.")
    return dict(tensors)


def as_arrays(state: Mapping[str, Any], where: str) -> Tensors:
    """A state dict of torch tensors or numpy arrays as arrays, checked; torch itself is not needed."""
    if not isinstance(state, Mapping):
        raise InputError(f"{where} is a {type(state).__name__}; it must be a state dict: names with tensors.")
    found: Tensors = {}
    for name, value in state.items():
        kind = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
        if not hasattr(value, "dtype") or kind not in ("float32", "int64"):
            check_kind(str(name), {"bfloat16": "BF16", "float16": "float16"}.get(kind, kind), where)
        plain = value.detach().cpu().numpy() if hasattr(value, "detach") else value
        found[str(name)] = np.array(plain, order="C")  # a copy: the training goes on with its own
    return checked(found, where)
