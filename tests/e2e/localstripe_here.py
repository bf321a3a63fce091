"""localstripe on loopback alone and in memory: it listens everywhere and writes all that it holds to /tmp with each change when it is left to
itself."""

import socket
import sys

from localstripe import resources, server


class Loopback(socket.socket):
    def __init__(self, family=socket.AF_INET, *rest, **more):
        super().__init__(socket.AF_INET if family == socket.AF_INET6 else family, *rest, **more)

    def bind(self, address):
        return super().bind(("127.0.0.1", address[1]) if address[0] == "::" else address)


socket.socket = Loopback
resources.store.dump_to_disk = lambda: None
sys.argv[0] = "localstripe"
server.start()
