"""What the adversary holds and what it answers. There is no truth in this room."""

from seepage.observation.channel import PLAIN_CHANNEL, Channel
from seepage.observation.claim import Claim
from seepage.observation.gradient import gradient_of
from seepage.observation.observation import PLAIN, Exchange, Knowledge, Observation, Scene, Space
from seepage.observation.tally import Estimate, Tally

__all__ = [
    "PLAIN",
    "PLAIN_CHANNEL",
    "Channel",
    "Claim",
    "Estimate",
    "Exchange",
    "Knowledge",
    "Observation",
    "Scene",
    "Space",
    "Tally",
    "gradient_of",
]
