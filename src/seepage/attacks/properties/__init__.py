"""What a model's weights tell about the rows it was trained on as a whole (document 003)."""

from seepage.attacks.properties.factory import Made, run_factory
from seepage.attacks.properties.plan import ShadowPlan, check_plan
from seepage.attacks.properties.rows import encode_rows
from seepage.attacks.properties.shards import Shadows, load_shadows, read_manifest

__all__ = [
    "Made",
    "ShadowPlan",
    "Shadows",
    "check_plan",
    "encode_rows",
    "load_shadows",
    "read_manifest",
    "run_factory",
]
