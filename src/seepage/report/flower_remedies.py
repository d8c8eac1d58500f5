"""What to set in Flower. Names and arguments are those of flwr 1.41; a test pastes the lines into it."""

from __future__ import annotations

import math

from seepage.report.measured_settings import measured_settings
from seepage.report.remedies import (
    Remedy,
    Sent,
    elsewhere,
    larger_batch,
    more_rows,
    rounds_of,
    short,
)
from seepage.report.words import count, plural

EPSILON, DELTA = 1.0, 1e-5


def flower_remedies(sent: Sent) -> tuple[Remedy, ...]:
    """Settings to try, those that ask least of the users first."""
    found = [_batches(sent)]
    if sent.length and not sent.gradient:
        found += [_local_noise(sent, sent.length), _central_noise(sent, sent.length)]
    return (*found, _secure_sum(sent))


def _batches(sent: Sent) -> Remedy:
    epochs = "" if sent.gradient else f" local-epochs={2 * sent.epochs}"
    code = f'flwr run . --run-config "batch-size={larger_batch(sent)}{epochs}"'
    return more_rows(sent, code, "The names are those that your client reads from context.run_config.")


def local_deviation(clip: float, epsilon: float = EPSILON, delta: float = DELTA) -> float:
    """The deviation of LocalDpMod's noise in every weight, with a sensitivity of twice the clipping norm."""
    return 2 * clip * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _local_noise(sent: Sent, length: float) -> Remedy:
    clip = float(short(length))
    longer = local_deviation(clip) * math.sqrt(max(sent.weights, 1)) / clip
    stored = measured_settings()
    strict, loose = stored.of("LocalDpMod"), stored.of("LocalDpMod, loose")
    return Remedy(
        name="LocalDpMod: each client clips its update and adds noise before it is sent",
        code=(
            "from flwr.clientapp import ClientApp\n"
            "from flwr.clientapp.mod import LocalDpMod\n\n"
            f"app = ClientApp(mods=[LocalDpMod(clipping_norm={clip:g}, sensitivity={2 * clip:g}, "
            f"epsilon={EPSILON}, delta={DELTA})])"
        ),
        values=(
            "The clipping norm is the median length of the captured updates, and two clipped ones differ by at most "
            f"twice that. With {count(sent.weights)} weights this noise is about {count(longer)} times as long as an "
            f"update, so the model may learn nothing from {plural(sent.clients, 'client')}. Noise as long as the "
            f"update itself would be epsilon={count(longer * EPSILON)}, which promises nothing."
        ),
        stops="What one client's update tells the server: epsilon at delta, for each round.",
        remains="Epsilons of rounds add up: ten rounds do not have the promise of one. Flower's formula for the noise "
        "holds for an epsilon of at most 1.",
        measured=elsewhere(
            f"at epsilon={stored.epsilon:g}, {strict.read}, and {strict.right}; with noise as long as the update "
            f"(epsilon={count(stored.loose_epsilon)}), {loose.read}, and {loose.right}. Whether the model still learns "
            "was not measured"
        ),
    )


def _central_noise(sent: Sent, length: float) -> Remedy:
    return Remedy(
        name="DifferentialPrivacyClientSideFixedClipping with fixedclipping_mod",
        code=(
            "# in the ServerApp\n"
            "from flwr.serverapp.strategy import DifferentialPrivacyClientSideFixedClipping\n\n"
            "strategy = DifferentialPrivacyClientSideFixedClipping(\n"
            f"    strategy, noise_multiplier=1.0, clipping_norm={short(length)}, num_sampled_clients={sent.clients}\n"
            ")\n\n"
            "# in the ClientApp\n"
            "from flwr.clientapp import ClientApp\n"
            "from flwr.clientapp.mod import fixedclipping_mod\n\n"
            "app = ClientApp(mods=[fixedclipping_mod])"
        ),
        values=(
            "The clipping norm is the median length of the captured updates, the number of clients the most in a "
            "round; of the noise Flower's documentation recommends 1.0 or more."
        ),
        stops="What those who get the averaged model can tell of one client.",
        remains=(
            "Everything that this audit read: the server adds the noise itself, and gets every update clipped but "
            "without noise. Clipping makes an update shorter and hides no row in it."
        ),
        measured=elsewhere(f"clipped to half its length, {measured_settings().of('fixedclipping_mod').read}"),
    )


def _secure_sum(sent: Sent) -> Remedy:
    return Remedy(
        name="SecAgg+: the server gets the sum of the updates only",
        code=(
            "# in the ClientApp\n"
            "from flwr.client.mod import secaggplus_mod\n"
            "from flwr.clientapp import ClientApp\n\n"
            "app = ClientApp(mods=[secaggplus_mod])\n\n"
            "# in the ServerApp's main\n"
            "from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow\n\n"
            "workflow = DefaultWorkflow(\n"
            f"    fit_workflow=SecAggPlusWorkflow(num_shares=1.0, reconstruction_threshold=0.7, "
            f"max_weight={max(1000, sent.rows)})\n"
            ")"
        ),
        values=(
            "Shares for all clients, of which 0.7 open a key; the highest weight covers the rows behind an update. "
            "In flwr 1.41 this workflow takes a LegacyContext: it works with the older ServerApp and its strategies, "
            "and not with flwr.serverapp.strategy."
        ),
        stops="Reading one client's update.",
        remains=(
            f"The sum: {rounds_of(sent)} add up in it, and it leaks as an update of so many rows does; a server that "
            "makes up clients, or two that work together, are not stopped. Whose row it is is no longer told."
        ),
        measured=elsewhere(f"in the plain sum of a round, {measured_settings().of('sum').read}"),
    )
