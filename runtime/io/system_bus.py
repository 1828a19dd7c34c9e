"""The machine's system bus (D-Bus) on the running loop.

No other module knows its message format.

`BusConnection` is one connection: call a method, listen for signals, learn of its loss. All of it happens on the loop's
thread. The library, jeepney, handles the bytes and no sockets. It is imported when the first bus is opened, because
most nodes never open one.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

DEFAULT_ADDRESS = "unix:path=/run/dbus/system_bus_socket"
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
PROPERTIES = "org.freedesktop.DBus.Properties"
CALL_S = 10.0
CONNECT_S = 5.0
_FD_SPACE = socket.CMSG_SPACE(16 * array.array("i").itemsize)


class BusError(Exception):
    """The bus or the called service refused or did not answer.

    `name`: the D-Bus error name; empty for our own.
    """

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(f"{name}: {text}" if name else text)
        self.name = name


def system_bus_address(environment: dict[str, str] | None = None) -> str:
    """The address of this machine's bus."""
    found = (os.environ if environment is None else environment).get("DBUS_SYSTEM_BUS_ADDRESS", "")
    return found or DEFAULT_ADDRESS


class BusConnection:
    """`on_signal` gets interface, member and body of the signals of `listen`.

    `on_lost` gets, once, the reason of a loss; none after `close`.
    """

    def __init__(
        self,
        stream: socket.socket,
        on_signal: Callable[[str, str, Sequence[Any]], None],
        on_lost: Callable[[str], None],
    ) -> None:
        from jeepney import Parser

        self._stream = stream
        self._on_signal = on_signal
        self._on_lost = on_lost
        self._parser = Parser()
        self._serial = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._writing = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._loop.add_reader(stream, self._readable)

    @property
    def is_open(self) -> bool:
        return self._open

    async def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> tuple[Any, ...]:
        """Call a method; returns its answer. Raises BusError."""
        from jeepney import DBusAddress, MessageType, new_method_call

        address = DBusAddress(path, bus_name=destination, interface=interface)
        message = new_method_call(address, member, signature or None, body)
        self._serial += 1
        serial = self._serial
        answer = self._waiting[serial] = self._loop.create_future()
        try:
            async with asyncio.timeout(CALL_S):
                await self._send(message.serialise(serial=serial))
                reply = await answer
        except TimeoutError:
            raise BusError(f"{destination} has not answered {member} within {CALL_S:.0f} s") from None
        finally:
            self._waiting.pop(serial, None)
        if reply.header.message_type is MessageType.error:
            raise _error_of(reply)
        return tuple(reply.body)

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:
        """The value of a property. Raises BusError."""
        ((_, value),) = await self.call(destination, path, PROPERTIES, "Get", "ss", interface, name)
        return value

    async def listen(self, sender: str, path: str, interface: str, member: str) -> None:
        """Subscribe to a signal. Raises BusError."""
        rule = f"type='signal',sender='{sender}',path='{path}',interface='{interface}',member='{member}'"
        await self.call(*BUS, "AddMatch", "s", rule)

    def close(self) -> None:
        """Close the connection without calling `on_lost`. May be called more than once."""
        self._end("the connection was closed", tell=False)

    # --- inside -----------------------------------------------------------------------------------------------------

    async def _send(self, data: bytes) -> None:
        if not self._open:
            raise BusError("the connection to the bus is gone")
        async with self._writing:
            try:
                await self._loop.sock_sendall(self._stream, data)
            except OSError as failure:
                self._end(str(failure))
                raise BusError(f"the connection to the bus is gone: {failure}") from None

    def _readable(self) -> None:
        from jeepney.fds import FileDescriptor

        try:
            flags = socket.MSG_CMSG_CLOEXEC
            data, extra, _, _ = self._stream.recvmsg(self._parser.bytes_desired(), _FD_SPACE, flags)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as failure:
            self._end(str(failure))
            return
        if not data:
            self._end("the bus has closed the connection")
            return
        self._parser.add_data(data, fds=FileDescriptor.from_ancdata(extra))
        while self._open and (message := self._parser.get_next_message()) is not None:
            self._take(message)

    def _take(self, message: Any) -> None:
        from jeepney import HeaderFields, MessageType

        fields = message.header.fields
        if message.header.message_type is MessageType.signal:
            self._on_signal(fields.get(HeaderFields.interface, ""), fields.get(HeaderFields.member, ""), message.body)
            return
        answer = self._waiting.get(fields.get(HeaderFields.reply_serial, 0))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _end(self, why: str, *, tell: bool = True) -> None:
        if not self._open:
            return
        self._open = False
        self._loop.remove_reader(self._stream)
        self._stream.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(BusError(f"the connection to the bus is gone: {why}"))
        if tell:
            self._on_lost(why)


def _ignore_signal(interface: str, member: str, body: Sequence[Any]) -> None:
    """The default for callers that listen to no signal."""


def _ignore_loss(why: str) -> None:
    """The default for callers that notice the loss at their next call."""


async def open_bus(
    address: str,
    on_signal: Callable[[str, str, Sequence[Any]], None] = _ignore_signal,
    on_lost: Callable[[str], None] = _ignore_loss,
) -> BusConnection:
    """Connect to the bus at `address`, in D-Bus notation.

    Raises BusError when there is none, or when it refuses.
    """
    from jeepney.auth import BEGIN, AuthenticationError, Authenticator
    from jeepney.bus import get_connectable_addresses

    loop = asyncio.get_running_loop()
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        async with asyncio.timeout(CONNECT_S):
            await loop.sock_connect(stream, next(get_connectable_addresses(address)))
            await loop.sock_sendall(stream, b"\0")  # the client's first byte; the kernel adds its credentials
            talk = Authenticator(enable_fds=True, inc_null_byte=False)
            for said in talk:
                await loop.sock_sendall(stream, said)
                heard = await loop.sock_recv(stream, 1024)
                if not heard:
                    raise ConnectionResetError("it hangs up")
                talk.feed(heard)
            await loop.sock_sendall(stream, BEGIN)
        connection = BusConnection(stream, on_signal, on_lost)
        await connection.call(*BUS, "Hello")
    except (OSError, ValueError, RuntimeError, AuthenticationError) as failure:
        stream.close()
        why = f"no answer within {CONNECT_S:.0f} s" if isinstance(failure, TimeoutError) else str(failure)
        raise BusError(f"{address} cannot be reached: {why}") from None
    except BaseException:
        stream.close()
        raise
    return connection


def raw_descriptor(value: Any) -> int:
    """A file descriptor of an answer; the caller closes it. Raises BusError."""
    with contextlib.suppress(AttributeError, RuntimeError, ValueError):
        return int(value.to_raw_fd())
    raise BusError("the answer holds no descriptor")


def _error_of(reply: Any) -> BusError:
    from jeepney import HeaderFields

    text = reply.body[0] if reply.body and isinstance(reply.body[0], str) else "it says no more"
    return BusError(text, reply.header.fields.get(HeaderFields.error_name, ""))
