"""What vertical training promises: it is TabNet, no column leaves a guest, a kill loses nothing, nothing hangs."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from pytorch_tabnet.metrics import UnsupervisedLoss
from pytorch_tabnet.tab_network import TabNetNoEmbeddings, TabNetPretraining
from torch import Tensor, nn

from seepage._core import InputError, Streams
from seepage.federation.vertical import (
    DESIGNS,
    AlignedRows,
    Checkpoint,
    Failures,
    Federation,
    Guest,
    Instruction,
    Kind,
    Message,
    PartyError,
    Phase,
    SilentPartyError,
    Stamp,
    Traffic,
    Training,
    make_design,
)
from seepage.federation.vertical.channel import Threads
from seepage.federation.vertical.messages import opened
from seepage.models.tabnet_split import TabNetParts

ROWS, WIDTHS = 60, [3, 4, 2]
TRAIN, HELD_OUT = np.arange(45), np.arange(45, 60)
SHORT = Training(pretraining=2, finetuning=3, batch_size=16, patience=0)
PARTS = TabNetParts(latent=4, attention=4, virtual_batch=16)


def columns(widths: list[int] = WIDTHS) -> tuple[list[Tensor], Tensor]:
    x = torch.randn(ROWS, sum(widths), generator=torch.Generator().manual_seed(1))
    return [part.contiguous() for part in torch.split(x, widths, 1)], (x[:, 0] + x[:, -1] > 0).long()


def federation(
    design: str = "tabvfl", widths: list[int] = WIDTHS, training: Training = SHORT, **more: object
) -> Federation:
    x, y = columns(widths)
    names = [f"guest{number}" for number in range(len(widths))]
    return Federation(
        AlignedRows(names, x, y, 2),
        design=make_design(design),
        parts=PARTS,
        training=training,
        streams=Streams(3),
        **more,  # type: ignore[arg-type]
    )


def test_one_guest_with_an_identity_layer_is_central_tabnet() -> None:
    made = federation(widths=[9])
    guest, host = made.guests[0], made.host
    bottom, rebuild = guest.learning.modules["bottom"].bottom, guest.learning.modules["rebuild"]
    nn.init.eye_(bottom.mix.weight)
    top = host.learning.modules["top"]
    central = TabNetPretraining(
        9, 0.2, 4, 4, 3, 1.3, virtual_batch_size=16, cat_idxs=[], cat_dims=[], group_attention_matrix=torch.eye(9)
    )
    central.encoder.load_state_dict(top["encoder"].state_dict(), strict=False)
    central.encoder.initial_bn.load_state_dict(bottom.norm.state_dict())
    central.decoder.load_state_dict(top["decoder"].state_dict(), strict=False)
    central.decoder.reconstruction_layer.weight.data = rebuild.rebuild.weight.data.clone()
    rows, stamp = torch.arange(16), Stamp(Phase.PRETRAINING, 0, 0)
    x = columns([9])[0][0][rows]
    masks = guest._masks(stamp, x)
    expected = UnsupervisedLoss(central.decoder(central.encoder((1 - masks) * x, prior=1 - masks)[0]), x, masks)
    expected.backward()
    before = top["encoder"].att_transformers[0].fc.weight.detach().clone()
    steps: dict[str, Tensor] = {}
    host.learning.step = lambda: steps.update(host=top["encoder"].att_transformers[0].fc.weight.grad.clone())  # type: ignore[method-assign, union-attr]
    guest.learning.step = lambda: steps.update(guest=bottom.norm.weight.grad.clone())  # type: ignore[method-assign]
    loss = host.pretrain(rows, stamp)
    assert loss == pytest.approx(float(expected.detach()), rel=1e-6)
    assert torch.equal(before, top["encoder"].att_transformers[0].fc.weight)
    torch.testing.assert_close(steps["host"], central.encoder.att_transformers[0].fc.weight.grad)
    torch.testing.assert_close(steps["guest"], central.encoder.initial_bn.weight.grad)


def test_the_latent_and_the_logits_are_central_tabnets() -> None:
    made = federation(widths=[9])
    bottom = made.guests[0].learning.modules["bottom"].bottom
    nn.init.eye_(bottom.mix.weight)
    central = TabNetNoEmbeddings(9, 2, 4, 4, 3, 1.3, virtual_batch_size=16, group_attention_matrix=torch.eye(9))
    central.encoder.load_state_dict(made.host.learning.modules["top"]["encoder"].state_dict(), strict=False)
    central.initial_bn.load_state_dict(bottom.norm.state_dict())
    central.final_mapping.load_state_dict(made.host.learning.modules["mapping"].state_dict())
    central.eval()
    logits = made.host.logits(made.host.latent(torch.arange(ROWS)))
    with torch.no_grad():
        torch.testing.assert_close(logits, central(columns([9])[0][0])[0])


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_learns(design: str) -> None:
    widths = [9] if design == "central" else WIDTHS
    history = federation(design, widths, Training(pretraining=2, finetuning=8, batch_size=16, patience=0)).fit(
        TRAIN, HELD_OUT
    )
    losses = [epoch.loss for epoch in history.of(Phase.FINETUNING)]
    assert len(losses) == 8
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("design", [name for name in DESIGNS if name not in ("central", "tabvfl_without_fc")])
def test_no_raw_column_leaves_a_guest(design: str) -> None:
    sent: list[Message] = []
    # Wide guests: while it learns, a square layer of two columns can turn into one of them by chance, one of eight not.
    widths = [8, 9, 8]
    federation(design, widths, traffic=Traffic(sent.append)).fit(TRAIN, HELD_OUT)
    raw = torch.cat(columns(widths)[0], 1)
    from_guests = [message for message in sent if message.sender != "host"]
    assert from_guests
    assert {kind for message in from_guests for kind in message.payload} <= set(Kind) - {Kind.BATCH_IDS, Kind.CHUNK}
    for message in from_guests:
        for kind, tensor in message.payload.items():
            if kind == Kind.INTERMEDIATE and len(tensor) > 2:
                rows = TRAIN if message.stamp.training else HELD_OUT
                start = 16 * message.stamp.batch if message.stamp.training else 0
                own = raw[rows[start : start + len(tensor)]]
                both = torch.corrcoef(torch.cat([tensor, own], 1).T)[: tensor.shape[1], tensor.shape[1] :]
                assert float(both.detach().nan_to_num().abs().max()) < 0.9999


def test_without_the_square_layer_the_test_above_would_fail() -> None:
    sent: list[Message] = []
    federation("tabvfl_without_fc", traffic=Traffic(sent.append)).fit(TRAIN, HELD_OUT)
    first = next(m for m in sent if Kind.INTERMEDIATE in m.payload and m.stamp.phase == Phase.FINETUNING)
    own = columns()[0][0][: len(first.payload[Kind.INTERMEDIATE])]
    together = torch.corrcoef(torch.cat([first.payload[Kind.INTERMEDIATE], own], 1).T)[:3, 3:]
    assert torch.diagonal(together).min() > 0.999


@pytest.mark.parametrize("stop", [1, 2, 4])
@pytest.mark.parametrize("failures", [Failures(), Failures(probability=0.5, method="cache")], ids=["none", "cache"])
def test_a_run_that_was_killed_goes_on_to_the_same_numbers(tmp_path: Path, stop: int, failures: Failures) -> None:
    whole = federation(failures=failures)
    whole.fit(TRAIN, HELD_OUT)

    def kill(label: str, done: int, total: int, note: str = "") -> None:
        if len(broken.history.epochs) == stop:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(folder=tmp_path, fingerprint="same")
    broken = federation(failures=failures)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(TRAIN, HELD_OUT, checkpoint=checkpoint, progress=kill)
    resumed = federation(failures=failures)
    resumed.fit(TRAIN, HELD_OUT, checkpoint=checkpoint)
    assert [epoch.loss for epoch in resumed.history.epochs] == [epoch.loss for epoch in whole.history.epochs]
    assert resumed.channel.traffic.state() == whole.channel.traffic.state()  # every byte is counted, and counted once
    rows = torch.arange(ROWS)
    assert torch.equal(resumed.host.latent(rows), whole.host.latent(rows))


def test_a_state_of_other_settings_is_not_continued(tmp_path: Path) -> None:
    federation().fit(TRAIN, HELD_OUT, checkpoint=Checkpoint(folder=tmp_path, fingerprint="one"))
    with pytest.raises(InputError, match="other settings"):
        federation().fit(TRAIN, HELD_OUT, checkpoint=Checkpoint(folder=tmp_path, fingerprint="two"))


def test_early_stopping_keeps_the_best_epoch() -> None:
    made = federation(training=Training(pretraining=0, finetuning=40, batch_size=16, patience=2, rate=0.2))
    history = made.fit(TRAIN, HELD_OUT)
    best = history.best(Phase.FINETUNING)
    assert best is not None
    assert len(history.epochs) < 40
    assert history.epochs[-1].number == best.number + 2
    kept = made.host.finetune(torch.from_numpy(HELD_OUT), Stamp(Phase.FINETUNING, 0, 0, training=False))
    assert kept == pytest.approx(best.validation, rel=1e-5)


@pytest.mark.parametrize("method", ["cache", "zeros", "hybrid"])
def test_absent_guests_are_stood_in_for(method: str) -> None:
    traffic = Traffic()
    made = federation(failures=Failures(probability=0.6, method=method), traffic=traffic)  # type: ignore[arg-type]
    history = made.fit(TRAIN, HELD_OUT)
    assert any(epoch.absent for epoch in history.epochs)
    assert all(np.isfinite(epoch.loss) for epoch in history.epochs)
    full = Traffic()
    federation(traffic=full).fit(TRAIN, HELD_OUT)
    sent, whole = (each.training_bytes(Phase.FINETUNING)["intermediate results"] for each in (traffic, full))
    assert sent < whole
    if method != "hybrid":
        assert not history.epochs[0].absent


def test_the_cache_stands_in_with_what_the_guest_sent_last() -> None:
    made = federation(failures=Failures(probability=0.01, method="cache"))
    made.fit(TRAIN, HELD_OUT)
    rows = torch.from_numpy(TRAIN[:5])
    everybody = made.host.latent(rows)
    cached = made.host.latent(rows, {"guest1"})  # its values of a moment ago
    assert torch.equal(everybody, cached)
    made.host.cache.clear()
    assert not torch.equal(everybody, made.host.latent(rows, {"guest1"}))


class Second(Failures):
    """guest1 is drawn to be absent in the second epoch of fine-tuning, and nobody else ever."""

    def absent(self, guests: object, phase: Phase, epoch: int, streams: Streams) -> set[str]:
        return {"guest1"} if (phase, epoch) == (Phase.FINETUNING, 1) else set()


@pytest.mark.parametrize("method", ["cache", "zeros", "hybrid"])
def test_a_guest_that_is_really_late_is_stood_in_for_as_one_that_is_drawn_to_be(method: str) -> None:
    made = federation(failures=Failures(method=method))  # type: ignore[arg-type]
    answer = made.guests[1].respond

    def late(message: Message) -> Message:
        if message.stamp.phase == Phase.FINETUNING and message.stamp.epoch == 1:
            raise SilentPartyError("late")
        return answer(message)

    made.guests[1].respond = late  # type: ignore[method-assign]
    drawn = federation(failures=Second(method=method))  # type: ignore[arg-type]
    one, other = made.fit(TRAIN, HELD_OUT), drawn.fit(TRAIN, HELD_OUT)
    assert one.of(Phase.FINETUNING)[1].absent == ("guest1",)
    assert [epoch.loss for epoch in one.epochs] == [epoch.loss for epoch in other.epochs]
    zeros = federation(failures=Second(method="zeros")).fit(TRAIN, HELD_OUT)
    same = [epoch.loss for epoch in zeros.epochs] == [epoch.loss for epoch in one.epochs]
    assert same == (method == "zeros")


def test_a_guest_that_never_comes_back_stops_the_run_and_the_state_is_there(tmp_path: Path) -> None:
    made = federation(training=Training(pretraining=0, finetuning=9, batch_size=16, patience=0), limit=0.5)
    never = threading.Event()
    answer = made.guests[1].respond

    def hang(message: Message) -> Message:
        if message.stamp.epoch >= 2 and message.task == Instruction.COMPUTE:
            never.wait(30)
        return answer(message)

    made.guests[1].respond = hang  # type: ignore[method-assign]
    with pytest.raises(SilentPartyError, match="'guest1' has not answered for 3 epochs"):
        made.fit(TRAIN, HELD_OUT, checkpoint=Checkpoint(folder=tmp_path, fingerprint="x"))
    never.set()
    made.channel.close()  # type: ignore[attr-defined]
    assert [epoch.absent for epoch in made.history.epochs[-3:]] == [("guest1",)] * 3
    assert (tmp_path / "progress.json").exists()


def test_messages_of_the_wrong_batch_kind_or_shape_name_the_party() -> None:
    stamp = Stamp(Phase.FINETUNING, 1, 2)
    good = Message("shop", "host", Instruction.COMPUTE, stamp, {Kind.INTERMEDIATE: torch.zeros(4, 3)})
    assert len(opened(good, Instruction.COMPUTE, stamp, {Kind.INTERMEDIATE: (4, 3)})) == 1
    with pytest.raises(PartyError, match=r"'shop' sent a message of fine-tuning epoch 1 batch 2; the host is at"):
        opened(good, Instruction.COMPUTE, Stamp(Phase.FINETUNING, 1, 3), {Kind.INTERMEDIATE: (4, 3)})
    with pytest.raises(PartyError, match=r"'shop' sent intermediate results of shape \(4, 3\); expected \(4, 5\)"):
        opened(good, Instruction.COMPUTE, stamp, {Kind.INTERMEDIATE: (4, 5)})
    with pytest.raises(PartyError, match=r"'shop' sent intermediate results; expected: losses"):
        opened(good, Instruction.COMPUTE, stamp, {Kind.LOSS: (1,)})
    with pytest.raises(PartyError, match=r"'shop' sent 'compute' where 'rebuild' was expected"):
        opened(good, Instruction.REBUILD, stamp, {})


def test_a_guest_refuses_gradients_of_another_batch_and_rows_it_does_not_have() -> None:
    guest: Guest = federation().guests[0]
    ids = {Kind.BATCH_IDS: torch.arange(4)}
    guest.respond(Message("host", "guest0", Instruction.COMPUTE, Stamp(Phase.FINETUNING, 0, 0), ids))
    late = {Kind.GRADIENT: torch.zeros(4, 3)}
    with pytest.raises(PartyError, match="'guest0' got 'learn' for fine-tuning epoch 0 batch 1"):
        guest.respond(Message("host", "guest0", Instruction.LEARN, Stamp(Phase.FINETUNING, 0, 1), late))
    with pytest.raises(PartyError, match="of shape"):
        guest.respond(
            Message(
                "host", "guest0", Instruction.LEARN, Stamp(Phase.FINETUNING, 0, 0), {Kind.GRADIENT: torch.zeros(2, 3)}
            )
        )
    many = {Kind.BATCH_IDS: torch.tensor([ROWS])}
    with pytest.raises(PartyError, match="does not have"):
        guest.respond(Message("host", "guest0", Instruction.COMPUTE, Stamp(Phase.FINETUNING, 0, 0), many))


def test_bytes_are_what_the_shapes_say() -> None:
    traffic = Traffic()
    federation(training=Training(pretraining=1, finetuning=1, batch_size=16), traffic=traffic).fit(TRAIN, HELD_OUT)
    rows, width = len(TRAIN), sum(WIDTHS)
    pretraining, finetuning = (traffic.training_bytes(phase) for phase in Phase)
    assert pretraining["intermediate results"] == finetuning["intermediate results"] == 4 * rows * width
    assert pretraining["masks"] == rows * width
    assert pretraining["decoder chunks"] == 4 * rows * PARTS.latent
    assert pretraining["gradients"] == 4 * rows * (width + PARTS.latent)
    assert finetuning["gradients"] == 4 * rows * width


def test_with_patience_the_best_weights_return_and_without_it_the_last_stay() -> None:
    def after(patience: int, epochs: int) -> Tensor:
        made = federation(
            training=Training(pretraining=0, finetuning=epochs, batch_size=16, rate=1.0, patience=patience)
        )
        history = made.fit(TRAIN, HELD_OUT)
        best = history.best(Phase.FINETUNING)
        assert best is not None
        assert best.number < 7  # the rate is far too high
        return made.host.latent(torch.arange(ROWS))

    last, best = after(0, 8), after(100, 8)
    assert not torch.equal(last, best)


def test_encoders_of_local_tabnets_share_the_width_of_a_central_one() -> None:
    parts = TabNetParts(latent=5, attention=5)
    encoders = [make_design("local").guest(parts, 5, place, 2).bottom.encoder for place in range(5)]
    assert [(each.n_d, each.n_a) for each in encoders] == [(1, 1)] * 5


def test_a_last_batch_of_one_row_joins_the_one_before() -> None:
    made = federation(training=Training(pretraining=1, finetuning=1, batch_size=11))
    history = made.fit(np.arange(45), HELD_OUT)  # 4 x 11 + 1
    assert all(np.isfinite(epoch.loss) for epoch in history.epochs)


@pytest.mark.parametrize("design", ["tabvfl", "local"])
def test_a_column_that_is_constant_in_a_batch_does_not_blow_the_loss_up(design: str) -> None:
    made = federation(design)
    for guest in made.guests:
        guest._columns[:20, 0] = -0.411253  # its mean is negative, its variance is rounding
    history = made.fit(TRAIN, HELD_OUT)
    assert all(0 <= epoch.loss < 1e6 for epoch in history.epochs)  # without a floor: 1e9 and more


def test_a_step_whose_gradient_is_beyond_float32_is_left_out() -> None:
    learning = federation().guests[0].learning
    before = {name: value.clone() for name, value in learning.modules.state_dict().items()}
    for parameter in learning.modules.parameters():
        parameter.grad = torch.full_like(parameter, torch.inf)
    learning.step()
    assert all(torch.equal(value, before[name]) for name, value in learning.modules.state_dict().items())


def test_training_that_diverges_stops_with_the_party_named() -> None:
    made = federation()
    made.guests[1]._columns[:] *= 1e25
    with pytest.raises(PartyError, match=r"'guest1' is .* training diverged"):
        made.fit(TRAIN, HELD_OUT)


def test_bad_input_is_one_sentence() -> None:
    x, y = columns()
    with pytest.raises(InputError, match="'b' has no columns"):
        AlignedRows(["a", "b"], [x[0], x[0][:, :0]], y, 2)
    with pytest.raises(InputError, match="no guest"):
        AlignedRows([], [], y, 2)
    with pytest.raises(InputError, match="same name"):
        AlignedRows(["a", "a"], x[:2], y, 2)
    with pytest.raises(InputError, match="align"):
        AlignedRows(["a"], [x[0][:5]], y, 2)
    with pytest.raises(InputError, match="NaN"):
        AlignedRows(["a"], [x[0] * torch.nan], y, 2)
    with pytest.raises(InputError, match="latent dimension is 4, but there are 5 guests"):
        federation(widths=[2, 2, 2, 2, 1])
    with pytest.raises(InputError, match="BatchNorm"):
        Training(batch_size=1)
    with pytest.raises(InputError, match="Did you mean 'tabvfl'"):
        make_design("tabvlf")
    with pytest.raises(InputError, match="use local"):
        make_design("tabvfl", "sum")
    with pytest.raises(InputError, match="failure probability"):
        Failures(probability=1.0)


def test_guests_are_asked_at_once() -> None:
    meet = threading.Barrier(3)

    class Meeting:
        """Answers only when all three have been asked."""

        def respond(self, message: Message) -> Message:
            meet.wait(timeout=20)
            return message.answer()

    channel = Threads({name: Meeting() for name in "abc"}, limit=30)
    asked = [Message("host", name, Instruction.BEGIN, Stamp(Phase.FINETUNING, 0, 0)) for name in "abc"]
    answers = channel.request_all(asked)
    channel.close()
    assert [each.sender for each in answers if each is not None] == ["a", "b", "c"]
