/* base.js - what all views share: requests, tables, tabs, messages. */
const U = { views: {} };
U.get = (id) => document.getElementById(id);
U.say = (text, bad) => { const p = U.get('said'); p.textContent = text; p.classList.toggle('bad', !!bad); };

/* The secret of this origin: given with the token, kept while the tab lives. */
U.secret = 'SECRET_OF_THE_TOKEN' || sessionStorage.getItem('secret') || '';
if (U.secret) sessionStorage.setItem('secret', U.secret);
U.fetch = (path, more) => fetch(path, { ...more, headers: { 'X-Autologger': U.secret, ...(more && more.headers) } });

/* Runs a verb: {code, out, text, err}. It never throws. */
U.run = async (words, file) => {
  const answer = await U.fetch('/run', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ words, ...(file === undefined ? {} : { file }) }) }).catch(() => null);
  const failed = (err) => ({ code: -1, out: null, text: '', err });
  if (!answer) { U.say('The window is closed: "autologger ui" does not run any more.', true); return failed('not known: the window is closed'); }
  if (answer.status === 403) { U.say('This page does not have the window\'s secret. Do: open the address that "autologger ui" printed; it works once.', true); return failed('not known'); }
  return answer.ok ? answer.json().catch(() => failed('no answer')) : failed(`${answer.status}: ${await answer.text()}`);
};
U.message = (r) => (r.err || r.text || '').replace(/^autologger [a-z-]+: /, '').trim();
/* The same, and says what failed. null: it failed. */
U.ask = async (words, file) => {
  const r = await U.run(words, file);
  if (r.code !== 0) U.say(U.message(r) || `"${words.join(' ')}" failed`, true);
  return r.code === 0 ? r : null;
};
/* An action of a button: says what became of it, and looks again. */
U.act = async (words, done, file) => {
  U.say('…');
  const r = await U.ask(words, file);
  if (r) U.say(done);
  return r;
};

U.element = (tag, text, more) => { const e = document.createElement(tag); if (text !== undefined && text !== null) e.textContent = text; return Object.assign(e, more || {}); };
U.button = (text, name, press) => { const b = U.element('button', text); b.setAttribute('aria-label', `${text} ${name}`); b.type = 'button'; b.onclick = press; return b; };
/* columns: [title, row => text | Node | [Node], "number"] */
U.table = (id, columns, rows, empty) => {
  const t = U.get(id);
  const had = document.activeElement && t.contains(document.activeElement) ? document.activeElement.getAttribute('aria-label') : null;
  const head = U.element('tr');
  for (const [title] of columns) { const h = U.element('th', title); h.scope = 'col'; head.append(h); }
  t.tHead.replaceChildren(head);
  const body = rows.map((row) => {
    const line = U.element('tr');
    for (const [, of, kind] of columns) {
      const cell = U.element('td'), value = of(row);
      if (kind) cell.className = kind;
      cell.append(...(Array.isArray(value) ? value : [value === undefined || value === null ? '' : value]));
      line.append(cell);
    }
    return line;
  });
  if (!rows.length) { const line = U.element('tr'), cell = U.element('td', empty); cell.colSpan = columns.length; cell.className = 'empty'; line.append(cell); body.push(line); }
  t.tBodies[0].replaceChildren(...body);
  if (had) for (const b of t.querySelectorAll('button')) if (b.getAttribute('aria-label') === had) b.focus();
};
U.number = (n) => (n === undefined || n === null ? '' : Number(n).toLocaleString('en'));
U.list = (out) => (Array.isArray(out) ? out : out && typeof out === 'object' ? Object.values(out).find(Array.isArray) || [] : []);

U.show = (name) => {
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const on = tab.id === `tab-${name}`;
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
    U.get(tab.getAttribute('aria-controls')).hidden = !on;
  }
  U.view = name;
  U.say('');
  const panel = U.get(name); /* its tables come, and move what is below them */
  panel.setAttribute('aria-busy', 'true');
  Promise.resolve(U.views[name].look()).finally(() => panel.removeAttribute('aria-busy'));
};
U.begin = () => {
  const tabs = [...document.querySelectorAll('[role=tab]')];
  for (const tab of tabs) tab.onclick = () => U.show(tab.getAttribute('aria-controls'));
  U.get('tabs').onkeydown = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], at = tabs.indexOf(document.activeElement);
    if (!step || at < 0) return;
    const to = tabs[(at + step + tabs.length) % tabs.length];
    to.focus();
    U.show(to.getAttribute('aria-controls'));
  };
  history.replaceState(null, '', '/'); /* the token is used up */
  for (const view of Object.values(U.views)) if (view.begin) view.begin();
  U.show('boots');
};
