"""What expressions of a Python file are worth, found by reading alone: nothing is imported, called or run.

Literals, names that are set once, class attributes, entries of literal dictionaries, plain arithmetic, infinity, and
defaults of ``argparse``. Everything else is :class:`Unclear`, with its words and its line.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from seepage.dp.said import Unclear

DEEP = 40  # names of names of names
LARGEST = 1e300  # beyond it, arithmetic of a file is not followed
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_INFINITE = {"inf", "Inf", "infty", "Infinity"}


class Names:
    """The names of one file, and what each is worth.

    Args:
        tree: the parsed file.
        text: its source, for the words of what is unclear.
        config: values that a project file holds for the program (Flower's ``[tool.flwr.app.config]``).

    Example:
        >>> source = "C = 2\\nnoise = C * 0.5"
        >>> names = Names(ast.parse(source), source, {})
        >>> names.worth(ast.parse("noise", mode="eval").body)
        1.0
    """

    def __init__(self, tree: ast.Module, text: str, config: Mapping[str, object]) -> None:
        self._text, self._config = text, config
        self._set: dict[str, list[ast.expr | None]] = {}  # None: by something that is not one plain value
        self._typed: dict[str, ast.expr] = {}  # defaults of options of the program's own command line
        self.classes: dict[str, str] = {}  # other names of imported things
        every = list(ast.walk(tree))
        owners = {id(each): node.name for node in every if isinstance(node, ast.ClassDef) for each in node.body}
        for node in every:
            self._gather(node, owners.get(id(node), ""))

    def worth(self, node: ast.expr, deep: int = 0) -> Any:
        """The value of an expression, or :class:`Unclear`."""
        if deep > DEEP:
            return self._unclear(node, "it leads too far")
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int | float | bool | str | None) else self._unclear(node)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node, deep)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.worth(node.operand, deep + 1)
            return -inner if _is_number(inner) else self._unclear(node)
        if isinstance(node, ast.BinOp):
            return self._computed(node, deep)
        if isinstance(node, ast.List | ast.Tuple):
            every = [self.worth(each, deep + 1) for each in node.elts]
            return tuple(every) if all(map(_is_number, every)) else self._unclear(node)
        if isinstance(node, ast.Subscript):
            return self._entry(node, deep)
        if isinstance(node, ast.Call):
            return self._called(node, deep)
        return self._unclear(node)

    def assumed(self, node: ast.expr, deep: int = 0) -> str:
        """A sentence if the value is the default of an option of the program; else nothing."""
        if isinstance(node, ast.Attribute) and node.attr in self._typed and _last(node.value) in _PARSED:
            return f"is the default of the program's own option for {node.attr}; another value can be typed"
        if deep < DEEP and isinstance(node, ast.Name) and len(self._set.get(node.id, ())) == 1:
            (only,) = self._set[node.id]
            return self.assumed(only, deep + 1) if only is not None else ""
        return ""

    def _gather(self, node: ast.AST, owner: str) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assigned(target, node.value, owner)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assigned(node.target, node.value, owner)
        elif isinstance(node, ast.NamedExpr):
            self._assigned(node.target, node.value)
        elif isinstance(node, ast.AugAssign | ast.For | ast.comprehension):
            self._assigned(node.target, None)
        elif isinstance(node, ast.arg):
            self._set.setdefault(node.arg, []).append(None)  # whoever calls the function says it
        elif isinstance(node, ast.ImportFrom | ast.Import):
            self.classes |= {each.asname: each.name.split(".")[-1] for each in node.names if each.asname}
        elif isinstance(node, ast.Call) and _last(node.func) == "add_argument":
            self._option(node)

    def _assigned(self, target: ast.expr, value: ast.expr | None, owner: str = "") -> None:
        """``owner`` is the class in whose body it stands: its names are attributes."""
        if isinstance(target, ast.Tuple | ast.List):
            inner = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            same = len(inner) == len(target.elts)
            for number, each in enumerate(target.elts):
                self._assigned(each, inner[number] if same else None, owner)
        elif isinstance(target, ast.Name | ast.Attribute):
            key = f"{owner}.{target.id}" if owner and isinstance(target, ast.Name) else _key(target)
            self._set.setdefault(key, []).append(value)

    def _option(self, call: ast.Call) -> None:
        words = {each.arg: each.value for each in call.keywords}
        flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        chosen = words.get("dest")
        name = chosen.value if isinstance(chosen, ast.Constant) else long.lstrip("-").replace("-", "_")
        if name and "default" in words:
            self._typed[str(name)] = words["default"]

    def _named(self, node: ast.Name | ast.Attribute, deep: int) -> Any:
        name = _last(node)
        if isinstance(node, ast.Attribute) and _last(node.value) in _PARSED and name in self._typed:
            return self.worth(self._typed[name], deep + 1)
        if isinstance(node, ast.Attribute) and name in _INFINITE:
            return math.inf
        values = self._set.get(_key(node), []) or self._of_class(node)
        if not values:
            return self._unclear(node, "it is not set in this file")
        if any(value is None for value in values):
            return self._unclear(node, "it is an argument of a function, or changes")
        every = [self.worth(value, deep + 1) for value in values if value is not None]
        unclear = next((each for each in every if isinstance(each, Unclear)), None)
        if unclear is not None:
            return unclear
        if len({repr(each) for each in every}) > 1:
            lines = " and ".join(str(value.lineno) for value in values if value is not None)
            return self._unclear(node, f"it has different values in lines {lines}")
        return every[0]

    def _of_class(self, node: ast.Name | ast.Attribute) -> list[ast.expr | None]:
        """What a class in this file sets, for an attribute of its only instance: ``cfg = Config()``, ``cfg.noise``."""
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            return []
        made = self._set.get(node.value.id, [])
        if len(made) == 1 and isinstance(made[0], ast.Call) and not (made[0].args or made[0].keywords):
            return self._set.get(f"{_last(made[0].func)}.{node.attr}", [])
        return []

    def _computed(self, node: ast.BinOp, deep: int) -> Any:
        left, right = self.worth(node.left, deep + 1), self.worth(node.right, deep + 1)
        apply = _OPERATORS.get(type(node.op))
        if apply is None or not (_is_number(left) and _is_number(right)):
            return self._unclear(node)
        if isinstance(node.op, ast.Pow) and (abs(right) > 1000 or abs(left) > 1e15):
            return self._unclear(node, "it is too large to be followed")
        try:
            found = apply(left, right)
        except (ZeroDivisionError, OverflowError):
            return self._unclear(node, "it has no value")
        plain = _is_number(found) and (abs(found) < LARGEST or math.isinf(found))
        return found if plain else self._unclear(node, "it has no value")

    def _entry(self, node: ast.Subscript, deep: int) -> Any:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if _last(node.value) in _RUN_CONFIG:
            if key in self._config:
                return self._config[str(key)]
            return self._unclear(node, "give the project's pyproject.toml too, if it is set there")
        values = self._set.get(_key(node.value), [])
        if len(values) == 1 and isinstance(values[0], ast.Dict):
            found = [v for k, v in zip(values[0].keys, values[0].values, strict=True) if _constant(k) == key]
            if len(found) == 1:
                return self.worth(found[0], deep + 1)
        return self._unclear(node)

    def _called(self, node: ast.Call, deep: int) -> Any:
        name, first = _last(node.func), node.args[0] if len(node.args) == 1 and not node.keywords else None
        if name in ("float", "int") and first is not None:
            inner = self.worth(first, deep + 1)
            if isinstance(inner, str) and inner.strip("+").lower() in ("inf", "infinity"):
                return math.inf
            if _is_number(inner) and math.isfinite(inner):
                return int(inner) if name == "int" else float(inner)
            return inner if isinstance(inner, Unclear) else self._unclear(node)
        if name == "sqrt" and first is not None:
            inner = self.worth(first, deep + 1)
            return math.sqrt(inner) if _is_number(inner) and inner >= 0 else self._unclear(node)
        if name == "get" and isinstance(node.func, ast.Attribute) and node.args:
            return self._entry(ast.Subscript(value=node.func.value, slice=node.args[0], lineno=node.lineno), deep)
        return self._unclear(node)

    def _unclear(self, node: ast.expr, why: str = "it is computed while the program runs") -> Unclear:
        words = ast.get_source_segment(self._text, node) if hasattr(node, "end_lineno") else None
        return Unclear(text=" ".join((words or "a value").split())[:80], line=node.lineno, why=why)


_PARSED = {"args", "opt", "opts", "options", "parsed", "FLAGS", "flags", "config", "cfg"}
_RUN_CONFIG = {"run_config", "node_config"}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _last(node: ast.expr) -> str:
    """``opacus.PrivacyEngine`` is ``PrivacyEngine``; nothing for what has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _key(node: ast.expr) -> str:
    """Under which name a value is kept: ``noise``, or ``Config.noise`` for an attribute."""
    return f"{_last(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else _last(node)


last_name = _last
