// What a node is: its facts, why it is refused, its warnings, children, attributes and document.

import {link} from "./address.js";
import {askJson, isAbort, target, Turn} from "./api.js";
import {bytes, count, fill, given, h, long, spinner, trouble} from "./dom.js";
import {jsonView} from "./json.js";

const CHILDREN_PAGE = 200;
const CHILDREN_FIELDS = "path,node_type,refused.code,array.shape,array.data_type,array.dimension_names";

function fact(name, value) {
  return value !== null && value !== undefined && value !== false && h("div", null, h("dt", null, name), h("dd", null, value));
}

export function shapeWords(shape, names) {
  return shape.length === 0 ? "scalar" : shape.map((n, i) => [i > 0 && " × ", names?.[i] && [given(names[i], {class: "dim-name"}), " "], count(n)]);
}

function extents(shape) {
  return shape.length === 0 ? "one" : shape.map(count).join(" × ");
}

// A fill value that is no number of JSON is a text there ("NaN"); one of strings has its quotes.
function fillText({data_type, fill_value}) {
  return typeof fill_value === "string" && data_type !== "string" ? fill_value : JSON.stringify(fill_value);
}

// n_levels: of the multiscale group whose finest level the array is; 0: the array stands for itself.
export function facts({array, dialect}, n_levels = 0) {
  const elements = `${count(array.n_elements)} ${array.n_elements === 1 ? "element" : "elements"}`;
  return h("dl", {class: "facts"},
    n_levels > 0 && fact("Levels", count(n_levels)),
    fact(n_levels > 0 ? "Finest level" : "Shape", shapeWords(array.shape, array.dimension_names)),
    fact("Type", given(array.data_type)),
    fact("Size", array.n_bytes === null ? elements : `${bytes(array.n_bytes)}, ${elements}`),
    array.chunk_shape && fact(array.inner_chunk_shape ? "Shards" : "Chunks", extents(array.chunk_shape)),
    array.inner_chunk_shape && fact("Chunks in a shard", extents(array.inner_chunk_shape)),
    fact("Codecs", (array.codecs ?? []).map(codec => given(codec, {class: "chip"}))),
    fact("Fill value", long(fillText(array))),
    fact("Stored as", dialect),
    array.tier && fact("Tier", array.tier));
}

// With everything that the server says about it.
export function refusal({code, names, pointer, detail}) {
  return h("section", {class: "note bad", "aria-labelledby": "refused"},
    h("h2", {id: "refused"}, "This node cannot be interpreted"),
    h("p", null, long(detail ?? code)),
    h("dl", {class: "facts"}, fact("Reason", h("code", null, code)),
      names?.length > 0 && fact("Unknown names", names.map(name => given(name, {class: "chip"}))),
      pointer && fact("Where", h("code", null, given(pointer)))),
    h("p", {class: "hint"}, "The server still serves its stored keys. Its document is below."));
}

export function warnings(list) {
  return h("details", {class: "note warn"}, h("summary", null, list.length === 1 ? "1 warning" : `${count(list.length)} warnings`),
    h("ul", null, list.map(({code, pointer, detail}) =>
      h("li", null, h("code", null, code), pointer && [" at ", h("code", null, given(pointer))], detail && [": ", long(detail)]))));
}

function childRow(dataset, {path, node_type, refused, array}) {
  return h("tr", null,
    h("th", {scope: "row"}, h("span", {class: `kind ${refused ? "refused" : node_type}`, "aria-hidden": "true"}),
      h("a", {href: link(dataset, path), "data-move": true}, given(path.slice(path.lastIndexOf("/") + 1)))),
    h("td", null, refused ? "refused" : node_type),
    h("td", null, array && shapeWords(array.shape, array.dimension_names)),
    h("td", null, array && given(array.data_type)));
}

// Page by page.
class Children {
  constructor({dataset, path}) {
    Object.assign(this, {dataset, path, cursor: null, turn: new Turn()});
    this.body = h("tbody");
    this.end = h("div");
    this.element = h("section", {class: "panel", "aria-label": "Children"}, h("h2", null, "Children"), h("div", {class: "scroll"},
      h("table", {class: "list"}, h("thead", null, h("tr", null, ["Name", "Kind", "Shape", "Type"].map(title => h("th", {scope: "col"}, title)))), this.body)), this.end);
    this.load();
  }

  async load() {
    fill(this.end, spinner("Loading"));
    try {
      const query = {depth: 1, limit: CHILDREN_PAGE, cursor: this.cursor, fields: CHILDREN_FIELDS};
      const page = await askJson(target("tree", this.dataset, this.path, query), {signal: this.turn.next()});
      this.body.append(...page.nodes.filter(node => node.path !== this.path).map(node => childRow(this.dataset, node)));
      this.cursor = page.next;
      fill(this.end, page.complete === false && h("p", {class: "note"}, "The store cannot list its keys, so there may be more nodes."),
        page.next !== null ? h("button", {type: "button", class: "more", onclick: () => this.load()}, "show more")
          : this.body.childElementCount === 0 && h("p", {class: "hint"}, "This group is empty."));
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.end, trouble(error, () => this.load()));
      }
    }
  }
}

export class AboutView {
  constructor(holder, context) {
    const {node} = context;
    const attributes = node.metadata?.attributes ?? {};
    this.children = node.node_type === "group" ? new Children(context) : null;
    fill(holder,
      this.children?.element,
      h("section", {class: "panel"}, h("h2", null, "Attributes"),
        Object.keys(attributes).length === 0 ? h("p", {class: "hint"}, "The node has no attributes.") : jsonView(attributes)),
      h("section", {class: "panel"}, h("h2", null, "Document, as Zarr v3"),
        node.metadata ? jsonView(node.metadata) : h("p", {class: "hint"}, "This document cannot be shown as Zarr v3.")));
  }

  show() {}

  end() {
    this.children?.turn.end();
  }
}
