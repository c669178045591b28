// Runs the examples of the page where they stand: an answer is shown as text, a picture as one, anything else by its first bytes.
// Searches the page, folds its sections, and shows the requests of one language at a time.

const TEXT_MAX = 20000;
const BYTES_MAX = 256;
const HEADERS = ["content-type", "content-length", "etag", "zarr-shape", "zarr-dtype", "zarr-dimensions", "zarr-selection", "zarr-chunks", "zarr-level",
  "zarr-range", "zarr-warning"];

// The prefix that a proxy puts before paths is what stands before the script's own name.
const prefix = new URL(import.meta.url).pathname.replace(/\/docs\.js$/, "");
const token = takeToken();

// A token of the address, as PREFIX/t/TOKEN/docs or ?access_token=TOKEN, is taken out of it, and stays in the memory of the page.
function takeToken() {
  const address = new URL(location.href);
  const inPath = address.pathname.slice(prefix.length).match(/^\/t\/([^/]+)\//);
  const given = inPath ? decodeURIComponent(inPath[1]) : address.searchParams.get("access_token");
  if (given !== null) {
    address.pathname = `${prefix}/docs`;
    address.searchParams.delete("access_token");
    history.replaceState(null, "", address);
  }
  return given;
}

function add(parent, name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  parent.append(element);
  return element;
}

// It may be longer than its place, and is scrolled by keys as well.
function addBlock(parent, text) {
  add(parent, "pre", text).tabIndex = 0;
}

function hex(bytes) {
  const shown = Array.from(bytes.slice(0, BYTES_MAX), byte => byte.toString(16).padStart(2, "0")).join(" ");
  return `${bytes.length} bytes: ${shown}${bytes.length > BYTES_MAX ? " ..." : ""}`;
}

function textOf(type, bytes) {
  if (!/json|text/.test(type)) {
    return hex(bytes);
  }
  const text = new TextDecoder().decode(bytes);
  const pretty = type.includes("json") && text.length <= TEXT_MAX ? JSON.stringify(JSON.parse(text), null, 1) : text;
  return pretty.length > TEXT_MAX ? `${pretty.slice(0, TEXT_MAX)} ...` : pretty;
}

async function show(output, target) {
  const headers = { Accept: "application/json, image/png, */*;q=0.9", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(target, { headers });
  const type = answer.headers.get("content-type") ?? "";
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const lines = HEADERS.filter(name => answer.headers.has(name)).map(name => `${name}: ${answer.headers.get(name)}`);
  output.replaceChildren();
  addBlock(output, [`${answer.status} ${answer.statusText}`, ...lines].join("\n"));
  if (type === "image/png") {
    const picture = await createImageBitmap(new Blob([bytes], { type }));
    const canvas = add(output, "canvas", "the answer is a picture");
    Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext("bitmaprenderer").transferFromImageBitmap(picture);
  } else {
    addBlock(output, textOf(type, bytes));
  }
}

async function run(place, target) {
  const next = place.nextElementSibling;
  const output = next?.tagName === "OUTPUT" ? next : document.createElement("output");
  place.after(output);
  output.textContent = "...";
  try {
    await show(output, target);
  } catch (error) {
    output.textContent = String(error);
  }
}

// A click runs the example; with a key held down the link opens as ever.
for (const link of document.querySelectorAll(".try a")) {
  link.addEventListener("click", event => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      run(link.parentElement, link.getAttribute("href"));
    }
  });
}

const form = document.querySelector("form.try");
form.hidden = false;
form.addEventListener("submit", event => {
  event.preventDefault();
  run(form, prefix + form.elements.target.value);
});

// ---- the requests of an operation: one language at a time, and the address of this server ----

for (const here of document.querySelectorAll(".here")) {
  here.textContent = location.origin + prefix;
}

function showLanguage(chosen) {
  for (const figure of document.querySelectorAll("figure[data-language]")) {
    figure.hidden = figure.dataset.language !== chosen;
  }
  for (const button of document.querySelectorAll(".languages button")) {
    button.setAttribute("aria-pressed", button.textContent === chosen);
  }
}

for (const examples of document.querySelectorAll(".examples")) {
  const bar = document.createElement("div");
  bar.className = "languages";
  for (const figure of examples.querySelectorAll("figure")) {
    figure.querySelector("figcaption").hidden = true;
    const button = add(bar, "button", figure.dataset.language);
    button.type = "button";
    button.addEventListener("click", () => {
      const before = bar.getBoundingClientRect().top;
      showLanguage(button.textContent);
      scrollBy(0, bar.getBoundingClientRect().top - before); // what is above has other heights now
    });
  }
  examples.prepend(bar);
}
showLanguage("curl");

// ---- search: what has all words of it stays ----

const search = document.querySelector("#search");
const found = document.querySelector("#found");
const parts = Array.from(document.querySelectorAll(".operation, .schema"), element => ({
  element,
  link: document.querySelector(`nav a[href="#${element.id}"]`)?.parentElement,
  words: element.textContent.toLowerCase(),
}));

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(word => word !== "");
  let n = 0;
  for (const part of parts) {
    const isFound = words.every(word => part.words.includes(word));
    part.element.hidden = !isFound;
    if (part.link) {
      part.link.hidden = !isFound;
      n += isFound;
    }
  }
  for (const group of document.querySelectorAll(".group")) {
    const inner = Array.from(group.querySelectorAll(".operation, .schema"));
    group.hidden = words.length > 0 && inner.every(element => element.hidden); // the introduction has none
    const link = document.querySelector(`nav a[href="#${group.id}"]`);
    if (link !== null) {
      link.parentElement.hidden = group.hidden;
    }
  }
  for (const heading of document.querySelectorAll("nav h2")) {
    const list = heading.nextElementSibling;
    heading.hidden = list.hidden = Array.from(list.children).every(item => item.hidden);
  }
  found.textContent = words.length === 0 ? "" : n === 1 ? "1 operation" : `${n} operations`;
}

search.addEventListener("input", filter);
document.addEventListener("keydown", event => {
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
});

// ---- sections ----

const fold = document.querySelector("#fold");
fold.addEventListener("click", () => {
  const opens = fold.textContent === "Expand all";
  for (const operation of document.querySelectorAll(".operation")) {
    operation.open = opens;
  }
  fold.textContent = opens ? "Collapse all" : "Expand all";
});

// Whatever a link leads to is opened, and shown even if a search has left it out.
function reveal() {
  const target = location.hash === "" ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) {
    return;
  }
  if (target.closest("[hidden]") !== null) {
    search.value = "";
    filter();
  }
  for (let element = target; element !== null; element = element.parentElement) {
    if (element.tagName === "DETAILS") {
      element.open = true;
    }
  }
  target.scrollIntoView();
}

addEventListener("hashchange", reveal);
document.querySelector(".tools").hidden = false;
reveal();
