"""How the training rows are divided over clients. Every row goes to exactly one client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seepage._core import InputError, unknown_name
from seepage.data.table import Table


class Partition(Protocol):
    """Rows of each client, as index arrays into the table."""

    def __call__(self, table: Table, generator: np.random.Generator) -> list[np.ndarray]: ...


@dataclass(frozen=True, kw_only=True)
class IID:
    """Equal shares; each class is dealt evenly (stratified folds), regression rows are shuffled."""

    clients: int = 10

    def __call__(self, table: Table, generator: np.random.Generator) -> list[np.ndarray]:
        _check(table, self.clients)
        order = generator.permutation(len(table))
        if table.schema.target.task != "regression":
            # Dealt class by class like cards: no client has two more of a class than another.
            order = order[np.argsort(table.target[order], kind="stable")]
        return [np.sort(order[client :: self.clients]) for client in range(self.clients)]


@dataclass(frozen=True, kw_only=True)
class Dirichlet:
    """Non-IID by class: each class is divided over the clients in proportions drawn from Dirichlet(alpha).

    Small ``alpha`` makes clients differ more. Regression targets are cut into ``bins`` quantile groups first.
    A draw that leaves a client without rows is drawn again.
    """

    clients: int = 10
    alpha: float = 1.0
    bins: int = 10

    def __call__(self, table: Table, generator: np.random.Generator) -> list[np.ndarray]:
        _check(table, self.clients)
        if self.alpha <= 0:
            raise InputError(f"Dirichlet alpha is {self.alpha}; it must be above 0.")
        labels = self._labels(table)
        for _ in range(100):
            owner = np.empty(len(table), dtype=np.int64)
            for label in np.unique(labels):
                rows = generator.permutation(np.flatnonzero(labels == label))
                shares = generator.dirichlet(np.full(self.clients, self.alpha))
                owner[rows] = np.searchsorted(np.cumsum(shares)[:-1], (np.arange(len(rows)) + 0.5) / len(rows))
            if len(np.unique(owner)) == self.clients:
                return [np.flatnonzero(owner == client) for client in range(self.clients)]
        raise InputError(
            f"Dirichlet({self.alpha}) left a client without rows in 100 draws; use fewer clients or a larger alpha."
        )

    def _labels(self, table: Table) -> np.ndarray:
        if table.schema.target.task != "regression":
            return table.target
        edges = np.quantile(table.target, np.linspace(0, 1, self.bins + 1)[1:-1])
        return np.searchsorted(edges, table.target)


@dataclass(frozen=True, kw_only=True)
class ByColumn:
    """One client per value of a categorical column: hospitals, branches, states."""

    column: str

    def __call__(self, table: Table, generator: np.random.Generator) -> list[np.ndarray]:
        names = [column.name for column in table.schema.categorical]
        if self.column not in names:
            raise unknown_name("categorical column to partition by", self.column, names)
        codes = table.codes[:, names.index(self.column)]
        return [np.flatnonzero(codes == code) for code in np.unique(codes)]


@dataclass(frozen=True, kw_only=True)
class QuantitySkew:
    """IID rows in unequal amounts: the clients' shares are drawn from Dirichlet(alpha), each has one row at
    least.
    """

    clients: int = 10
    alpha: float = 1.0

    def __call__(self, table: Table, generator: np.random.Generator) -> list[np.ndarray]:
        _check(table, self.clients)
        if self.alpha <= 0:
            raise InputError(f"Quantity-skew alpha is {self.alpha}; it must be above 0.")
        shares = generator.dirichlet(np.full(self.clients, self.alpha))
        spare = len(table) - self.clients
        cuts = np.cumsum(np.floor(shares * spare).astype(np.int64) + 1)[:-1]
        return [np.sort(rows) for rows in np.split(generator.permutation(len(table)), cuts)]


def _check(table: Table, clients: int) -> None:
    if clients < 1:
        raise InputError(f"There are {clients} clients; at least 1 is needed.")
    if len(table) < clients:
        raise InputError(f"There are {len(table)} training rows for {clients} clients; use fewer clients.")
