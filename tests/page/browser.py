# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Controls a browser on this machine by WebDriver over HTTP: Debian's chromium with its driver, in its own process
group. The browser ends with this process, and after a time limit."""

import base64
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.request

PR_SET_PDEATHSIG = 1
LONGEST_S = 3600       # maximum lifetime of a browser
LONGEST_REQUEST_S = 600  # the machine may be busy
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015", "enter": "\ue007", "tab": "\ue004", "escape": "\ue00c",
        "shift": "\ue008", "home": "\ue011"}
libc = ctypes.CDLL(None)
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def missing():
    """Returns the missing part of the browser as text; None if it is complete."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(absent)} (Debian: apt-get install chromium chromium-driver)" if absent else None


class Browser:
    """Use it in a `with`. Times are in milliseconds, positions in pixels of the window."""

    def __init__(self, directory, width=1280, height=900):
        self.directory = pathlib.Path(directory)
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
            start_new_session=True, env={**os.environ, "HOME": str(self.directory), "TMPDIR": str(self.directory)},
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.limit = threading.Timer(LONGEST_S, self.kill)
        self.limit.daemon = True
        self.limit.start()
        try:
            self.begin_session(width, height)
        except BaseException:
            self.limit.cancel()
            self.kill()
            raise

    def begin_session(self, width, height):
        port = next((found[1] for line in self.driver.stdout if (found := re.search(r"successfully on port (\d+)", line))), None)
        if port is None:
            raise RuntimeError("chromedriver did not start")
        self.url = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-device-scale-factor=1", "--no-first-run", f"--user-data-dir={self.directory / 'profile'}",
                     f"--window-size={width},{height}"]
        patience = {"script": 1000 * LONGEST_REQUEST_S, "pageLoad": 1000 * LONGEST_REQUEST_S}
        wanted = {"browserName": "chrome", "timeouts": patience, "goog:loggingPrefs": {"browser": "ALL"},
                  "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}
        session = self.ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.url += f"/{session['sessionId']}"
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.ask("DELETE", "")
        except OSError:
            pass  # it is killed anyway
        self.limit.cancel()
        self.kill()

    def kill(self):
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()
        self.driver.stdout.close()

    def ask(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with direct.open(request, timeout=LONGEST_REQUEST_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode(errors='replace')[:600]}") from error

    def tell_browser(self, command, **parameters):
        """Sends a command of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path, address=""):
        """Opens a file and waits until it is loaded. `address` is the part after the #."""
        self.ask("POST", "/url", {"url": "about:blank"})
        self.ask("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri() + address})

    def run(self, script, *arguments):
        """Runs JavaScript with `arguments` and returns its result."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script, *arguments):
        """The same for a script that calls its last argument with the result."""
        return self.ask("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def settle(self):
        """Waits until pending changes are drawn."""
        self.run_later("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));")

    def resize(self, width, height):
        self.tell_browser("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def look(self, media="screen", dark=False, still=True):
        """Emulates print, or other preferences of the user."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]
        self.tell_browser("Emulation.setEmulatedMedia", media=media, features=features)

    def switch_scripts(self, on):
        self.tell_browser("Emulation.setScriptExecutionDisabled", value=not on)

    def picture(self, whole=False):
        """Returns the window, or the whole page, as PNG."""
        box = {}
        if whole:
            size = self.tell_browser("Page.getLayoutMetrics")["cssContentSize"]
            box = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode(self.tell_browser("Page.captureScreenshot", format="png", **box)["data"])

    def console(self):
        """Returns the browser's new messages since the last call: errors, warnings, policy violations."""
        return [each["message"] for each in self.ask("POST", "/se/log", {"type": "browser"})]

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})

    def box(self, selector):
        """Scrolls an element into the window and returns its (left, top, width, height)."""
        return self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
                        "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];", selector)

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)[ELEMENT]}/click")

    def act(self, kind, *actions, **how):
        self.ask("POST", "/actions", {"actions": [{"type": kind, "id": kind, "actions": list(actions), **how}]})

    def move_to(self, x, y):
        self.act("pointer", {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)})
        self.settle()

    def drag(self, x, y, to_x, to_y):
        move = {"type": "pointerMove", "duration": 10}
        self.act("pointer", {**move, "x": round(x), "y": round(y)}, {"type": "pointerDown", "button": 0},
                 {**move, "x": round((x + to_x) / 2), "y": round(to_y)}, {**move, "x": round(to_x), "y": round(to_y)},
                 {"type": "pointerUp", "button": 0})

    def double_click(self, x, y):
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.act("pointer", {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}, *press, *press)

    def turn_wheel(self, x, y, by):
        self.act("wheel", {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": by, "duration": 0})

    def press(self, *keys):
        """Presses keys, given by name in KEYS or as characters, one after the other; "shift+left" holds a modifier."""
        actions = []
        for each in keys:
            held = [KEYS.get(part, part) for part in (each.split("+") if len(each) > 1 else [each])]
            actions += [{"type": "keyDown", "value": key} for key in held]
            actions += [{"type": "keyUp", "value": key} for key in reversed(held)]
        self.act("key", *actions)
