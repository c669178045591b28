// Elements around the chosen point as a table: exact, of every data type.

import {isAbort, Turn} from "./api.js";
import {fill, given, h, settled, spinner, trouble} from "./dom.js";
import {readSlice, valueText} from "./elements.js";

const ROWS = 20;
const COLUMNS = 8;
const TEXT_MOST = 300; // characters of one value
const SETTLE_MS = 60;

export class ValuesView {
  constructor(holder, {selection}) {
    Object.assign(this, {selection, turn: new Turn()});
    this.table = h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of values"});
    this.words = h("p", {class: "hint"});
    fill(holder, h("section", {class: "panel", "aria-label": "Values"}, this.table, this.words));
    fill(this.table, spinner("Reading"));
    this.renew = settled(() => this.load(), SETTLE_MS);
    this.leave = selection.onChange(() => this.renew());
    this.load();
  }

  // From where the table begins in a dimension, so that the point is in it.
  begin(d, n) {
    const {selection} = this;
    return Math.max(0, Math.min(selection.at[d] - Math.floor(n / 2), selection.shape[d] - n));
  }

  // The dimensions that go down and across; null where there is none.
  get dims() {
    return this.selection.rank === 0 ? [null, null] : this.selection.rank === 1 ? [0, null] : this.selection.axes;
  }

  async load() {
    const {selection} = this;
    const dims = this.dims;
    const begins = dims.map((d, i) => d === null ? 0 : this.begin(d, [ROWS, COLUMNS][i]));
    const ends = dims.map((d, i) => d === null ? 1 : Math.min(selection.shape[d], begins[i] + [ROWS, COLUMNS][i]));
    const ranges = Object.fromEntries(dims.map((d, i) => [d, `${begins[i]}:${ends[i]}`]).filter(([d]) => d !== "null"));
    const signal = this.turn.next();
    try {
      const {values} = await readSlice(selection.source, selection.slice(ranges), signal);
      const texts = await Promise.all(dims.map((d, i) => this.headings(d, begins[i], ends[i])));
      signal.throwIfAborted();
      this.showTable(dims, begins, ends, values, texts);
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.table, trouble(error, () => this.load()));
      }
    }
  }

  headings(d, begin, end) {
    const coordinate = d === null ? null : this.selection.coordinates[d];
    return Promise.all(Array.from({length: end - begin}, (_, i) => coordinate?.textAt(begin + i).catch(() => "") ?? ""));
  }

  showTable([down, across], begins, ends, values, texts) {
    const {selection} = this;
    const [n_rows, n_columns] = ends.map((end, i) => end - begins[i]);
    const isTurned = down !== null && across !== null && down > across;
    const heading = (i, text) => [h("span", {class: "index"}, String(i)), text && given(text)];
    const cell = (row, column) => {
      const stored = values[isTurned ? column * n_rows + row : row * n_columns + column];
      const isPoint = (down === null || selection.at[down] === begins[0] + row) && (across === null || selection.at[across] === begins[1] + column);
      return h("td", {class: isPoint ? "point" : null}, given(valueText(stored, selection.array.dtype).slice(0, TEXT_MOST)));
    };
    const corner = down === null ? "" : across === null ? given(selection.name(down)) : [given(selection.name(down)), " ↓ ", given(selection.name(across)), " →"];
    fill(this.table, h("table", {class: "values"},
      across !== null && h("thead", null, h("tr", null, h("th", {scope: "col"}, corner),
        Array.from({length: n_columns}, (_, i) => h("th", {scope: "col"}, heading(begins[1] + i, texts[1][i]))))),
      h("tbody", null, Array.from({length: n_rows}, (_, row) => h("tr", null,
        down !== null && h("th", {scope: "row"}, heading(begins[0] + row, texts[0][row])), Array.from({length: n_columns}, (_, column) => cell(row, column)))))));
    this.showPoint();
    fill(this.words, selection.packing.decode ? "Unpacked: scale_factor and add_offset are applied; missing values are NaN." : "As stored.",
      selection.packing.units && [" Units: ", given(selection.packing.units.slice(0, 100)), "."]);
  }

  // On narrow screens its column is scrolled to.
  showPoint() {
    const point = this.table.querySelector(".point");
    if (point) {
      this.table.scrollLeft = point.offsetLeft - this.table.clientWidth / 2;
    }
  }

  show() {}

  changed(event) {
    if (event.kind === "chunks") {
      this.load();
    }
  }

  end() {
    this.leave();
    this.turn.end();
  }
}
