"use strict";
// data.js - the report's data, what is chosen of it, and who wants to know. R is the one name that the parts share.
const R = { data: null, view: { from: 0, to: 1 }, range: null, chosen: null, query: "", least: 10, onlyPath: false, listeners: {} };

R.on = (what, call) => (R.listeners[what] = R.listeners[what] || []).push(call);
R.tell = (what) => (R.listeners[what] || []).forEach((call) => call());
R.get = (id) => document.getElementById(id);

R.unpack = async (id) => {
  const bytes = Uint8Array.from(atob(R.get(id).textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
};

// ---- words ----
R.states = ["running", "runnable", "disk", "lock", "network", "sleep", "child", "other"];
R.stateWords = { running: "running", runnable: "ready, no processor free", disk: "blocked on a disk", lock: "blocked by a lock", network: "waits for the network",
  sleep: "asleep", child: "waits for a child", other: "waits for something else" };
R.time = (ms) => {
  const n = Math.abs(ms);
  if (n >= 100000) return (ms / 1000).toFixed(0) + " s";
  if (n >= 1000) return (ms / 1000).toFixed(n >= 10000 ? 1 : 2) + " s";
  if (n >= 10) return ms.toFixed(0) + " ms";
  if (n >= 1) return ms.toFixed(1) + " ms";
  return n === 0 ? "0" : (ms * 1000).toFixed(0) + " µs";
};
R.bytes = (n) => n >= 1e9 ? (n / 1e9).toFixed(1) + " GB" : n >= 1e6 ? (n / 1e6).toFixed(1) + " MB" : n >= 1e3 ? (n / 1e3).toFixed(0) + " KB" : Math.round(n) + " B";
R.at = (ms) => (ms / 1000).toFixed(3) + " s";
R.sum = (time) => Object.values(time || {}).reduce((a, b) => a + b, 0);
R.make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
};
R.color = (name) => R.colors[name] || (R.colors[name] = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
R.colors = {};

// systemd writes "-" in a path as \x2d; dev-disk-by\x2duuid-1.device is easier to read without.
R.plain = (name) => name.replaceAll("\\x2d", "-");
R.bright = (color) => { // as the eye sees it: WCAG's relative luminance of #rrggbb
  const part = (i) => { const v = parseInt(color.slice(i, i + 2), 16) / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
};
R.inkOn = (color) => (R.bright(color) > 0.19 ? "#14181d" : "#ffffff"); // the letters that are easier to read on it

// ---- what is chosen ----
R.show = (from, to) => { // a window of time, within the trace and not narrower than 10 us
  const first = Math.min(0, R.first), last = R.last, least = 0.01;
  let length = Math.max(least, Math.min(to - from, last - first));
  from = Math.max(first, Math.min(from, last - length));
  R.view = { from, to: from + length };
  R.tell("view");
};
R.zoom = (factor, around) => {
  const v = R.view, at = around === undefined ? (v.from + v.to) / 2 : around;
  R.show(at - (at - v.from) * factor, at + (v.to - at) * factor);
};
R.choose = (kind, index, andShow) => {
  R.chosen = kind === null ? null : { kind, index };
  R.tell("chosen");
  const item = R.item();
  if (andShow && item && item.end > item.start) {
    const margin = Math.max((item.end - item.start) * 0.6, 5);
    R.show(item.start - margin, item.end + margin);
  }
};
R.toChart = () => { // where it is out of sight
  const r = R.get("chart").getBoundingClientRect(), seen = Math.min(r.bottom, window.innerHeight) - Math.max(r.top, 60);
  if (seen < Math.min(r.height, window.innerHeight) / 2) R.get("h-time").scrollIntoView({ block: "start" });
};
R.choose.range = (from, to) => { R.range = from === null ? null : [Math.min(from, to), Math.max(from, to)]; R.tell("range"); };
R.item = () => R.chosen && (R.chosen.kind === "unit" ? R.unitSpan(R.chosen.index) : R.data[{ process: "processes", initcall: "initcalls", device: "devices" }[R.chosen.kind]][R.chosen.index]);
R.unitSpan = (i) => { const u = R.data.units[i], start = u.activating || u.queued || u.active || u.done; return { ...u, start, end: Math.max(u.done, start) }; };

// ---- once, when the data is there ----
const NOT_ITS_OWN = [6, 19], DEFERRED = 517; // ENXIO, ENODEV; EPROBE_DEFER
R.times = (n) => (n === 1 ? "once" : `${n} times`);
R.probeSays = (p) => (!("result" in p) ? "not ended" : p.result === 0 ? "taken" : Math.abs(p.result) === DEFERRED ? "put off" : NOT_ITS_OWN.includes(Math.abs(p.result)) ? "not its own" : "failed");
R.prepare = (data) => {
  R.data = data;
  R.first = data.first;
  R.last = Math.max(data.last, data.finish);
  data.initcalls.forEach((c) => { c.end = c.start + c.length; c.label = c.name; });
  data.devices = (data.devices || []).filter((v) => v.probes.some((p) => R.probeSays(p) !== "not its own")); // drivers that looked and left say nothing
  data.devices.forEach((v) => { v.end = Math.max(...v.probes.map((p) => p.end)); v.label = v.name; });
  data.processes.forEach((q) => { q.label = q.label || q.name || `process ${q.pid}`; });
  R.units = new Map(data.units.map((u, i) => [u.name, i]));
  R.children = data.processes.map(() => []);
  data.processes.forEach((p, i) => { p.index = i; if (p.parent >= 0) R.children[p.parent].push(i); });
  R.waitsOf = data.processes.map(() => []);
  (data.waits || []).forEach((w) => { if (w[0] >= 0) R.waitsOf[w[0]].push(w); });
  R.pathUnits = new Set(data.criticalPath.filter((s) => s.unit && s.kind === "unit").map((s) => s.unit));
  R.pathProcesses = new Set(data.criticalPath.filter((s) => s.process >= 0).map((s) => s.process));
  R.bootEnd = data.finish || R.last;
};
R.unitName = (i) => (i >= 0 ? R.data.units[i].name : "");
R.processName = (i) => (i < 0 ? "an interrupt, or not known" : `${R.data.processes[i].label} (${R.data.processes[i].pid})`);
