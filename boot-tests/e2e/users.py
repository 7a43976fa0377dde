"""A user whose burst is larger than its part of the memory: said at once at the running session, with the user and what to do; done, the same
burst loses nothing. Losses of a running session are exact at each query. D-01, D-08. Proves: COR-20, SES-09, SES-22."""
import json
import re
import struct
import time

from harness import Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
EVENTS = 30000
USERS = (5005, 5006)


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))  # attempted, succeeded, refused


def burst(m, number, count, user):
    p, path = m.writer(number, count, user=user, enabled=True)
    p.communicate(timeout=60)
    check(p.returncode == 0, "the writer of", user, p.returncode)
    return tally(path)


def query(m):
    return json.loads(m.tool("query", "s", "--json").stdout)


def main():
    with Machine() as m:
        m.start()
        m.tool("start", "s", "-o", "s.etl", "--provider", PROVIDER, "--set", "BufferSize=8", "--set", "MinimumBuffers=4", "--set", "MaximumBuffers=6")
        lost = {}
        for i, user in enumerate(USERS):
            attempted, written, refused = burst(m, i, EVENTS, user)
            check(attempted == written + refused == EVENTS and refused > 0, "a burst that is too large", attempted, written, refused)
            began = time.monotonic()
            now = query(m)
            check(time.monotonic() - began < 1, "query took", time.monotonic() - began)
            lost[user] = refused
            rows = {u["uid"]: u for u in now["users"]}
            check(all(rows[u]["lost"] == n for u, n in lost.items()), "losses by user", now["users"], lost)
            check(now["events_lost"] == sum(lost.values()), "EventsLost of a running session", now["events_lost"], lost)
            check(sum(u["busy_bytes"] + u["free_bytes"] for u in now["users"]) <= 6 * 8192, "memory beyond MaximumBuffers", now["users"])
            text = m.tool("query", "s").stdout
            check(f"uid {user}: {refused} events of its programs found no room" in text, text)
        advice = re.search(r"Do: autologger (update .*)", text).group(1)
        for _ in range(8):  # each time as the condition says, until there is room for all of it
            m.tool(*[word.strip('"') for word in advice.split()])
            attempted, written, refused = burst(m, 9, EVENTS, USERS[0])
            if not refused:
                break
            advice = re.search(r"Do: autologger (update .*)", m.tool("query", "s").stdout).group(1)
        check(refused == 0, "what the condition advises did not help", advice, refused)
        m.tool("stop", "s")
        m.shutdown()


main()
