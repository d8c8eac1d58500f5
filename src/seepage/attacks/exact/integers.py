"""Numbers that are whole in raw units: ages, hours, amounts. They make a read number exact."""

from __future__ import annotations

import torch
from torch import Tensor

from seepage.attacks.exact.single import number_errors, polish
from seepage.attacks.exact.view import View

OFF = 0.05  # a whole number that was read may be off by this much
PRECISION = 1e-4  # deviations to which a number is read at best after many local steps
MANY = 5_000  # combinations of whole numbers that are tried along a family
STEPPED = 40  # columns among which those that are stepped are looked for
ENTRIES = 2**24  # numbers of members that are held at once


def put_integers(view: View, codes: Tensor, numbers: Tensor, error: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Numbers that must be whole put where they belong, the others fitted again.

    A number is put in its place only if its error leaves no choice; fitting the rest again makes the next ones clear.

    Args:
        error: (rows,) the error of a number that the update's error allows, in all of them together.

    Returns:
        the numbers; (rows, numeric) which were put in their place; and (rows,) False where one is clearly not whole: no
        record is like that.
    """
    fits = torch.ones(len(numbers), dtype=torch.bool)
    held = torch.zeros_like(numbers, dtype=torch.bool)
    if not bool(view.integers.any()) or not len(numbers):
        return numbers, held, fits
    shift, scale = _units(view)
    for _ in range(3):
        unsure = number_errors(view, codes, numbers, held) * error[:, None] * scale  # in raw units
        raw = numbers * scale + shift
        off = (raw - raw.round()).abs()
        clear = view.integers & (unsure < 0.3) & ~held
        fits &= ~(clear & (off > unsure + 1e-3)).any(1)
        place = ((raw.round() - shift) / scale).float().double()  # as clients encode it
        numbers = torch.where(clear, place, numbers)
        held |= clear
        if not bool(clear.any()) or bool(held.all()):
            break
        numbers = polish(view, codes, numbers, held)
    return numbers, held, fits


def integer_members(view: View, family: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Members of families of numbers in which every whole number is one.

    Records with the same categories leave a line (or a plane) of numbers open. Along it, one whole column (or two) is
    stepped through its values, and the others must be whole by themselves.

    Args:
        family: (1 or 2, numeric) directions that are open.
        numbers: (rows, numeric) one member for each row.

    Returns:
        (members,) which row they belong to, and (members, numeric).
    """
    nothing = torch.zeros(0, dtype=torch.long), numbers[:0]
    free, columns = len(family), view.integers.nonzero()[:, 0]
    if not 1 <= free <= 2 or len(columns) <= free or bool((view.high > 1e8).any()):
        return nothing
    shift, scale = _units(view)
    ends = [(bound * scale + shift).round().tolist() for bound in (view.low, view.high)]
    values = [torch.arange(low, high + 0.5).double() for low, high in zip(*ends, strict=True)]
    # Short columns that the family moves well are stepped; long ones, such as weights and amounts, would not end.
    short = [int(k) for k in columns if len(values[int(k)]) ** free <= MANY]
    directions = family * scale  # in raw units
    if len(short) > STEPPED:  # pairs of thousands of columns would be millions: those that the family moves most
        moved = directions[:, short].norm(dim=0).argsort(descending=True, stable=True)[:STEPPED]
        short = sorted(short[int(k)] for k in moved)
    best, size = [], 0.0
    for chosen in ([k] for k in short) if free == 1 else ([k, m] for k in short for m in short if k < m):
        volume = float(torch.linalg.det(directions[:, chosen]).abs())
        if volume > size and torch.tensor([len(values[k]) for k in chosen]).prod() <= MANY:
            best, size = chosen, volume
    if size < 1e-3:
        return nothing
    grid = torch.cartesian_prod(*(values[k] for k in best)).reshape(-1, free)  # (combinations, free)
    raw = numbers * scale + shift
    allowed = OFF + PRECISION * scale
    others = torch.tensor([int(k) for k in columns if int(k) not in best and float(allowed[int(k)]) < 0.3])
    if not len(others):
        return nothing
    low, high = view.low * scale + shift - OFF, view.high * scale + shift + OFF
    part, back = max(ENTRIES // (len(grid) * view.numeric), 1), torch.linalg.inv(directions[:, best])
    places, found = [], []
    for begin in range(0, len(raw), part):
        own = raw[begin : begin + part]
        step = (grid[None] - own[:, None, best]) @ back  # (rows, combinations, free)
        members = own[:, None] + step @ directions
        off = (members[..., others] - members[..., others].round()).abs()
        inside = ((members >= low) & (members <= high)).all(-1)
        place, combination = ((off < allowed[others]).all(-1) & inside).nonzero().T
        places.append(begin + place)
        found.append(members[place, combination])
    every = torch.cat(found)
    every[:, columns] = every[:, columns].round()
    return torch.cat(places), ((every - shift) / scale).float().double()


def _units(view: View) -> tuple[Tensor, Tensor]:
    """Shift and scale of the numbers."""
    assert view.space.shift is not None
    assert view.space.scale is not None
    return view.space.shift[: view.numeric].double(), view.space.scale[: view.numeric].double()
