// Runs the examples of the page where they stand: an answer is shown as text, a picture as one, anything else by its first bytes.

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
  add(output, "pre", [`${answer.status} ${answer.statusText}`, ...lines].join("\n"));
  if (type === "image/png") {
    const picture = await createImageBitmap(new Blob([bytes], { type }));
    const canvas = add(output, "canvas", "the answer is a picture");
    Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext("bitmaprenderer").transferFromImageBitmap(picture);
  } else {
    add(output, "pre", textOf(type, bytes));
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
