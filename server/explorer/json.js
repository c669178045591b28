// JSON as a person reads it: one line a member, opened and continued on demand, however large it is.

import {count, fill, given, h, long} from "./dom.js";

const PAGE = 100; // members shown at once
const OPEN_DEPTH = 2;
const INLINE_MOST = 80; // characters of a list of numbers that stays on its line

function isPlain(value) {
  return value === null || typeof value !== "object";
}

function scalar(value) {
  if (typeof value === "string") {
    return h("span", {class: "json-text"}, long(value));
  }
  return h("span", {class: "json-word"}, String(value));
}

// A short list of plain values in one line, or null.
function inline(value) {
  if (!Array.isArray(value) || value.length > 40 || !value.every(isPlain) || value.some(item => typeof item === "string" && item.length > INLINE_MOST)) {
    return null;
  }
  const text = value.map(item => JSON.stringify(item)).join(", ");
  return text.length > INLINE_MOST ? null : h("span", {class: "json-word"}, given(`[${text}]`));
}

function member(name, value, depth) {
  const key = given(name, {class: "json-key"});
  const flat = isPlain(value) ? scalar(value) : inline(value);
  return h("li", null, flat ? [key, flat] : branch(key, value, depth));
}

// An object or a list, whose members are made when it is opened.
function branch(key, value, depth) {
  const entries = Object.entries(value);
  const words = Array.isArray(value) ? `list of ${count(entries.length)}` : entries.length === 1 ? "1 member" : `${count(entries.length)} members`;
  const holder = h("ul", {class: "json"});
  let isMade = false;
  const make = () => {
    if (!isMade) {
      isMade = true;
      addMembers(holder, entries, 0, depth + 1);
    }
  };
  const details = h("details", {ontoggle: () => details.open && make()}, h("summary", null, key, h("span", {class: "json-brief"}, words)), holder);
  if (depth < OPEN_DEPTH && entries.length <= PAGE) {
    make();
    details.open = true;
  }
  return details;
}

function addMembers(holder, entries, from, depth) {
  holder.append(...entries.slice(from, from + PAGE).map(([name, value]) => member(name, value, depth)));
  const rest = entries.length - from - PAGE;
  if (rest > 0) {
    const more = h("li", null, h("button", {type: "button", class: "more", onclick: () => {
      more.remove();
      addMembers(holder, entries, from + PAGE, depth);
    }}, `show more (${count(rest)} left)`));
    holder.append(more);
  }
}

export function jsonView(value) {
  const holder = h("ul", {class: "json"});
  fill(holder);
  addMembers(holder, Object.entries(value ?? {}), 0, 0);
  return holder;
}
