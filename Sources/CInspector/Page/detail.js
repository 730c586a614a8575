// One exchange in full: what went wrong in words, the steps, the attempts on a time axis, heads, bodies, and what can be done with it.

const GOOD = new Set(['accepted', 'parsed', 'matched', 'injected', 'responded', 'not_needed', 'passed_through', 'unwrapped', 'sent', 'written', 'kept_client_value', 'not_applicable']);
const MILD = new Set(['led', 'joined', 'already_newer', 'retried', 'not_eligible', 'limit_reached', 'truncated', 'client_gone', 'dropped']);

const detail = {
  place: null,
  record: null,
  asked: '',
  onClose: () => {},
  onReplayed: () => {},

  async open(id) {
    this.asked = id;
    this.place.hidden = false;
    try {
      const record = await gateway.json('GET', `/api/exchanges/${encodeURIComponent(id)}`);
      if (this.asked !== id) return;
      this.record = record;
      this.show();
    } catch (error) {
      if (this.asked !== id) return;
      this.record = null;
      const text = error.status === 404 ? t('gone') : error.message;
      this.place.replaceChildren(h('header', {}, h('div.headline', {}, h('span.target', {}, text), this.closeButton())));
    }
  },

  close() {
    this.asked = '';
    this.record = null;
    this.place.hidden = true;
    this.place.replaceChildren();
  },

  redraw() { if (this.record) this.show(); },

  closeButton() { return h('button.plain', { onclick: () => this.onClose(), title: `${t('close')} (Esc)` }, '✕'); },

  show() {
    const record = this.record;
    const sections = [explanation(record), steps(record), waterfall(record), streamed(record), message('request', record), message('response', record), unkept(record), whole(record)];
    this.place.replaceChildren(this.header(record), ...sections.filter(Boolean));
    this.place.scrollTop = 0;
  },

  header(record) {
    const facts = [
      clock(Date.parse(record.time)), duration(record.duration_us ?? 0), `↑ ${bytes(record.request_bytes ?? 0)}  ↓ ${bytes(record.response_bytes ?? 0)}`,
      record.route, record.upstream && record.upstream !== record.route ? record.upstream : null, record.client,
    ];
    const button = (key, word, action, kind = '') => h(`button${kind}`, { onclick: action, title: `${t(word)} (${key})` }, t(word));
    return h('header', {},
      h('div.headline', {},
        h(`span.status.s${Math.floor((record.status || 0) / 100)}`, {}, record.status || '–'),
        h('span.method.wild', {}, record.method ?? '–'), h('span.target.wild', {}, record.target ?? '–'), this.closeButton()),
      h('div.facts', {}, facts.filter(Boolean).map(fact => h('span.wild', {}, fact))),
      h('div.buttons', {},
        button('c', 'copyCurl', () => this.copyCurl()), button('r', 'replay', () => this.replay()), button('e', 'editReplay', () => this.edit()),
        h('button.plain', { onclick: () => copy(JSON.stringify(record, null, 2)) }, t('copyRecord'))));
  },

  // Actions

  async copyCurl() {
    if (!this.record) return;
    try {
      await copy((await gateway.text(`/api/exchanges/${encodeURIComponent(this.record.id)}/curl`)).trimEnd());
    } catch (error) { toast(error.message); }
  },

  async replay(edits = {}) {
    if (!this.record) return;
    try {
      const answer = await gateway.json('POST', `/api/exchanges/${encodeURIComponent(this.record.id)}/replay`, edits);
      toast(t('replayed', `${answer.status} · ${duration(answer.duration_us)}`));
      this.onReplayed(answer.id);
    } catch (error) { toast(error.message); }
  },

  edit() {
    const record = this.record;
    if (!record) return;
    // What was masked cannot be sent: the gateway puts its own credentials in.
    const lines = (record.request_headers ?? []).filter(([name, value]) => value !== '***' && !/^(content-length|transfer-encoding|connection)$/i.test(name));
    const method = h('input', { value: record.method ?? 'GET', required: true });
    const target = h('input', { value: record.target ?? '/', required: true });
    const headers = h('textarea', { value: lines.map(([name, value]) => `${name}: ${value}`).join('\n'), rows: 5 });
    const body = h('textarea', { value: record.request_body ?? '', rows: 6 });
    const dialog = $('edit');
    const send = event => {
      event.preventDefault();
      dialog.close();
      const fields = headers.value.split('\n').filter(line => line.includes(':')).map(line => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]);
      this.replay({ method: method.value.trim(), target: target.value.trim(), headers: fields, body: body.value });
    };
    for (const field of [method, target, headers, body]) field.spellcheck = false;
    dialog.replaceChildren(h('form', { onsubmit: send },
      h('h2', {}, t('editTitle')), h('p', {}, t('editHow')),
      h('div.two', {}, h('label', {}, t('method'), method), h('label', {}, t('target'), target)),
      h('label', {}, t('headers'), headers), h('label', {}, t('body'), body),
      h('div.buttons', {}, h('button', { type: 'button', onclick: () => dialog.close() }, t('cancel')), h('button.primary', { type: 'submit' }, t('send')))));
    dialog.showModal();
    target.focus();
  },
};

