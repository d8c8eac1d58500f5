"""Tables in: schema, encoding, data sets, partitions."""

from seepage.data.encoding import Encoder, Layout, Statistics
from seepage.data.frames import as_frame, read_frame
from seepage.data.infer import IdentifierWarning, infer_schema
from seepage.data.partition import IID, ByColumn, Dirichlet, Partition, QuantitySkew
from seepage.data.schema import Column, Dropped, Schema, Target
from seepage.data.split import Splits, split
from seepage.data.table import Table

__all__ = [
    "IID",
    "ByColumn",
    "Column",
    "Dirichlet",
    "Dropped",
    "Encoder",
    "IdentifierWarning",
    "Layout",
    "Partition",
    "QuantitySkew",
    "Schema",
    "Splits",
    "Statistics",
    "Table",
    "Target",
    "as_frame",
    "infer_schema",
    "read_frame",
    "split",
]
