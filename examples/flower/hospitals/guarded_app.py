"""The same hospital with a guard of its own: what can be read from an update must not leave."""

from pathlib import Path

from flwr.clientapp import ClientApp

from hospitals.client_app import train_on_own_rows
from hospitals.task import build
from seepage.integrations.flower import guard  # Seepage

HERE = Path(__file__).parents[1]
app = ClientApp(
    mods=[
        guard(
            model=build,
            schema=HERE / "schema.toml",
            preprocessing=HERE / "preprocessing.toml",
            facts={"batch_size": 8, "local_epochs": 1, "learning_rate": 0.05},
            max_exact=0.0,
            action="hold",
        )
    ]
)
app.train()(train_on_own_rows)