function section(title, ...children) { return h('section', {}, h('h3', {}, title), ...children); }

function explanation(record) {
  const failure = record.failure;
  if (!failure) return null;
  const words = REASONS[failure.reason]?.[language.now];
  const code = record.business_code !== null && record.business_code !== undefined ? `, ${record.business_code}` : '';
  const isMild = failure.kind === 'business' || failure.kind === 'cancelled' || record.status < 500 && record.status >= 400;
  return section(t('explained'), h(isMild ? 'div.explained.mild' : 'div.explained', {},
    h('b', {}, words?.[0] ?? failure.reason), words ? h('p', {}, words[1]) : null,
    h('p.wild', {}, `${failure.kind}/${failure.reason}${code}${failure.detail ? ` · ${failure.detail}` : ''}`)));
}

function steps(record) {
  return section(t('steps'), h('div.steps', {}, Object.entries(record.steps ?? {}).map(([step, outcome]) => {
    const kind = GOOD.has(outcome) ? (outcome.startsWith('not_') ? '' : '.good') : MILD.has(outcome) ? '.warn' : '.bad';
    return h(`div.step${kind}`, {}, h('span', {}, step), h('b', {}, outcome));
  })));
}

// The time axis. The phases of an attempt are counted from its start, each to the end of the one before.

function phases(attempt) {
  const end = attempt.duration_us ?? 0;
  const marks = [['dns', attempt.dns_us], ['connect', attempt.connect_us], ['tls', attempt.tls_us], ['wait', attempt.first_byte_us], ['receive', end]];
  let from = 0;
  const found = [];
  for (const [name, mark] of marks) {
    const to = Math.min(mark || 0, end);
    if (to > from) found.push({ name, from, to });
    from = Math.max(from, to);
  }
  return found;
}

