"""Stands for a ``scrapy`` that ready_scrapy.py forks: gives it all that is its own, and ends as it.

``python -I -S ready_client.py SOCKET ARGUMENTS...``. It imports next to nothing.
"""

import array
import json
import os
import signal
import socket
import sys


def main(path: str, *arguments: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as order:
        order.connect(path)
        text = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109
        order.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(text))
        files = array.array("i", [0, 1, 2])
        order.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        for number in files:  # only the other process has them now
            os.close(number)
        code = int(order.recv(100) or b"255")
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
