"""Firefox without a window, by Marionette, the protocol that Firefox itself speaks.

A driver from a library would do, but each of them needs a second program (geckodriver, or a
Firefox of its own) that must be downloaded. Protocol: a message is its length, ":", and JSON;
a command is [0, number, name, parameters], an answer [1, number, error, result].
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
PREFS = (  # a port that is free, and nothing from the network
    'user_pref("marionette.port", 0);\n'
    'user_pref("app.update.enabled", false);\n'
    'user_pref("network.captive-portal-service.enabled", false);\n'
    'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
)


class Firefox:
    """`with Firefox() as page:` page.goto(address), page.evaluate(expression), page.version.

    Raises FileNotFoundError if there is no Firefox on the PATH, TimeoutError if it does not start.
    """

    def __init__(self):
        if PROGRAM is None:
            raise FileNotFoundError("no firefox on the PATH, expected one")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        profile = Path(self.folder.name)
        (profile / "user.js").write_text(PREFS)
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.numbers = 0
        try:
            port = self._port(profile / "MarionetteActivePort", time.monotonic() + 60)
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
            self.stream = self.socket.makefile("rwb")
            self._read()  # its greeting
            asked = {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}}
            self.version = self._do("NewSession", asked)["capabilities"]["browserVersion"]
            self._do("SetTimeouts", {"script": 300_000, "pageLoad": 60_000})
        except BaseException:
            self.close()
            raise

    def _port(self, file: Path, until: float) -> int:
        """The port, which Firefox writes into its profile."""
        while time.monotonic() < until and self.process.poll() is None:
            if file.is_file() and (text := file.read_text(encoding="utf-8").strip()):
                return int(text)
            time.sleep(0.1)
        raise TimeoutError("Firefox has not opened a port for Marionette")

    def _read(self) -> Any:
        length = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise ConnectionError("Firefox has closed the connection")
            length += byte
        return json.loads(self.stream.read(int(length)))

    def _do(self, name: str, parameters: dict[str, Any]) -> Any:
        self.numbers += 1
        message = json.dumps([0, self.numbers, f"WebDriver:{name}", parameters]).encode()
        self.stream.write(f"{len(message)}:".encode() + message)
        self.stream.flush()
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{name}: {error['message']}")
        return result

    def goto(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self._do("Navigate", {"url": address})

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is waited for."""
        script = (
            "const done = arguments[arguments.length - 1];"
            f"Promise.resolve().then(() => ({expression})).then("
            "  (value) => done([value ?? null, null]), (error) => done([null, String(error)]));"
        )
        call: dict[str, Any] = {"script": script, "args": [], "sandbox": None}
        value, error = self._do("ExecuteAsyncScript", call)["value"]
        if error:
            raise RuntimeError(error)
        return value

    def close(self) -> None:
        """End Firefox and remove its profile."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def __enter__(self) -> "Firefox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
