"""autologger ui in Chromium: a session and a set are made, started, watched and stopped in the window; the command line sees the same; live events with
filter, columns and pause; channels with their switch; a report. Who has no token learns nothing and runs nothing: another port, another host, another
origin, a used token. Keyboard and names of controls; nothing on the console. 10,000 events a second.
Proves: CTL-22, CTL-24, CON-16, CON-17, CON-18, CON-19."""
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import time

from harness import BUILD, SOURCE, Machine, check, skip

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(SOURCE, "autologger", "report", "tests")))
from browser import Browser, Missing  # noqa: E402

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"


class Window:
    def __init__(self, m):
        self.p = subprocess.Popen([os.path.join(BUILD, "autologger"), "ui", "--runtime-dir", m.runtime, "--store", m.store], env=m.env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        m.processes.append(self.p)
        self.address = self.p.stdout.readline().strip()
        if not self.address:
            said = self.p.stderr.read()
            if "libmicrohttpd" in said:
                skip(said.strip())
            check(False, said)
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.token = self.address.split("token=")[1]

    def ask(self, method, path, host=None, body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.putrequest(method, path, skip_host=True)
        c.putheader("Host", host or f"127.0.0.1:{self.port}")
        for name, value in headers.items():
            c.putheader(name.replace("_", "-"), value)
        if body is not None:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body)
        r = c.getresponse()
        return r.status, r.read().decode(), r


def strangers(w):
    """Before the token is used: everybody gets the page, which is no secret, and nothing else."""
    for path in ("/live?session=x", "/report?file=/etc/passwd"):
        for headers in ({}, {"X_Autologger": ""}, {"X_Autologger": "0" * 48}, {"X_Autologger": w.token}, {"Cookie": "autologger=" + w.token}):
            check(w.ask("GET", path, **headers)[0] == 403, path, headers)
    for path in ("/", "/?token=" + "0" * 48, "/?token="):
        status, page, _ = w.ask("GET", path)
        check(status == 200 and "U.secret = ''" in page, path)
    run = json.dumps({"words": ["sessions", "--json"]}).encode()
    check(w.ask("POST", "/run", body=run, X_Autologger="1")[0] == 403, "no secret")
    check(w.ask("GET", "/?token=" + w.token, host="evil.example:80")[0] == 403, "another name of this address")
    listening = [line.split()[1] for name in ("tcp", "tcp6") for line in pathlib.Path("/proc/net", name).read_text().splitlines()[1:] if line.split()[3] == "0A"]
    check([a for a in listening if a.endswith(f":{w.port:04X}")] == [f"0100007F:{w.port:04X}"], "it listens on 127.0.0.1 alone", listening)
    idle = [socket.create_connection(("127.0.0.1", w.port)) for _ in range(60)]
    check(w.ask("GET", "/")[0] == 200, "connections of others that say nothing")
    end = time.time() + 40
    while time.time() < end:
        ready, _, _ = select.select(idle, [], [], 1)
        if len(ready) == len(idle):
            break
    check(all(s.recv(1) == b"" for s in idle), "they are ended")


def used_up(w, secret):
    check("U.secret = ''" in w.ask("GET", "/?token=" + w.token)[1], "a token works once")
    run = json.dumps({"words": ["sessions", "--json"]}).encode()
    for site in ("same-site", "cross-site"):  # another port of this machine is the same site
        check(w.ask("POST", "/run", body=run, X_Autologger=secret, Sec_Fetch_Site=site)[0] == 403, site)
    check(w.ask("POST", "/run", body=run, X_Autologger=secret, host="localhost.evil:1")[0] == 403, "another host")
    status, text, r = w.ask("POST", "/run", body=run, X_Autologger=secret, Sec_Fetch_Site="same-origin")
    check(status == 200 and json.loads(text)["code"] == 0, status, text)
    check("frame-ancestors 'none'" in r.headers["Content-Security-Policy"] and r.headers["Access-Control-Allow-Origin"] is None and r.headers["Set-Cookie"] is None, dict(r.headers))
    for words in (["apply", "x"], ["clean"], ["import", "x"], ["dev"], [], ["sessions", 5], ["sessions"] * 100, "sessions"):
        check(w.ask("POST", "/run", body=json.dumps({"words": words}).encode(), X_Autologger=secret)[0] == 400, words)
    for body in (b"", b"{", b"[]", b"\xff\xfe", b"{" * 5000, b'{"words": {"a": 1}}'):
        check(w.ask("POST", "/run", body=body, X_Autologger=secret)[0] == 400, body[:20])
    check(w.ask("POST", "/run", body=b"x" * (2 << 20), X_Autologger=secret)[0] == 413, "too large")
    check(w.ask("PUT", "/run", body=b"", X_Autologger=secret)[0] == 405, "PUT")
    check(w.ask("GET", "/etc/passwd", X_Autologger=secret)[0] == 404, "no files")
    status, page, r = w.ask("GET", "/report?file=" + os.path.join(BUILD, "made", "kernel.etl"), X_Autologger=secret)
    check(status == 200 and page.lower().startswith("<!doctype html>") and "</html>" in page, status, page[:300])
    status, page, r = w.ask("GET", "/report?file=/etc/hostname", X_Autologger=secret)
    check("not an .etl" in page or "header" in page, page[:300])


def fill(b, selector, text):
    b.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)}; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }})()")


