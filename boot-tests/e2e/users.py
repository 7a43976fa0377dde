"""A user's burst is larger than its part of the memory: query, sessions and status report it at once for the running session, with the user and
what to do; done, the same burst loses nothing. Losses of a running session are exact at each look. D-01, D-08. Proves: COR-20, SES-09, SES-22."""
import json
import os
import re
import signal
import struct
import time

from harness import Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
EVENTS = 30000
USERS = (5005, 5006)
DECLARATION = f"""[HKLM/SYSTEM/CurrentControlSet/Control/WMI/Autologger/s]
Guid = {{5ca1ab1e-7e57-0001-0001-000000000001}}
Start = 1
FileName = s.etl
BufferSize = 8 KB
MinimumBuffers = 4
MaximumBuffers = 6

[HKLM/SYSTEM/CurrentControlSet/Control/WMI/Autologger/s/{PROVIDER}]
Enabled = 1
"""


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))  # attempted, succeeded, refused


def burst(m, number, count, user):
    p, path = m.writer(number, count, user=user, enabled=True)
    p.communicate(timeout=60)
    check(p.returncode == 0, "the writer of", user, p.returncode)
    return tally(path)


def session_of(m, name, *words):
    """A verb's output for the session, as text and as JSON; each answer comes within a second of the loss."""
    began = time.monotonic()
    answer = json.loads(m.tool(*words, "--json", expect=None).stdout)
    text = m.tool(*words, *(["--wide"] if words[0] == "status" else []), expect=None).stdout
    check(time.monotonic() - began < 1, *words, "took", time.monotonic() - began)
    return text, next(s for s in answer["sessions"] if s["name"] == name) if "sessions" in answer else answer


def views(m):
    status = ("status", "--store", m.store)
    return {"query": ("query", "s"), "sessions": ("sessions",), "status": status}


def advice_in(text, user):
    return re.search(rf"uid {user}: .*Do: autologger (update .*)", text).group(1)


def losses_are(m, lost):
    """All three verbs name each user, its loss, and the same advice. Returns the advice."""
    advice = set()
    for verb, words in views(m).items():
        text, found = session_of(m, "s", *words)
        rows = {u["uid"]: u for u in found["users"]}
        total = found["lost"]["total"] if verb == "status" else found["events_lost"]
        check(total == sum(lost.values()), verb, "EventsLost of a running session", total, lost)
        check(sum(u["busy_bytes"] + u["free_bytes"] for u in rows.values()) <= 6 * 8192, "memory beyond MaximumBuffers", rows)
        for user, n in lost.items():
            check(rows[user]["lost"] == n, verb, "losses by user", rows, lost)
            check(f"uid {user}: {n} events of its programs found no room" in text, verb, text)
            advice |= {advice_in(text, user), rows[user]["advice"].removeprefix("autologger ")}
    check(len(advice) == 1, "advice differs", advice)
    return advice.pop()


def quiet(m):
    """No loss, no advice."""
    for verb, words in views(m).items():
        text, found = session_of(m, "s", *words)
        check("Do: autologger update" not in text and all(u["lost"] == 0 and u["advice"] == "" for u in found["users"]), verb, text, found)


def alone(m):
    """The only user with a program has all of the memory: nothing is reserved for root, who runs none."""
    p, _ = m.writer(20, 250, rate=100, user=5007, enabled=True)
    time.sleep(1)
    rows = {u["uid"]: u for u in json.loads(m.tool("query", "s", "--json").stdout)["users"]}
    check(rows[5007]["busy_bytes"] + rows[5007]["free_bytes"] == 6 * 8192, "the memory of the only user", rows)
    p.communicate(timeout=60)
    check(p.returncode == 0, "the writer", p.returncode)


def without_a_daemon_that_answers(m):
    """status shows the saved rows, with little delay."""
    pid = m.daemon_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        text = m.tool("status", "--store", m.store, expect=None).stdout
        check(time.monotonic() - began < 5 and "those of the last save" in text and "losses are those of now" not in text, time.monotonic() - began, text)
    finally:
        os.kill(pid, signal.SIGCONT)


def main():
    with Machine(DECLARATION) as m:
        m.start()
        check("it runs: losses are those of now" in " ".join(m.tool("status", "--store", m.store, expect=None).stdout.split()), "status of a session that runs")
        quiet(m)
        alone(m)
        lost = {}
        for i, user in enumerate(USERS):
            attempted, written, refused = burst(m, i, EVENTS, user)
            check(attempted == written + refused == EVENTS and refused > 0, "a burst that is too large", attempted, written, refused)
            lost[user] = refused
            advice = losses_are(m, lost)
        without_a_daemon_that_answers(m)
        for _ in range(8):  # follows the condition's advice each time, until there is room for all events
            m.tool(*[word.strip('"') for word in advice.split()])
            attempted, written, refused = burst(m, 9, EVENTS, USERS[0])
            if not refused:
                break
            advice = advice_in(m.tool("sessions").stdout, USERS[0])
        check(refused == 0, "what the condition advises did not help", advice, refused)
        m.tool("stop", "s")
        m.shutdown()


main()
