"use strict";
// lanes.js - the upper picture: axis, phases, processors, run queue, disks, memory, marks, critical path. Drag chooses a range.
R.gutter = () => (window.innerWidth < 700 ? 110 : 250);
R.canvas = (canvas, height) => { // sized to its place, sharp on every screen
  const ratio = window.devicePixelRatio || 1, width = canvas.parentElement.clientWidth;
  canvas.style.height = height + "px";
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
};
R.x = (ms, width) => R.gutter() + ((ms - R.view.from) / (R.view.to - R.view.from)) * (width - R.gutter());
R.ms = (x, width) => R.view.from + ((x - R.gutter()) / (width - R.gutter())) * (R.view.to - R.view.from);
R.fit = (g, text, room) => {
  if (g.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) { const mid = (low + high + 1) >> 1; if (g.measureText(text.slice(0, mid) + "…").width <= room) low = mid; else high = mid - 1; }
  return low ? text.slice(0, low) + "…" : "";
};
R.ticks = () => { // round steps, six to twelve of them
  const span = R.view.to - R.view.from, raw = span / 9, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const list = [];
  for (let at = Math.ceil(R.view.from / step) * step; at <= R.view.to; at += step) list.push(at);
  return { list, step };
};

const LANES = [
  { key: "axis", height: 26 }, { key: "phase", name: "phase", height: 16 }, { key: "cpu", name: "processors busy", height: 42 }, { key: "queue", name: "waiting for one", height: 32 },
  { key: "disk", name: "disk busy, read, written", height: 36 }, { key: "memory", name: "memory in use", height: 26 }, { key: "marks", name: "marks, log, events", height: 24 },
  { key: "path", name: "critical path", height: 26 },
];

R.drawLanes = () => {
  const d = R.data, has = { memory: d.lanes.memory.length, marks: d.events.length || d.modules.length };
  const shown = LANES.filter((l) => has[l.key] !== 0);
  const { g, width } = R.canvas(R.get("lanes"), shown.reduce((a, l) => a + l.height + 4, 6));
  let y = 2;
  for (const lane of shown) {
    lane.y = y;
    g.fillStyle = R.color("soft");
    if (lane.name) g.fillText(R.fit(g, lane.name, R.gutter() - 20), 12, y + lane.height / 2);
    g.save();
    g.beginPath();
    g.rect(R.gutter(), y, width - R.gutter(), lane.height);
    g.clip();
    DRAW[lane.key](g, y, lane.height, width);
    g.restore();
    y += lane.height + 4;
  }
  R.laneList = shown;
  drawRange(g, width, y);
};

const series = (g, values, widthMs, most, y, h, width, color) => { // bars of bins; several bins to a pixel: the highest of them
  if (!values.length || !(most > 0)) return;
  g.fillStyle = color;
  const from = Math.max(0, Math.floor(R.view.from / widthMs)), to = Math.min(values.length - 1, Math.ceil(R.view.to / widthMs));
  const perPixel = Math.max(1, Math.floor(((R.view.to - R.view.from) / widthMs) / Math.max(1, width - R.gutter())));
  for (let i = from; i <= to; i += perPixel) {
    let v = 0;
    for (let k = i; k < i + perPixel && k <= to; k++) v = Math.max(v, values[k]);
    if (v <= 0) continue;
    const x0 = R.x(i * widthMs, width), x1 = R.x((i + perPixel) * widthMs, width), height = Math.max(1, Math.min(1, v / most) * h);
    g.fillRect(x0, y + h - height, Math.max(1, x1 - x0), height);
  }
};
const baseline = (g, y, h, width) => { g.fillStyle = R.color("line"); g.fillRect(R.gutter(), y + h - 1, width, 1); };
const scale = (g, text, y, width) => { // on a ground of its own: it lies over the bars
  const room = g.measureText(text).width;
  g.globalAlpha = 0.82; g.fillStyle = R.color("card"); g.fillRect(width - room - 12, y, room + 12, 16); g.globalAlpha = 1;
  g.fillStyle = R.color("soft"); g.fillText(text, width - room - 6, y + 8);
};

