// What the server is asked. The token lives in this module alone, and goes out in a header only.

import {h} from "./dom.js";

const RETRY_MOST_S = 5; // longer waits are the reader's to decide

// This file is PREFIX/explorer/VERSION/api.js.
export const root = new URL("../../", import.meta.url);

let token = takeToken();
let asking = null; // the dialog, while it is open

// A token of the address, as PREFIX/t/TOKEN/... or ?access_token=TOKEN, is taken out of it before anything is shown or asked.
function takeToken() {
  const address = new URL(location.href);
  const [first, inPath, ...rest] = address.pathname.slice(root.pathname.length).split("/");
  const given = first === "t" ? decodeURIComponent(inPath ?? "") : address.searchParams.get("access_token");
  if (given === null) {
    return "";
  }
  if (first === "t") {
    address.pathname = root.pathname + rest.join("/");
  }
  address.searchParams.delete("access_token");
  history.replaceState(null, "", address);
  return given;
}

// What a request failed with: a problem document, or the network.
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? document.title ?? `status ${status}`);
    this.status = status;
    this.title = document.title;
    this.code = document.code;
    this.document = document;
  }
}

export function isAbort(error) {
  return error.name === "AbortError";
}

// Whether there is nothing in a dataset yet.
export function isEmptyRoot(error, path) {
  return path === "" && error.code === "node_not_found";
}

export function hasToken() {
  return token !== "";
}

// Each name of a path is a segment of its own.
export function encoded(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

// "slices", "demo", "solar/irradiance", {slice: "0"} -> "v1/datasets/demo/slices/solar/irradiance?slice=0"
export function target(resource, dataset, path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  // What the grammar of slices uses needs no escape, and is legible so.
  const text = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2C|3A|2F)/g, decodeURIComponent)}`).join("&");
  const place = path === null ? "" : `/${encoded(path)}`;
  return `v1/datasets/${encodeURIComponent(dataset)}/${resource}${place}${text && "?"}${text}`;
}

// A node without its children, who may be many: they are listed page by page.
export function askNode(dataset, path, signal) {
  return askJson(target("nodes", dataset, path, {fields: "path,node_type,dialect,metadata,array,refused,warnings,levels"}), {signal});
}

async function problemOf(answer) {
  const text = await answer.text();
  try {
    return new Problem(answer.status, JSON.parse(text));
  } catch {
    return new Problem(answer.status, {title: `Status ${answer.status}`, detail: text.slice(0, 500) || answer.statusText});
  }
}

async function send(place, options) {
  const headers = {...options.headers, ...(token && {Authorization: `Bearer ${token}`})};
  try {
    return await fetch(new URL(place, root), {...options, headers});
  } catch (error) {
    throw isAbort(error) ? error : new Problem(0, {title: "The server does not answer", detail: String(error.message)});
  }
}

function pause(s, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, s * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

// A response that is good. 401 asks for a token; an overloaded server is asked once more.
export async function ask(place, options = {}) {
  const used = token;
  const answer = await send(place, options);
  if (answer.ok) {
    return answer;
  }
  const problem = await problemOf(answer);
  if (problem.status === 401 && (token !== used || await askForToken(problem.message, used !== ""))) {
    return ask(place, options);
  }
  const wait = Number(answer.headers.get("Retry-After"));
  if (problem.status === 503 && wait > 0 && wait <= RETRY_MOST_S && !options.isAgain) {
    await pause(wait, options.signal);
    return ask(place, {...options, isAgain: true});
  }
  throw problem;
}

export async function askJson(place, options = {}) {
  const answer = await ask(place, {...options, headers: {Accept: "application/json"}});
  return answer.json();
}

// ---- the token ----

function tokenDialog(reason, isRefused, answer) {
  const field = h("input", {type: "password", name: "token", id: "token-field", autocomplete: "off", spellcheck: "false"});
  const dialog = h("dialog", {class: "dialog", "aria-labelledby": "token-title"},
    h("form", {method: "dialog"},
      h("h2", {id: "token-title"}, isRefused ? "That token is not accepted" : "A token is needed"),
      h("p", null, reason),
      h("label", {for: "token-field"}, "Token"), field,
      h("p", {class: "hint"}, "Only this page keeps the token, in memory. It forgets the token when you close it."),
      h("div", {class: "buttons"},
        h("button", {type: "button", onclick: () => dialog.close("")}, "Cancel"),
        h("button", {class: "primary", value: "use"}, "Use it"))));
  dialog.addEventListener("close", () => {
    const given = field.value.trim();
    dialog.remove();
    answer(dialog.returnValue === "use" ? given : null);
  });
  document.body.append(dialog);
  dialog.showModal();
}

// Asks once for all requests that wait. Whether there is another token than before; one that was refused is not kept.
export function askForToken(reason, isRefused = false) {
  asking ??= new Promise(resolve => tokenDialog(reason, isRefused, resolve)).then(given => {
    asking = null;
    const before = token;
    token = given ?? (isRefused ? "" : token);
    if (token !== before) {
      document.dispatchEvent(new CustomEvent("token"));
    }
    return given !== null && given !== before;
  });
  return asking;
}

// ---- one request at a time ----

// Of several requests for one place on the page only the last one counts: next() gives its signal, and cancels the one before.
export class Turn {
  #controller = null;

  next() {
    this.#controller?.abort();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  end() {
    this.#controller?.abort();
  }
}
