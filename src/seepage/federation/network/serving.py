"""The guest's door: one gRPC method, for the host alone, at the configured address and no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc

from seepage._core import InputError
from seepage._core.tracebacks import without_messages
from seepage.federation.network.address import check_plain
from seepage.federation.network.certificates import Identity
from seepage.federation.network.guest_party import GuestParty, NoSession
from seepage.federation.network.remote import BEAT, METHOD, WIDE
from seepage.federation.network.wire import MOST_BYTES

_SERVICE, _CALL = METHOD.strip("/").split("/")
_OPTIONS = (
    *WIDE,
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", MOST_BYTES),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", BEAT // 2),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),  # a port in use is an error, not a second guest
)
_WAITING = 4  # questions that may wait: a host that gave one up asks the next


class Door:
    """Serves a guest until it is closed.

    Args:
        party: answers.
        host: the name that the host's certificate must have.
        address: to listen at.
        identity: of this guest; None is allowed for addresses of this machine only.
        tell: is told who came and what was refused, in sentences without a value.
    """

    def __init__(
        self,
        party: GuestParty,
        host: str,
        address: str,
        identity: Identity | None,
        tell: Callable[[str], None],
    ) -> None:
        self._party, self._host, self._tell = party, host, tell
        self._secure, self._turn = identity is not None, threading.Lock()  # one question at a time
        self._server = grpc.server(
            ThreadPoolExecutor(_WAITING, thread_name_prefix="ask"), options=_OPTIONS, maximum_concurrent_rpcs=_WAITING
        )
        handler = grpc.unary_unary_rpc_method_handler(self._ask)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_CALL: handler}),))
        try:
            if identity is None:
                check_plain(address)
                port = self._server.add_insecure_port(address)
            else:
                pair = [(identity.key, identity.certificate)]
                credentials = grpc.ssl_server_credentials(pair, identity.authority, require_client_auth=True)
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError:
            port = 0
        if not port:
            raise InputError(f"The address {address} cannot be listened at; its port is in use, or it is not ours.")
        self.address = f"{address.rpartition(':')[0]}:{port}"
        self._server.start()

    def wait(self) -> None:
        """Serve until the process is told to end."""
        self._server.wait_for_termination()

    def close(self) -> None:
        """Answer nobody any more; what is being answered has a second to end."""
        self._server.stop(1).wait()
        with self._turn:
            self._party.close()

    def _ask(self, content: bytes, context: grpc.ServicerContext) -> bytes:
        if self._secure and not self._is_host(context):
            self._tell("A party with a certificate of another name asked, and was refused.")
            context.abort(grpc.StatusCode.PERMISSION_DENIED, f"only {self._host!r} may ask here")
        caught = _Caught()
        with self._turn, caught:
            return self._party.respond(content)
        error = caught.error
        if isinstance(error, NoSession):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "say hello first")
        if isinstance(error, InputError):
            self._tell(f"Refused: {error}")
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        assert error is not None
        self._tell(without_messages(error))
        context.abort(grpc.StatusCode.INTERNAL, "it made a mistake of its own; its own output has the traceback")
        raise AssertionError  # abort raises

    def _is_host(self, context: grpc.ServicerContext) -> bool:
        shown = context.auth_context().get("x509_subject_alternative_name", [])
        return self._host.encode() in shown


class _Caught:
    """Takes an error of the guest: gRPC would send its text, which may hold a cell, to the host."""

    error: Exception | None = None

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        return True
