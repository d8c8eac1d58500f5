"""Why not every row is certified: one sentence for the person who reads the result."""

from __future__ import annotations

from seepage.attacks.exact.view import View, usable_layers

LOUD = 30.0  # an error this many times float32's own is noise, compression or another optimiser


def reason(view: View, total: int) -> str:
    """What stands between this update and a certificate for every row, from the whole update's spans."""
    every = usable_layers(view.plain, view.space.layout.width)
    if not any(layer.entrance for layer in every):
        return "The model does not begin with a linear layer, so rows have no common span."
    if view.compressed:
        return (
            "Entries of the update were left out or rounded to few values; nothing tells how far that moved the rest."
        )
    entrance = view.entrance
    place = next((k for k, layer in enumerate(view.layers) if layer.entrance), None)
    if entrance is None or place is None:
        width = next(layer.directions for layer in every if layer.entrance)
        if total < width:
            return "No direction of the records stands above the error in the update (noise, compression, clipping)."
        return f"{total} rows use up the {width} directions of the first layer, so its span says nothing about a row."
    floor = view.floors[view.layers[place].name]
    if entrance.error > LOUD * floor:
        return (
            f"An error of about {entrance.error:.0e} in every entry, {entrance.error / floor:,.0f} times that of "
            f"float32, hides records: {entrance.rank} of at most {min(total, view.valid_dimensions)} directions stand "
            "above it (noise, compression, clipping or a client that does not run plain SGD)."
        )
    if not view.single:
        return "After several local steps only the first layer's span is exact, so few rows can be proven."
    if not view.deep:
        used = [layer.directions for layer in every if not layer.affine]
        if used and max(used) <= total:
            return f"{total} rows use up the {max(used)} directions of the deeper layers, which would tell rows apart."
        return "No layer behind the first one can be used to tell rows from combinations of rows."
    if view.normalised:
        return "BatchNorm in training mode mixes the slopes of rows, so proven rows cannot be subtracted."
    if not view.peelable:
        return "The client's dropout or class weights hide each row's share, so proven rows cannot be subtracted."
    return "The rows that are left are too weak in the update or too much alike to be proven."
