"""Functions that are called again and again, recorded once as a flat list of tensor operations and then replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from seepage.models.compiling import compiled, nested
from seepage.models.products import choose_products


class Traced:
    """A function that is called again and again, recorded as a flat list of tensor operations and then replayed.

    Small models spend their time in Python: ``vmap``, ``grad`` and module calls cost more than the arithmetic.
    Recording needs no compiler but takes as long as it saves in some hundred calls, so the first ``patience`` calls of
    a shape run as they are. With ``compiled`` the first call records and compiles. The function may write to its
    arguments, but has no other effects, and its control flow must depend on shapes only, which holds for everything in
    :class:`Learner` whose module ``vmap`` can take. Others are never recorded: ``steady=False``.
    """

    def __init__(
        self, function: Callable[..., Any], *, patience: int = 250, compiled: bool = False, steady: bool = True
    ) -> None:
        self._function = function
        self._steady = steady
        self._patience = 0 if compiled else patience
        self._compiled = compiled
        self._calls: Counter[tuple[Any, ...]] = Counter()
        self._graphs: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        if not self._steady:
            return self._function(*arguments)
        inputs = leaves(arguments)
        if not all(leaf.is_contiguous() for leaf in inputs):
            # Recording copies what is expanded, and a view of the copy may be no view of the original: copy it always.
            inputs = [leaf.contiguous() if 0 in leaf.stride() else leaf for leaf in inputs]
        key = tuple((leaf.shape, leaf.dtype, leaf.is_contiguous() or leaf.stride()) for leaf in inputs)
        if key in self._graphs:
            return self._graphs[key](*inputs)
        self._calls[key] += 1
        if self._calls[key] <= self._patience:
            return self._function(*arguments)
        graph = recorded(self._function, *arguments)
        # Compiled from the recorded operations: the compiler sees plain tensors, whatever the function is made of.
        self._graphs[key] = compiled(graph, inputs) if self._compiled else graph.forward
        return self._graphs[key](*inputs)


def leaves(arguments: Any) -> list[Tensor]:
    """The tensors in nested tuples and dictionaries, in order. torch's own walk takes longer than a small model."""
    if isinstance(arguments, Tensor):
        return [arguments]
    children = arguments.values() if isinstance(arguments, dict) else arguments
    found: list[Tensor] = []
    for child in children:
        if isinstance(child, Tensor):
            found.append(child)
        else:
            found += leaves(child)
    return found


