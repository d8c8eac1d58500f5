"""The study of captured updates: attacked as simulated ones are, with and without the truth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

import seepage
from seepage import captures
from seepage._core import InputError, Streams
from seepage.attacks import Exact, attacked
from seepage.data import Encoder, Table, clinic, infer_schema
from seepage.data.request import Request
from seepage.defenses import Undefended
from seepage.models import MLP, Foreign, Inputs, make_learner
from seepage.observation import Exchange, Observation
from seepage.plans import registry
from seepage.results import Summary
from seepage.results.updates import UpdatesSummary
from seepage.studies.rows.cost import cut_short
from seepage.studies.rows.settings import RowsSettings
from seepage.studies.updates.observing import observations_of, parts_of, thinned
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.simulating import protocol_of
from seepage.studies.updates.source import open_capture
from seepage.testing.scenes import tiny_observations, tiny_table

ROWS = 8


def written(folder: Path, observation: Observation, **changes: Any) -> Path:
    """An update as a client of a real federation would capture it."""
    exchange: Exchange = observation.exchange
    facts: dict[str, Any] = {"rows": exchange.rows, "before": observation.parameters}
    if exchange.protocol == "fedsgd":
        facts["gradient"] = observation.update
    else:
        facts |= {"change": observation.update, "batch_size": exchange.batch_size}
        facts |= {"local_epochs": exchange.local_epochs, "learning_rate": exchange.learning_rate}
    captures.write(folder, **(facts | changes))
    return folder


def schema_file(folder: Path, table: Table) -> Path:
    path = folder / "schema.toml"
    path.write_text(table.schema.to_toml())
    return path


def read_back(folder: Path, capture: Path, table: Table, **changes: Any) -> list[Observation]:
    """What an attack is shown of a capture."""
    settings = UpdatesSettings(capture=str(capture), **changes)
    source = open_capture(Request(schema_file=schema_file(folder, table)), settings)
    encoder, learner = parts_of(source, settings)
    return [each for case in source.cases for each in observations_of(source, settings, case, encoder, learner)]


@pytest.mark.parametrize("protocol", ["fedsgd", "fedavg"])
def test_a_captured_update_gives_the_claims_of_the_simulation_to_the_last_digit(tmp_path: Path, protocol: str) -> None:
    simulated = replace(tiny_observations(protocol=protocol)[0], labels=None)
    (captured,) = read_back(tmp_path, written(tmp_path / "capture", simulated), tiny_table())
    assert captured.exchange == simulated.exchange
    assert all(torch.equal(captured.update[name], value) for name, value in simulated.update.items())
    one, other = (attacked(cut_short(Exact()), [each], Streams(1))[0] for each in (simulated, captured))
    assert one.rows is not None
    assert other.rows is not None
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.certified, other.certified)  # type: ignore[arg-type]
    assert (one.outcome, one.note) == (other.outcome, other.note)


def strangers_net(inputs: Any) -> nn.Module:
    """100-100 with two outputs, as TabLeak has it, written as anybody would."""
    return nn.Sequential(
        nn.Linear(inputs.width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, inputs.outputs)
    )


def test_a_gradient_of_another_code_base_is_read_as_ours_is(tmp_path: Path) -> None:
    frame = clinic(rows=2000)
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    # As TabLeak's code does it: numbers and one-hot entries standardised over the whole table, in float32.
    encoder = Encoder(schema=table.schema)
    onehot = encoder.encode(table, encoder.statistics(table)).astype(np.float64)
    onehot[:, : encoder.layout.numeric] = table.numbers
    spread = onehot.std(0)
    x = torch.from_numpy(((onehot - onehot.mean(0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32))
    batch = np.random.default_rng(5).choice(len(table), 32, replace=False)
    torch.manual_seed(1)
    net = strangers_net(Inputs(numeric=encoder.layout.numeric, sizes=encoder.layout.sizes, outputs=2))
    nn.CrossEntropyLoss()(net(x[batch]), torch.from_numpy(table.target[batch])).backward()
    gradient = {name: value.grad for name, value in net.named_parameters()}
    captures.write(tmp_path / "capture", before=net.state_dict(), gradient=gradient, rows=32)
    table.take(batch).to_frame().write_csv(tmp_path / "truth.csv")
    summary = audited(
        tmp_path,
        frame,
        target="died",
        model=Foreign(made=strangers_net, binary_outputs=2),
        standardise_onehot=True,
        statistics="table",
        truth=tmp_path / "truth.csv",
    )
    (cell,) = summary.cells
    assert (cell.rows, cell.rows_exact, cell.rows_certified) == (32, 32, 32)


def audited(folder: Path, frame: pl.DataFrame | None = None, **options: Any) -> UpdatesSummary:
    """An audit of the capture in a folder."""
    usual = {"capture": str(folder / "capture"), "attacks": "exact"}
    summary: Summary = seepage.audit(frame, study="updates", **(usual | options))
    assert isinstance(summary, UpdatesSummary)
    return summary


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """A folder with the gradient of a client's eight rows, those rows, all its rows, and the schema."""
    frame = clinic(rows=300)
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    schema_file(tmp_path, table)
    frame.write_csv(tmp_path / "all.csv")
    table.take(np.arange(ROWS)).to_frame().write_csv(tmp_path / "truth.csv")
    encoder = Encoder(schema=table.schema)
    layout = encoder.layout
    learner = make_learner(MLP(), layout.numeric, layout.sizes, "binary", 2, seed=3)
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))[:ROWS]
    y = torch.from_numpy(table.target)[:ROWS]
    weights = learner.initial()
    slope = learner.gradient(weights, x, y)
    captures.write(tmp_path / "capture", before=weights, gradient=slope, rows=ROWS, client="a")
    after = {name: value - 0.1 * slope[name] for name, value in weights.items()}
    facts = {"rows": ROWS, "batch_size": ROWS, "learning_rate": 0.1, "client": "a"}
    captures.write(tmp_path / "step" / "capture", before=weights, after=after, **facts)
    captures.write(tmp_path / "swapped" / "capture", before=after, after=weights, **facts)
    return tmp_path


