"""What a model's weights tell about the rows it was trained on as a whole."""

from seepage.attacks.properties.factory import train_shadows, train_shard
from seepage.attacks.properties.plan import ShadowPlan, check_plan
from seepage.attacks.properties.rows import encode_rows
from seepage.attacks.properties.shards import Shadows, good_ones, packed, unpacked

__all__ = [
    "ShadowPlan",
    "Shadows",
    "check_plan",
    "encode_rows",
    "good_ones",
    "packed",
    "train_shadows",
    "train_shard",
    "unpacked",
]
