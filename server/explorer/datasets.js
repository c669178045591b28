// The first page: all datasets.

import {link} from "./address.js";
import {askJson} from "./api.js";
import {count, fill, given, h} from "./dom.js";

const DIALECTS = {"v3": "Zarr v3", "v2": "Zarr v2", "n5": "N5"};
const FEW = 200; // shown at first

let asked = null; // one listing for the page and the tree beside it

// The datasets that this reader may see.
export function datasets(isFresh = false) {
  if (asked === null || isFresh) {
    asked = askJson("v1/datasets").then(document => document.datasets);
    asked.catch(() => {
      asked = null;
    });
  }
  return asked;
}

function card(dataset) {
  const trouble = dataset.reason ?? dataset.failure;
  const words = [
    dataset.dialect ? DIALECTS[dataset.dialect] ?? `Zarr ${dataset.dialect}` : null,
    dataset.writable ? "writable" : null,
    dataset.immutable ? "immutable" : null,
    dataset.state,
  ];
  return h("li", null, h("a", {class: "card", href: link(dataset.name), "data-move": true},
    h("strong", null, given(dataset.name)),
    dataset.title && h("span", {class: "card-title"}, given(dataset.title)),
    h("span", {class: "chips"}, words.filter(Boolean).map(word => h("span", {class: word === "unavailable" ? "chip bad" : "chip"}, word))),
    dataset.location && h("span", {class: "card-place"}, given(dataset.location)),
    trouble && h("span", {class: "card-trouble"}, given(trouble))));
}

export async function showDatasets(main, signal) {
  const all = await datasets(true);
  signal.throwIfAborted();
  const list = h("ul", {class: "cards"}, all.slice(0, FEW).map(card));
  const more = all.length > FEW && h("button", {type: "button", onclick: event => {
    list.append(...all.slice(FEW).map(card));
    event.target.remove();
  }}, `Show all ${count(all.length)}`);
  fill(main, h("div", {class: "title"}, h("h1", null, "Datasets"),
    h("p", {class: "sub"}, all.length === 1 ? "1 dataset" : `${count(all.length)} datasets`)),
  all.length === 0 && h("p", {class: "note"}, "No dataset can be read without a token."), list, more);
}