def test_without_the_truth_it_says_what_is_proven_and_what_a_simulation_expects(client: Path) -> None:
    summary = audited(client, schema=client / "schema.toml", simulations=2)
    simulated, captured = summary.cells
    assert (simulated.origin, captured.origin) == ("simulated", "captured")
    assert captured.rows_certified == captured.rows == ROWS
    assert not captured.with_truth
    assert captured.metrics["expected"] is not None
    assert captured.metrics["expected"].mean == 1.0
    assert [each.expected.mean for each in captured.sureness if each.expected] == [1.0] * len(summary.dataset.columns)
    assert all(each.guess is not None and each.guess.mean < 1 for each in captured.sureness)
    assert captured.judged["exact"] is not None
    assert captured.judged["exact"].high == 1.0  # nobody can say that less leaks
    assert any("nobody gave the rows" in sentence for sentence in summary.not_tested)
    assert not summary.revealed


def test_with_the_truth_it_is_scored_like_any_audit(client: Path) -> None:
    own = {"truth": client / "truth.csv", "client_rows": client / "all.csv", "schema": client / "schema.toml"}
    (cell,) = audited(client, **own).cells
    assert cell.with_truth
    assert cell.rows_near == cell.rows_certified == ROWS
    assert cell.metrics["certified_wrong"].mean == 0  # type: ignore[union-attr]
    assert cell.best_guess[1] is not None
    assert audited(client, labels_known=True, **own).cells[0].rows_near == ROWS


def test_values_are_shown_only_if_asked_for(client: Path) -> None:
    own: dict[str, Any] = {"schema": client / "schema.toml", "simulations": 0, "reveal": True}
    untold = audited(client, **own).revealed
    assert len(untold) == ROWS
    assert not untold[0].truth
    told = audited(client, **own, truth=client / "truth.csv", client_rows=client / "all.csv").revealed
    assert [row.truth["sex"] for row in told] == [row.reconstruction["sex"] for row in told]


@pytest.mark.slow
def test_weights_that_are_swapped_are_told(client: Path) -> None:
    short = "exact:restarts=1:starts=1:steps=5:start_steps=5"
    own: dict[str, Any] = {"schema": client / "schema.toml", "simulations": 0, "attacks": short}
    assert audited(client / "step", **own).cells[0].rows_certified == ROWS
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        audited(client / "swapped", **own)
    assert any("swapped: read the other way round, 8 rows are certified" in str(each.message) for each in seen)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        summary = audited(client / "swapped", **own, truth=client / "truth.csv", client_rows=client / "all.csv")
    assert any("the loss goes up" in str(each.message) for each in seen)
    assert any("the loss goes up" in sentence for sentence in summary.warnings)


def test_a_truth_of_other_rows_is_told(client: Path) -> None:
    frame = pl.read_csv(client / "all.csv")
    own: dict[str, Any] = {"schema": client / "schema.toml", "client_rows": client / "all.csv"}
    frame[ROWS : 2 * ROWS].write_csv(client / "other.csv")
    with pytest.warns(UserWarning, match="do not give the gradient of round 1"):
        audited(client, truth=client / "other.csv", **own)


