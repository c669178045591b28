// What is shown now, to take away: downloads in every format, the exact URL, and code that fetches it.

import {ask, encoded, hasToken, isAbort, root, target, Turn} from "./api.js";
import {bytes, fill, h, settled, trouble} from "./dom.js";
import {isNumeric, typeOf} from "./elements.js";

const SCOPES = {plane: "the visible plane", line: "the visible line", point: "the point", all: "the whole array"};
const FORMATS = {
  raw: ["raw bytes", "bin"], npy: ["NumPy", "npy"], npz: ["NumPy archive", "npz"], json: ["JSON", "json"], csv: ["CSV", "csv"], netcdf: ["netCDF", "nc"],
};
const SETTLE_MS = 150;
const JS_ARRAYS = {"i1": "Int8Array", "u1": "Uint8Array", "b1": "Uint8Array", "i2": "Int16Array", "u2": "Uint16Array", "i4": "Int32Array", "u4": "Uint32Array",
  "i8": "BigInt64Array", "u8": "BigUint64Array", "f4": "Float32Array", "f8": "Float64Array"};
const JULIA_TYPES = {"i1": "Int8", "u1": "UInt8", "b1": "Bool", "i2": "Int16", "u2": "UInt16", "i4": "Int32", "u4": "UInt32", "i8": "Int64", "u8": "UInt64", "f2": "Float16",
  "f4": "Float32", "f8": "Float64"};
const R_TYPES = {"i1": '"integer"', "u1": '"integer"', "i2": '"integer"', "u2": '"integer"', "i4": '"integer"', "f4": '"numeric"', "f8": '"numeric"'};

// Text in quotes of the language; all of them read JSON's escapes but the shell and R, Julia.
const quoted = {
  json: text => JSON.stringify(text),
  shell: text => `'${text.replace(/'/g, "'\\''")}'`,
  julia: text => JSON.stringify(text).replace(/\$/g, "\\$"),
};

function literalOfR(text) {
  return JSON.stringify(text);
}

// ---- the languages: code for one slice; a token it takes from the environment ----

function curl({url, ending, token}) {
  return `curl ${token ? '-H "Authorization: Bearer $TOKEN" ' : ""}${quoted.shell(url.npy ?? url.json)} -o slice.${ending}`;
}

// The import of what reads the token, and the header as a member of a dictionary.
function pythonToken(token) {
  return token ? {imported: "import os\n", header: '{"Authorization": "Bearer " + os.environ["TOKEN"]}'} : {imported: "", header: ""};
}

function python({url, isPlain, token}) {
  const {imported, header} = pythonToken(token);
  const headers = header && `, headers=${header}`;
  return imported + (isPlain
    ? `import io, urllib.request\nimport numpy\n\nurl = ${quoted.json(url.npy)}\nrequest = urllib.request.Request(url${headers})\n` +
      "with urllib.request.urlopen(request) as answer:\n    values = numpy.load(io.BytesIO(answer.read()))\nprint(values.shape, values.dtype)"
    : `import json, urllib.request\n\nurl = ${quoted.json(url.json)}\nrequest = urllib.request.Request(url${headers})\n` +
      "with urllib.request.urlopen(request) as answer:\n    values = json.load(answer)[\"data\"]");
}

function xarray({store, group, name, indexers, names, token}) {
  const {imported, header} = pythonToken(token);
  const options = header && `,\n    storage_options={"headers": ${header}}`;
  const isNamed = names.every(Boolean);
  return imported + (isNamed
    ? `import xarray\n\ndataset = xarray.open_zarr(${quoted.json(group)}, chunks=None${options})\nvalues = dataset[${quoted.json(name)}].isel({${indexers.named}})\nprint(values)`
    : `import zarr\n\narray = zarr.open_array(${quoted.json(store)}, mode="r"${options})\nvalues = array[${indexers.plain}]\nprint(values)`);
}

// How a language whose types of elements are in a table gets a slice: {address, type, code}. Numbers that it has no type for, and
// decoded ones, come as float64; null: JSON alone has it.
function layout({url, isDecoded, isNumber, dtype}, types) {
  const type = typeOf(dtype);
  const code = type && `${type.letter}${type.size}`;
  return !isDecoded && code in types ? {address: url.raw, type: types[code], code} : isNumber ? {address: url.floats, type: types.f8, code: "f8"} : null;
}

