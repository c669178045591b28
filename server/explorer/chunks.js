// The chunk grid of the plane that is shown: which chunks are stored, and one of them closely.

import {ask, askJson, isAbort, target, Turn} from "./api.js";
import {bytes, count, fill, framed, h, secondText, spinner, trouble} from "./dom.js";

const CELLS_MOST = 1 << 20; // asked for at once
const CELL_PX = 22; // at most
const HEIGHT_MOST = 420;
const LEGEND = {stored: "stored", absent: "absent: the fill value", written: "changed since you opened this page"};

function bitsOf(base64) {
  const text = atob(base64);
  return i => (text.charCodeAt(i >> 3) >> (i & 7) & 1) === 1;
}

export class ChunksView {
  constructor(holder, {selection}) {
    Object.assign(this, {selection, turn: new Turn(), oneTurn: new Turn(), marked: new Set(), isPresent: null});
    this.words = h("p", {class: "hint"});
    this.canvas = h("canvas", {class: "chunk-grid", role: "img", tabindex: 0});
    this.holder = h("div", {class: "scroll"}, this.canvas);
    this.one = h("div", {role: "status"});
    fill(holder, h("section", {class: "panel", "aria-label": "Chunk grid"}, h("h2", null, "Chunk grid"), this.words, this.holder,
      h("p", {class: "legend"}, Object.entries(LEGEND).map(([name, words]) => h("span", {class: "legend-item"}, h("span", {class: `swatch ${name}`}), words)))),
    h("section", {class: "panel", "aria-label": "Chunk"}, this.one));
    this.leave = selection.onChange(() => this.selected());
    this.canvas.addEventListener("click", event => this.choose([Math.floor(event.offsetY / this.cell), Math.floor(event.offsetX / this.cell)]));
    this.canvas.addEventListener("keydown", event => this.key(event));
    this.draw = framed(() => this.paint());
    this.selected();
  }

  // What a cell of the grid is.
  get word() {
    return this.selection.array.inner_chunk_shape ? "shard" : "chunk";
  }

  get chunkShape() {
    return this.selection.array.chunk_shape;
  }

  get gridShape() {
    return this.selection.array.chunk_grid_shape;
  }

  // The chunk of the chosen point.
  get index() {
    return this.selection.at.map((i, d) => Math.floor(i / this.chunkShape[d]));
  }

  // The dimensions of the grid that go down and across; null: one row, or one column.
  get dims() {
    return this.selection.rank === 0 ? [null, null] : this.selection.rank === 1 ? [null, 0] : this.selection.axes;
  }

  get extents() {
    return this.dims.map(d => d === null ? 1 : this.gridShape[d]);
  }

  selected() {
    if (!this.chunkShape || !this.gridShape) {
      fill(this.words, "The chunk grid of this array cannot be shown.");
      this.holder.hidden = true;
      return;
    }
    const slice = this.index.map((i, d) => this.dims.includes(d) ? ":" : String(i)).join(",");
    if (slice !== this.slice) {
      this.slice = slice;
      this.load();
    }
    if (this.index.join() !== this.shownIndex) {
      this.shownIndex = this.index.join();
      this.showOne();
    }
    this.draw();
  }

  async load() {
    const {selection} = this;
    const [rows, columns] = this.extents;
    if (rows * columns > CELLS_MOST) {
      fill(this.words, `The plane has ${count(rows * columns)} chunks: too many to show at once.`);
      this.holder.hidden = true;
      return;
    }
    fill(this.words, spinner("Checking which chunks are stored"));
    try {
      const query = {present: 1, slice: selection.rank === 0 ? null : this.slice};
      const found = await askJson(target("chunks", selection.dataset, selection.arrayPath, query), {signal: this.turn.next()});
      this.isPresent = bitsOf(found.bitmap);
      const n = rows * columns;
      fill(this.words, `${count(found.n_present)} of ${count(n)} ${n === 1 ? this.word : `${this.word}s`} of this plane ${found.n_present === 1 ? "is" : "are"} stored; ` +
        `the array has ${count(this.gridShape.reduce((a, b) => a * b, 1))} in all.`);
      this.canvas.setAttribute("aria-label", `${found.n_present} of ${n} ${this.word}s are stored. Arrow keys choose one.`);
    } catch (error) {
      if (!isAbort(error)) {
        this.isPresent = null;
        fill(this.words, trouble(error, () => this.load()));
      }
    }
    this.draw();
  }

