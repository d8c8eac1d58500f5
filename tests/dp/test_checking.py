"""Misconfigurations must be found, and right ones left alone."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from seepage.dp import Known, Verdict, check_files
from seepage.dp.mechanisms import Gaussian
from tests.dp.configurations import MISCONFIGURED, RIGHT, Case, central, opacus, svt


def checked(case: Case, folder: Path) -> list[Verdict]:
    for name, text in case.files.items():
        (folder / name).write_text(text)
    return check_files([folder / name for name in case.files], Known(**case.known), case.given)


def wrong_in(verdicts: list[Verdict]) -> set[str]:
    return {finding.check for verdict in verdicts for finding in verdict.findings if finding.severity == "wrong"}


def test_there_are_a_dozen_of_each() -> None:
    assert len(MISCONFIGURED) >= 12
    assert len(RIGHT) >= 12


@pytest.mark.parametrize("case", MISCONFIGURED, ids=lambda case: case.name)
def test_misconfigurations_are_found(case: Case, tmp_path: Path) -> None:
    verdicts = checked(case, tmp_path)
    assert case.wrong <= wrong_in(verdicts), verdicts
    assert not all(verdict.holds for verdict in verdicts)
    for finding in (finding for verdict in verdicts for finding in verdict.findings):
        assert finding.sentence.endswith("."), finding
        assert finding.remedy or finding.severity != "wrong", finding


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_in_right_ones_nothing_is_wrong(case: Case, tmp_path: Path) -> None:
    verdicts = checked(case, tmp_path)
    assert wrong_in(verdicts) == set(), verdicts
    assert all(verdict.holds for verdict in verdicts)
    assert all(verdict.recomputed is not None for verdict in verdicts)


def local(arguments: str, folder: Path, **known: object) -> Verdict:
    (folder / "client.py").write_text(f"LocalDpMod({arguments})")
    return check_files([folder / "client.py"], Known(**known))[0]  # type: ignore[arg-type]


@pytest.fixture
def flower() -> ModuleType:
    return pytest.importorskip("flwr.supercore.differential_privacy")  # type: ignore[no-any-return]


def test_the_noise_of_the_local_mod_is_flowers_own(flower: ModuleType, tmp_path: Path) -> None:
    from flwr.compat.common.parameter import ndarrays_to_parameters, parameters_to_ndarrays

    sent = flower.add_localdp_gaussian_noise_to_params(ndarrays_to_parameters([np.zeros(100_000)]), 0.3, 2.0, 1e-5)
    verdict = local("1.0, 0.3, 2.0, 1e-5", tmp_path, rounds=1)
    assert isinstance(verdict.mechanism, Gaussian)
    assert parameters_to_ndarrays(sent)[0].std() == pytest.approx(verdict.mechanism.noise, rel=0.02)


def test_the_noise_of_the_server_is_flowers_own(flower: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(central("ServerSideFixedClipping", "1.5, 3.0, 20"))
    (verdict,) = check_files([tmp_path / "server.py"], Known(rounds=4, delta=1e-5))
    assert f"deviation {flower.compute_stdv(1.5, 3.0, 20):.3g} to their mean, 4 rounds" in verdict.does
    assert verdict.mechanism == Gaussian(noise=1.5, sensitivity=1.0, releases=4)


def test_the_count_of_adaptive_clipping_costs_its_share(flower: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(central("ServerSideAdaptiveClipping", "1.0, 20"))
    (verdict,) = check_files([tmp_path / "server.py"], Known(rounds=4, delta=1e-5))
    count, updates = flower.compute_adaptive_noise_params(1.0, 20, None)
    assert isinstance(verdict.mechanism, Gaussian)
    assert verdict.mechanism.noise == pytest.approx((updates**-2 + count**-2) ** -0.5)
    assert {each.severity for each in verdict.findings if each.check == "adaptive clip"} == {"doubtful"}


@pytest.mark.parametrize("arguments", [{"fraction": 0.1}, {"epsilon": 0.4, "epsilon_release": 1.5}])
def test_the_sparse_vector_technique_costs_what_nvflare_counts(arguments: dict[str, float], tmp_path: Path) -> None:
    module = pytest.importorskip("nvflare.app_common.filters.svt_privacy")
    from nvflare.apis.dxo import DXO, DataKind
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import Shareable

    filter_ = module.SVTPrivacy(**arguments)
    update = DXO(data_kind=DataKind.WEIGHT_DIFF, data={"w": np.random.default_rng(0).normal(size=2000)})
    filter_.process_dxo(update, Shareable(), FLContext())
    (tmp_path / "config_fed_client.json").write_text(svt(**arguments))
    (verdict,) = check_files([tmp_path / "config_fed_client.json"], Known(rounds=1, parameters=2000))
    assert verdict.recomputed == pytest.approx(filter_.get_privacy_spent())


def test_known_signatures_are_those_of_the_installed_packages() -> None:
    import inspect

    from seepage.dp.readers.signatures import NEEDED, SIGNATURES

    flower, older, mods = (
        pytest.importorskip(f"flwr.{name}") for name in ("serverapp.strategy", "server.strategy", "clientapp.mod")
    )
    filters = pytest.importorskip("nvflare.app_common.filters.svt_privacy")
    percentile = pytest.importorskip("nvflare.app_common.filters.percentile_privacy")
    exclude = pytest.importorskip("nvflare.app_common.filters.exclude_vars")
    places = [flower, older, mods, filters, percentile, exclude]
    seen = 0
    for name, ours in SIGNATURES.items():
        for place in places:
            if ours.framework == "Opacus" or ours.swallows or not hasattr(place, name):
                continue
            theirs = inspect.signature(getattr(place, name).__init__).parameters
            for argument, parameter in theirs.items():
                if argument == "self":
                    continue
                needed = parameter.default is inspect.Parameter.empty
                assert argument in ours.arguments, (name, argument)
                assert (ours.arguments[argument] is NEEDED) == needed, (name, argument)
                if not needed:
                    assert ours.arguments[argument] == parameter.default, (name, argument)
            seen += 1
    assert seen >= 12


def test_known_signatures_of_opacus() -> None:
    import inspect
    import warnings

    from seepage.dp.readers.signatures import NEEDED, SIGNATURES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus import PrivacyEngine
    for name in ("make_private", "make_private_with_epsilon"):
        for argument, parameter in inspect.signature(getattr(PrivacyEngine, name)).parameters.items():
            if argument in ("self", "kwargs", "criterion"):
                continue
            needed = parameter.default is inspect.Parameter.empty
            assert (SIGNATURES[name].arguments[argument] is NEEDED) == needed, (name, argument)
            if not needed:
                assert SIGNATURES[name].arguments[argument] == parameter.default, (name, argument)


def test_rounds_cost_as_the_accountant_says(tmp_path: Path) -> None:
    one = local("1.0, 2.0, 1.0, 1e-5", tmp_path, rounds=1).recomputed
    hundred = local("1.0, 2.0, 1.0, 1e-5", tmp_path, rounds=100).recomputed
    assert one is not None
    assert hundred is not None
    assert one < 1
    assert 10 * one < hundred < 100 * one


def test_what_cannot_be_read_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(opacus("noise_multiplier=sigma(), max_grad_norm=1.0"))
    (verdict,) = check_files([tmp_path / "train.py"], Known(rows=1000, batch_size=10, rounds=1, local_epochs=1))
    assert verdict.recomputed is None
    assert not verdict.holds
    text = " ".join(f"{each.sentence} {each.remedy}" for each in verdict.findings)
    assert "noise_multiplier is sigma() (line 8): it is computed while the program runs." in text
    assert "--set noise_multiplier=..." in text


def test_a_misspelt_argument_that_opacus_swallows_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(opacus("noise_multiplier=1.0, max_grad_norm=1.0, poison_sampling=False"))
    (verdict,) = check_files([tmp_path / "train.py"], Known(rows=1000, batch_size=10, rounds=1, local_epochs=1))
    assert any("It is like 'poisson_sampling', which keeps its default." in each.sentence for each in verdict.findings)


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    (tmp_path / "client.py").write_text(
        f"open({str(trap)!r}, 'w').write('x')\nLocalDpMod(1.0, 2.0, __import__('os').getpid(), 1e-5)"
    )
    (verdict,) = check_files([tmp_path / "client.py"], Known(rounds=1))
    assert verdict.recomputed is None
    assert not trap.exists()


def test_divided_noise_and_shuffling_give_both_numbers(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(opacus("noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False"))
    (verdict,) = check_files([tmp_path / "train.py"], Known(rows=1000, batch_size=10, rounds=3, local_epochs=2))
    assert dict(verdict.others)["if batches were drawn by Poisson sampling"] < (verdict.recomputed or 0)