def test_several_rounds_of_a_client_are_one_case(client: Path) -> None:
    entry = captures.read(client / "capture").entries[0]
    captures.write(
        client / "capture", before=entry.before(), gradient=entry.sent(), rows=ROWS, client="a", round=5, add=True
    )
    (cell,) = audited(client, schema=client / "schema.toml", simulations=0).cells
    assert (cell.rounds, cell.trials, cell.rows) == ("1, 5", 2, 2 * ROWS)
    assert audited(client, schema=client / "schema.toml", simulations=0, rounds=(5,)).cells[0].rounds == "5"


def test_rounds_that_are_joined_give_away_what_none_of_them_does(tmp_path: Path) -> None:
    """18 rows on a layer with 15 directions: shut alone, open together."""
    frame, rows = clinic(rows=300), 18
    table = Table.from_frame(frame, infer_schema(frame, "died"))
    encoder = Encoder(schema=table.schema)
    learner = make_learner(MLP(width=16), encoder.layout.numeric, encoder.layout.sizes, "binary", 2, seed=3)
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))
    y = torch.from_numpy(table.target)
    weights = learner.initial()
    for number in (1, 2, 3):
        slope = learner.gradient(weights, x[:rows], y[:rows])
        captures.write(
            tmp_path / "capture", before=weights, gradient=slope, rows=rows, client="a", round=number, add=number > 1
        )
        for _ in range(20):
            others = learner.gradient(weights, x[100:], y[100:])
            weights = {name: value - 0.05 * others[name] for name, value in weights.items()}
    own: dict[str, Any] = {"schema": schema_file(tmp_path, table), "model": "mlp:width=16", "simulations": 1}
    summary = audited(tmp_path, **own, attacks=("exact:restarts=1:starts=1:steps=5:start_steps=5",), join=(1, 3))
    found = {(cell.watched, cell.origin): cell for cell in summary.cells}
    assert found[1, "captured"].rows_certified == 0
    assert (found[3, "captured"].trials, found[3, "captured"].rows_certified) == (1, rows)
    assert found[3, "simulated"].rows_certified == rows
    assert {each.round for each in summary.rounds} == {1, 2, 3}  # joined ones are no round by itself
    assert "More than 3 rounds of one client together." in summary.not_tested
    with pytest.raises(InputError, match=r"4 rounds are to be joined.*no client of the capture sent more than 3"):
        audited(tmp_path, **own, join=4)
    with pytest.raises(InputError, match=r"None of the attacks .* joins rounds"):
        audited(tmp_path, **own, attacks="fast", join=3)


@dataclass(frozen=True)
class Joining:
    """Somebody else's attack, which says that it joins rounds."""

    joins_rounds = True

    def start(self, scene: Any, streams: Streams, *, progress: Any = None) -> Any:
        raise NotImplementedError


def test_an_attack_of_another_package_says_itself_that_it_joins_rounds() -> None:
    name = registry.written_out("attack", Joining(), "rows")
    assert registry.joins_rounds(name, "rows")
    assert not registry.joins_rounds("fast:steps=5", "rows")
    assert RowsSettings(attacks=(name, "fast"), rounds=(1, 3)).tried == [(name, 1), (name, 3), ("fast", 1)]


def test_an_update_that_cannot_be_replayed_is_told_and_not_attacked(client: Path) -> None:
    entry = captures.read(client / "step" / "capture").entries[0]
    facts: dict[str, Any] = {"before": entry.before(), "after": entry.sent(), "rows": ROWS}
    captures.write(client / "none" / "capture", **facts)
    summary = audited(client / "none", schema=client / "schema.toml")
    (cell,) = summary.cells
    assert (cell.outcome, cell.measured) == ("not_applicable", False)
    assert cell.notes == ("The capture does not say the batch size and the learning rate.",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": None}, "Which columns does the model have"),
        ({"capture": "none"}, "holds no capture"),
        ({"capture": ""}, "Which capture is to be attacked"),
        ({"model": "mlp:width=16"}, "'.*weight' has the shape"),
        ({"model": "linear"}, "are not those of the model 'linear'"),
        ({"client": "client-0000000000000000"}, "Unknown client of the capture"),
        ({"rounds": (7,)}, "The capture holds no round 7; it holds 1"),
        ({"statistics": "table"}, "there is only a schema"),
        ({"labels_known": True}, "needs the rows behind the updates"),
        ({"truth": "all.csv"}, "The truth has 300 rows with a target, but 8 are behind"),
        ({"truth": "narrow.csv"}, "The schema does not fit the table: it has no column 'sex'"),
        ({"truth": "none.csv"}, "There is no file"),
        ({"attacks": "spans"}, "works in the study vertical"),
    ],
)
def test_a_mistake_is_one_sentence(
    client: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(client)
    pl.read_csv("truth.csv").drop("sex").write_csv("narrow.csv")
    usual: dict[str, Any] = {"capture": "capture", "schema": "schema.toml"}
    with pytest.raises(InputError, match=said):
        seepage.audit(None, study="updates", **(usual | options))


def trained(net: nn.Module, x: torch.Tensor, y: torch.Tensor, optimiser: torch.optim.Optimizer, passes: int) -> None:
    """A training loop as anybody writes it."""
    net.train()
    for _ in range(passes):
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y.float()).backward()
        optimiser.step()


