"use strict";
// detail.js - all that is known of the chosen unit, process, device or initcall.
R.stateBar = (time) => {
  const all = R.sum(time);
  if (!all) return null;
  return R.make("div", {}, R.make("div", { class: "bar", role: "img", "aria-label": R.states.filter((s) => time[s]).map((s) => `${s} ${R.time(time[s])}`).join(", ") },
    ...R.states.filter((s) => time[s]).map((s) => R.make("i", { style: `width:${(time[s] / all) * 100}%;background:var(--${s})`, title: `${R.stateWords[s]}: ${R.time(time[s])}` }))),
  R.make("ul", { class: "legend" }, ...R.states.filter((s) => time[s] >= all / 1000).map((s) => R.make("li", {}, R.make("i", { style: `background:var(--${s})` }), `${R.stateWords[s]} ${R.time(time[s])}`))));
};
const facts = (pairs) => R.make("dl", {}, ...pairs.filter(([, v]) => v !== null && v !== undefined && v !== "").flatMap(([k, v]) => [R.make("dt", {}, k), R.make("dd", {}, v)]));
const linkTo = (kind, index, text) => R.make("button", { class: "link", onclick: () => R.choose(kind, index, true) }, text);
const heading = (text) => R.make("h2", { style: "margin-top:14px" }, text);
const list = (items) => R.make("ul", { class: "list" }, ...items.map(([a, b]) => R.make("li", {}, R.make("span", {}, a), R.make("span", { class: "soft" }, b))));

const pathOf = (kind, index) => R.data.criticalPath.filter((s) => (kind === "unit" ? s.kind === "unit" && s.unit === R.data.units[index].name : s.process === index));
const topStacks = (of) => {
  const sums = new Map();
  R.data.stacks.waiting.forEach(([stack, process, , weight]) => { if (of(process)) sums.set(stack, (sums.get(stack) || 0) + weight); });
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([stack, weight]) => {
    const frames = R.data.stacks.stacks[stack].map((f) => R.data.stacks.frames[f]), useful = frames.filter((f) => !/!(__?schedule|schedule_[a-z_]+|schedule|asm_|ret_from|entry_SYSCALL|do_syscall)/.test(f));
    return [R.make("span", { class: "mono", title: frames.join("\n") }, (useful.length ? useful : frames).slice(0, 4).join(" ← ")), R.time(weight)];
  });
};
const waitsList = (waits) => waits.slice().sort((a, b) => (b[4] - b[3]) - (a[4] - a[3])).slice(0, 8)
  .map((w) => [R.make("span", {}, `${R.stateWords[R.states[w[5]]]}, at ${R.at(w[3])}`, w[1] >= 0 ? ", ended by " : "", w[1] >= 0 ? linkTo("process", w[1], R.processName(w[1])) : ""), R.time(w[4] - w[3])]);

