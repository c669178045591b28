// Elements. Text that comes from a store only ever becomes text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

// What changes the order of other characters, or shows nothing: it is shown by its number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const TEXT_MOST = 2000; // characters shown at first
const TEXT_MORE = 20000; // and with each further step

function set(element, name, value) {
  if (value === undefined || value === null || value === false) {
    return;
  }
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else if (name === "style") {
    Object.assign(element.style, value);
  } else if (name === "value" || name === "checked" || name === "selected") {
    element[name] = value;
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

function build(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    set(element, name, value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// h("button", {class: "x", onclick: act}, "text", otherElement)
export function h(tag, properties, ...children) {
  return build(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return build(document.createElementNS(SVG, tag), properties, children);
}

// Puts other children in the place of all there are.
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// Text as it is, each hidden character by its number: a list of nodes.
export function visible(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(text.slice(from, match.index), h("span", {class: "hidden-character", title: `character U+${code}`}, `U+${code}`));
    from = match.index + 1;
  }
  nodes.push(text.slice(from));
  return nodes;
}

// A name or a value that others chose, isolated from the direction of the text around it.
export function given(text, properties) {
  return h("bdi", properties, visible(String(text)));
}

// A text of any length: its beginning, and a button for more.
export function long(text) {
  const holder = h("span", {class: "long"});
  const show = length => {
    const rest = text.length - length;
    fill(holder, given(text.slice(0, length)),
      rest > 0 && h("button", {type: "button", class: "more", onclick: () => show(length + TEXT_MORE)},
        `show more (${count(rest)} characters left)`));
  };
  show(TEXT_MOST);
  return holder;
}

export function spinner(text) {
  return h("p", {class: "spinner", role: "status"}, text);
}

// What failed, in the words of the problem document.
export function trouble(problem, again) {
  return h("div", {class: "note bad", role: "alert"},
    h("strong", null, problem.title ?? "It failed"),
    h("p", null, long(problem.message)),
    again && h("button", {type: "button", onclick: again}, "Try again"));
}

// 1234567 -> "1,234,567"
export function count(n) {
  return Number(n).toLocaleString("en");
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let i = 0;
  for (n = Number(n); n >= 1024 && i < units.length - 1; i++) {
    n /= 1024;
  }
  return `${i === 0 ? n : n.toPrecision(3)} ${units[i]}`;
}

// "2024-03-20 12:00:00", in the reader's zone.
export function secondText(date) {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}

// Calls at most once in each frame.
export function framed(act) {
  let waits = false;
  return () => {
    if (!waits) {
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        act();
      });
    }
  };
}

// Calls when no other call came for a while.
export function settled(act, ms) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), ms);
  };
}