@pytest.mark.parametrize(
    ("facts", "make"),
    [
        ({"momentum": 0.9, "weight_decay": 0.01}, torch.optim.SGD),
        ({"optimiser": "adamw", "weight_decay": 0.1}, torch.optim.AdamW),
    ],
)
def test_training_as_torch_does_it_is_replayed(tmp_path: Path, facts: dict[str, Any], make: Any) -> None:
    table = tiny_table()
    encoder = Encoder(schema=table.schema)
    layout = encoder.layout
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))[:3]
    y = torch.from_numpy(table.target)[:3]
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(layout.width, 8), nn.ReLU(), nn.Linear(8, 1))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    trained(net, x, y, make(net.parameters(), lr=0.05, **{k: v for k, v in facts.items() if k != "optimiser"}), 2)
    rules = {"rows": 3, "batch_size": 3, "local_epochs": 2, "learning_rate": 0.05}
    captures.write(tmp_path / "capture", before=before, after=net.state_dict(), **rules, **facts)
    model = Foreign(made=lambda inputs: nn.Sequential(nn.Linear(inputs.width, 8), nn.ReLU(), nn.Linear(8, 1)))
    spec = registry.written_out("model", model, "updates")
    (observation,) = read_back(tmp_path, tmp_path / "capture", table, model=spec)
    protocol = protocol_of(observation.exchange)
    plan = torch.arange(3).repeat(2, 1)[None]
    random = torch.Generator()
    ours = protocol.computation(observation.learner, Undefended())(observation.parameters, x[plan], y[plan], random)
    for name, value in observation.update.items():
        assert torch.allclose(ours[name][0], value, atol=1e-6), name


def test_running_statistics_of_batch_norm_are_part_of_what_was_sent(tmp_path: Path) -> None:
    table = tiny_table()
    encoder = Encoder(schema=table.schema)
    layout = encoder.layout
    x = torch.from_numpy(encoder.encode(table, encoder.statistics(table)))[:6]
    y = torch.from_numpy(table.target)[:6]
    net = make_learner(MLP(norm="batch"), layout.numeric, layout.sizes, "binary", 2, seed=3).module.requires_grad_(True)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    trained(net, x, y, torch.optim.SGD(net.parameters(), lr=0.05), 1)
    rules: dict[str, Any] = {"before": before, "after": net.state_dict(), "rows": 6, "batch_size": 6}
    captures.write(tmp_path / "capture", **rules, learning_rate=0.05)
    (observation,) = read_back(tmp_path, tmp_path / "capture", table, model="mlp:norm=batch")
    assert observation.learner.batch_statistics
    assert {name.rpartition(".")[2] for name in observation.moved} == {"running_mean", "running_var"}
    captures.write(tmp_path / "stored", **rules, learning_rate=0.05, batch_norm="stored")
    (kept,) = read_back(tmp_path, tmp_path / "stored", table, model="mlp:norm=batch")
    assert not kept.moved


