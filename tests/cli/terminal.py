"""Running the program on a terminal."""

import os
import pty
import signal
import subprocess

import harness


def on_terminal(*args, until=None):
    """What the program sends to a terminal, stdout and stderr together; it is interrupted once `until` is there."""
    parent, child = pty.openpty()
    process = subprocess.Popen([harness.PROGRAM, *args], stdout=child, stderr=child, stdin=child,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    os.close(child)
    text = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
        if until is not None and until.encode() in text:
            process.send_signal(signal.SIGINT)
            until = None
    os.close(parent)
    process.wait(timeout=60)
    return text.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
