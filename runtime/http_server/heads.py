"""The head of a request as data, and the refusal of one. Pure.

A head is checked before anybody uses it. The reader of the bytes bounds its size. The target is an absolute path. A
path that goes up or has empty parts is refused and not tidied. So authorization and service mean the same path.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

Query = tuple[tuple[str, str], ...]
FIELDS_AT_MOST = 1 << 16
"""Each word of a command is a field: as many as fit into a head. Bodies have the same limit."""


class HttpRefusal(Exception):  # noqa: N818  # an answer, not a mishap
    """The answer is this status and this text."""

    def __init__(self, status: int, text: str, headers: Query = (), content_type: str = "text/plain") -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text
        self.headers = headers
        self.content_type = content_type

    def as_bytes(self) -> bytes:
        """The whole answer, for a connection that is then closed."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Refused"
        body = self.text.encode()
        lines = (
            f"HTTP/1.1 {self.status} {phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in self.headers),
        )
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, slots=True)
class Head:
    """`target` as it was sent, `path` and `query` decoded."""

    method: str
    target: str
    headers: Query
    version: str = "HTTP/1.1"

    @property
    def path(self) -> str:
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> Query:
        return query_of(self.target.partition("?")[2])

    def header(self, name: str) -> str:
        """The first of that name; empty when there is none."""
        return next((value for each, value in self.headers if each.lower() == name), "")


def query_of(text: str) -> Query:
    """The pairs of a query as it was sent. Raises HttpRefusal."""
    try:
        return tuple(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_AT_MOST))
    except ValueError as error:
        raise HttpRefusal(400, f"the query cannot be read: {error}") from None


def head_of(text: bytes) -> Head:
    """Parse the head from the bytes before the empty line. Raises HttpRefusal."""
    first, *rest = text.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[0].isalpha():
        raise HttpRefusal(400, "the request line is not HTTP")
    headers = []
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise HttpRefusal(400, "a header line has no name")
        headers.append((name, value.strip()))
    return Head(words[0], words[1], tuple(headers), words[2])


def sound_path(path: str) -> str:
    """The path, when it means itself. Raises HttpRefusal."""
    parts = path.split("/")
    if parts[0] != "" or len(parts) < 2:
        raise HttpRefusal(400, "the target is not an absolute path")
    if "\0" in path or "\\" in path or any(part in (".", "..") for part in parts) or "" in parts[1:-1]:
        raise HttpRefusal(400, "the path goes up, or has empty parts")
    return path
