"""A server that cheats: weights of its own making, and what a client's answer to them gives away."""

from seepage.attacks.malicious.attack import ServerAttack
from seepage.attacks.malicious.bins import Bins
from seepage.attacks.malicious.codes import Codes
from seepage.attacks.malicious.cuts import Cuts
from seepage.attacks.malicious.disguised import Disguised
from seepage.attacks.malicious.module import Module
from seepage.attacks.malicious.trap import Trap

__all__ = ["Bins", "Codes", "Cuts", "Disguised", "Module", "ServerAttack", "Trap"]
