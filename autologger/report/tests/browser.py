"""A headless Chromium, spoken to by the DevTools protocol over two pipes: no network, no library.

with Browser() as b: b.open(path); b.run("1 + 1"); b.click(10, 20); b.key("j"); b.screenshot(path)"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


class Missing(Exception):
    """There is no Chromium here, or it does not start."""


class Browser:
    def __init__(self, width=1440, height=900, dark=False):
        program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
        if not program:
            raise Missing("chromium is not installed. Do: apt-get install --no-install-recommends chromium")
        self.folder = tempfile.mkdtemp(prefix="autologger-browser-")
        (to_read, self.to), (self.back, to_write) = os.pipe(), os.pipe()

        def pipes():  # 3 and 4 are what it speaks by
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "--hide-scrollbars", "--disable-extensions", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes, close_fds=False)
        os.close(to_read)
        os.close(to_write)
        self.number, self.waiting, self.rest, self.said, self.requests = 0, {}, b"", [], []
        try:
            target = next(t for t in self.ask("Target.getTargets", whole=True)["targetInfos"] if t["type"] == "page")
            self.session = self.ask("Target.attachToTarget", whole=True, targetId=target["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.ask(domain + ".enable")
            self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            self.scheme(dark)
        except (OSError, StopIteration, TimeoutError) as e:
            self.close()
            raise Missing(f"chromium does not start: {e}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for fd in (self.to, self.back):
            try:
                os.close(fd)
            except OSError:
                pass
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the protocol ----
    def _message(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            more = os.read(self.back, 1 << 20) if ready else b""
            if not more:
                raise TimeoutError("chromium does not answer")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def _note(self, m):
        if m.get("method") == "Runtime.exceptionThrown":
            d = m["params"]["exceptionDetails"]
            self.said.append("exception: " + d.get("exception", {}).get("description", d["text"]))
        elif m.get("method") == "Runtime.consoleAPICalled" and m["params"]["type"] in ("error", "warning", "assert"):
            self.said.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in m["params"]["args"]))
        elif m.get("method") == "Log.entryAdded" and m["params"]["entry"]["level"] in ("error", "warning"):
            self.said.append("log: " + m["params"]["entry"]["text"])
        elif m.get("method") == "Network.requestWillBeSent":
            self.requests.append(m["params"]["request"]["url"])
        elif m.get("method") == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, whole=False, timeout=60, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({} if whole else {"sessionId": self.session})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            m = self._message(until)
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]
            self._note(m)

    # ---- what a person does ----
    def scheme(self, dark):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, path, ready="document.documentElement.dataset.ready === 'yes'", timeout=60):
        self.ask("Page.navigate", url=path if str(path).startswith("http://") else pathlib.Path(path).resolve().as_uri())
        self.until(f"document.readyState === 'complete' && ({ready})", timeout)

    def run(self, expression):
        r = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise RuntimeError(f"{expression}: {r['exceptionDetails'].get('exception', {}).get('description')}")
        return r["result"].get("value")

    def until(self, expression, timeout=30):
        end = time.monotonic() + timeout
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}; {self.said}")
            time.sleep(0.03)

    def frame(self):
        """What was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.frame()

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for n in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=n)
            self.mouse("mouseReleased", x, y, button="left", clickCount=n)
        self.frame()

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", (x0 + x1) / 2, (y0 + y1) / 2, button="left", buttons=1)
        self.mouse("mouseMoved", x1, y1, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)
        self.frame()

    def wheel(self, x, y, dx=0, dy=0):
        self.mouse("mouseWheel", x, y, deltaX=dx, deltaY=dy)
        self.frame()

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}.get(key, 0)
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.frame()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.frame()

    def box(self, selector):
        """x, y, width, height on the screen, once it is in sight."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        self.frame()
        return self.run(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()")

    def press(self, selector):
        x, y, width, height = self.box(selector)
        self.click(x + width / 2, y + height / 2)

    def screenshot(self, path, whole=False):
        r = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **({"clip": {**self.run(
            "({x: 0, y: 0, width: document.documentElement.clientWidth, height: document.documentElement.scrollHeight})"), "scale": 1}} if whole else {}))
        pathlib.Path(path).write_bytes(base64.b64decode(r["data"]))

    def pixels(self, selector):
        """How many colours a canvas has, and the share of its most frequent one."""
        return self.run(f"""(() => {{ const c = document.querySelector({json.dumps(selector)}), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, n = new Map();
            for (let i = 0; i < d.length; i += 4) {{ const k = d[i] << 24 | d[i + 1] << 16 | d[i + 2] << 8 | d[i + 3]; n.set(k, (n.get(k) || 0) + 1); }}
            return {{colors: n.size, most: Math.max(...n.values()) / (d.length / 4)}}; }})()""")
