"""What the adversary holds and what it answers. There is no truth in this room."""

from seepage.observation.claim import Claim
from seepage.observation.observation import Exchange, Knowledge, Observation, Scene, Space

__all__ = ["Claim", "Exchange", "Knowledge", "Observation", "Scene", "Space"]
