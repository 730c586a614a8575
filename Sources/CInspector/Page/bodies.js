// Bodies: JSON set out from its own bytes (numbers keep all their digits, names may come twice), forms as pairs, the rest as it is.

const PRETTY_MAX = 200_000;

/// [class, text] pieces of the JSON text set out on lines; null when it is no JSON, or too long.
function prettyJSON(text) {
  if (text.length > PRETTY_MAX || !/^\s*[[{]/.test(text)) return null;
  const token = /\s*(?:("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([{}[\],:]))/y;
  const pieces = [];
  const open = [];
  let at = 0;
  let line = '';
  let expectsName = false;
  const flush = () => { if (line) pieces.push(['', line]); line = ''; };
  const newline = () => { line += `\n${'  '.repeat(open.length)}`; };
  while (at < text.length) {
    token.lastIndex = at;
    const match = token.exec(text);
    if (!match) return /^\s*$/.test(text.slice(at)) && !open.length ? (flush(), pieces) : null;
    at = token.lastIndex;
    const [, string, digits, word, sign] = match;
    if (sign === '{' || sign === '[') {
      const close = sign === '{' ? '}' : ']';
      const empty = /^\s*[}\]]/.exec(text.slice(at, at + 200));
      line += sign;
      if (empty && empty[0].trim() === close) {
        line += close;
        at += empty[0].length;
      } else {
        open.push(close);
        expectsName = sign === '{';
        newline();
      }
    } else if (sign === '}' || sign === ']') {
      if (open.pop() !== sign) return null;
      newline();
      line += sign;
      expectsName = false;
    } else if (sign === ',') {
      line += ',';
      newline();
      expectsName = open.at(-1) === '}';
    } else if (sign === ':') {
      line += ': ';
      expectsName = false;
    } else {
      flush();
      pieces.push([string ? (expectsName ? 'j-k' : 'j-s') : digits ? 'j-n' : 'j-w', string ? readable(string) : digits ?? word]);
    }
    if (!open.length && /\S/.test(text.slice(at))) return null;
  }
  flush();
  return open.length ? null : pieces;
}

/// A string with the characters that its escapes mean, but for those that would be seen as something else.
function readable(string) {
  try { return JSON.stringify(JSON.parse(string)); } catch { return string; }
}

function jsonElement(pieces) {
  return h('pre.body', {}, pieces.map(([name, text]) => (name ? h(`span.${name}`, {}, text) : text)));
}

function pairsElement(pairs) {
  return h('dl.pairs', {}, pairs.flatMap(([name, value]) => [
    h('dt.wild', {}, name), h(value === '***' ? 'dd.wild.masked' : 'dd.wild', {}, value),
  ]));
}

/// A body under its heading, with a switch between set out and as it came.
function bodyElement(title, text, contentType, isCut, length) {
  const place = h('div');
  const heading = h('h3', {}, title, h('small', {}, bytes(new Blob([text]).size)));
  const pieces = prettyJSON(text);
  const isForm = /^application\/x-www-form-urlencoded/i.test(contentType ?? '');
  const shapes = {
    raw: () => h('pre.body.wild', {}, text),
    pretty: pieces ? () => jsonElement(pieces) : isForm ? () => h('div.body', {}, pairsElement([...new URLSearchParams(text)])) : null,
  };
  const show = shape => {
    place.replaceChildren(shapes[shape]());
    for (const button of heading.querySelectorAll('button')) button.setAttribute('aria-pressed', button.dataset.shape === shape);
  };
  if (shapes.pretty) {
    for (const shape of ['pretty', 'raw']) {
      const button = h('button.plain', { onclick: () => show(shape) }, t(shape));
      button.dataset.shape = shape;
      heading.append(button);
    }
  }
  heading.append(h('button.plain', { onclick: () => copy(text) }, t('copy')));
  show(shapes.pretty ? 'pretty' : 'raw');
  return [heading, place, isCut ? h('p.note', {}, t('cut', bytes(new Blob([text]).size), length ? bytes(length) : '')) : null];
}
