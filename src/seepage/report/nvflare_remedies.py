"""What to set in NVFlare. Names and arguments are those of nvflare 2.9; a test pastes the lines into it."""

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
from seepage.report.words import count

DIFF = "Let clients send differences (params_transfer_type=TransferType.DIFF): of whole weights it would cut the model."


def nvflare_remedies(sent: Sent) -> tuple[Remedy, ...]:
    """Settings to try, those that ask least of the users first."""
    found = [_batches(sent)]
    if sent.length and sent.weights:
        typical = sent.length / math.sqrt(sent.weights)
        found += [_sparse_vector(typical), _percentile(sent, typical)]
    if sent.first_layer:
        found.append(_exclude(sent))
    return (*found, _encrypted(sent))


def _batches(sent: Sent) -> Remedy:
    epochs = "" if sent.gradient else f" --epochs {2 * sent.epochs}"
    code = f'train_args = "--batch_size {larger_batch(sent)}{epochs}"  # of the recipe'
    return more_rows(sent, code, "The names are those that your training script reads.")


def _sparse_vector(typical: float) -> Remedy:
    gamma = float(short(typical))
    stored = measured_settings().of("SVTPrivacy")
    return Remedy(
        name="SVTPrivacy: a tenth of the weights is sent, with noise",
        code=(
            "from nvflare.app_common.filters.svt_privacy import SVTPrivacy\n\n"
            "recipe.add_client_output_filter(\n"
            f"    SVTPrivacy(fraction=0.1, epsilon=0.1, noise_var=0.1, gamma={gamma:g}, tau={gamma / 10:g}), "
            'tasks=["train"]\n)'
        ),
        values=(
            f"gamma, beyond which a weight's change is cut, is the typical change of a weight in the capture; tau, the "
            "threshold, a tenth of it; the rest as NVFlare has it. Where clients tell their number of steps, both are "
            f"for one step: divide them. {DIFF}"
        ),
        stops="What single weights tell: entries are chosen and sent with noise.",
        remains=(
            "The budgets of rounds add up (NVFlare's log tells the sum), and the promise is about entries of the "
            "update, not about rows: one row moves many entries."
        ),
        measured=elsewhere(
            f"with it {stored.read}, and {stored.right}; {stored.told}. Whether the model still learns was not measured"
        ),
    )


def _percentile(sent: Sent, typical: float) -> Remedy:
    stored = measured_settings().of("PercentilePrivacy")
    return Remedy(
        name="PercentilePrivacy: only the largest changes are sent",
        code=(
            "from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy\n\n"
            "recipe.add_client_output_filter(\n"
            f'    PercentilePrivacy(percentile=90, gamma={short(3 * typical)}), tasks=["train"]\n)'
        ),
        values=(
            f"A tenth of {count(sent.weights)} weights is sent; gamma is three times the typical change of a weight in "
            f"the capture, and larger changes are cut to it. {DIFF}"
        ),
        stops="Proofs: where entries are left out, an attack cannot tell its error and certifies nothing.",
        remains=(
            "It adds no noise and promises nothing. Attacks that search for rows work on what is sent, and categories "
            "whose weights move are seen to occur."
        ),
        measured=elsewhere(f"with it {stored.read}, and {stored.right}; {stored.told}"),
    )


def _exclude(sent: Sent) -> Remedy:
    name = sent.first_layer.replace(".", r"\.")
    return Remedy(
        name="ExcludeVars: the first layer stays at the client",
        code=(
            "from nvflare.app_common.filters.exclude_vars import ExcludeVars\n\n"
            f'recipe.add_client_output_filter(ExcludeVars(exclude_vars=r"^{name}\\."), tasks=["train"])'
        ),
        values=(
            f"The model's first tensors begin with {sent.first_layer!r}; name all layers that take the columns. Each "
            "client then trains a first layer of its own, and the server must cope with updates that lack it."
        ),
        stops="Reading rows, and which categories occur, from the layer that meets the columns.",
        remains="The later layers and the biases, which tell of what the first layer made of the rows.",
    )


def _encrypted(sent: Sent) -> Remedy:
    return Remedy(
        name="FedAvgRecipeWithHE: updates are encrypted, and added up so",
        code=(
            "# pip install 'nvflare[HE]'; startup kits with HEBuilder, which makes the keys\n"
            "from nvflare.app_opt.pt.recipes.fedavg_he import FedAvgRecipeWithHE\n\n"
            "recipe = FedAvgRecipeWithHE(\n"
            f"    model=model, min_clients={sent.clients}, num_rounds=num_rounds, train_script=train_script, "
            "train_args=train_args\n)"
        ),
        values=(
            "All layers are encrypted unless encrypt_layers says less. It runs with provisioned startup kits (PocEnv, "
            "ProdEnv), and not in SimEnv."
        ),
        stops="Reading anything on the server, which has no key.",
        remains=(
            f"Clients have the key and get the sum, in which {rounds_of(sent)} add up: it leaks to each of them as an "
            "update of so many rows does. A server that is given a client's key reads everything."
        ),
    )
