"""A mount whose server has stopped answering.

For a node it is like a dead NFS server or a crashed FUSE daemon.

The server is this process: it mounts FUSE over `/dev/fuse`, answers the greeting of the kernel (FUSE_INIT), and nothing
after that. Whoever looks into the mount hangs, until `heal` closes the connection; from then on looks fail.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

INIT = 26
_REQUEST = struct.Struct("<IIQQIIII")
_ANSWER = struct.Struct("<IiQ")
_INIT_ANSWER = struct.Struct("<IIIIHHIIHHI28x")
_REQUEST_BYTES = 1 << 20
MNT_DETACH = 2


class DeadMount:
    """See the module. `path` is made, and must not be looked into by the test itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._server},rootmode=40000,user_id=0,group_id=0".encode()
        if self._libc.mount(b"dead", os.fsencode(path), b"fuse", ctypes.c_ulong(0), options) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
        self._greet()

    def _greet(self) -> None:
        request = os.read(self._server, _REQUEST_BYTES)
        _, opcode, unique, *_ = _REQUEST.unpack_from(request)
        assert opcode == INIT, opcode
        body = _INIT_ANSWER.pack(7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0)
        os.write(self._server, _ANSWER.pack(_ANSWER.size + len(body), 0, unique) + body)

    def heal(self) -> None:
        """End the server for good: calls that hang get an error."""
        if self._server >= 0:
            os.close(self._server)
            self._server = -1

    def take_down(self) -> None:
        """Leave no trace."""
        self.heal()
        self._libc.umount2(os.fsencode(self.path), MNT_DETACH)