const DRAW = {
  axis(g, y, h, width) {
    const { list, step } = R.ticks();
    g.fillStyle = R.color("soft");
    for (const at of list) {
      const digits = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : step >= 1 ? 3 : 5;
      g.fillText((at / 1000).toFixed(digits) + " s", R.x(at, width) + 4, y + h / 2);
      g.fillRect(R.x(at, width), y + 6, 1, h);
    }
  },
  phase(g, y, h, width) {
    const colors = { kernel: "initcall", initramfs: "script", root: "disk", "user space": "unit", "waiting for a person": "lock", settling: "child" };
    for (const p of R.data.phases) {
      const x0 = R.x(p.start, width), x1 = R.x(p.end, width);
      const color = R.color(colors[p.name] || "other");
      g.fillStyle = color;
      g.fillRect(x0, y, Math.max(1, x1 - x0 - 1), h);
      g.fillStyle = R.inkOn(color);
      g.fillText(R.fit(g, p.name, Math.min(x1, width) - Math.max(x0, R.gutter()) - 10), Math.max(x0, R.gutter()) + 6, y + h / 2 + 1);
    }
  },
  cpu(g, y, h, width) { const l = R.data.lanes; baseline(g, y, h, width); series(g, l.cpu, l.width, R.data.cpus, y, h - 1, width, R.color("running")); scale(g, `${R.data.cpus} processors`, y, width); },
  queue(g, y, h, width) {
    const l = R.data.lanes, most = Math.max(1, ...l.queue);
    baseline(g, y, h, width);
    series(g, l.queue, l.width, most, y, h - 1, width, R.color("runnable"));
    scale(g, `up to ${most.toFixed(0)} ${most < 1.5 ? "thread" : "threads"}`, y, width);
  },
  disk(g, y, h, width) {
    const l = R.data.lanes, most = Math.max(1, ...l.read, ...l.write);
    baseline(g, y, h, width);
    g.globalAlpha = 0.28;
    series(g, l.disk, l.width, Math.max(1, ...l.disk), y, h - 1, width, R.color("disk"));
    g.globalAlpha = 1;
    series(g, l.read, l.width, most, y, h - 1, width, R.color("disk"));
    series(g, l.write, l.width, most, y, h - 1, width, R.color("lock"));
    scale(g, `up to ${R.bytes(most / l.width * 1000)}/s`, y, width);
  },
  memory(g, y, h, width) {
    const list = R.data.lanes.memory;
    baseline(g, y, h, width);
    g.fillStyle = R.color("sleep");
    list.forEach((m, i) => { const x0 = R.x(m.at, width), x1 = R.x(i + 1 < list.length ? list[i + 1].at : R.last, width), n = (1 - m.available / m.total) * (h - 1); g.fillRect(x0, y + h - n, Math.max(1, x1 - x0), n); });
    if (list.length) scale(g, R.bytes(list[0].total), y, width);
  },
  marks(g, y, h, width) {
    const band = (at, color, from, to) => { const x = R.x(at, width); if (x >= R.gutter() && x <= width) { g.fillStyle = color; g.fillRect(x, y + from * h, 1.5, (to - from) * h); } };
    R.data.events.forEach((e) => band(e.at, e.provider === null ? R.color("sleep") : e.provider === "autologger-mark" ? R.color("path") : R.color("accent"), e.provider === null ? 0.55 : 0, e.provider === null ? 1 : 0.5));
    R.data.modules.forEach((m) => band(m.at, R.color("initcall"), 0.25, 0.5));
  },
  path(g, y, h, width) {
    for (const s of R.data.criticalPath) {
      if (s.depth) continue;
      const x0 = R.x(s.start, width), x1 = R.x(s.end, width);
      g.fillStyle = s.kind === "queue" ? R.color("child") : R.color("path");
      g.globalAlpha = s.kind === "queue" ? 0.6 : 0.85;
      g.fillRect(x0, y + 2, Math.max(1, x1 - x0 - 1), h - 4);
      g.globalAlpha = 1;
      g.fillStyle = s.kind === "queue" ? R.color("ink") : R.color("card");
      const left = Math.max(x0, R.gutter());
      if (x1 - left > 26) g.fillText(R.fit(g, R.plain(s.what), Math.min(x1, width) - left - 8), left + 4, y + h / 2);
    }
  },
};

const drawRange = (g, width, height) => {
  const r = R.dragging || R.range;
  if (!r) return;
  const x0 = Math.max(R.gutter(), R.x(Math.min(...r), width)), x1 = Math.min(width, R.x(Math.max(...r), width));
  g.fillStyle = R.color("accent");
  g.globalAlpha = 0.14;
  g.fillRect(x0, 0, x1 - x0, height);
  g.globalAlpha = 1;
  g.fillRect(x0, 0, 1, height);
  g.fillRect(x1, 0, 1, height);
};

// What lies at a place of the picture, in words.
R.laneAt = (x, y, width) => {
  const at = R.ms(x, width), d = R.data, lane = (R.laneList || []).find((l) => y >= l.y && y < l.y + l.height + 4), bin = Math.floor(at / d.lanes.width);
  if (!lane || x < R.gutter()) return null;
  const near = (list, key) => list.filter((e) => Math.abs(R.x(e[key], width) - x) < 4);
  const words = {
    cpu: () => `${(d.lanes.cpu[bin] || 0).toFixed(2)} of ${d.cpus} processors busy`, queue: () => `${(d.lanes.queue[bin] || 0).toFixed(1)} threads wait for a processor`,
    disk: () => `busy ${Math.round((d.lanes.disk[bin] || 0) * 100)} %, read ${R.bytes(d.lanes.read[bin] || 0)}, written ${R.bytes(d.lanes.write[bin] || 0)} in ${R.time(d.lanes.width)}`,
    phase: () => d.phases.filter((p) => at >= p.start && at < p.end).map((p) => `${p.name}: ${R.time(p.end - p.start)}`).join("\n"),
    marks: () => [...near(d.events, "at").slice(0, 8).map((e) => (e.provider ? e.provider + ": " : "") + e.text), ...near(d.modules, "at").map((m) => `module ${m.name}`)].join("\n"),
    path: () => d.criticalPath.filter((s) => !s.depth && at >= s.start && at < s.end).map((s) => `${s.what}: ${R.time(s.end - s.start)}\n${s.why}`).join("\n"),
    memory: () => { const m = d.lanes.memory.filter((e) => e.at <= at).pop(); return m ? `${R.bytes(m.available)} of ${R.bytes(m.total)} available` : ""; },
  };
  const text = words[lane.key] ? words[lane.key]() : "";
  return `${R.at(at)}${text ? "\n" + text : ""}`;
};
