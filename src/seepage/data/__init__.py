"""Tables in: schema, encoding, data sets, partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily

if TYPE_CHECKING:
    from seepage.data.clinic_table import clinic as clinic
    from seepage.data.dataset import DataSet as DataSet
    from seepage.data.encoding import Encoder as Encoder
    from seepage.data.encoding import Layout as Layout
    from seepage.data.encoding import Statistics as Statistics
    from seepage.data.frames import as_frame as as_frame
    from seepage.data.frames import read_frame as read_frame
    from seepage.data.infer import infer_schema as infer_schema
    from seepage.data.infer import with_kinds as with_kinds
    from seepage.data.leaving_out import ConstantWarning as ConstantWarning
    from seepage.data.leaving_out import IdentifierWarning as IdentifierWarning
    from seepage.data.mimic import mimic_frame as mimic_frame
    from seepage.data.mimic import mimic_splits as mimic_splits
    from seepage.data.partition import IID as IID
    from seepage.data.partition import ByColumn as ByColumn
    from seepage.data.partition import Dirichlet as Dirichlet
    from seepage.data.partition import Partition as Partition
    from seepage.data.partition import QuantitySkew as QuantitySkew
    from seepage.data.preprocessing import Preprocessing as Preprocessing
    from seepage.data.registry import DATASETS as DATASETS
    from seepage.data.registry import open_dataset as open_dataset
    from seepage.data.schema import Column as Column
    from seepage.data.schema import Dropped as Dropped
    from seepage.data.schema import Schema as Schema
    from seepage.data.schema import Target as Target
    from seepage.data.sklearn_facts import from_sklearn as from_sklearn
    from seepage.data.splitting import Splits as Splits
    from seepage.data.splitting import split as split
    from seepage.data.splitting import split_by_group as split_by_group
    from seepage.data.table import Table as Table

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
    "Preprocessing",
    "QuantitySkew",
    "Schema",
    "Splits",
    "Statistics",
    "Table",
    "Target",
    "as_frame",
    "clinic",
    "from_sklearn",
    "infer_schema",
    "mimic_frame",
    "mimic_splits",
    "open_dataset",
    "read_frame",
    "split",
    "split_by_group",
    "with_kinds",
]

# Help and errors about settings must be there at once; tables and their readers are loaded when they are used.
__getattr__ = lazily(
    __name__,
    {
        "ByColumn": "partition",
        "Column": "schema",
        "ConstantWarning": "leaving_out",
        "DATASETS": "registry",
        "DataSet": "dataset",
        "Dirichlet": "partition",
        "Dropped": "schema",
        "Encoder": "encoding",
        "IID": "partition",
        "IdentifierWarning": "leaving_out",
        "Layout": "encoding",
        "Partition": "partition",
        "Preprocessing": "preprocessing",
        "QuantitySkew": "partition",
        "Schema": "schema",
        "Splits": "splitting",
        "Statistics": "encoding",
        "Table": "table",
        "Target": "schema",
        "as_frame": "frames",
        "clinic": "clinic_table",
        "from_sklearn": "sklearn_facts",
        "infer_schema": "infer",
        "mimic_frame": "mimic",
        "mimic_splits": "mimic",
        "open_dataset": "registry",
        "read_frame": "frames",
        "split": "splitting",
        "split_by_group": "splitting",
        "with_kinds": "infer",
    },
)
