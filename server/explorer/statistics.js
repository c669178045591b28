// Statistics of what is shown, computed by the server, and a histogram of a sample of it.

import {askJson, isAbort, target, Turn} from "./api.js";
import {count, fill, given, h, settled, spinner, svg, trouble} from "./dom.js";
import {numberText, readSlice} from "./elements.js";

const REDUCED = ["count", "min", "max", "mean", "std"];
const FIELDS = [...REDUCED, "n_nan", "n_fill"].join();
const WORDS = {count: "Values", min: "Minimum", max: "Maximum", mean: "Mean", std: "Standard deviation", n_missing: "Missing", n_nan: "NaN", n_fill: "Equal to the fill value"};
const SAMPLE_MOST = 1 << 16; // elements that the histogram is made of
const BINS = 50;
const WIDTH = 640;
const HEIGHT = 160;
const SETTLE_MS = 250;

// null: of no values
function valueWords(name, value) {
  if (value === null) {
    return "none";
  }
  return name.startsWith("n_") || name === "count" ? count(value) : numberText(Number(value));
}

function binned(values) {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const bins = Array(BINS).fill(0);
  for (const value of finite) {
    bins[low === high ? 0 : Math.min(BINS - 1, Math.floor((value - low) / (high - low) * BINS))]++;
  }
  return {bins, low, high, n: finite.length};
}

export class StatisticsView {
  constructor(holder, {selection}) {
    Object.assign(this, {selection, turn: new Turn(), sampleTurn: new Turn()});
    this.scope = h("select", {"aria-label": "Of what", onchange: () => this.load()},
      selection.rank > 1 && h("option", {value: "plane"}, "the visible plane"), h("option", {value: "all"}, "the whole array"));
    this.numbers = h("div");
    this.histogram = h("div");
    fill(holder, h("section", {class: "panel", "aria-label": "Statistics"}, h("div", {class: "plot-head"}, h("h2", null, "Statistics of"), this.scope), this.numbers),
      h("section", {class: "panel", "aria-label": "Histogram"}, h("h2", null, "Histogram"), this.histogram));
    this.renew = settled(() => this.load(), SETTLE_MS);
    this.leave = selection.onChange(() => this.slice !== this.shown && this.renew());
    this.load();
  }

  get slice() {
    return this.scope.value === "plane" ? this.selection.plane : null;
  }

  load() {
    this.shown = this.slice;
    return Promise.all([this.loadNumbers(), this.loadHistogram()]);
  }

  async loadNumbers() {
    const {selection} = this;
    fill(this.numbers, spinner("Computing"));
    try {
      const signal = this.turn.next();
      const found = await (selection.packing.decode ? this.askDecoded(signal) : this.askStored(signal));
      const {units} = selection.packing;
      fill(this.numbers, h("dl", {class: "numbers"}, Object.entries(WORDS).filter(([name]) => name in found).map(([name, words]) =>
        h("div", null, h("dt", null, words), h("dd", null, valueWords(name, found[name]))))),
      units && h("p", {class: "hint"}, "Units: ", given(units.slice(0, 100)), "."));
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.numbers, trouble(error, () => this.load()));
      }
    }
  }

  askStored(signal) {
    const {selection} = this;
    return askJson(target("stats", selection.dataset, selection.arrayPath, {slice: this.slice, fields: FIELDS}), {signal});
  }

  // Statistics are of stored values, and know no missing ones: what is packed is decoded and reduced as a slice.
  async askDecoded(signal) {
    const {dataset, arrayPath, packing} = this.selection;
    const one = reduce => askJson(target("slices", dataset, arrayPath, {slice: this.slice, decode: packing.decode, reduce, format: "json"}), {signal});
    const found = Object.fromEntries(await Promise.all(REDUCED.map(async name => [name, (await one(name)).data])));
    return {...found, n_missing: this.size - found.count};
  }

  // Elements that the numbers are of.
  get size() {
    const {shape} = this.selection;
    return this.dims.reduce((product, d) => product * shape[d], 1);
  }

  get dims() {
    const {selection} = this;
    return this.scope.value === "plane" ? selection.axes : selection.shape.map((_, d) => d);
  }

  // Every n-th element along each dimension, so that few enough are read.
  sampleSlice() {
    const {selection, dims, size: n} = this;
    const step = Math.max(1, Math.ceil((n / SAMPLE_MOST) ** (1 / Math.max(1, dims.length))));
    return {n, slice: selection.slice(Object.fromEntries(dims.map(d => [d, step === 1 ? ":" : `::${step}`])))};
  }

  async loadHistogram() {
    const {selection} = this;
    const {n, slice} = this.sampleSlice();
    fill(this.histogram, spinner("Reading a sample"));
    try {
      const {values} = await readSlice(selection.source, slice, this.sampleTurn.next());
      this.draw(values.map(Number), n);
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.histogram, trouble(error, () => this.load()));
      }
    }
  }

  draw(values, n) {
    const {bins, low, high, n: n_finite} = binned(values);
    if (n_finite === 0) {
      fill(this.histogram, h("p", {class: "hint"}, "There are no finite values."));
      return;
    }
    const most = Math.max(...bins);
    const width = WIDTH / BINS;
    const edge = i => numberText(low + i / BINS * (high - low), 4);
    const units = this.selection.packing.units.slice(0, 40);
    fill(this.histogram,
      svg("svg", {class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", height: HEIGHT, role: "img", "aria-label": `${count(n_finite)} values in ${BINS} bins from ${numberText(low, 4)} to ${numberText(high, 4)}`},
        bins.map((value, i) => svg("rect", {x: i * width + 0.5, width: width - 1, y: HEIGHT - value / most * HEIGHT, height: value / most * HEIGHT},
          svg("title", null, `${edge(i)} to ${edge(i + 1)}: ${count(value)}`)))),
      h("div", {class: "bar-ticks"}, [0, BINS / 2, BINS].map(i => h("span", null, edge(i), units && [" ", given(units)]))),
      h("p", {class: "hint"}, values.length < n ? `Of a sample: ${count(values.length)} of ${count(n)} elements.` : `Of all ${count(n)} elements.`));
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
    this.sampleTurn.end();
  }
}
