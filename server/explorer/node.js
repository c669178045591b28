// The page of one node: what it is, and views of it. A multiscale group is seen as its finest level.

import {AboutView, facts, refusal, warnings} from "./about.js";
import {here} from "./address.js";
import {askJson, askNode, isAbort, isEmptyRoot, target, Turn} from "./api.js";
import {Dimensions} from "./dimensions.js";
import {count, fill, given, h, long} from "./dom.js";
import {isNumeric} from "./elements.js";
import {Live} from "./live.js";
import {Selection} from "./selection.js";
import {Tabs} from "./tabs.js";

const CHANGES_SHOWN = 5;
const LEVELS_MOST = 32;

// Each view is a module of its own, loaded when it is first shown; fits() says for which arrays it is.
const VIEWS = {
  picture: {title: "Picture", load: async () => (await import("./picture.js")).PictureView, fits: array => isNumeric(array) && array.shape.length > 1 && !array.shape.includes(0)},
  line: {title: "Line", load: async () => (await import("./line.js")).LineView, fits: array => isNumeric(array) && array.shape.length === 1 && array.shape[0] > 0},
  values: {title: "Values", load: async () => (await import("./values.js")).ValuesView, fits: () => true},
  statistics: {title: "Statistics", load: async () => (await import("./statistics.js")).StatisticsView, fits: array => isNumeric(array)},
  chunks: {title: "Chunks", load: async () => (await import("./chunks.js")).ChunksView, fits: () => true},
  use: {title: "Download & code", load: async () => (await import("./use.js")).UseView, fits: () => true},
};
const ABOUT = {title: "About", load: async () => AboutView};

// The paths of a multiscale group's levels, the finest first; as the server says, else as OME-NGFF does (0.4 and 0.5).
function levelPaths({path, levels, metadata}) {
  const attributes = metadata?.attributes ?? {};
  const ome = (attributes.ome?.multiscales ?? attributes.multiscales)?.[0]?.datasets;
  const names = levels?.map(level => level.path) ?? (Array.isArray(ome) ? ome.map(one => one?.path) : []);
  return names.filter(name => typeof name === "string").slice(0, LEVELS_MOST).map(name => path === "" || name.startsWith(`${path}/`) ? name : `${path}/${name}`);
}

export class NodeView {
  constructor(main, badge, {dataset, path, show}, tree) {
    Object.assign(this, {main, dataset, path, state: show, tree, recent: []});
    this.live = new Live(badge, dataset, event => this.changed(event));
    this.turn = new Turn();
    this.tabs = null;
  }

  async load(asked) {
    try {
      this.node = await asked;
      await this.loadLevels();
      this.render();
    } catch (error) {
      if (!isEmptyRoot(error, this.path)) {
        throw error;
      }
      this.renderEmpty();
    }
    this.live.start();
  }

  // Levels that are not arrays of one rank make no picture.
  async loadLevels() {
    this.levels = null;
    if (this.node.node_type !== "group") {
      return;
    }
    const signal = this.turn.next();
    const asked = levelPaths(this.node).map(path => askJson(target("nodes", this.dataset, path, {fields: "path,array"}), {signal}));
    try {
      const found = await Promise.all(asked);
      const isWhole = found.length > 0 && found.every(({array}) => array?.shape.length === found[0].array?.shape.length);
      this.levels = isWhole ? found.map(({array}, i) => ({path: levelPaths(this.node)[i], array, shape: array.shape})) : null;
    } catch (error) {
      if (isAbort(error)) {
        throw error;
      }
    }
  }

  // Pictures come of the group where the server knows its levels, else of the finest one alone.
  get pictureLevels() {
    return this.node.levels ? this.levels : null;
  }

  get picturePath() {
    return this.pictureLevels ? this.path : this.source.path;
  }

  get source() {
    return this.node?.array ? {path: this.path, array: this.node.array} : this.levels?.[0] ?? null;
  }

  factsOf() {
    const {node, levels} = this;
    return node.array ? facts(node) : levels && facts({array: levels[0].array, dialect: node.dialect}, levels.length);
  }

