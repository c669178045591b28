// The tree beside the page: each group is asked for when it is opened, page by page (WAI-ARIA, tree view).

import {change, go, here, link} from "./address.js";
import {askJson, isAbort, isEmptyRoot, target, Turn} from "./api.js";
import {datasets} from "./datasets.js";
import {count, fill, given, h, settled} from "./dom.js";

const PAGE = 200; // nodes asked for at once
const FOUND_MOST = 100;
const FIELDS = "path,node_type,array.shape,array.dtype,refused.code";
const SEARCH_MS = 250;
const INDENT_PX = 14; // of each level

function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function parentOf(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function kindOf(node) {
  return node.refused ? "refused" : node.node_type;
}

function brief(node) {
  const shape = node.array?.shape;
  return shape === undefined ? node.refused && "refused" : shape.length === 0 ? "scalar" : shape.join(" × ");
}

// One dataset or node, and what is below it.
class Item {
  constructor(tree, dataset, node, level) {
    Object.assign(this, {tree, dataset, path: node.path, level, isGroup: node.node_type === "group"});
    this.children = null; // by name, once they are asked for
    this.cursor = null; // of the next page
    const text = node.path === "" ? dataset : nameOf(node.path);
    this.row = h("a", {class: "row", role: "treeitem", "aria-level": level, "aria-expanded": this.isGroup ? "false" : null, "aria-selected": "false",
      href: link(dataset, node.path), "data-move": true, tabindex: -1, style: {paddingInlineStart: `${level * INDENT_PX - 4}px`}},
      h("span", {class: "twist", "aria-hidden": "true"}), h("span", {class: `kind ${node.path === "" ? "dataset" : kindOf(node)}`, "aria-hidden": "true"}),
      given(text, {class: "row-name"}), h("span", {class: "row-brief"}, brief(node)));
    this.element = h("li", {role: "none"}, this.row);
    this.row.item = this;
    this.row.querySelector(".twist").addEventListener("click", event => {
      event.preventDefault();
      event.stopPropagation();
      this.toggle();
    });
  }

  get isOpen() {
    return this.row.getAttribute("aria-expanded") === "true";
  }

  toggle() {
    return this.isOpen ? this.close() : this.open();
  }

  close() {
    this.row.setAttribute("aria-expanded", "false");
    this.list.hidden = true;
  }

  async open() {
    if (!this.isGroup) {
      return;
    }
    this.list ??= this.element.appendChild(h("ul", {role: "group"}));
    this.list.hidden = false;
    this.row.setAttribute("aria-expanded", "true");
    if (this.children === null) {
      this.children = new Map();
      await this.loadPage();
    }
  }

  async loadPage() {
    const waiting = this.note("spinner", "Loading");
    this.list.append(waiting);
    try {
      const query = {depth: 1, fields: FIELDS, limit: PAGE, cursor: this.cursor};
      const page = await askJson(target("tree", this.dataset, this.path, query));
      page.nodes.filter(node => node.path !== this.path).forEach(node => this.add(node));
      this.cursor = page.next;
      if (page.nodes[0]?.path === this.path && page.nodes[0].node_type === "array") {
        this.becomeArray(page.nodes[0]);
      } else {
        this.addEnd(page);
      }
    } catch (error) {
      this.list.append(isEmptyRoot(error, this.path) ? this.note("", "empty") : this.note("bad", given(error.message), " ", this.againButton()));
    }
    waiting.remove();
    this.tree.mark();
  }

  // In the place of children, as far in as their names.
  note(kind, ...words) {
    return h("li", {class: `row-note ${kind}`, role: "none", style: {paddingInlineStart: `${this.level * INDENT_PX + 46}px`}}, words);
  }

  // A dataset may be an array alone.
  becomeArray(node) {
    this.isGroup = false;
    this.row.removeAttribute("aria-expanded");
    this.row.querySelector(".kind").className = "kind array";
    fill(this.row.querySelector(".row-brief"), brief(node));
  }

  add(node) {
    const name = nameOf(node.path);
    if (!this.children.has(name)) {
      const item = new Item(this.tree, this.dataset, node, this.level + 1);
      this.children.set(name, item);
      this.list.append(item.element);
    }
    return this.children.get(name);
  }

  againButton() {
    return h("button", {type: "button", tabindex: -1, onclick: event => {
      event.target.closest("li").remove();
      this.loadPage();
    }}, "Try again");
  }

  // More nodes follow when their place comes into view.
  addEnd(page) {
    if (page.next !== null) {
      const more = this.note("", h("button", {type: "button", class: "more", tabindex: -1}, "more nodes"));
      const load = () => {
        watcher.disconnect();
        more.remove();
        this.loadPage();
      };
      const watcher = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && load(), {root: this.tree.side});
      more.firstChild.addEventListener("click", load);
      this.list.append(more);
      watcher.observe(more);
    } else if (this.children.size === 0) {
      this.list.append(this.note("", page.complete === false ? "the store cannot list its keys" : "empty"));
    }
  }

  // The child of that name, asked for by itself where it is on no page yet.
  async child(name) {
    await this.open();
    if (!this.children.has(name)) {
      const path = this.path === "" ? name : `${this.path}/${name}`;
      const page = await askJson(target("tree", this.dataset, path, {depth: 0, fields: FIELDS}));
      page.nodes.forEach(node => this.add(node));
    }
    return this.children.get(name);
  }

  forget() {
    this.children = null;
    this.cursor = null;
    this.list?.replaceChildren();
  }
}

