"""Privacy that was configured: what files say of it, what it is worth, and what canaries measure.

readers/            Python source, NVFlare's JSON, TOML -> what was said; nothing of a file is ever run
mechanisms.py       noise beside what it has to cover, composed over releases: the upper bound of epsilon
checks/             what was said -> a verdict: epsilon claimed and recomputed, and findings
lower_bounds.py     guesses that were right -> the lower bound of epsilon
measuring.py        a mechanism alone, run many times
canaries.py         one private training on a table with canary rows
reconstruction.py   what epsilon leaves of guessing a row exactly
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily

if TYPE_CHECKING:
    from seepage.dp.canaries import audit_rows as audit_rows
    from seepage.dp.checking import check_files as check_files
    from seepage.dp.findings import Finding as Finding
    from seepage.dp.findings import Verdict as Verdict
    from seepage.dp.known import Known as Known
    from seepage.dp.lower_bounds import one_run_bound as one_run_bound
    from seepage.dp.reconstruction import reconstruction_bound as reconstruction_bound

__all__ = ["Finding", "Known", "Verdict", "audit_rows", "check_files", "one_run_bound", "reconstruction_bound"]

# The command line's help must be there at once, and the report may use what is light without torch.
__getattr__ = lazily(
    __name__,
    {
        "Finding": "findings",
        "Known": "known",
        "Verdict": "findings",
        "audit_rows": "canaries",
        "check_files": "checking",
        "one_run_bound": "lower_bounds",
        "reconstruction_bound": "reconstruction",
    },
)