@pytest.mark.slow
def test_a_preprocessing_that_all_share_tells_numbers_in_their_own_units(tmp_path: Path) -> None:
    frame = clinic(rows=300).select("age", "sex", "ward", "hours_in_emergency", "died")
    kept = ["age", "hours_in_emergency", "sex", "ward"]
    table = pd.DataFrame(frame.select(kept).to_dict(as_series=False))
    made = ColumnTransformer(
        [("n", StandardScaler(), kept[:2]), ("c", OneHotEncoder(sparse_output=False), kept[2:])]
    ).fit(table)
    x = torch.from_numpy(made.transform(table).astype(np.float32))[:ROWS]
    y = torch.from_numpy(frame["died"].to_numpy().astype(np.float32))[:ROWS]
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))
    nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
    gradient = {name: value.grad for name, value in net.named_parameters()}
    captures.write(tmp_path / "capture", before=net.state_dict(), gradient=gradient, rows=ROWS)
    schema_file(tmp_path, Table.from_frame(frame, infer_schema(frame, "died")))
    frame[:ROWS].write_csv(tmp_path / "truth.csv")

    def build(inputs: Inputs) -> nn.Module:
        return nn.Sequential(nn.Linear(inputs.width, 64), nn.ReLU(), nn.Linear(64, inputs.outputs))

    own: dict[str, Any] = {"schema": tmp_path / "schema.toml", "preprocessing": made, "model": build, "reveal": True}
    untold = audited(tmp_path, **own, simulations=2)
    captured = untold.cells[-1]
    assert captured.rows_certified == ROWS
    ages = sorted(round(float(row.reconstruction["age"]), 1) for row in untold.revealed)  # type: ignore[arg-type]
    assert ages == sorted(frame["age"][:ROWS].to_list())  # in years, without the truth
    assert any("means and deviations" in sentence for sentence in untold.threat_model.knows)
    (told,) = audited(tmp_path, **own, truth=tmp_path / "truth.csv").cells
    assert told.rows_exact == ROWS


def test_what_can_be_said_of_all_rows_together_is_said_without_values(client: Path) -> None:
    own: dict[str, Any] = {"schema": client / "schema.toml", "attacks": ("presence", "counts:clients=12")}
    summary = audited(client, **own, simulations=2)
    assert not summary.cells
    assert [each.origin for each in summary.tallies] == ["simulated", "captured"] * 2
    listed = summary.tallies[1]
    table = pl.read_csv(client / "truth.csv")
    sex = next(column for column in listed.columns if column.name == "sex")
    assert (sex.present, sex.absent) == (table["sex"].n_unique(), 2 - table["sex"].n_unique())
    assert not summary.revealed
    shown = audited(client, **own, simulations=0, reveal=True).revealed
    assert any("sex = male" in row.reconstruction for row in shown)
    told = audited(client, **own, truth=client / "truth.csv", client_rows=client / "all.csv").tallies
    assert [each.metrics["presence"].mean for each in told] == [1.0, 1.0]  # type: ignore[union-attr]
    assert "categories occur" in str(summary)


def test_noise_that_is_said_is_not_taken_for_people(client: Path) -> None:
    entry = captures.read(client / "capture").entries[0]
    noise = np.random.default_rng(0)
    gradient = {n: v + 0.01 * noise.normal(size=v.shape).astype(np.float32) for n, v in entry.sent().items()}
    captures.write(client / "noisy" / "capture", before=entry.before(), gradient=gradient, rows=ROWS, covered=True)
    own: dict[str, Any] = {"schema": client / "schema.toml", "attacks": "presence", "simulations": 0}
    (cell,) = audited(client / "noisy", **own, truth=client / "truth.csv", client_rows=client / "all.csv").tallies
    wrong = cell.metrics.get("presence_wrong")
    assert wrong is None or wrong.mean == 0


def test_totals_of_thousands_of_rows_in_uneven_batches_are_said_and_rows_are_not_read(client: Path) -> None:
    entry = captures.read(client / "step" / "capture").entries[0]
    facts = {"rows": 1001, "batch_size": 64, "learning_rate": 0.1, "optimiser": "adam"}
    captures.write(client / "uneven" / "capture", before=entry.before(), after=entry.sent(), **facts)
    own: dict[str, Any] = {"schema": client / "schema.toml", "attacks": ("exact", "presence"), "simulations": 0}
    summary = audited(client / "uneven", **own)
    assert summary.cells[0].notes == (
        "The 1001 rows are no whole number of batches of 64, which no attack on rows replays.",
    )
    assert summary.tallies[0].measured


def test_labels_of_whole_batches_are_of_all_classes() -> None:
    """A last, smaller batch is not replayed: cut off at the end, its labels would all be of the highest class."""
    labels = torch.tensor([1, 0] * 10)
    assert torch.equal(thinned(labels, 20), labels.sort().values)
    assert torch.equal(thinned(labels, 16), torch.tensor([0] * 8 + [1] * 8))
    assert torch.equal(thinned(torch.tensor([2.0, 0.5, 1.0]), 2), torch.tensor([0.5, 2.0]))
