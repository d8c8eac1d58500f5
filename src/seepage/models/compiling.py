"""torch.compile, with its cache where nobody else can put anything.

torch keeps compiled code in the shared temporary folder and runs what it finds there, whoever wrote it. Ours is in the
user's own cache, and is looked at before each use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from seepage._core import InputError
from seepage._core.cache import platform_cache, private_folder

SETTING = "TORCHINDUCTOR_CACHE_DIR"  # where torch looks; workers inherit it


class _Count:
    """How many functions this process compiled: a run says whether it did."""

    functions = 0


def compiled_functions() -> int:
    """How many functions this process has compiled so far."""
    return _Count.functions


def compiled(graph: GraphModule, inputs: Sequence[Tensor]) -> Callable[..., Any]:
    """Recorded operations translated to machine code, for inputs of the kind of these.

    The compiler gets the recorded operations themselves. ``torch.compile`` would record them once more, and then ask
    at every call whether the inputs are still of that kind, which takes as long as a small model.
    """
    try:
        os.environ[SETTING] = str(private_folder(_folder()))
    except OSError as error:
        raise InputError(
            f"There is no place for compiled code: {_folder()} cannot be made ({error.strerror}). Run without "
            "compiling (compile=no)."
        ) from None
    from torch._inductor import compile as translate
    from torch._inductor import config

    # Headers are compiled beforehand into the shared folder, whatever the setting says: without them.
    config.cpp_cache_precompile_headers = False
    _Count.functions += 1
    output = graph.graph.output_node()
    (outputs,) = output.args
    output.args = (tuple(_leaves(outputs)),)  # the compiler wants outputs one after the other
    graph.recompile()
    translated: Callable[..., Any] = translate(graph, [_apart(each) for each in inputs])
    output.args = (outputs,)
    graph.recompile()
    if isinstance(outputs, Node) or outputs is None:
        return lambda *inputs: translated(*inputs)[0]
    return lambda *inputs: nested(outputs, iter(translated(*inputs)))


def _apart(value: Tensor) -> Tensor:
    """The same numbers in the same layout, in memory of its own.

    Nobody asks later whether two inputs are still one tensor, as they may be in the first call only: the weights, and
    those that local training began with.
    """
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device).copy_(value)


def _leaves(nested: Any) -> list[Any]:
    if isinstance(nested, Mapping):
        return [leaf for each in nested.values() for leaf in _leaves(each)]
    if isinstance(nested, Sequence):
        return [leaf for each in nested for leaf in _leaves(each)]
    return [nested]


def nested(like: Any, leaves: Iterator[Any]) -> Any:
    """Values in dictionaries and tuples like these."""
    if isinstance(like, Mapping):
        return {name: nested(each, leaves) for name, each in like.items()}
    if isinstance(like, Sequence):
        return tuple(nested(each, leaves) for each in like)
    return next(leaves)


def _folder() -> Path:
    """The user's choice, or ours. torch writes its own choice to the same place: that is nobody's."""
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    given = os.environ.get(SETTING)
    if given and given != os.path.abspath(default_cache_dir()):
        return Path(given)
    return platform_cache() / "compiled"


def can_compile() -> bool:
    """Whether torch.compile finds a C++ compiler and Python's headers, and has a place for what it makes."""
    if not has_compiler():
        return False
    try:
        private_folder(_folder())
    except OSError:
        return False
    return True


@lru_cache(maxsize=1)
def has_compiler() -> bool:
    """Whether there is a C++ compiler, and Python's headers."""
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    return shutil.which("g++") is not None and headers.exists()


@lru_cache(maxsize=1)
def compiler() -> str:
    """The C++ compiler that torch.compile would use: ``g++ 12.2.0``, or ``none``."""
    if not has_compiler():
        return "none"
    try:
        said = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return f"g++ {said.stdout.strip()}".strip()
