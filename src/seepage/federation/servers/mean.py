"""FedAvg's server: the mean change is added."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.models import Parameters


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The mean change is added as it is."""

    def fresh(self, weights: Parameters) -> tuple[Parameters, ...]:
        """Nothing is kept."""
        return ()

    def step(
        self, weights: Parameters, change: Parameters, memory: tuple[Parameters, ...]
    ) -> tuple[Parameters, tuple[Parameters, ...]]:
        """The next model."""
        return {name: value + change[name] for name, value in weights.items()}, ()
