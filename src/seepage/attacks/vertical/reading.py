r"""What the host reads of a guest's columns in the messages that the guest sends.

In TabVFL a guest sends :math:`z = W\,\mathrm{BatchNorm}(x)` of its encoded rows: numbers standardised,
categories one-hot. Chapter 5 of the thesis argues that without :math:`W` the host reads the rows off, because
BatchNorm leaves standardised numbers as they are, and that :math:`W` (the fully connected layer) is the remedy.
:func:`read_directly` measures the first claim, :func:`read_with_known_rows` how far the remedy goes.
"""

from __future__ import annotations

import numpy as np

from seepage._core import InputError
from seepage.attacks.vertical.space import as_matrix, column_space
from seepage.data import Layout

SAME = 1e-6  # a column that spreads less than this is constant


def read_directly(z: np.ndarray, layout: Layout, *, standardise: bool = False) -> np.ndarray:
    """What does a host read that takes the message for the guest's encoded rows?

    Numbers are taken as they are. BatchNorm has moved the one-hot entries too, but each still has two values only, so
    the larger one is read as 1 and the smaller one as 0. An entry that never changes is read as 1/2: it is the category
    of exactly those rows in which no other entry of its block is 1.

    Args:
        z: (rows, width) messages; one batch, or all rows if BatchNorm used its running statistics.
        layout: of the guest's encoding.
        standardise: give the numbers mean 0 and deviation 1 again, for a BatchNorm whose own scale and shift have been
            trained.

    Returns:
        (rows, width) encoded rows: standardised numbers and one-hot entries in [0, 1].
    """
    message = as_matrix(z, "The message")
    if message.shape[1] != layout.width:
        raise InputError(f"The message has {message.shape[1]} columns, but the guest's encoding has {layout.width}.")
    numbers, entries = message[:, : layout.numeric], message[:, layout.numeric :]
    if standardise:
        deviation = numbers.std(0)
        numbers = (numbers - numbers.mean(0)) / np.where(deviation > SAME, deviation, 1.0)
    low, spread = entries.min(0), np.ptp(entries, axis=0)
    read = np.where(spread > SAME, (entries - low) / np.where(spread > SAME, spread, 1.0), 0.5)
    return np.concatenate([numbers, read], axis=1)


def read_with_known_rows(z: np.ndarray, known_rows: np.ndarray, known_x: np.ndarray) -> np.ndarray:
    r"""What does a host read that knows some of the guest's rows, such as customers of both?

    The known rows give the affine map from messages back to encodings by least squares, and the map is applied to all
    rows. It is fitted in the whitened coordinates of all messages, which do not depend on :math:`W`; with too few known
    rows it is the solution of least norm there.

    Guarantees:
        If the message is an affine function of the encoding and the known messages span the same affine space as all of
        them, every row is recovered up to rounding. This takes as many known rows as the guest has independent columns,
        plus one: ``width + 1`` suffice in general position, and one less for each one-hot block. So the fully connected
        layer is no protection against a host that knows as many rows as the guest has encoded columns, however large
        the rest of the table is. Each known row less leaves one direction open, no more. In real tables the open
        directions are rare categories that no known row has.

    Args:
        z: (rows, width) messages.
        known_rows: (known,) places of the known rows.
        known_x: (known, encoding width) their encodings.

    Returns:
        (rows, encoding width) estimated encodings; the known rows are estimated like all others.
    """
    space = column_space(z)
    known = as_matrix(known_x, "The known encodings")
    places = np.asarray(known_rows)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise InputError(f"The known rows must be a list of places; they are {places.dtype} of shape {places.shape}.")
    if len(places) != len(known):
        raise InputError(f"There are {len(places)} known rows, but {len(known)} encodings of known rows.")
    if places.min() < 0 or places.max() >= space.rows:
        raise InputError(f"The known rows must be places from 0 to {space.rows - 1}; one is {_outside(places)}.")
    if len(np.unique(places)) != len(places):
        raise InputError("A known row is listed twice.")
    coordinates = space.basis * space.rows**0.5  # every direction has deviation 1
    here, centre = coordinates[places].mean(0), known.mean(0)
    # Directions in which the known rows hardly differ would only blow up the message's rounding.
    inverse = np.linalg.pinv(coordinates[places] - here, rcond=1e-6)
    estimate: np.ndarray = centre + (coordinates - here) @ (inverse @ (known - centre))
    return estimate


def _outside(places: np.ndarray) -> int:
    return int(places.min()) if places.min() < 0 else int(places.max())
