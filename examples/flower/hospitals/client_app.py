"""A hospital: trains on its own file, as Flower's quickstart has it."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from hospitals.task import Net, load_data, train

app = ClientApp()


@app.train()
def train_on_own_rows(message: Message, context: Context) -> Message:
    run = context.run_config
    net = Net()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    turn = message.content["config"]["server-round"]
    batches = load_data(context.node_config["rows"], run["batch-size"], seed=turn)
    loss = train(net, batches, run["local-epochs"], run["learning-rate"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(batches.dataset)})
    return Message(RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message)
