"""From rows as this house lays them out to the inputs that somebody's preprocessor gives a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage.data.encoding import Layout, Statistics
from seepage.data.preprocessing import NumberFacts, OneHotFacts, Preprocessing, QuantileFacts


@dataclass(frozen=True)
class Arrangement:
    """The model's inputs as sums of entries of our rows.

    Ours has the numbers first, and then an entry for every category. Theirs may be in another order, leave out a
    category of each column, and have one number where we have a block.

    Args:
        weights: for each of their inputs, the places of ours that it is made of and what each counts.
        offsets: for each of their inputs, what is added.
        numeric: how many of their inputs are numbers.
        sizes: how many entries each of their one-hot columns has.
    """

    weights: tuple[tuple[tuple[int, float], ...], ...]
    offsets: tuple[float, ...]
    numeric: int
    sizes: tuple[int, ...]

    @property
    def picked(self) -> tuple[int, ...] | None:
        """The places of ours in their order, if each of their inputs is one of ours; else None."""
        plain = all(len(each) == 1 and each[0][1] == 1.0 for each in self.weights) and not any(self.offsets)
        return tuple(each[0][0] for each in self.weights) if plain else None

    def matrix(self, width: int) -> np.ndarray:
        """(width, inputs) such that theirs are ours times this, plus the offsets."""
        result = np.zeros((width, len(self.weights)), dtype=np.float32)
        for place, parts in enumerate(self.weights):
            for source, weight in parts:
                result[source, place] = weight
        return result

    def back(self, layout: Layout, statistics: Statistics) -> np.ndarray | None:
        """(inputs + 1, width + 1) from their inputs with a 1 to our rows with a 1; None if they do not tell our rows.

        A category without an entry has what the others of its column leave of a whole 1.
        """
        picked = self.picked
        if picked is None:
            return None
        width, last = layout.width, len(picked)
        result = np.zeros((last + 1, width + 1))
        result[last, width] = 1.0
        for place, source in enumerate(picked):
            result[place, source] = 1.0
        missing = sorted(set(range(width)) - set(picked))
        shift, scale = statistics.shift, statistics.scale
        for block in layout.blocks:
            # The last slot of an embedded column is for unknown categories, which nobody has.
            known = range(block.start, block.stop - int(layout.embedded))
            lost = [place for place in known if place in missing]
            if len(lost) > 1:
                return None
            for place in lost:
                others = [other for other in known if other != place]
                result[last, place] = (1 - shift[place] - sum(shift[other] for other in others)) / scale[place]
                for other in others:
                    result[picked.index(other), place] = -scale[other] / scale[place]
        return result


def code_columns(preprocessing: Preprocessing, layout: Layout) -> tuple[tuple[int, ...], tuple[slice, ...]]:
    """For a model that takes codes: the places of ours that are its numbers, in order, and its blocks of codes."""
    numbers, blocks = iter(range(layout.numeric)), iter(layout.blocks)
    picked: list[int] = []
    codes: list[slice] = []
    for facts in preprocessing.columns:
        if isinstance(facts, NumberFacts | QuantileFacts):
            picked.append(next(numbers))
        elif isinstance(facts, OneHotFacts):
            start = next(blocks).start
            picked += [start + place for place in facts.kept]
        else:
            codes.append(next(blocks))
    return tuple(picked), tuple(codes)


def arrangement_of(preprocessing: Preprocessing, layout: Layout) -> Arrangement | None:
    """How their inputs are made of ours; None if they are the same."""
    weights: list[tuple[tuple[int, float], ...]] = []
    offsets: list[float] = []
    numbers, blocks = iter(range(layout.numeric)), iter(layout.blocks)
    sizes: list[int] = []
    for facts in preprocessing.columns:
        if isinstance(facts, NumberFacts | QuantileFacts):
            weights.append(((next(numbers), 1.0),))
            offsets.append(0.0)
            continue
        block = next(blocks)
        if isinstance(facts, OneHotFacts):
            weights += [((block.start + place, 1.0),) for place in facts.kept]
            offsets += [0.0] * len(facts.kept)
            sizes.append(len(facts.kept))
        else:
            weights.append(
                tuple((block.start + code, code / facts.scale) for code in range(1, block.stop - block.start))
            )
            offsets.append(-facts.shift / facts.scale)
    made = Arrangement(tuple(weights), tuple(offsets), len(weights) - sum(sizes), tuple(sizes))
    return None if made.picked == tuple(range(layout.width)) else made
