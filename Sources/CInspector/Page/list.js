// The rows: what is kept of each exchange, and a list that makes elements only for the rows in sight.

const ROWS_MAX = 10_000;

/// What a row needs of a record. The rest is asked for when somebody looks.
function rowOf(record) {
  const steps = record.steps ?? {};
  const attempts = record.attempts ?? [];
  return {
    id: record.id, at: Date.parse(record.time) || 0, method: record.method ?? '–', target: record.target ?? '–', route: record.route ?? '',
    status: record.status || 0, took: record.duration_us || 0, size: record.response_bytes || 0,
    reason: record.failure?.reason ?? '', kind: record.failure?.kind ?? '', business: record.business_code ?? null,
    attempts: attempts.length, isRefreshed: steps.refresh === 'led' || steps.refresh === 'joined' || steps.refresh === 'already_newer',
    isRetried: attempts.length > 1 && steps.retry === 'retried', isUnsaved: attempts.some(attempt => attempt.token_unwritten), isFresh: true,
  };
}

class RowList {
  /// Oldest first, so that adding is cheap; shown newest first.
  rows = [];
  ids = new Set();
  selected = '';
  pool = [];
  frame = 0;

  constructor(scroller, space, { onSelect, onOpen, onScrolled }) {
    this.scroller = scroller;
    this.space = space;
    this.callbacks = { onSelect, onOpen, onScrolled };
    scroller.addEventListener('scroll', () => { this.schedule(); onScrolled(); }, { passive: true });
    new ResizeObserver(() => this.schedule()).observe(scroller);
  }