function javascript(facts) {
  const {url, token} = facts;
  const plain = layout(facts, JS_ARRAYS);
  const headers = token ? ", {headers: {Authorization: `Bearer ${process.env.TOKEN}`}}" : "";
  const fetching = address => `const answer = await fetch(${quoted.json(address)}${headers});\nif (!answer.ok) throw new Error((await answer.json()).detail);\n`;
  return plain
    ? `${fetching(plain.address)}const shape = answer.headers.get("Zarr-Shape").split(",").filter(Boolean).map(Number);\nconst values = new ${plain.type}(await answer.arrayBuffer());`
    : `${fetching(url.json)}const {shape, data} = await answer.json();`;
}

function dimsOfR(shape) {
  return shape.length === 0 ? "1" : shape.length === 1 ? String(shape[0]) : `c(${[...shape].reverse().join(", ")})`;
}

function r(facts) {
  const {url, shape, token} = facts;
  const plain = layout(facts, R_TYPES);
  const n = shape.reduce((a, b) => a * b, 1);
  const headers = token ? ', headers = c(Authorization = paste("Bearer", Sys.getenv("TOKEN")))' : "";
  if (!plain) {
    return `values <- jsonlite::fromJSON(url(${literalOfR(url.json)}${headers}))$data  # install.packages("jsonlite")`;
  }
  const signed = plain.code[0] === "u" ? ", signed = FALSE" : "";
  const turned = shape.length > 1 ? `values <- aperm(array(values, ${dimsOfR(shape)}))  # R counts the first index fastest` : `values <- array(values, ${dimsOfR(shape)})`;
  return `from <- url(${literalOfR(plain.address)}, "rb"${headers})\nvalues <- readBin(from, ${plain.type}, ${n}, size = ${plain.code[1]}${signed}, endian = "little")\nclose(from)\n${turned}`;
}

function julia(facts) {
  const {url, shape, token} = facts;
  const plain = layout(facts, JULIA_TYPES);
  const headers = token ? '; headers = ["Authorization" => "Bearer $(ENV["TOKEN"])"]' : "";
  if (!plain) {
    return `using Downloads, JSON\nvalues = JSON.parse(String(take!(Downloads.download(${quoted.julia(url.json)}, IOBuffer()${headers}))))["data"]`;
  }
  const turned = shape.length > 1 ? `values = permutedims(reshape(values, ${[...shape].reverse().join(", ")}), ${shape.length}:-1:1)` : "";
  return `using Downloads\nbody = take!(Downloads.download(${quoted.julia(plain.address)}, IOBuffer()${headers}))\nvalues = reinterpret(${plain.type}, body)\n${turned}`.trimEnd();
}

const LANGUAGES = {curl: ["curl", curl], numpy: ["Python, NumPy", python], xarray: ["Python, xarray", xarray], javascript: ["JavaScript", javascript], r: ["R", r], julia: ["Julia", julia]};

// ---- copying ----

async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages without TLS have no clipboard: the old way.
    const area = h("textarea", {value: text, "aria-hidden": "true", class: "off-screen"});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = words;
  }, 1500);
}

export class UseView {
  constructor(holder, {selection}) {
    Object.assign(this, {selection, turn: new Turn()});
    const scopes = Object.entries(SCOPES).filter(([name]) => selection.rank > 1 || name !== "plane").filter(([name]) => selection.rank > 0 || name === "all");
    this.scope = h("select", {id: "scope", onchange: () => this.render()}, scopes.map(([name, words]) => h("option", {value: name}, words)));
    this.scope.value = selection.rank > 1 ? "plane" : "all";
    this.url = h("code", {class: "url"});
    this.downloads = h("ul", {class: "downloads"});
    this.fault = h("div");
    this.choice = h("select", {"aria-label": "Language", onchange: () => this.render()}, Object.entries(LANGUAGES).map(([name, [words]]) => h("option", {value: name}, words)));
    this.code = h("pre", {class: "code", tabindex: 0, "aria-label": "Code"});
    const copyUrl = h("button", {type: "button", onclick: () => copy(this.url.textContent, copyUrl)}, "Copy");
    const copyCode = h("button", {type: "button", onclick: () => copy(this.code.textContent, copyCode)}, "Copy");
    fill(holder,
      h("section", {class: "panel", "aria-label": "Downloads"}, h("div", {class: "plot-head"}, h("h2", null, h("label", {for: "scope"}, "Take")), this.scope),
        h("div", {class: "url-row"}, this.url, copyUrl), this.downloads, this.fault),
      h("section", {class: "panel", "aria-label": "Code"}, h("div", {class: "plot-head"}, h("h2", null, "Code"), this.choice, copyCode), this.code));
    this.renew = settled(() => this.render(), SETTLE_MS);
    this.leave = selection.onChange(this.renew);
    this.render();
  }

