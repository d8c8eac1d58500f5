"""What the adversary holds and what it answers. There is no truth in this room."""

from seepage.observation.claim import Claim
from seepage.observation.gradient import gradient_of
from seepage.observation.observation import PLAIN, Exchange, Knowledge, Observation, Scene, Space

__all__ = ["PLAIN", "Claim", "Exchange", "Knowledge", "Observation", "Scene", "Space", "gradient_of"]
