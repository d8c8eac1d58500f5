"""Labels restored from an update, before the rows are attacked."""

from collections.abc import Callable

from seepage.attacks.labels.automatic import AutomaticRestorer
from seepage.attacks.labels.counts import Counts
from seepage.attacks.labels.geng import Geng
from seepage.attacks.labels.idlg import IDLG
from seepage.attacks.labels.regression import Regression
from seepage.attacks.labels.restored import Restored, Restorer
from seepage.attacks.labels.yin import Yin
from seepage.attacks.labels.zeros import Zeros

RESTORERS: dict[str, Callable[[], Restorer]] = {
    "idlg": IDLG,
    "auto": AutomaticRestorer,
    "yin": Yin,
    "geng": Geng,
    "counts": Counts,
    "regression": Regression,
    "zeros": Zeros,
}

__all__ = [
    "IDLG",
    "RESTORERS",
    "AutomaticRestorer",
    "Counts",
    "Geng",
    "Regression",
    "Restored",
    "Restorer",
    "Yin",
    "Zeros",
]
