"""Files in, verdicts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from seepage._core import InputError
from seepage.dp.checks.flower_central import check_central
from seepage.dp.checks.flower_local import check_local
from seepage.dp.checks.nvflare import EMPTY, check_empty, check_svt
from seepage.dp.checks.opacus import check_opacus
from seepage.dp.checks.own import check_own
from seepage.dp.findings import Verdict
from seepage.dp.known import Facts, Known, facts_of, with_set
from seepage.dp.readers import read_files
from seepage.dp.said import Said, Source


def check_files(
    paths: Sequence[Path | str], known: Known | None = None, given: Mapping[str, str] | None = None
) -> list[Verdict]:
    """What the privacy settings in these files are worth.

    Args:
        paths: files of one federation; they are read, never run.
        known: what they do not say.
        given: arguments that they leave open, by name.

    Returns:
        One verdict for every setting, in the order of the files.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "client.py"
        ...     _ = file.write_text("LocalDpMod(clipping_norm=1.0, sensitivity=0.0001, epsilon=10.0, delta=1e-5)")
        ...     (verdict,) = check_files([file], Known(rounds=1))
        >>> verdict.findings[0].sentence
        'The sensitivity is 0.0001, but two updates clipped to 1 can differ by 2: the noise is 20,000 times too small.'
    """
    files = [Path(path) for path in paths]
    if not files:
        raise InputError("Which files? Give Python source, NVFlare's JSON, or TOML with a section [dp].")
    twice = sorted({path.name for path in files if files.count(path) > 1})
    if twice:
        raise InputError(f"{twice[0]} is given twice.")
    sources = with_set(read_files(files), given or {})
    facts = facts_of(known or Known(), sources)
    found = [verdict for source in sources for verdict in _verdicts(source, sources, facts)]
    if not found:
        raise InputError(
            f"There is no privacy setting in {', '.join(path.name for path in files)} that is known: Opacus' "
            "make_private, Flower's DP strategies and LocalDpMod, NVFlare's filters, or a section [dp]."
        )
    return found


def _verdicts(source: Source, sources: Sequence[Source], facts: Facts) -> list[Verdict]:
    engine = next((said for said in source.said if said.kind == "PrivacyEngine"), None)
    real = [said for each in sources for said in each.said if said.kind not in (*EMPTY, "PrivacyEngine")]
    return [_verdict(said, facts, engine, alone=not real) for said in source.said if said.kind != "PrivacyEngine"]


def _verdict(said: Said, facts: Facts, engine: Said | None, *, alone: bool) -> Verdict:
    if said.kind in EMPTY:
        return check_empty(said, facts, alone)
    if said.framework == "Opacus":
        return check_opacus(said, facts, engine)
    if said.kind == "LocalDpMod":
        return check_local(said, facts)
    if said.kind == "SVTPrivacy":
        return check_svt(said, facts)
    return check_own(said, facts) if said.kind == "dp" else check_central(said, facts)