  // Which dimensions are whole.
  get wholeDims() {
    const {selection} = this;
    return {plane: selection.axes, line: [selection.along], point: [], all: selection.shape.map((_, d) => d)}[this.scope.value];
  }

  get slice() {
    return this.scope.value === "all" ? null : this.selection.slice(Object.fromEntries(this.wholeDims.map(d => [d, ":"])));
  }

  place(format, dtype) {
    const {selection} = this;
    return target("slices", selection.dataset, selection.arrayPath, {slice: this.slice, decode: selection.packing.decode, dtype, format});
  }

  facts() {
    const {selection} = this;
    const {dataset, arrayPath, array} = selection;
    const wholes = this.wholeDims;
    const at = place => new URL(place, root).href;
    const parts = arrayPath.split("/");
    const indices = selection.shape.map((_, d) => d).filter(d => !wholes.includes(d));
    return {
      url: {...Object.fromEntries(array.formats.map(format => [format, at(this.place(format))])), floats: at(this.place("raw", "f8"))},
      ending: array.formats.includes("npy") ? "npy" : "json",
      isPlain: typeOf(array.dtype) !== null && array.formats.includes("npy"),
      isNumber: isNumeric(array),
      isDecoded: selection.packing.decode !== undefined, // then the data type is another one
      dtype: array.dtype,
      shape: [...wholes].sort((a, b) => a - b).map(d => selection.shape[d]),
      store: at(`zarr/${encodeURIComponent(dataset)}/${encoded(arrayPath)}`),
      group: at(`zarr/${encodeURIComponent(dataset)}/${encoded(parts.slice(0, -1).join("/"))}`).replace(/\/$/, ""),
      name: parts.at(-1),
      names: selection.names,
      indexers: {
        named: indices.map(d => `${JSON.stringify(selection.names[d])}: ${selection.at[d]}`).join(", "),
        plain: selection.shape.map((_, d) => wholes.includes(d) ? ":" : selection.at[d]).join(", ") || "...",
      },
      token: hasToken(),
    };
  }

  render() {
    const facts = this.facts();
    const {array} = this.selection;
    this.url.textContent = facts.url.raw ?? Object.values(facts.url)[0];
    const n_bytes = facts.shape.reduce((a, b) => a * b, array.itemsize ?? 0);
    fill(this.downloads, array.formats.map(format => {
      const [words, ending] = FORMATS[format] ?? [format, format];
      return h("li", null, h("a", {class: "download", href: facts.url[format], download: `${facts.name}.${ending}`, onclick: event => this.download(event, format, ending)}, words),
        format === "raw" && n_bytes > 0 && h("span", {class: "hint"}, ` ${bytes(n_bytes)}`));
    }));
    this.code.textContent = LANGUAGES[this.choice.value][1](facts);
  }

  // With a token the browser cannot ask by itself: what it gets is fetched, and saved from memory.
  async download(event, format, ending) {
    if (!hasToken()) {
      return;
    }
    event.preventDefault();
    fill(this.fault);
    try {
      const answer = await ask(this.place(format), {signal: this.turn.next()});
      const url = URL.createObjectURL(await answer.blob());
      h("a", {href: url, download: `${this.selection.arrayPath.split("/").at(-1)}.${ending}`}).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.fault, trouble(error));
      }
    }
  }

  show() {}

  end() {
    this.leave();
    this.turn.end();
  }
}
