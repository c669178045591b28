// The address bar holds every state: PREFIX/explore/DATASET/PATH?what=is&shown=now.

import {encoded, root} from "./api.js";

const listeners = [];

function segments(text) {
  return text.split("/").filter(part => part !== "").map(part => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

// {dataset: "demo" or null, path: "solar/irradiance", show: {...}}
export function here() {
  const place = location.pathname.slice(root.pathname.length);
  const [, dataset, ...path] = segments(place);
  return {dataset: dataset ?? null, path: path.join("/"), show: Object.fromEntries(new URLSearchParams(location.search))};
}

export function link(dataset, path = "", show = {}) {
  if (dataset === null) {
    return root.pathname;
  }
  const query = new URLSearchParams(Object.entries(show).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const text = query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":");
  return `${root.pathname}explore/${encodeURIComponent(dataset)}/${encoded(path)}${text && "?"}${text}`;
}

function arrive(target, isStep) {
  if (target === location.pathname + location.search) {
    return;
  }
  history[isStep ? "pushState" : "replaceState"](null, "", target);
}

// To another node.
export function go(dataset, path = "", show = {}) {
  arrive(link(dataset, path, show), true);
  listeners.forEach(listener => listener());
}

// Another state of the same node. isStep: "back" returns from it; else it takes the place of the one before.
export function change(changes, isStep = true) {
  const {dataset, path, show} = here();
  arrive(link(dataset, path, {...show, ...changes}), isStep);
}

export function onMove(listener) {
  listeners.push(listener);
}

addEventListener("popstate", () => listeners.forEach(listener => listener()));

// Links within the explorer move without loading the page again; with a modifier they are the browser's.
document.addEventListener("click", event => {
  const anchor = event.target.closest?.("a[data-move]");
  if (anchor && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)) {
    event.preventDefault();
    arrive(anchor.getAttribute("href"), true);
    listeners.forEach(listener => listener());
  }
});