export class Tree {
  constructor(side) {
    this.side = side;
    this.roots = new Map();
    this.current = {dataset: null, path: ""};
    this.turn = new Turn();
    this.search = h("input", {type: "search", id: "search", placeholder: "Search nodes  ( / )", "aria-label": "Search nodes", autocomplete: "off", spellcheck: "false",
      oninput: settled(() => this.searchFor(this.search.value.trim(), true), SEARCH_MS)});
    this.results = h("div", {class: "results", role: "region", "aria-label": "Search results", "aria-live": "polite", hidden: true});
    this.list = h("ul", {class: "tree", role: "tree", "aria-label": "Nodes", onkeydown: event => this.key(event),
      onfocusin: event => this.rest(event.target.closest(".row"))});
    fill(side, h("div", {class: "search"}, this.search), this.results, this.list);
    this.search.value = here().show.q ?? "";
    this.ready = this.load();
  }

  async load() {
    try {
      const all = await datasets();
      this.roots = new Map(all.map(dataset => [dataset.name, new Item(this, dataset.name, {path: "", node_type: "group"}, 1)]));
      fill(this.list, [...this.roots.values()].map(item => item.element));
      if (all.length === 1) {
        await this.roots.values().next().value.open();
      }
    } catch (error) {
      fill(this.list, h("li", {class: "row-note bad", role: "none"}, given(error.message)));
    }
    if (this.search.value !== "") {
      this.searchFor(this.search.value, false);
    }
    this.rest(this.list.querySelector(".row"));
  }

  async reload() {
    this.ready = datasets(true).then(() => this.load(), () => this.load());
    await this.select(this.current.dataset, this.current.path);
  }

  // ---- which node is the current one ----

  async select(dataset, path) {
    this.current = {dataset, path};
    await this.ready;
    this.mark();
    let item = this.roots.get(dataset);
    try {
      for (const name of path === "" ? [] : path.split("/")) {
        item = await item?.child(name);
      }
      if (item?.dataset === this.current.dataset && item.path === this.current.path) {
        await item.open();
        item.row.scrollIntoView({block: "nearest"});
      }
    } catch {
      // The page says what is wrong with the node.
    }
    this.mark();
  }

  mark() {
    for (const row of this.list.querySelectorAll(".row")) {
      const isCurrent = row.item.dataset === this.current.dataset && row.item.path === this.current.path;
      row.setAttribute("aria-selected", String(isCurrent));
      row.toggleAttribute("data-current", isCurrent);
      if (isCurrent) {
        this.rest(row);
      }
    }
  }