def record(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The function as a replay of its operations for inputs shaped like these; it takes their leaves."""
    replay: Callable[..., Any] = recorded(function, *arguments).forward  # past the hooks of a module call
    return replay


def recorded(function: Callable[..., Any], *arguments: Any) -> GraphModule:
    """The operations that the function does with arguments like these, on their leaves."""
    from torch.fx.experimental.proxy_tensor import make_fx

    # Copies, because a tensor that is passed twice would be recorded as one input.
    copies = [leaf.clone() for leaf in leaves(arguments)]

    def flat(*inputs: Tensor) -> Any:
        return function(*nested(arguments, iter(inputs)))

    graph = make_fx(flat, tracing_mode="real")(*copies)
    for node in list(graph.graph.nodes):
        same = _same_value(node) if node.op == "call_function" else None
        if same is not None:
            node.replace_all_uses_with(same)
        elif node.target in _VIEWS and isinstance(node.args[0], torch.fx.Node) and node.args[0].target in _VIEWS:
            node.replace_input_with(node.args[0], node.args[0].args[0])  # a view of a view is a view
    graph.graph.eliminate_dead_code()
    _fold_constants(graph)
    _merge_duplicates(graph.graph)
    graph.graph.eliminate_dead_code()
    choose_products(graph)
    graph.recompile()
    return graph


_ATEN = torch.ops.aten
_RESHAPES = {
    _ATEN.view.default,
    _ATEN._unsafe_view.default,
    _ATEN.expand.default,
    _ATEN.alias.default,
}
_VIEWS = {_ATEN.view.default, _ATEN._unsafe_view.default}
_ZEROS = {_ATEN.new_zeros.default, _ATEN.zeros_like.default}


def _same_value(node: torch.fx.Node) -> torch.fx.Node | None:
    """An earlier node with the same value, for operations that change nothing (differentiation leaves many)."""
    sources = [argument for argument in node.args if isinstance(argument, torch.fx.Node)]
    if not sources:
        return None
    if node.target is _ATEN.detach.default:
        return sources[0]
    if node.target in _RESHAPES and _alike(node, sources[0]):
        return sources[0]
    if node.target is _ATEN.mul.Scalar and node.args[1] == 1 and _alike(node, sources[0]):
        return sources[0]
    if node.target is _ATEN.pow.Tensor_Scalar and node.args[1] == 1 and _alike(node, sources[0]):
        return sources[0]
    if node.target is _ATEN.add.Tensor and len(sources) == 2 and not node.kwargs:
        for zeros, other in (sources, reversed(sources)):
            if zeros.target in _ZEROS and _alike(node, other):
                return other
    return None


def _alike(node: torch.fx.Node, source: torch.fx.Node) -> bool:
    before, after = source.meta.get("val"), node.meta.get("val")
    return before is not None and after is not None and before.shape == after.shape and before.dtype == after.dtype


def _fold_constants(graph: torch.fx.GraphModule) -> None:
    """Compute once what does not depend on the inputs: zeros, ones, and all that is made of them alone."""
    values: dict[torch.fx.Node, Tensor] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr" and isinstance(getattr(graph, str(node.target), None), Tensor):
            values[node] = getattr(graph, str(node.target))
            continue
        if node.op != "call_function" or not _is_pure(node) or any(not _is_pure(user) for user in node.users):
            continue
        shaped = node.meta.get("val")
        if node.target in _FILLED and isinstance(shaped, Tensor):
            filled = torch.ones if node.target is _ATEN.ones_like.default else torch.zeros
            value: Any = filled(shaped.shape, dtype=shaped.dtype, device=shaped.device)
        elif not node.all_input_nodes or any(source not in values for source in node.all_input_nodes):
            continue
        else:
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda source: values[source])
            value = node.target(*args, **kwargs)
        if not isinstance(value, Tensor):
            continue
        name = f"_folded_{len(values)}"
        graph.register_buffer(name, value, persistent=False)
        with graph.graph.inserting_before(node):
            folded = graph.graph.get_attr(name)
        folded.meta["val"] = shaped
        values[folded] = value
        node.replace_all_uses_with(folded)


def _merge_duplicates(graph: torch.fx.Graph) -> None:
    """The same operation on the same values is done once, unless something writes to one of the values."""
    written = {_root(node.args[0]) for node in graph.nodes if not _is_pure(node)}
    seen: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_pure(node) or _root(node) in written:
            continue
        if any(_root(source) in written for source in node.all_input_nodes):
            continue
        key = (node.target, _hashable(node.args), _hashable(node.kwargs))
        if key in seen:
            node.replace_all_uses_with(seen[key])
        seen.setdefault(key, node)


def _root(node: Any) -> Any:
    """Whose memory a value lies in: that of its first argument, for operations that only look at it differently."""
    while isinstance(node, torch.fx.Node) and node.op == "call_function" and node.args and _may_alias(node):
        node = node.args[0]
    return node


def _may_alias(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None:  # getitem of a split
        return True
    return any(argument.alias_info is not None for argument in schema.arguments) or "view" in schema.name


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_hashable(item) for item in value)
    return (type(value), value)


def _is_pure(node: torch.fx.Node) -> bool:
    """Whether an operation only reads: its name does not end in an underscore, and it writes no ``out``."""
    if node.op != "call_function":
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is None or not schema.is_mutable


_FILLED = {_ATEN.new_zeros.default, _ATEN.zeros_like.default, _ATEN.ones_like.default}
