// Elements and the ways values are written. Text from outside goes into textContent and nowhere else.

function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== 'list') element[key] = value;
    else element.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const $ = id => document.getElementById(id);

function duration(microseconds) {
  if (microseconds < 1000) return `${microseconds} ${t('us')}`;
  if (microseconds < 10_000) return `${(microseconds / 1000).toFixed(1)} ${t('ms')}`;
  if (microseconds < 1_000_000) return `${Math.round(microseconds / 1000)} ${t('ms')}`;
  if (microseconds < 60_000_000) return `${(microseconds / 1_000_000).toFixed(microseconds < 10_000_000 ? 2 : 1)} ${t('s')}`;
  return span(microseconds / 1_000_000);
}

/// A rough length of time, from seconds.
function span(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} ${t('s')}`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} ${t('min')}`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} ${t('h')}`;
  return `${Math.round(seconds / 86_400)} ${t('d')}`;
}

function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

function clock(milliseconds) {
  const date = new Date(milliseconds);
  const two = number => String(number).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function number(value) { return value.toLocaleString(language.now === 'zh' ? 'zh-CN' : 'en-US'); }

/// A time axis: pieces of it in colours, each with words, and what the colours mean.
class Axis {
  constructor(total) {
    this.total = Math.max(total, 1);
    this.track = h('div.track');
  }

  add(kind, from, to, title) {
    const piece = h(`i.p-${kind}`, { title });
    piece.style.left = `${Math.min(99.4, from / this.total * 100)}%`;
    piece.style.width = `${Math.max((to - from) / this.total * 100, .3)}%`;
    this.track.append(piece);
  }

  /// The track where nothing stands beside it.
  alone() {
    this.track.classList.add('alone');
    return this.track;
  }
}

function legend(kinds) { return h('div.legend', {}, kinds.map(([kind, word]) => h('span', {}, h(`i.p-${kind}`), word))); }

let toastTimer = 0;
function toast(text) {
  const element = $('toast');
  element.textContent = text;
  element.classList.add('shown');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => element.classList.remove('shown'), 2600);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the permission, or on a page that is no secure context: the old way.
    const area = h('textarea', { value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(t('copied'));
}