def tab(b, name):
    b.press(f"#tab-{name}")
    check(b.run(f"!document.querySelector('#{name}').hidden && document.querySelector('#tab-{name}').getAttribute('aria-selected')") == "true", name)
    b.until(f"!document.querySelector('#{name}').hasAttribute('aria-busy')")  # a table that comes late moves the button below it away from the press


def says(b, text, timeout=20):
    try:
        b.until(f"document.querySelector('#said').textContent.includes({json.dumps(text)})", timeout)
    except TimeoutError:
        check(False, text, "was not said, but", b.run("document.querySelector('#said').textContent"), b.said)


def sessions(b, m):
    tab(b, "sessions")
    fill(b, "#start-name", "my window")
    fill(b, "#start-providers", PROVIDER + ":5")
    b.press("#start-live")
    b.press("#start-form button")
    says(b, '"my window" runs')
    check([s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]] == ["my window"], "the command line sees it")
    b.until("document.querySelector('#sessions-table tbody').textContent.includes('real-time')")
    fill(b, "#start-name", "--evil")
    b.press("#start-form button")
    b.until("document.querySelector('#said').textContent.length > 1", 20)
    names = [s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]]
    check(sorted(names) == ["--evil", "my window"], "a name like another, not an option", names)
    m.tool("stop", "--", "--evil")
    fill(b, "#start-name", "my window")
    b.press("#start-form button")
    says(b, "ERROR_ALREADY_EXISTS")


def live(b, m):
    tab(b, "live")
    b.until("[...document.querySelector('#live-session').options].some((o) => o.value === 'my window')")
    fill(b, "#live-session", "my window")
    b.press("#live-form button")
    says(b, 'events of "my window"')
    writer, _ = m.writer(0, 50000, rate=10000)
    b.until("U.views.live.total >= 20000", 120)
    check(b.run("document.querySelectorAll('#live-table tbody tr').length") == 200, "rows that are drawn")
    writer.wait(120)
    began = time.monotonic()
    b.until("U.views.live.total >= 50000", 120)
    behind = time.monotonic() - began
    info = json.loads(m.tool("query", "my window", "--json").stdout)
    info = info.get("session", info)
    check(info["events_written"] + info["events_lost"] == 50000 and b.run("U.views.live.total") >= info["events_written"], "each event came", info["events_written"])
    memory = b.run("performance.memory ? performance.memory.usedJSHeapSize : 0")
    check(memory < 200e6, "memory", memory)
    before, total = b.run("U.views.live.kept.length"), b.run("U.views.live.total")
    b.press("#live-pause")
    m.writer(1, 1000, rate=10000)[0].wait(60)
    b.until(f"U.views.live.total >= {total} + 1000", 30)
    check(b.run("document.querySelector('#live-pause').getAttribute('aria-pressed')") == "true" and b.run("U.views.live.kept.length") == before, "paused")
    fill(b, "#live-filter", "nothing has this text")
    check("no event passes" in b.run("document.querySelector('#live-table tbody').textContent"), "filter")
    fill(b, "#live-filter", "")
    columns = b.run("document.querySelectorAll('#live-table thead th').length")
    b.press("#live-columns input")
    check(b.run("document.querySelectorAll('#live-table thead th').length") == columns - 1, "columns")
    print(f"50,000 live events at 10,000 a second, {behind:.1f} s behind at the end, {memory / 1e6:.0f} MB in the page")


