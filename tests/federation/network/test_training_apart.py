"""Vertical training between parties that share nothing but messages: the same model, whoever is away or killed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from seepage._core import InputError, Streams
from seepage.federation.network.agreement import HostModel
from seepage.federation.network.config import HostConfig
from seepage.federation.network.hosting import HostParty
from seepage.federation.network.programs import host_rows, open_host
from seepage.federation.vertical import AlignedRows, Columns, Failures, Federation, Phase, Training, make_design
from seepage.federation.vertical.messages import SilentPartyError
from seepage.models.tabnet_split import TabNetParts
from tests.federation.network.parties import OWNED, ROWS, doors, host_config, people, write_configs, write_files

NAMES = tuple(OWNED)


def trained(config: HostConfig) -> tuple[HostModel, HostParty]:
    with open_host(config) as (party, _):
        return party.train(), party


@pytest.mark.parametrize("design", ["tabvfl", "local_encoders", "local", "guest_decoders"])
def test_parties_apart_train_what_one_process_trains(tmp_path: Path, design: str) -> None:
    table = people()
    write_files(tmp_path, table, shuffled=False)
    write_configs(tmp_path, key=[], seed=7, training={"design": design}, plain=design != "tabvfl")
    with doors(tmp_path, NAMES[1:]) as opened:
        model, party = trained(host_config(tmp_path, {name: door.address for name, door in opened.items()}))
    split = model.split
    frames = [table.select(OWNED[name]) for name in NAMES]
    encoded = [
        Columns.fit(name, frame, split["train"]).encode(frame) for name, frame in zip(NAMES, frames, strict=True)
    ]
    labels = torch.from_numpy((table["died"] == "yes").to_numpy().astype(np.int64))
    together = Federation(
        AlignedRows(NAMES, encoded, labels, 2),
        design=make_design(design),
        parts=TabNetParts(latent=4, attention=4),
        training=Training(pretraining=2, finetuning=3, batch_size=32, patience=0),
        streams=Streams(7),
        failures=Failures(method="cache"),
    )
    expected = together.fit(split["train"], split["validation"])
    assert [epoch.loss for epoch in party.history.epochs] == pytest.approx(
        [epoch.loss for epoch in expected.epochs], rel=1e-5
    )
    for guest in together.guests[1:]:
        own = load_file(tmp_path / f"{guest.name}-run" / "model" / "weights.safetensors")
        for name, value in guest.learning.modules.state_dict().items():
            torch.testing.assert_close(own[name], value, rtol=1e-4, atol=1e-5)  # a lost message moves them by 1e-2
    sent = {kind: size for (_, training, _, _, kind), size in model.host.traffic.bytes.items() if training}
    assert sent


def test_rows_are_aligned_by_private_set_intersection_and_new_people_predicted(tmp_path: Path) -> None:
    write_files(tmp_path, people(), shuffled=True)
    write_configs(tmp_path)
    new = people().with_columns(person=pl.format("n{}", pl.int_range(ROWS)))  # the same cells under other names
    for name in NAMES[1:]:
        own = new.select("person", *OWNED[name]).sample(fraction=0.95, shuffle=True, seed=3)
        own.write_csv(tmp_path / f"{name}-new.csv")
        said = (tmp_path / f"{name}.toml").read_text()
        (tmp_path / f"{name}.toml").write_text(f'new = "{name}-new.csv"\n{said}')
    new.select("person", *OWNED["hospital"]).write_csv(tmp_path / "hospital-new.csv")
    with doors(tmp_path, NAMES[1:]) as opened:
        config = host_config(tmp_path, {name: door.address for name, door in opened.items()})
        with open_host(config) as (party, _):
            model = party.train()
            every = torch.softmax(model.host.logits(model.host.latent(torch.arange(len(model.labels)))), 1)
        common = set(pl.read_csv(tmp_path / "lab.csv")["person"]) & set(pl.read_csv(tmp_path / "shop.csv")["person"])
        assert set(people()["person"].to_numpy()[model.split["rows"]]) == common
        with open_host(config) as (party, _):
            found, shares = party.predict(host_rows(config, tmp_path / "hospital-new.csv", labelled=False))
    known = dict(zip(model.split["rows"].tolist(), every.numpy(), strict=True))
    both = [place for place, row in enumerate(found.tolist()) if row in known]
    assert len(both) > 80
    np.testing.assert_allclose(shares[both], [known[row] for row in found[both].tolist()], rtol=1e-4, atol=1e-6)


def test_a_host_that_is_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    write_files(tmp_path, people(), shuffled=False)
    write_configs(tmp_path, key=[], seed=3)

    def stop_after(epochs: int) -> object:
        def told(label: str, done: int, total: int, note: str = "") -> None:
            counted.append(label)
            if len(counted) == epochs:
                raise KeyboardInterrupt

        counted: list[str] = []
        return told

    with doors(tmp_path, NAMES[1:]) as opened:
        config = host_config(tmp_path, {name: door.address for name, door in opened.items()})
        whole = config.model_copy(update={"folder": tmp_path / "whole"})
        model, party = trained(whole)
        for stop in (1, 2):
            with open_host(config) as (broken, _), pytest.raises(KeyboardInterrupt):
                broken.train(stop_after(stop))  # type: ignore[arg-type]
        again, resumed = trained(config)
    # The split is drawn from the seed, so both trained on the same rows.
    assert [epoch.loss for epoch in resumed.history.epochs] == [epoch.loss for epoch in party.history.epochs]
    weights = again.host.learning.modules.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in model.host.learning.modules.state_dict().items())


@pytest.mark.parametrize("absent", ["cache", "zeros", "wait"])
def test_a_guest_that_dies_and_comes_back_does_not_end_the_training(tmp_path: Path, absent: str) -> None:
    write_files(tmp_path, people(), shuffled=False)
    write_configs(tmp_path, key=[], seed=3, absent=absent, training={"patience": 20, "finetuning": 10})
    with doors(tmp_path, ("lab",)) as first, doors(tmp_path, ("shop",)) as opened:
        addresses = {"lab": first["lab"].address, "shop": opened["shop"].address}
        port = addresses["shop"]
        text = (tmp_path / "shop.toml").read_text().replace("127.0.0.1:0", port)
        (tmp_path / "shop.toml").write_text(text)
        config = host_config(tmp_path, addresses)
        came_back = []

        def told(label: str, done: int, total: int, note: str = "") -> None:
            if (label, done) == ("fine-tuning", 1):
                opened["shop"].close()
                if absent == "wait":
                    came_back.append(_back(tmp_path))
            if (label, done) == ("fine-tuning", 3) and absent != "wait":
                came_back.append(_back(tmp_path))

        with open_host(config) as (party, _):
            party.train(told)
        came_back[0].close()
    gone = [epoch.absent for epoch in party.history.of(Phase.FINETUNING)]
    assert len(gone) == 10
    if absent == "wait":
        assert gone == [()] * 10
        return
    assert gone[:3] == [(), ("shop",), ("shop",)]
    assert gone[-1] == ()  # a busy machine may need another epoch or two to see that it is back
    assert "".join("x" if each else "-" for each in gone).strip("-") == "x" * sum(map(bool, gone))


def _back(folder: Path):  # type: ignore[no-untyped-def]
    from seepage.federation.network.config import GuestConfig, read_config
    from seepage.federation.network.programs import open_door

    return open_door(read_config(GuestConfig, folder / "shop.toml"), lambda told: None)


def test_a_guest_that_never_comes_stops_the_host_in_time(tmp_path: Path) -> None:
    write_files(tmp_path, people(), shuffled=False)
    write_configs(tmp_path, patience={"connect": 0.5})
    with doors(tmp_path, ("lab",)) as opened:
        config = host_config(tmp_path, {"lab": opened["lab"].address, "shop": "127.0.0.1:9"})
        with open_host(config) as (party, _), pytest.raises(SilentPartyError, match="'shop' was not there within"):
            party.train()
    changed = config.model_copy(update={"training": config.training.model_copy(update={"rate": 0.5})})
    with pytest.raises(InputError, match="other settings"), open_host(changed):
        pass