  render() {
    const {node} = this;
    const attributes = node.metadata?.attributes ?? {};
    const title = attributes.long_name ?? attributes.title ?? attributes.standard_name;
    this.changes = h("div", {role: "status"});
    this.views = h("div", {class: "views"});
    fill(this.main,
      h("div", {class: "title"}, h("h1", null, given(this.path === "" ? this.dataset : this.path.split("/").at(-1))),
        typeof title === "string" && h("p", {class: "sub"}, long(title))),
      node.refused && refusal(node.refused), node.warnings?.length > 0 && warnings(node.warnings), this.factsOf(), this.changes, this.views);
    this.renderViews();
    this.tabs.show(this.state);
  }

  // Nothing is wrong with it: what is written there appears.
  renderEmpty() {
    this.changes = h("div", {role: "status"});
    fill(this.main, h("div", {class: "title"}, h("h1", null, given(this.dataset))),
      h("p", {class: "note"}, "This dataset is empty: there is no Zarr metadata at its root. A node that is created appears here."), this.changes);
  }

  renderViews() {
    const {source} = this;
    this.inspector = h("aside", {class: "inspector", "aria-label": "Details of the node", hidden: source === null});
    const holder = h("div", {class: "with-inspector"});
    const fitting = source === null ? {} : Object.fromEntries(Object.entries(VIEWS).filter(([, view]) => view.fits(source.array)));
    this.tabs = new Tabs(holder, {...fitting, about: ABOUT}, (View, panel) => {
      const isAlone = View === AboutView || source.array.shape.length === 0; // there is nothing to choose
      this.inspector.hidden = isAlone;
      holder.classList.toggle("alone", isAlone);
      return new View(panel, this);
    });
    fill(this.views, holder);
    holder.append(this.inspector);
    if (source !== null) {
      this.selection = new Selection(this.dataset, this.path, this.node, source);
      this.selection.read(this.state);
      const dimensions = h("div");
      this.extras = h("div");
      fill(this.inspector, dimensions, this.extras);
      this.dimensions = new Dimensions(dimensions, this.selection);
      this.selection.loadCoordinates();
    }
  }

  endViews() {
    this.tabs?.end();
    this.dimensions?.end();
    this.selection?.end();
  }

  // The same node in another state.
  show(state) {
    this.state = state;
    this.selection?.read(state);
    this.tabs?.show(state);
  }

  // ---- what has changed ----

  changed(event) {
    this.tree.changed(this.dataset, event.path, event.kind);
    if (event.path === this.path || event.path === this.source?.path) {
      this.recent = [{...event, time: new Date()}, ...this.recent].slice(0, CHANGES_SHOWN);
      this.showChanges();
      event.kind === "chunks" ? this.tabs?.changed(event) : this.renew();
    }
  }

  showChanges() {
    fill(this.changes, h("div", {class: "note changed"}, h("strong", null, "Changes since you opened this page"), h("ul", null, this.recent.map(event =>
      h("li", null, h("time", null, event.time.toLocaleTimeString()), ` ${changeWords(event)}`))),
    h("button", {type: "button", onclick: () => {
      this.recent = [];
      fill(this.changes);
    }}, "Dismiss")));
  }

  // The document is another one: everything is shown anew, in the same state.
  async renew() {
    try {
      this.node = await askNode(this.dataset, this.path, this.turn.next());
      await this.loadLevels();
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.changes, h("p", {class: "note bad"}, long(error.message)));
      }
      return;
    }
    this.state = here().show;
    this.endViews();
    this.render();
    this.showChanges();
  }

  end() {
    this.live.end();
    this.turn.end();
    this.endViews();
  }
}

function changeWords({kind, indices, change}) {
  if (kind === "chunks") {
    return indices?.length === 1 ? `chunk ${indices[0].join(", ")} was ${change}` : `${count(indices?.length ?? 0)} chunks were ${change}`;
  }
  return kind === "reset" ? "some changes were missed" : `the node was ${kind}`;
}