LONG = """
import sys
sys.path.insert(0, sys.argv[1])
import autologger, autologger.provider
autologger.provider.library(sys.argv[2])
p = autologger.Provider("Contoso-Long", "{%s}")
assert p.enabled()
p.write("Long", fields={"n" * 1500: [autologger.UInt8(1)] * 2000})
p.write("After", number=-2**63)
"""


def long_line(b, m):
    """An event whose line has some megabytes, and a number that a page can't hold."""
    package = os.path.join(BUILD, "python")
    if not os.path.exists(os.path.join(package, "autologger", "_events.abi3.so")):
        return
    b.press("#live-pause")  # goes on
    r = subprocess.run([sys.executable, "-c", LONG % PROVIDER.strip("{}"), package, os.path.join(BUILD, "libautologger.so.0")], env=m.env, capture_output=True, text=True, timeout=60,
                       check=False)
    check(r.returncode == 0, r.stderr)
    b.until("U.views.live.kept.some((e) => e.event === 'After')", 60)
    check(b.run("U.views.live.kept.some((e) => e.event === 'Long')"), "a long event")
    check(b.run("U.views.live.kept.find((e) => e.event === 'After').fields.number") == str(-2**63), "a number of 64 bits")


def stopping(b, m):
    tab(b, "sessions")
    b.until("document.querySelector('[aria-label=\"Stop my window\"]') !== null")
    b.press("[aria-label=\"Stop my window\"]")
    says(b, '"my window" has stopped')
    check(json.loads(m.tool("sessions", "--json").stdout)["sessions"] == [], "stopped")
    b.until("document.querySelector('#sessions-table tbody').textContent.includes('no session runs')")
    b.until("document.querySelector('#live-table caption').textContent.includes('has ended')")
    check('"my window" has stopped' in b.run("document.querySelector('#said').textContent"), "the live view's end leaves the message of this view")


def sets(b, m):
    tab(b, "sets")
    fill(b, "#set-name", "small")
    fill(b, "#set-duration", "2")
    fill(b, "#set-folder", "C:\\sets\\small")
    fill(b, "#set-providers", PROVIDER)
    b.press("#set-form > button")
    says(b, '"small" is saved')
    check("Processor" in m.tool("set", "list", "--store", m.store, "--json").stdout, "the command line has it")
    b.press("[aria-label=\"Start small\"]")
    says(b, '"small" has started')
    folder = b.run("document.querySelector('#said').textContent.split(': ')[1]")
    end = time.time() + 30
    while not os.path.exists(os.path.join(folder, "report.txt")) and time.time() < end:
        time.sleep(0.2)
    check(os.path.exists(os.path.join(folder, "report.txt")), "the set's results", folder)
    fill(b, "#set-name", "wrong")
    fill(b, "#set-configuration", "Frob")
    b.press("#set-form > button")
    says(b, "Frob")
    check(b.run("document.querySelector('#said').classList.contains('bad')"), "a mistake is shown as one")
    b.press("[aria-label=\"Remove small\"]")
    says(b, '"small" is removed')


