/* live.js - the events of a real-time session as they come. The newest KEPT events are kept; at most SHOWN rows are drawn, ten times a second. */
const LIVE_KEPT = 20000, LIVE_SHOWN = 200;
const LIVE_COLUMNS = { Time: (e) => e.time.slice(11, 23), Provider: (e) => e.provider.name || e.provider.guid, Event: (e) => e.event, Level: (e) => String(e.level), Process: (e) => String(e.pid ?? ''),
  Thread: (e) => String(e.tid ?? ''), CPU: (e) => String(e.cpu), Fields: (e) => (e.fields ? Object.entries(e.fields).map(([k, v]) => `${k}=${v}`).join(' ') : '') };
U.views.live = {
  kept: [], total: 0, paused: false, on: new Set(['Time', 'Provider', 'Event', 'Level', 'Process', 'Fields']), source: null,
  begin() {
    U.get('live-form').onsubmit = (e) => { e.preventDefault(); this.open(U.get('live-session').value); };
    U.get('live-end').onclick = () => this.close('ended');
    U.get('live-pause').onclick = () => { this.paused = !this.paused; U.get('live-pause').setAttribute('aria-pressed', this.paused); U.get('live-pause').textContent = this.paused ? 'Continue' : 'Pause'; this.draw(); };
    U.get('live-clear').onclick = () => { this.kept = []; this.total = 0; this.draw(); };
    for (const id of ['live-filter', 'live-level']) U.get(id).oninput = () => this.draw();
    U.get('live-columns').append(...Object.keys(LIVE_COLUMNS).map((name) => {
      const label = U.element('label'), box = U.element('input', null, { type: 'checkbox', checked: this.on.has(name) });
      box.onchange = () => { this.on[box.checked ? 'add' : 'delete'](name); this.draw(); };
      label.append(box, ` ${name}`);
      return label;
    }));
    this.draw();
  },
  async look() {
    const r = await U.run(['sessions', '--json']), chosen = U.get('live-session').value;
    const live = U.list(r.out).filter((s) => s.log_file_mode & 0x100);
    U.get('live-session').replaceChildren(U.element('option', 'a real-time session', { value: '' }), ...live.map((s) => U.element('option', s.name, { value: s.name })));
    U.get('live-session').value = live.some((s) => s.name === chosen) ? chosen : '';
    if (!live.length) U.say('No real-time session runs. Do: start one under Sessions, with "real-time".');
  },
  open(name) {
    if (!name) return;
    this.close('');
    this.kept = [];
    this.total = 0;
    U.get('live-table').caption.textContent = `Live events of ${name}`;
    this.source = new AbortController();
    this.read(name, this.source);
    U.get('live-end').disabled = U.get('live-pause').disabled = false;
    U.say(`events of "${name}"`);
  },
  /* Messages as they come: a block of lines, with a kind, ends with an empty line. */
  async read(name, source) {
    const mine = () => this.source === source, ended = (text) => { if (mine()) this.close(text); };
    const answer = await U.fetch(`/live?session=${encodeURIComponent(name)}`, { signal: source.signal }).catch(() => null);
    if (!answer || !answer.ok) { const why = answer ? await answer.text() : 'the window is closed'; ended(''); this.say(why, true); return; }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const { value, done } = await reader.read().catch(() => ({ done: true }));
      if (done || !mine()) { ended(`"${name}": the connection ended`); return; }
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const kind = /^event: (.*)$/m.exec(block), data = /^data: (.*)$/m.exec(block);
        if (kind && kind[1] === 'ended') { ended(`"${name}" has ended`); return; }
        if (kind) this.say(data[1], true);
        else if (data) this.take(JSON.parse(data[1]));
      }
    }
  },
  close(text) {
    if (this.source) this.source.abort();
    this.source = null;
    U.get('live-end').disabled = U.get('live-pause').disabled = true;
    if (!text) return;
    U.get('live-table').caption.textContent = text;
    this.say(text);
  },
  say(text, bad) { if (U.view === 'live') U.say(text, bad); }, /* the message of another view stays */
  take(events) {
    this.total += events.length;
    if (this.paused) { this.count(); return; }
    this.kept.push(...events);
    if (this.kept.length > LIVE_KEPT) this.kept.splice(0, this.kept.length - LIVE_KEPT);
    if (!this.due) this.due = setTimeout(() => { this.due = 0; this.draw(); }, 100);
  },
  count() { U.get('live-count').textContent = this.total ? `${U.number(this.total)} events came${this.paused ? '; paused: what comes now is not kept' : ''}` : 'no events'; },
  draw() {
    const filter = U.get('live-filter').value.toLowerCase(), level = Number(U.get('live-level').value), shown = [];
    for (let i = this.kept.length - 1; i >= 0 && shown.length < LIVE_SHOWN; i--) {
      const e = this.kept[i];
      if (e.level > level || (filter && !`${e.provider.name} ${e.event} ${JSON.stringify(e.fields || '')}`.toLowerCase().includes(filter))) continue;
      shown.push(e);
    }
    shown.reverse();
    U.table('live-table', Object.entries(LIVE_COLUMNS).filter(([name]) => this.on.has(name)).map(([name, of]) => [name, of]), shown, this.kept.length ? 'no event passes the filter' : 'no events');
    this.count();
    const scroll = U.get('live-scroll');
    if (!this.paused) scroll.scrollTop = scroll.scrollHeight;
  },
};
