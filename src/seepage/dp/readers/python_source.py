"""Python source: calls of Opacus, Flower and NVFlare, found in the text. The file is parsed and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

from seepage._core import InputError, unknown_name
from seepage.dp.readers.names import Names, last_name
from seepage.dp.readers.signatures import MODS, NEEDED, SIGNATURES, Signature
from seepage.dp.said import Fact, Said, Source, Unclear, Value

# Calls that say something of the federation, and the argument that says it (by name, or by place).
_FACTS: dict[str, tuple[str, int | None, str]] = {
    "ServerConfig": ("num_rounds", 0, "rounds"),
    "start": ("num_rounds", None, "rounds"),
    "FedAvgRecipe": ("num_rounds", None, "rounds"),
    "ScatterAndGather": ("num_rounds", None, "rounds"),
    "DataLoader": ("batch_size", 1, "batch_size"),
    "get_epsilon": ("delta", 0, "delta"),
    "FedAvg": ("fraction_fit", None, "fraction"),
}
_OTHER = {"fraction_fit": "fraction_train"}  # in newer versions of Flower
_RATIOS = ("1 / len(", "1/len(", "1.0 / len(", "1.0/len(")


def read_python(text: str, file: str, config: Mapping[str, object]) -> Source:
    """What a Python file says of privacy.

    Args:
        text: the source.
        file: its name, for sentences.
        config: values of the project file, if it was given.

    Example:
        >>> source = "mod = LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=1.0, delta=1e-5)"
        >>> read_python(source, "client.py", {}).said[0].values["sensitivity"]
        2.0
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of the file's own strings; they are not ours to tell
            tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"{file} is not Python that can be read: {error.msg} in line {error.lineno}.") from None
    except (RecursionError, MemoryError):
        raise InputError(f"{file} is nested too deep to be read.") from None
    except ValueError:
        raise InputError(f"{file} is not Python that can be read: it has bytes that no source has.") from None
    names = Names(tree, text, config)
    calls = [(names.classes.get(name, name), call) for name, call in _calls(tree)]
    _refuse_old_opacus(calls, file)
    said = [_said(name, call, names, file) for name, call in calls if name in SIGNATURES]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    return Source(
        file=file,
        said=tuple(sorted((each for each in said if each.kind not in own), key=lambda each: each.line)),
        facts=tuple(_facts(calls, names, file)),
        seen=frozenset({name for name, _ in calls} | _mentioned(tree, names)),
    )


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func):
            yield last_name(node.func), node


def _mentioned(tree: ast.Module, names: Names) -> set[str]:
    """Mods of Flower are handed over without being called; imports alone are no use of them."""
    used = {last_name(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)}
    return {names.classes.get(name, name) for name in used} & {*MODS, "secaggplus_mod", "secagg_mod"}


def _said(name: str, call: ast.Call, names: Names, file: str) -> Said:
    signature = SIGNATURES[name]
    given, hidden = _arguments(name, call, signature, file)
    values: dict[str, Value] = {}
    unclear: dict[str, Unclear] = {}
    assumed: dict[str, str] = {}
    for argument, default in signature.arguments.items():
        if argument in given:
            if argument in signature.objects:
                values[argument] = "given" if not _is_none(given[argument]) else None
                continue
            worth = names.worth(given[argument])
            if isinstance(worth, Unclear):
                unclear[argument] = worth
            else:
                values[argument] = worth
                if why := names.assumed(given[argument]):
                    assumed[argument] = why
        elif default is not NEEDED:
            values[argument] = default  # type: ignore[assignment]
        elif argument not in signature.objects and not (signature.framework == "Opacus" and argument in _PLACES):
            if not hidden:
                raise InputError(f"{name} in {file}, line {call.lineno}, has no {argument}, which it needs.")
            unclear[argument] = Unclear(text="**", line=call.lineno, why="arguments come from elsewhere")
    ignored = tuple(each for each in given if each not in signature.arguments)
    return Said(
        kind=name,
        framework=signature.framework,
        file=file,
        line=call.lineno,
        values=values,
        unclear=unclear,
        assumed=assumed,
        ignored=ignored,
        given=frozenset(given),
    )


_PLACES = ("module", "optimizer", "data_loader")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _arguments(name: str, call: ast.Call, signature: Signature, file: str) -> tuple[dict[str, ast.expr], bool]:
    """Arguments by their names, and whether some come from elsewhere (``*`` and ``**``)."""
    order = list(signature.arguments)
    hidden = any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)
    plain = [each for each in call.args if not isinstance(each, ast.Starred)]
    where = f"{name} in {file}, line {call.lineno},"
    if plain and signature.keywords_only and not signature.swallows:
        raise InputError(f"{where} has arguments without names; it takes {' and '.join(order)}, each with its name.")
    if len(plain) > len(order) and not signature.swallows:
        raise InputError(f"{where} has {len(plain)} arguments; it takes {', '.join(order)}.")
    given = {} if signature.keywords_only else dict(zip(order, plain, strict=False))
    for each in call.keywords:
        if each.arg is None:
            continue
        if each.arg in given:
            raise InputError(f"{where} says {each.arg} twice.")
        if each.arg not in order and not signature.swallows:
            raise unknown_name(f"argument of {name} in {file}, line {call.lineno}:", each.arg, order)
        given[each.arg] = each.value
    return given, hidden


def _refuse_old_opacus(calls: list[tuple[str, ast.Call]], file: str) -> None:
    """Before 1.0 the engine itself took noise and clip; other names, other meanings."""
    for name, call in calls:
        words = {each.arg for each in call.keywords}
        if name == "PrivacyEngine" and (call.args or words & {"noise_multiplier", "max_grad_norm", "sample_rate"}):
            raise InputError(
                f"PrivacyEngine in {file}, line {call.lineno}, is of Opacus before 1.0, which is not understood; from "
                "1.0 on noise_multiplier and max_grad_norm are arguments of make_private."
            )


def _facts(calls: list[tuple[str, ast.Call]], names: Names, file: str) -> Iterator[Fact]:
    for name, call in calls:
        if name not in _FACTS:
            continue
        word, place, fact = _FACTS[name]
        node = next((each.value for each in call.keywords if each.arg in (word, _OTHER.get(word))), None)
        if node is None and place is not None and len(call.args) > place:
            node = call.args[place]
        if node is None:
            continue
        worth = names.worth(node)
        if isinstance(worth, int | float) and not isinstance(worth, bool):
            yield Fact(name=fact, value=worth, place=f"{file}, line {call.lineno}")


def is_one_over_batches(unclear: Unclear) -> bool:
    """Whether delta is one over the length of a loader: that is the number of its batches, not of its rows.

    Example:
        >>> is_one_over_batches(Unclear(text="1 / len(train_loader)", line=3))
        True
    """
    plain = unclear.text.startswith(_RATIOS) and unclear.text.endswith(")")
    inner = unclear.text.partition("len(")[2].removesuffix(")")
    return plain and "loader" in inner and not inner.endswith(".dataset")