function waterfall(record) {
  const attempts = record.attempts ?? [];
  if (!attempts.length) return null;
  const total = Math.max(record.duration_us ?? 0, ...attempts.map(one => one.start_us + one.duration_us), 1);
  const used = new Set();
  const bar = (name, from, to, title) => {
    used.add(name);
    const piece = h(`i.p-${name}`, { title });
    piece.style.left = `${from / total * 100}%`;
    piece.style.width = `${Math.max((to - from) / total * 100, .3)}%`;
    return piece;
  };
  const rows = [];
  let last = 0;
  const isRefreshed = ['led', 'joined'].includes(record.steps?.refresh);
  attempts.forEach((attempt, index) => {
    const track = h('div.track');
    if (attempt.start_us - last > total * .01 && (index > 0 || isRefreshed)) {
      track.append(bar('gap', last, attempt.start_us, `${t(isRefreshed ? 'gapRefresh' : 'gapRetry')} ${duration(attempt.start_us - last)}`));
    }
    for (const { name, from, to } of phases(attempt)) track.append(bar(name, attempt.start_us + from, attempt.start_us + to, `${t(name)} ${duration(to - from)}`));
    last = attempt.start_us + attempt.duration_us;
    const notes = [attempt.outcome === 'responded' ? null : attempt.outcome, attempt.token_version ? t('token', attempt.token_version) : null, attempt.reused ? t('reused') : null];
    rows.push(
      h('div.who', {}, `#${attempt.number} `, h(`span.status.s${Math.floor((attempt.status ?? 0) / 100)}`, {}, attempt.status ?? '–'), h('small.wild', {}, notes.filter(Boolean).join(' · '))),
      track, h('div.much', {}, duration(attempt.duration_us ?? 0)));
  });
  const legend = ['dns', 'connect', 'tls', 'wait', 'receive', 'gap'].filter(name => used.has(name));
  return section(t('timeline'), h('div.fall', {}, rows),
    h('div.legend', {}, legend.map(name => h('span', {}, h(`i.p-${name}`), t(name === 'gap' ? (isRefreshed ? 'gapRefresh' : 'gapRetry') : name)))));
}

/// What the gateway noted of a stream: from the first event to the last on the time axis, and whatever members the record has.
function streamed(record) {
  const stream = record.stream;
  if (!stream || typeof stream !== 'object') return null;
  const total = Math.max(record.duration_us ?? 1, stream.last_event_us ?? 1, 1);
  const track = h('div.track.alone', { hidden: !(stream.events > 0) });
  if (stream.events > 0) {
    const bar = h('i.p-receive', { title: `${duration(stream.first_event_us)} – ${duration(stream.last_event_us)}` });
    bar.style.left = `${Math.min(99.4, stream.first_event_us / total * 100)}%`;
    bar.style.width = `${(stream.last_event_us - stream.first_event_us) / total * 100}%`;
    track.append(bar);
  }
  const pairs = Object.entries(stream).map(([name, value]) => [name.replace(/_us$/, '').replaceAll('_', ' '), name.endsWith('_us') && typeof value === 'number' ? duration(value) : String(typeof value === 'object' ? JSON.stringify(value) : value)]);
  return section(t('stream'), track, pairsElement(pairs));
}

function message(side, record) {
  const fields = record[`${side}_headers`];
  const body = record[`${side}_body`];
  if (!fields?.length && !body) return null;
  const type = fields?.find(([name]) => /^content-type$/i.test(name))?.[1];
  return section(t(side), fields?.length ? pairsElement(fields) : null,
    ...(typeof body === 'string' && body ? bodyElement(t('body'), body, type, record[`${side}_body_truncated`], record[`${side}_body_length`]).map(part => part && h('div', {}, part)) : []));
}

function unkept(record) {
  return record.request_headers || record.response_headers ? null : h('section', {}, h('p.note', {}, t('notKept')));
}

function whole(record) {
  const place = h('div');
  const toggle = h('button.plain', {
    onclick: () => {
      const isShown = place.childElementCount > 0;
      place.replaceChildren(...(isShown ? [] : [jsonElement(prettyJSON(JSON.stringify(record)) ?? [['', JSON.stringify(record)]])]));
      toggle.textContent = t(isShown ? 'show' : 'hide');
    },
  }, t('show'));
  const names = [['id', record.id], ['requestId', record.request_id], ['trace', typeof record.trace === 'object' ? record.trace?.id : record.trace], ['policy', record.policy], ['identity', record.identity], ['session', record.session]];
  return h('section', {}, h('h3', {}, t('record'), toggle),
    pairsElement(names.filter(([, value]) => typeof value === 'string' && value).map(([word, value]) => [t(word), value])), place);
}