  // The bitmap is in the order of the array's dimensions.
  bit(row, column) {
    const [rows, columns] = this.extents;
    const [down, across] = this.dims;
    return this.isPresent(down !== null && down > across ? column * rows + row : row * columns + column);
  }

  paint() {
    if (this.isPresent === null) {
      return;
    }
    const [rows, columns] = this.extents;
    this.cell = Math.max(2, Math.min(CELL_PX, Math.floor(HEIGHT_MOST / rows), Math.floor((this.holder.clientWidth || 600) / columns)));
    const density = window.devicePixelRatio;
    Object.assign(this.canvas.style, {width: `${columns * this.cell}px`, height: `${rows * this.cell}px`});
    this.canvas.width = columns * this.cell * density;
    this.canvas.height = rows * this.cell * density;
    const context = this.canvas.getContext("2d");
    context.scale(density, density);
    const style = getComputedStyle(this.canvas);
    const [stored, absent, written, chosen] = ["--accent", "--raised", "--changed", "--ink"].map(name => style.getPropertyValue(name));
    const gap = this.cell > 5 ? 1 : 0;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        context.fillStyle = this.marked.has(this.cellIndex(row, column).join()) ? written : this.bit(row, column) ? stored : absent;
        context.fillRect(column * this.cell, row * this.cell, this.cell - gap, this.cell - gap);
      }
    }
    const [row, column] = this.dims.map(d => d === null ? 0 : this.index[d]);
    context.strokeStyle = chosen;
    context.lineWidth = 2;
    context.strokeRect(column * this.cell, row * this.cell, Math.max(2, this.cell - gap), Math.max(2, this.cell - gap));
    this.canvas.dataset.state = "done";
  }

  cellIndex(row, column) {
    const index = [...this.index];
    this.dims.forEach((d, i) => {
      if (d !== null) {
        index[d] = [row, column][i];
      }
    });
    return index;
  }

  // ---- one chunk ----

  choose(cell) {
    const {selection} = this;
    if (cell.every((i, which) => i >= 0 && i < this.extents[which])) {
      const index = this.cellIndex(...cell);
      selection.set({at: index.map((i, d) => i === this.index[d] ? selection.at[d] : Math.min(i * this.chunkShape[d], selection.shape[d] - 1))});
    }
  }

  key(event) {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (step && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.choose(this.dims.map((d, i) => (d === null ? 0 : this.index[d]) + step[i]));
    }
  }

  async showOne() {
    const {selection} = this;
    const index = this.index;
    const place = target("chunks", selection.dataset, selection.arrayPath) + `?index=${index.join()}`;
    const name = index.length === 0 ? `The ${this.word}` : `${this.word === "shard" ? "Shard" : "Chunk"} ${index.join(", ")}`;
    const from = index.map((i, d) => `${i * this.chunkShape[d]}:${Math.min((i + 1) * this.chunkShape[d], selection.shape[d])}`).join(", ");
    let words;
    try {
      const answer = await ask(place, {method: "HEAD", signal: this.oneTurn.next()});
      const date = answer.headers.get("Last-Modified");
      words = [`${bytes(answer.headers.get("Content-Length"))} stored`, date && `, written ${secondText(new Date(date))}`];
    } catch (error) {
      if (isAbort(error)) {
        return;
      }
      words = error.status === 404 ? "not stored: all of its elements are the fill value" : `cannot be read (status ${error.status})`;
    }
    fill(this.one, h("h2", null, name), h("p", null, words), from && h("p", {class: "hint"}, "Elements ", h("code", null, from)));
  }

  show() {}

  changed(event) {
    if (event.kind === "chunks") {
      event.indices?.forEach(index => this.marked.add(index.join()));
      this.load();
      this.showOne();
    }
  }

  end() {
    this.leave();
    this.turn.end();
    this.oneTurn.end();
  }
}