const unitDetail = (i) => {
  const u = R.data.units[i], mine = R.data.processes.filter((p) => p.unit === i), span = R.unitSpan(i);
  const on = pathOf("unit", i), stacks = topStacks((p) => p >= 0 && R.data.processes[p].unit === i);
  const seen = R.data.seenWaiting.filter((k) => k.unit === i && k.for !== "child");
  const after = (u.after || "").split(" ").filter((n) => n && R.units.has(n) && R.data.units[R.units.get(n)].done > 0).map((n) => R.units.get(n))
    .sort((a, b) => R.data.units[b].done - R.data.units[a].done).slice(0, 8);
  return [R.make("h3", { title: u.name }, R.plain(u.name)), R.make("p", { class: "soft" }, [u.state, u.result && u.result !== "success" ? u.result : null, u.job && u.job !== "done" ? `job ${u.job}` : null].filter(Boolean).join(", ")),
    on.length ? R.make("p", {}, "On the critical path: ", on[0].why) : null,
    facts([["start took", R.time(u.length)], ["began", R.at(span.start)], ["done", u.done ? R.at(u.done) : "never"], ["job waited", u.jobWait ? R.time(u.jobWait) : ""], ["processes", String(u.processes)],
      ["read, written", u.read + u.written ? `${R.bytes(u.read)}, ${R.bytes(u.written)}` : ""]]),
    seen.length ? heading("Seen waiting for") : null,
    seen.length ? list(seen.slice(0, 12).map((k) => [R.make("span", {}, `${k.for} ${k.object}${k.guessed ? " (likely)" : ""}, by ${k.pid}`), R.at(k.at)])) : null,
    R.stateBar(u.time), stacks.length ? heading("What it waited in") : null, stacks.length ? list(stacks) : null,
    mine.length ? heading("Processes") : null, mine.length ? list(mine.slice(0, 12).map((p) => [linkTo("process", p.index, `${p.label} (${p.pid})`), R.time(p.end - p.start)])) : null,
    after.length ? heading("Ordered after, last done first") : null, after.length ? list(after.map((k) => [linkTo("unit", k, R.data.units[k].name), R.at(R.data.units[k].done)])) : null];
};
const processDetail = (i) => {
  const p = R.data.processes[i], on = pathOf("process", i), stacks = topStacks((k) => k === i), waits = waitsList(R.waitsOf[i]);
  return [R.make("h3", {}, p.label), R.make("p", {}, R.make("code", {}, p.command || "(no command line)")),
    on.length ? R.make("p", {}, "On the critical path: ", on[0].why) : null,
    facts([["pid", String(p.pid)], ["started by", p.parent >= 0 ? linkTo("process", p.parent, R.processName(p.parent)) : ""], ["unit", p.unit >= 0 ? linkTo("unit", p.unit, R.unitName(p.unit)) : ""],
      ["began", p.there ? "before the trace" : R.at(p.start)], ["ended", p.lives ? "after the trace" : `${R.at(p.end)}${p.exit ? `, status ${p.exit}` : ""}`], ["took", R.time(p.end - p.start)],
      ["read, written", p.read + p.written ? `${R.bytes(p.read)}, ${R.bytes(p.written)}` : ""], ["came to a processor", p.switches ? `${p.switches} times` : ""]]),
    R.stateBar(p.time), p.wokenBy.length ? heading("Woken by") : null,
    p.wokenBy.length ? list(p.wokenBy.map((w) => [R.make("span", {}, w.process >= 0 ? linkTo("process", w.process, R.processName(w.process)) : "an interrupt, or not known", ` ${w.times} times`), R.time(w.waited)])) : null,
    waits.length ? heading("Longest waits") : null, waits.length ? list(waits) : null,
    stacks.length ? heading("What it waited in") : null, stacks.length ? list(stacks) : null,
    R.children[i].length ? heading("Started") : null, R.children[i].length ? list(R.children[i].slice(0, 12).map((c) => [linkTo("process", c, R.processName(c)), R.time(R.data.processes[c].end - R.data.processes[c].start)])) : null];
};
R.drawDetail = () => {
  const at = R.get("detail"), c = R.chosen;
  if (!c) { at.replaceChildren(R.make("p", { class: "soft" }, "Choose a unit or a process: its times, what it waited for, and who woke it.")); return; }
  const device = (i) => {
    const v = R.data.devices[i], supplier = R.data.devices.findIndex((o) => v.supplier && o.name === v.supplier);
    return [R.make("h3", {}, v.name), facts([["bus", v.bus], ["driver", v.driver], ["its driver had it", v.ready ? R.at(v.ready) : "never"], ["put off", v.deferrals ? `${R.times(v.deferrals)}, ${R.time(v.waited)}` : ""],
      ["for", supplier >= 0 ? linkTo("device", supplier, v.supplier) : v.supplier], ["in the driver's words", v.reason]]),
    heading("Probes"), list(v.probes.map((p) => [R.make("span", {}, `${R.at(p.start)} ${p.driver}: ${R.probeSays(p)}${p.result ? ` (${p.result})` : ""}${p.firmware ? `; firmware ${p.firmware}${p.firmwareResult ? ", not had" : ""}` : ""}`), R.time(p.end - p.start)]))];
  };
  const initcall = (i) => { const n = R.data.initcalls[i]; return [R.make("h3", {}, n.name), facts([["began", R.at(n.start)], ["took", R.time(n.length)], ["result", String(n.result)]])]; };
  at.replaceChildren(...(c.kind === "unit" ? unitDetail(c.index) : c.kind === "process" ? processDetail(c.index) : c.kind === "device" ? device(c.index) : initcall(c.index)).filter((n) => n));
  at.scrollTop = 0;
};
