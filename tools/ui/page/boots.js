/* boots.js - boots with their verdicts, and the Status of the last one. */
U.views.boots = {
  begin() {
    U.get('boots-again').onclick = () => this.look();
    U.get('report-form').onsubmit = (e) => { e.preventDefault(); this.report(U.get('report-file').value); };
    U.get('report-close').onclick = () => U.get('report').close();
  },
  why(s) { return [[s.reason, s.advice], ...(s.conditions || []).map((c) => [`${c.number}: ${c.reason}`, c.advice])].filter(([r]) => r).map(([r, a]) => (a ? `${r}. Do: ${a}` : r)); },
  /* In a frame of no origin: what stands in a trace is somebody else's. */
  async report(file) {
    U.say('reading…');
    const answer = await U.fetch(`/report?file=${encodeURIComponent(file)}`).catch(() => null), text = answer ? await answer.text() : 'the window is closed';
    if (!answer || !answer.ok || !/^<!doctype/i.test(text)) { U.say(text, true); return; }
    U.say('');
    U.get('report-frame').srcdoc = text;
    U.get('report').showModal();
  },
  async look() {
    const [boots, status, why] = await Promise.all([U.run(['boots', '--json']), U.run(['status', '--json']), U.run(['why', '--json'])]);
    const seconds = (ms) => (ms ? `${(ms / 1000).toFixed(1)} s` : '');
    U.table('boots-table', [['Boot', (b) => String(b.number)], ['Time', (b) => b.time.slice(0, 19).replace('T', ' ')], ['Kind', (b) => (b.rehearsal ? 'rehearsal' : 'boot')],
      ['Done after', (b) => seconds(b.boot_done_ms), 'number'], ['Events', (b) => U.number(b.written), 'number'], ['Lost', (b) => U.number(b.lost), 'number'], ['Stopped by', (b) => b.stop_reason]],
    boots.out ? boots.out.boots || [] : [], U.message(boots) || 'no boot was traced yet');
    const all = status.out ? (status.out.sessions || []).flatMap((s) => [s, ...(s.providers || []).map((p) => ({ ...p, of: s.name }))]) : [];
    U.table('status-table', [['Session or provider', (s) => (s.of ? `${s.of}: ${s.provider_name || s.name || s.guid}` : s.name)], ['Status', (s) => `${s.status} ${s.status_name ?? ''}`],
      ['Result', (s) => s.result ?? ''], ['Why', (s) => this.why(s).map((w) => U.element('p', w))],
      ['Events', (s) => U.number(s.written), 'number'], ['Lost', (s) => U.number(typeof s.lost === 'object' && s.lost ? s.lost.total : s.lost), 'number']], all,
    U.message(status) || (status.out && status.out.untraced && [status.out.untraced.reason, status.out.untraced.advice].filter(Boolean).join('. Do: ')) || 'no session');
    const trace = status.out && status.out.merged;
    if (trace && !U.get('report-file').value) U.get('report-file').value = trace;
    const box = U.get('verdict'), verdict = why.out && (why.out.verdict || why.out);
    box.replaceChildren();
    if (why.code !== 0) box.append(U.element('p', U.message(why), { className: 'empty' }));
    if (why.code === 0 && verdict && (verdict.sentence || verdict.text)) {
      const d = U.element('div', null, { className: 'verdict' });
      d.append(U.element('strong', verdict.sentence || verdict.text));
      if (verdict.advice) d.append(U.element('p', verdict.advice));
      box.append(d);
    }
  },
};
