"""Captured updates: what clients of a real federation were sent and sent back, as files that hold no code.

A training loop writes one in three lines:

    from seepage import captures
    captures.write("capture", before=sent, after=model.state_dict(), client="hospital-a", round=3, add=True,
                   rows=512, batch_size=64, local_epochs=2, learning_rate=0.01)

``seepage capture make`` does the same from files, ``seepage capture show`` says what a capture holds, and
``seepage audit updates`` attacks it. No torch here: a reader of strangers' files needs none.
"""

from seepage.captures.clients import pseudonym
from seepage.captures.facts import CaptureFacts
from seepage.captures.reading import Capture, Entry, read
from seepage.captures.tensors import Tensors, read_tensors
from seepage.captures.writing import write

__all__ = ["Capture", "CaptureFacts", "Entry", "Tensors", "pseudonym", "read", "read_tensors", "write"]
