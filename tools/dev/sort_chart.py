#!/usr/bin/env python3
"""Draws the result of `autologger bench latency --runs FILE`: the processor time of each run of the sorting program, with its events on and off.

Usage: sort_chart.py RUNS.json CHART.svg. The chart has nothing that is not in RUNS.json. Exit codes: 0, 100 called wrongly.
"""
import json
import statistics
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 400, 70, 20, 64, 46
SERIES = (("on_cpu_us", "events on", "#c0392b"), ("off_cpu_us", "events off", "#1f6fb2"))


def y_of(value, low, high):
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)


def x_of(i, count):
    return LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / count


def ticks(low, high):
    step = 1
    while (high - low) / step > 8:
        step *= 2.5 if str(step).startswith("2") else 2
    first = -(-low // step)
    return [(first + i) * step for i in range(int((high - first * step) // step) + 1)]


def draw(runs):
    values = {key: [v / 1000 for v in runs[key]] for key, _, _ in SERIES}
    everything = [v for series in values.values() for v in series]
    spread = max(everything) - min(everything) or 1
    low, high = min(everything) - spread * 0.1, max(everything) + spread * 0.1
    count = len(values[SERIES[0][0]])
    paired = statistics.median(a / b for a, b in zip(runs["on_cpu_us"], runs["off_cpu_us"]))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="22" font-size="15" fill="#222222">A program that sorts arrays: {count} runs with {runs["events_a_second"]:,.0f} events a second '
           'on and off</text>',
           f'<text x="{LEFT}" y="42" fill="#555555">Milliseconds of processor time a run. On against off, median of the pairs: '
           f'{(paired - 1) * 100:+.2f} %</text>']
    for tick in ticks(low, high):
        y = y_of(tick, low, high)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555555">{tick:g}</text>')
    for i in range(0, count + 1, 5):
        if i:
            out.append(f'<text x="{x_of(i - 1, count):.1f}" y="{HEIGHT - 24}" text-anchor="middle" fill="#555555">{i}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#555555">run</text>')
    for n, (key, name, colour) in enumerate(SERIES):
        points = " ".join(f"{x_of(i, count):.1f},{y_of(v, low, high):.1f}" for i, v in enumerate(values[key]))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        out += [f'<circle cx="{x_of(i, count):.1f}" cy="{y_of(v, low, high):.1f}" r="2.4" fill="{colour}"/>' for i, v in enumerate(values[key])]
        x = WIDTH - RIGHT - 200 + n * 105
        out.append(f'<rect x="{x}" y="50" width="12" height="4" fill="{colour}"/><text x="{x + 17}" y="56" fill="#222222">{name}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main(argv):
    if len(argv) != 3:
        print("sort_chart: two files are needed. Do: sort_chart.py RUNS.json CHART.svg", file=sys.stderr)
        return 100
    with open(argv[1], encoding="utf-8") as f:
        runs = json.load(f)
    with open(argv[2], "w", encoding="utf-8") as f:
        f.write(draw(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