  // ---- what has changed ----

  find(dataset, path) {
    return path.split("/").reduce((item, name) => name === "" ? item : item?.children?.get(name), this.roots.get(dataset));
  }

  changed(dataset, path, how) {
    const item = this.find(dataset, path);
    if (how === "changed" || how === "chunks") {
      item?.row.classList.add("changed");
      return;
    }
    const parent = this.find(dataset, parentOf(path));
    if (parent?.children && (how === "created") !== parent.children.has(nameOf(path))) {
      const wasOpen = parent.isOpen;
      parent.forget();
      if (wasOpen) {
        parent.open().then(() => this.find(dataset, path)?.row.classList.add("changed"));
      }
    }
  }

  // ---- the keyboard ----

  // One row at a time takes the focus of the tab key.
  rest(row) {
    if (row) {
      this.list.querySelector('.row[tabindex="0"]')?.setAttribute("tabindex", "-1");
      row.setAttribute("tabindex", "0");
    }
  }

  focus() {
    (this.list.querySelector('.row[tabindex="0"]') ?? this.search).focus();
  }

  focusSearch() {
    this.search.focus();
  }

  key(event) {
    const row = event.target.closest(".row");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const rows = [...this.list.querySelectorAll(".row")].filter(other => other.checkVisibility());
    const at = rows.indexOf(row);
    const moves = {
      ArrowDown: () => rows[at + 1],
      ArrowUp: () => rows[at - 1],
      Home: () => rows[0],
      End: () => rows.at(-1),
      ArrowRight: () => row.item.isOpen ? rows[at + 1] : row.item.open(),
      ArrowLeft: () => row.item.isOpen ? row.item.close() : row.item.element.parentElement.closest("li")?.querySelector(".row"),
    };
    if (event.key in moves) {
      event.preventDefault();
      const to = moves[event.key]();
      to?.focus?.();
    }
  }

  // ---- the search ----

  async searchFor(text, isTyped) {
    const dataset = this.current.dataset ?? (this.roots.size === 1 ? [...this.roots.keys()][0] : null);
    const signal = this.turn.next();
    if (isTyped && this.current.dataset !== null) {
      change({q: text}, false);
    }
    this.list.hidden = text !== "";
    this.results.hidden = text === "";
    if (text === "") {
      return;
    }
    if (dataset === null) {
      this.showFound([...this.roots.keys()].filter(name => name.includes(text)).map(name => ({dataset: name, path: ""})), false);
      return;
    }
    fill(this.results, h("p", {class: "row-note spinner"}, "Searching"));
    try {
      const query = {match: `**${text}**`, fields: FIELDS, limit: FOUND_MOST};
      const page = await askJson(target("tree", dataset, "", query), {signal});
      this.showFound(page.nodes.map(node => ({dataset, ...node})), page.next !== null);
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.results, h("p", {class: "row-note bad"}, given(error.message)));
      }
    }
  }

  showFound(nodes, isMore) {
    const words = nodes.length === 0 ? "Nothing found" : `${count(nodes.length)} found${isMore ? ", and more" : ""}`;
    fill(this.results, h("p", {class: "row-note"}, words), h("ul", null, nodes.map(node => h("li", null,
      h("a", {class: "row", href: link(node.dataset, node.path), onclick: event => this.leaveSearch(event, node)},
        h("span", {class: `kind ${node.path === "" ? "dataset" : kindOf(node)}`, "aria-hidden": "true"}),
        given(node.path || node.dataset, {class: "row-name"}), h("span", {class: "row-brief"}, brief(node)))))));
  }

  leaveSearch(event, node) {
    if (event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)) {
      event.preventDefault();
      this.search.value = "";
      this.results.hidden = true;
      this.list.hidden = false;
      go(node.dataset, node.path);
    }
  }
}
