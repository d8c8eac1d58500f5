"""Tables in: schema, encoding, data sets, partitions."""

from seepage.data.clinic import clinic
from seepage.data.encoding import Encoder, Layout, Statistics
from seepage.data.frames import as_frame, read_frame
from seepage.data.infer import ConstantWarning, IdentifierWarning, infer_schema, with_kinds
from seepage.data.mimic import mimic_frame, mimic_splits
from seepage.data.partition import IID, ByColumn, Dirichlet, Partition, QuantitySkew
from seepage.data.registry import DATASETS, DataSet, open_dataset
from seepage.data.schema import Column, Dropped, Schema, Target
from seepage.data.split import Splits, split, split_by_group
from seepage.data.table import Table

__all__ = [
    "DATASETS",
    "IID",
    "ByColumn",
    "Column",
    "ConstantWarning",
    "DataSet",
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
    "clinic",
    "infer_schema",
    "mimic_frame",
    "mimic_splits",
    "open_dataset",
    "read_frame",
    "split",
    "split_by_group",
    "with_kinds",
]
