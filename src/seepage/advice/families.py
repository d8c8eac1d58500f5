"""The defences among which advice is sought, each with strengths from weak to strong.

All that the study of rows can train with. Those of other studies (``gradient_clipping`` and others of vertical
training, ``epochs`` and others of property inference) do nothing to a client's update, so they are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Family:
    """A defence, whatever its strength.

    Args:
        form: its spec; ``{}`` is where the strength goes.
        means: what it does, for readers who know no specs; ``{}`` is where the strength goes.
        strengths: from weak to strong; empty if it has none.
        continuous: whether strengths between two others are worth trying.
        removed: whether the strength is a share that is taken away: what counts is the share that is left.

    Example:
        >>> Family(form="top_k:{}", means="only a share of {} is sent", strengths=(0.1, 0.01)).spec(0.1)
        'top_k:0.1'
    """

    form: str
    means: str
    strengths: tuple[float, ...] = ()
    continuous: bool = False
    removed: bool = False

    @property
    def specs(self) -> tuple[str, ...]:
        """All that are looked at from the beginning."""
        return tuple(map(self.spec, self.strengths)) or (self.form,)

    def spec(self, strength: float) -> str:
        """The defence of this strength."""
        return self.form.format(f"{strength:g}")

    def meaning(self, spec: str) -> str:
        """What a defence of this kind does, in words.

        Example:
            >>> FAMILIES["top_k"].meaning("top_k:0.1")
            'only a share of 0.1 of the numbers is sent, the largest'
        """
        strength = self.strength(spec)
        if strength is None:
            return f"the defence is {spec}" if "{}" in self.means else self.means
        return self.means.format(f"{strength:g}")

    def strength(self, spec: str) -> float | None:
        """The strength in a spec; None where there is none, or where other options were given."""
        before, found, _ = self.form.partition("{}")
        if not found or not spec.startswith(before):
            return None
        try:
            return float(spec.removeprefix(before))
        except ValueError:
            return None

    def stronger(self, one: float, other: float) -> bool:
        """Whether the first of two strengths hides more."""
        return one < other if self.strengths[0] > self.strengths[-1] else one > other

    def between(self, weak: float, strong: float) -> float | None:
        """The strength in the middle of two, by ratio and with one digit; None where there is none.

        Example:
            >>> FAMILIES["gaussian_noise"].between(0.01, 0.1), FAMILIES["gradient_pruning"].between(0.9, 0.99)
            (0.03, 0.97)
        """
        one, other = (1 - weak, 1 - strong) if self.removed else (weak, strong)
        if not self.continuous or one <= 0 or other <= 0:
            return None
        middle = float(f"{math.sqrt(one * other):.1g}")
        found = round(1 - middle, 9) if self.removed else middle
        return None if found in (weak, strong) else found


FAMILIES: dict[str, Family] = {
    "gaussian_noise": Family(
        form="gaussian_noise:{}",
        means="noise with a deviation of {} is added to every number",
        strengths=(0.001, 0.01, 0.1),
        continuous=True,
    ),
    "dp_sgd": Family(
        form="dp_sgd:clip=1:noise={}",
        means="every row's gradient is cut to a length of 1, and noise of {} times that is added to their sum (DP-SGD)",
        strengths=(0.1, 0.5, 2.0),
        continuous=True,
    ),
    "dp_fedavg": Family(
        form="dp_fedavg:clip=1:noise={}",
        means="before it sends, a client cuts the whole update to a length of 1 and adds noise with a deviation of {} "
        "to every number",
        strengths=(0.01, 0.1),
        continuous=True,
    ),
    "local_dp": Family(
        form="local_dp:{}",
        means="the whole update is cut to a length of 1, and gets the noise that an epsilon of {} per update needs",
        strengths=(1000.0, 100.0),
        continuous=True,
    ),
    "top_k": Family(
        form="top_k:{}",
        means="only a share of {} of the numbers is sent, the largest",
        strengths=(0.1, 0.01),
        continuous=True,
    ),
    "random_k": Family(
        form="random_k:{}",
        means="only a share of {} of the numbers is sent, drawn anew each time",
        strengths=(0.1, 0.01),
        continuous=True,
    ),
    "gradient_pruning": Family(
        form="gradient_pruning:{}",
        means="a share of {} of every layer's numbers is set to zero, the smallest",
        strengths=(0.9, 0.99),
        continuous=True,
        removed=True,
    ),
    "quantisation": Family(form="quantisation:{}", means="every number is sent with {} bit(s)", strengths=(8, 2, 1)),
    "rounding": Family(
        form="rounding:{}",
        means="every number is rounded to a multiple of {}",
        strengths=(0.001, 0.01, 0.1),
        continuous=True,
    ),
    "update_clipping": Family(
        form="update_clipping:{}", means="the whole update is cut to a length of {}", strengths=(1.0, 0.1)
    ),
    "first_layer_withheld": Family(
        form="first_layer_withheld", means="the first layer is never trained, and nothing of it is sent"
    ),
    "soteria": Family(
        form="soteria:{}",
        means="a share of {} of what the last layer tells about the rows is left out",
        strengths=(0.4, 0.9),
    ),
    "precode": Family(
        form="precode:{}",
        means="the model has a bottleneck of {} numbers before its last layer, in which each client draws at random",
        strengths=(32, 8),
    ),
    "mixup": Family(form="mixup:{}", means="clients train on mixtures of two rows each", strengths=(1.0,)),
    "label_smoothing": Family(
        form="label_smoothing:{}", means="a share of {} of every label is spread over all classes", strengths=(0.2, 0.5)
    ),
}


def local_dp_noise(epsilon: float) -> float:
    """The deviation of the noise that ``local_dp`` adds to every number for this epsilon.

    Example:
        >>> round(local_dp_noise(100.0), 3)
        0.189
    """
    from seepage.defenses import LocalDP  # torch takes seconds to load

    return LocalDP(epsilon=epsilon).deviation
