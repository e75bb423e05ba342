"""Firefox without a window, by Marionette, the protocol that Firefox itself speaks.

Playwright drives a Firefox of its own, and Selenium wants a second program, geckodriver: both would
have to be downloaded. A message is its length, ":", and JSON; a command is [0, number, name,
parameters], an answer [1, number, error, result].
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("firefox") or shutil.which("firefox-esr")
PREFERENCES = 'user_pref("marionette.port", 0);\nuser_pref("app.update.enabled", false);\n'


class Firefox:
    """`with Firefox() as page:` page.goto(address), page.evaluate(expression), page.version."""

    def __enter__(self) -> "Firefox":
        assert PROGRAM is not None, "no firefox on the PATH"
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (Path(self.folder.name) / "user.js").write_text(PREFERENCES)
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--marionette", "--no-remote", "--profile", self.folder.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = "127.0.0.1", self._port()
            self.stream = socket.create_connection(address, timeout=300).makefile("rwb")
            self._read()  # its greeting
            session = self._send("NewSession", capabilities={})
            self.version = session["capabilities"]["browserVersion"]
            self._send("SetTimeouts", script=300_000, pageLoad=60_000)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _port(self) -> int:
        """The port, which Firefox writes into its profile."""
        file, end = Path(self.folder.name) / "MarionetteActivePort", time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            if file.is_file() and (text := file.read_text(encoding="utf-8").strip()):
                return int(text)
            time.sleep(0.1)
        raise TimeoutError("Firefox has not opened a port for Marionette")

    def _read(self) -> Any:
        length = b""
        while (byte := self.stream.read(1)).isdigit():
            length += byte
        return json.loads(self.stream.read(int(length)))

    def _send(self, name: str, **parameters: Any) -> Any:
        message = json.dumps([0, 1, f"WebDriver:{name}", parameters]).encode()
        self.stream.write(f"{len(message)}:".encode() + message)
        self.stream.flush()
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{name}: {error['message']}")
        return result

    def goto(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self._send("Navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is waited for."""
        script = (
            "const done = arguments[arguments.length - 1];"
            f"Promise.resolve().then(() => ({expression})).then("
            "  (value) => done([value ?? null, null]), (error) => done([null, String(error)]));"
        )
        answer = self._send("ExecuteAsyncScript", script=script, args=[], sandbox=None)
        value, error = answer["value"]
        if error:
            raise RuntimeError(error)
        return value

    def __exit__(self, *_: object) -> None:
        """End Firefox and remove its profile."""
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
