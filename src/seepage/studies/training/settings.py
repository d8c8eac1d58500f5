"""Everything that can change a number of the study of vertical training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from seepage._core import InputError
from seepage._core.names import party_name
from seepage._core.option import MAIN, Option
from seepage.data.row_keys import Case, Duplicates, KeyFormat, Spaces
from seepage.plans.options import MOST, MOST_ROWS, EachOnce, Settings
from seepage.studies.common import Seed

Phases = Literal["both", "no pretraining", "no fine-tuning"]
Method = Literal["cache", "zeros", "hybrid"]
Alignment = Literal["psi", "hashes"]
TRAINING, ABSENT, ALIGNING = "Advanced: training", "Advanced: absent guests", "Advanced: aligning rows"
ALIGNS = ("alignment", "key_case", "key_spaces", "key_duplicates")

Tables = Annotated[
    dict[str, str],
    Option(help="A party's own table, NAME=FILE; once for each party.", group=MAIN, flag="--table"),
]
KeyColumns = Annotated[
    tuple[str, ...],
    EachOnce,
    Option(
        help="With --table: the column that says who a row is; several, separated by commas, say it together.",
        group=MAIN,
        flag="--key",
        one="key",
    ),
]
Designs = Annotated[
    tuple[str, ...],
    EachOnce,
    Option(
        help="Which part of TabNet is where (see `seepage designs list`), separated by commas.",
        group=MAIN,
        flag="--design",
        one="design",
        part="design",
    ),
]
Latent = Annotated[int, Field(ge=1, le=MOST), Option(help="Columns of the latent vector.", group=TRAINING)]
Pretraining = Annotated[int, Field(ge=0, le=MOST), Option(help="Epochs of pretraining at most.", group=TRAINING)]
Finetuning = Annotated[int, Field(ge=0, le=MOST), Option(help="Epochs of fine-tuning at most.", group=TRAINING)]
BatchSize = Annotated[int, Field(ge=1, le=MOST), Option(help="Rows of a mini batch.", group=TRAINING)]
Rate = Annotated[float, Field(gt=0, le=MOST), Option(help="Of Adam.", group=TRAINING)]
Patience = Annotated[
    int,
    Field(ge=0, le=MOST),
    Option(help="Epochs without progress before a phase stops; 0: to the end.", group=TRAINING),
]


def check_parties(tables: Mapping[str, str], keys: Sequence[str], guests: int | None) -> None:
    """Tables of parties need names and a key; what is said of one table does not fit them, and the other way round."""
    for name in tables:
        party_name(name)
    if tables and not keys:
        raise InputError("The parties' tables need --key, the column that says who a row is, and --target.")
    if tables and guests is not None:
        raise InputError("With the parties' own tables (--table) each party is a guest; leave --guests out.")
    if not tables and keys:
        raise InputError("The key belongs to the parties' own tables (--table NAME=FILE).")


class TrainingSettings(Settings):
    """The settings of vertical training.

    Either one table whose columns are dealt to guests (``data``), or the parties' own tables (``tables``), aligned by
    ``keys``; the party that has the target is the host. Every combination of design, phases and failures is trained
    ``runs`` times, with other splits and seeds.
    """

    tables: Tables = Field(default_factory=dict)
    keys: KeyColumns = ()
    alignment: Annotated[
        Alignment,
        Option(
            help="How common rows are found: psi (private set intersection) or hashes (salted, quicker, and open to "
            "guesses by whoever holds the salt).",
            group=ALIGNING,
        ),
    ] = "psi"
    key_case: Annotated[Case, Option(help="fold: keys that differ in case are equal.", group=ALIGNING)] = "keep"
    key_spaces: Annotated[
        Spaces,
        Option(
            help="White space of keys: ends (dropped around), single (made one space), none (all dropped).",
            group=ALIGNING,
        ),
    ] = "ends"
    key_duplicates: Annotated[
        Duplicates, Option(help="A key that a party has twice: refuse, or keep the first row.", group=ALIGNING)
    ] = "refuse"
    guests: Annotated[
        int | None,
        Field(ge=1, le=MOST),
        Option(help="With --data: parties among whom the columns are dealt; 5 if not given.", group=MAIN),
    ] = None
    designs: Designs = ("tabvfl",)
    runs: Annotated[int, Field(ge=1, le=MOST), Option(help="Repeats with other splits and seeds.", group=MAIN)] = 1
    rows: Annotated[
        int,
        Field(ge=20, le=MOST_ROWS),
        Option(help="Rows at most, drawn with the classes in proportion.", group=TRAINING),
    ] = 50_000
    privacy: Annotated[bool, Option(help="Measure what host and guests read of each other.", group=MAIN)] = False
    seed: Seed = 0
    latent: Latent = 5
    pretraining: Pretraining = 100
    finetuning: Finetuning = 100
    phases: Annotated[
        tuple[Phases, ...],
        EachOnce,
        Option(help="both, no pretraining, no fine-tuning; separated by commas.", group=TRAINING),
    ] = ("both",)
    batch_size: BatchSize = 512
    rate: Rate = 0.02
    patience: Patience = 10
    together: Annotated[
        bool,
        Option(
            help="Train all runs of a design at once: several times as fast. Bytes and memory are not measured.",
            group=TRAINING,
        ),
    ] = False
    evaluate: Annotated[
        bool, Option(help="Do not judge the latent by six predictors.", group=TRAINING, off="--no-evaluate")
    ] = True
    failure_probabilities: Annotated[
        tuple[Annotated[float, Field(ge=0, lt=1)], ...],
        EachOnce,
        Option(
            help="Chances that a guest is absent in an epoch: 0,0.2,0.35,0.5.",
            group=ABSENT,
            flag="--failures",
            one="failures",
        ),
    ] = (0.0,)
    failure_methods: Annotated[
        tuple[Method, ...],
        EachOnce,
        Option(help="What stands in for an absent guest: cache, zeros or hybrid, separated by commas.", group=ABSENT),
    ] = ("cache", "zeros")

    def belongs(self) -> None:
        """Options that would have no effect are mistakes."""
        check_parties(self.tables, self.keys, self.guests)
        for name in ALIGNS:
            if not self.tables and getattr(self, name) != type(self).model_fields[name].default:
                raise InputError(f"The setting {name!r} belongs to the parties' own tables (--table NAME=FILE).")
        methods = type(self).model_fields["failure_methods"].default
        if not any(self.failure_probabilities) and self.failure_methods != methods:
            raise InputError("Failure methods need guests that fail (--failures 0.2).")

        absences = 1 + len(self.failure_methods) * (len(self.failure_probabilities) - 1)
        if self.together and self.runs * absences == 1:
            raise InputError("There is one training of each design; nothing is trained together with it (--runs 3).")

    @property
    def parties(self) -> int:
        """How many guests there are."""
        return len(self.tables) or self.guests or 5

    @property
    def key_format(self) -> KeyFormat:
        """How keys are written before they are compared."""
        return KeyFormat(case=self.key_case, spaces=self.key_spaces, duplicates=self.key_duplicates)