  get rowHeight() { return parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row'), 10) || 30; }
  get isAtTop() { return this.scroller.scrollTop < 4; }

  clear() {
    this.rows = [];
    this.ids.clear();
    this.scroller.scrollTop = 0;
    this.schedule();
  }

  /// Takes rows, oldest first, that are newer than all others; the view stays where the reader is.
  add(rows) {
    const fresh = rows.filter(row => !this.ids.has(row.id));
    for (const row of fresh) {
      this.ids.add(row.id);
      this.rows.push(row);
    }
    this.trim();
    if (!this.isAtTop) this.scroller.scrollTop += fresh.length * this.rowHeight;
    this.schedule();
    return fresh.length;
  }

  /// Takes rows, newest first, that are older than all others.
  addOlder(rows) {
    const older = rows.filter(row => !this.ids.has(row.id)).slice(0, Math.max(0, ROWS_MAX - this.rows.length)).reverse();
    for (const row of older) {
      row.isFresh = false;
      this.ids.add(row.id);
    }
    this.rows = older.concat(this.rows);
    this.schedule();
  }

  trim() {
    // In large bites: cutting the front of a long array costs its length.
    if (this.rows.length <= ROWS_MAX + 500) return;
    for (const row of this.rows.splice(0, this.rows.length - ROWS_MAX)) this.ids.delete(row.id);
  }

  get shownCount() { return Math.min(this.rows.length, ROWS_MAX); }
  at(index) { return this.rows[this.rows.length - 1 - index]; }
  indexOf(id) {
    const index = this.rows.findLastIndex(row => row.id === id);
    return index < 0 ? -1 : this.rows.length - 1 - index;
  }

  // Selection

  select(id, { reveals = true } = {}) {
    this.selected = id;
    if (reveals && id) this.reveal(this.indexOf(id));
    this.schedule();
    this.callbacks.onSelect(id);
  }

  /// Moves by so many rows; the first move takes the newest row in sight.
  move(by) {
    if (!this.shownCount) return;
    const now = this.selected ? this.indexOf(this.selected) : -1;
    const next = now < 0 ? Math.floor(this.scroller.scrollTop / this.rowHeight) : now + by;
    this.select(this.at(Math.max(0, Math.min(this.shownCount - 1, next))).id);
  }

  jump(toOldest) {
    if (this.shownCount) this.select(this.at(toOldest ? this.shownCount - 1 : 0).id);
  }

  reveal(index) {
    if (index < 0) return;
    const top = index * this.rowHeight;
    const bottom = top + this.rowHeight;
    const height = this.scroller.clientHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (bottom > this.scroller.scrollTop + height) this.scroller.scrollTop = bottom - height;
  }

  // Drawing

  schedule() { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); }); }

  /// All rows anew: the language or the row height has changed.
  redraw() {
    for (const element of this.pool) element.drawn = '';
    this.schedule();
  }

  draw() {
    const height = this.rowHeight;
    const count = this.shownCount;
    this.space.style.height = `${count * height}px`;
    // The heading stands over the rows, beside the scroll bar.
    this.scroller.previousElementSibling.style.marginRight = `${this.scroller.offsetWidth - this.scroller.clientWidth}px`;
    const size = Math.min(count, Math.ceil(this.scroller.clientHeight / height) + 12);
    while (this.pool.length < size) this.pool.push(this.space.appendChild(this.makeRow()));
    while (this.pool.length > size) this.pool.pop().remove();
    if (!size) return;
    const first = Math.max(0, Math.min(count - size, Math.floor(this.scroller.scrollTop / height) - 6));
    for (let index = first; index < first + size; index++) {
      // The same row keeps its element while it stays in sight, so scrolling fills only what comes into view.
      const element = this.pool[(this.rows.length - 1 - index) % size];
      const row = this.at(index);
      element.style.transform = `translateY(${index * height}px)`;
      if (element.drawn !== row.id) this.fill(element, row);
      const isSelected = row.id === this.selected;
      if (element.isSelected !== isSelected) {
        element.isSelected = isSelected;
        element.setAttribute('aria-selected', isSelected);
      }
    }
  }

  makeRow() {
    const path = h('bdi');
    const query = h('bdi.query');
    const bar = h('i');
    const took = h('span');
    const parts = {
      status: h('span.status'), method: h('span.method.wild'), target: h('span.target.wild', {}, path, query), route: h('span.route.wild'), flags: h('span.flags'),
      at: h('span.at'), took: h('span.took', {}, bar, took),
    };
    const element = h('div.row', { role: 'row' }, ...Object.values(parts));
    element.parts = { ...parts, path, query, bar, tookText: took };
    element.addEventListener('click', () => { this.select(element.drawn, { reveals: false }); this.callbacks.onOpen(element.drawn); });
    return element;
  }

  fill(element, row) {
    const parts = element.parts;
    element.drawn = row.id;
    parts.status.textContent = row.status || '–';
    parts.status.className = `status s${Math.floor(row.status / 100)}`;
    parts.method.textContent = row.method;
    const mark = row.target.indexOf('?');
    parts.path.textContent = mark < 0 ? row.target : row.target.slice(0, mark);
    parts.query.textContent = mark < 0 ? '' : row.target.slice(mark);
    parts.target.title = row.target.slice(0, 400);
    parts.route.textContent = row.route;
    parts.at.textContent = clock(row.at);
    parts.tookText.textContent = duration(row.took);
    // A logarithm: 1 ms is a dot, 10 s is the whole width.
    parts.bar.style.width = `${Math.max(3, Math.min(100, Math.log10(Math.max(row.took, 1000) / 1000) * 25))}%`;
    parts.took.classList.toggle('slow', row.took > 1_000_000);
    parts.flags.replaceChildren(...flagsOf(row));
    element.classList.toggle('fresh', row.isFresh);
    row.isFresh = false;
  }
}

function flagsOf(row) {
  const flags = [];
  if (row.business !== null) flags.push(h('span.flag.bad', { title: row.reason }, String(row.business).slice(0, 12)));
  else if (row.status === 0 || row.status >= 500) flags.push(h('span.flag.bad', { title: row.reason }, (row.kind || row.reason).slice(0, 12)));
  if (row.isRefreshed) flags.push(h('span.flag.token', { title: t('refreshed') }, '⟳'));
  if (row.isRetried) flags.push(h('span.flag.retry', { title: t('retried') }, `×${row.attempts}`));
  if (row.isUnsaved) flags.push(h('span.flag.unsaved', { title: t('unsavedTitle') }, '⚠'));
  return flags.filter(flag => flag.textContent);
}