def channels(b, m):
    tab(b, "channels")
    b.until("document.querySelector('#channels-table tbody').textContent.includes('Application')")
    check("Analytic" not in b.run("document.querySelector('#channels-table tbody').textContent"), "analytic channels are not shown by themselves")
    b.press("#channels-all")
    b.until("document.querySelector('#channels-table tbody').textContent.includes('Contoso-Shop/Analytic')")
    b.press("[aria-label=\"Enable Contoso-Shop/Analytic\"]")
    says(b, "Contoso-Shop/Analytic is on")
    found = [c for c in json.loads(m.tool("channels", "list", "--all", "--store", m.store, "--json").stdout) if c["name"] == "Contoso-Shop/Analytic"]
    check(found[0]["enabled"], "the command line has it", found)
    b.press("[aria-label=\"Disable Contoso-Shop/Analytic\"]")
    says(b, "Contoso-Shop/Analytic is off")


def boots(b, m):
    tab(b, "boots")
    b.until("/rehearsal|boot/.test(document.querySelector('#boots-table tbody').textContent)")
    status = b.run("document.querySelector('#status-table tbody').textContent")
    check("app" in status and "NaN" not in status and "no program registered this provider" in status and "in part" in status, status)
    b.run(f"document.querySelector('#report-file').value = {json.dumps(os.path.join(BUILD, 'made', 'kernel.etl'))}")
    b.press("#report-form button")
    b.until("document.querySelector('#report').open", 60)
    check(b.run("document.querySelector('#report-frame').sandbox.value") == "allow-scripts", "a report has no origin")
    b.press("#report-close")


def usable(b):
    """Names for those who do not see it, and keys for those who have no mouse."""
    nameless = b.run("""[...document.querySelectorAll('button, input, select, textarea')].filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() ||
        (e.labels && e.labels.length && e.labels[0].textContent.trim()))).map((e) => e.outerHTML)""")
    check(nameless == [], "controls without a name", nameless)
    b.run("document.querySelector('#tab-boots').focus()")
    b.key("ArrowRight")
    check(b.run("document.activeElement.id") == "tab-sessions" and b.run("!document.querySelector('#sessions').hidden"), "tabs by keys")
    b.key("ArrowLeft")
    check(b.run("document.activeElement.id") == "tab-boots", "and back")
    b.size(420, 900)
    check(b.run("document.documentElement.scrollWidth <= 420"), "a narrow window", b.run("document.documentElement.scrollWidth"))
    b.size(1440, 900)


def flow(m):
    w = Window(m)
    strangers(w)
    with Browser() as b:
        b.open(w.address, ready="document.querySelector('#boots-table tbody tr') !== null")
        check(b.run("location.search") == "", "the token is not left in the address")
        check(b.ask("Network.getCookies")["cookies"] == [], "cookies are shared by all ports of a machine")
        used_up(w, b.run("U.secret"))
        b.open(f"http://127.0.0.1:{w.port}/", ready="document.querySelector('#boots-table tbody tr') !== null && U.secret.length === 48")  # loaded again
        check(b.run("!document.querySelector('#said').classList.contains('bad')"), "the tab keeps what it was given")
        for part in (boots, sessions, live, long_line, stopping, sets, channels):
            part(b, m)
        usable(b)
        foreign = [r for r in b.requests if not r.startswith(f"http://127.0.0.1:{w.port}/") and not r.startswith(("data:", "about:"))]
        check(foreign == [] and b.said == [], "it asks nobody else, and says nothing on the console", foreign, b.said)
        w.p.send_signal(signal.SIGINT)
        check(w.p.wait(10) == 0, "Ctrl-C ends it")
        b.press("#boots-again")
        says(b, "The window is closed")


def main():
    with Machine() as m:
        m.start()
        m.tool("manifest", "install", "--store", m.store, os.path.join(SOURCE, "autologger", "schema", "tests", "shop.man"))
        ini = pathlib.Path(m.dir, "boot.ini")
        ini.write_text("[Autologger/app]\nStart = 1\n[Autologger/app/%s]\nEnableLevel = 5\n" % PROVIDER, encoding="utf-8")
        m.tool("import", str(ini), "--store", m.store)
        m.tool("rehearse", "--store", m.store, "--run", "true", "--out", os.path.join(m.dir, "re"), expect=None)
        try:
            flow(m)
        except Missing as missing:
            skip(str(missing))


main()
