"""Flower without its network: strategies and client apps are the real ones, messages go from hand to hand.

Real processes are in ``test_flower_tutorial.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

App = Callable[[Message, Context], Message]


class Near(Grid):
    """Hands every message to the app of its node; nodes are numbered from 11."""

    def __init__(self, apps: list[ClientApp]) -> None:
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1  # as a running ServerApp has it
        self.apps = {11 + number: app for number, app in enumerate(apps)}
        self.replies: list[Message] = []
        self.lazy = False

    def get_node_ids(self) -> Iterable[int]:
        return list(self.apps)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        replies = [self._asked(message) for message in messages]
        self.replies += replies
        return iter(replies) if self.lazy else replies

    def _asked(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        context = Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})
        try:
            reply = self.apps[node](message, context)
        except RuntimeError as error:
            reply = Message(Error(2, str(error)), reply_to=message)
        return reply

    def set_run(self, *_: Any) -> None: ...

    def run(self) -> Any: ...

    def create_message(self, *_: Any, **__: Any) -> Any: ...

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return []

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return []
