// One exchange in full: what went wrong in words, the steps, the attempts on a time axis, heads, bodies, and what can be done with it.

const GOOD = new Set(['accepted', 'parsed', 'matched', 'injected', 'responded', 'not_needed', 'passed_through', 'unwrapped', 'sent', 'written', 'kept_client_value', 'not_applicable']);
const MILD = new Set(['led', 'joined', 'already_newer', 'retried', 'not_eligible', 'limit_reached', 'truncated', 'client_gone', 'dropped']);

const detail = {
  place: null,
  record: null,
  asked: '',
  /// Whose happenings are known, by id.
  running: new Map(),
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
      // It is over, but not yet written.
      if (this.showsRunning) return this.showRunning();
      const text = error.status === 404 ? t('gone') : error.message;
      this.place.replaceChildren(h('header', {}, h('div.headline', {}, h('span.target', {}, text), this.closeButton())));
    }
  },

  /// One that is still under way: there is no record yet.
  openRunning(id) {
    this.asked = id;
    this.record = null;
    this.place.hidden = false;
    this.showRunning();
    this.place.scrollTop = 0;
  },

  get showsRunning() { return !this.record && this.running.has(this.asked); },

  showRunning() {
    const one = this.running.get(this.asked);
    if (!one) return;
    const facts = [t(`state_${one.state}`), elapsed(one), `↓ ${bytes(one.written)}`];
    this.place.replaceChildren(
      h('header', {},
        h('div.headline', {}, h('span.status', {}, '…'), h('span.method.wild', {}, one.method), h('span.target.wild', {}, one.target), this.closeButton()),
        h('div.facts', {}, facts.map(fact => h('span', {}, fact)))),
      happenings(one) ?? '');
  },

  close() {
    this.asked = '';
    this.record = null;
    this.place.hidden = true;
    this.place.replaceChildren();
  },

  redraw() {
    if (this.record) this.show();
    else if (this.showsRunning) this.showRunning();
  },

  closeButton() { return h('button.plain', { onclick: () => this.onClose(), title: `${t('close')} (Esc)` }, '✕'); },

  show() {
    const record = this.record;
    const sections = [explanation(record), unsaved(record), steps(record), waterfall(record), streamed(record), happenings(this.running.get(record.id)), message('request', record), message('response', record), unkept(record), whole(record)];
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

function unsaved(record) {
  if (!record.attempts?.some(attempt => attempt.token_unwritten)) return null;
  return section(t('token', record.attempts.find(attempt => attempt.token_unwritten).token_version ?? ''),
    h('div.explained.mild', {}, h('b', {}, t('unsavedTitle')), h('p', {}, t('unsavedHow'))));
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
  const rows = [];
  let last = 0;
  const isRefreshed = ['led', 'joined'].includes(record.steps?.refresh);
  attempts.forEach((attempt, index) => {
    const axis = new Axis(total);
    const add = (name, from, to, title) => {
      used.add(name);
      axis.add(name, from, to, title);
    };
    if (attempt.start_us - last > total * .01 && (index > 0 || isRefreshed)) {
      add('gap', last, attempt.start_us, `${t(isRefreshed ? 'gapRefresh' : 'gapRetry')} ${duration(attempt.start_us - last)}`);
    }
    for (const { name, from, to } of phases(attempt)) add(name, attempt.start_us + from, attempt.start_us + to, `${t(name)} ${duration(to - from)}`);
    last = attempt.start_us + attempt.duration_us;
    const notes = [attempt.outcome === 'responded' ? null : attempt.outcome, attempt.token_version ? t('token', attempt.token_version) : null, attempt.reused ? t('reused') : null, attempt.token_unwritten ? t('unsaved') : null];
    rows.push(
      h('div.who', {}, `#${attempt.number} `, h(`span.status.s${Math.floor((attempt.status ?? 0) / 100)}`, {}, attempt.status ?? '–'), h('small.wild', {}, notes.filter(Boolean).join(' · '))),
      axis.track, h('div.much', {}, duration(attempt.duration_us ?? 0)));
  });
  const kinds = ['dns', 'connect', 'tls', 'wait', 'receive', 'gap'].filter(name => used.has(name));
  return section(t('timeline'), h('div.fall', {}, rows), legend(kinds.map(kind => [kind, t(kind === 'gap' ? (isRefreshed ? 'gapRefresh' : 'gapRetry') : kind)])));
}

/// What the gateway noted of a stream: its first byte, its first event to the last and what came after on the time axis, how fast they came,
/// and whatever members the record has.
function streamed(record) {
  const stream = record.stream;
  if (!stream || typeof stream !== 'object') return null;
  const pairs = Object.entries(stream).map(([name, value]) => [name.replace(/_us$/, '').replaceAll('_', ' '), name.endsWith('_us') && typeof value === 'number' ? duration(value) : String(typeof value === 'object' ? JSON.stringify(value) : value)]);
  return section(t('stream'), ...streamAxis(record, stream), pairsElement(pairs));
}

function streamAxis(record, stream) {
  const { events, first_event_us: first, last_event_us: last } = stream;
  if (!(events > 0)) return [];
  const answered = record.attempts?.findLast(attempt => attempt.first_byte_us > 0);
  const firstByte = Math.min(answered ? answered.start_us + answered.first_byte_us : first, first);
  const end = Math.max(record.duration_us ?? 0, last);
  const axis = new Axis(end);
  const pieces = [['wait', 'toFirstByte', 0, firstByte], ['connect', 'toFirstEvent', firstByte, first], ['receive', 'events', first, last], ['dns', 'toEnd', last, end]];
  const used = pieces.filter(([kind, , from, to]) => to - from > end * .001 || kind === 'receive');
  for (const [kind, word, from, to] of used) axis.add(kind, from, to, `${t(word)} ${duration(to - from)}`);
  const rate = events > 1 && last > first ? t('eventRate', ((events - 1) / (last - first) * 1e6).toPrecision(3)) : null;
  const facts = [t('eventCount', number(events)), rate, `${t('toFirstByte')} ${duration(firstByte)}`, `${t('toEnd')} ${duration(end - last)}`];
  return [axis.alone(), legend(used.map(([kind, word]) => [kind, t(word)])), h('p.facts', {}, facts.filter(Boolean).map(fact => h('span', {}, fact)))];
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
