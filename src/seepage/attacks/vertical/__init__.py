"""What the two sides of vertical federated learning read of each other."""

from seepage.attacks.vertical.binary import BinaryColumns, binary_columns
from seepage.attacks.vertical.labels import direction_score, norm_score
from seepage.attacks.vertical.reading import read_directly, read_with_known_rows

__all__ = [
    "BinaryColumns",
    "binary_columns",
    "direction_score",
    "norm_score",
    "read_directly",
    "read_with_known_rows",
]
