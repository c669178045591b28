// The elements along one dimension, through the chosen point, as a line.

import {isAbort, Turn} from "./api.js";
import {count, fill, given, h, settled, svg, trouble} from "./dom.js";
import {GLANCE_DIGITS, numberText, readSlice, valueText} from "./elements.js";

const POINTS_MOST = 2000; // of a longer line every n-th element is shown
const HEIGHT = 190;
const EDGE = {left: 64, right: 14, top: 12, bottom: 26};
const WIDE = 480; // pixels: room for three places below the line
const TICKS = 6; // beside the line, about
const SETTLE_MS = 60; // while a slider is moved, not each of its places is asked for

// Round numbers between two values.
function ticksOf(low, high) {
  const raw = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find(n => n * power >= raw) * power;
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6 && ticks.length < 12; value += step) {
    ticks.push(Math.abs(value) < step / 1e6 ? 0 : value);
  }
  return ticks;
}

export class LinePlot {
  constructor(holder, selection) {
    Object.assign(this, {selection, turn: new Turn(), points: null, width: 600});
    this.title = h("h2");
    this.output = h("output", {class: "pointer-value"});
    this.chart = svg("svg", {class: "plot", role: "img", height: HEIGHT});
    this.fault = h("div");
    this.panel = h("section", {class: "panel", "aria-label": "Line"}, h("div", {class: "plot-head"}, this.title, this.output), this.fault, this.chart);
    fill(holder, this.panel);
    this.renew = settled(() => this.load(), SETTLE_MS);
    this.leave = selection.onChange(() => this.selected());
    this.watcher = new ResizeObserver(() => {
      this.width = Math.max(200, this.panel.clientWidth - 28);
      this.draw();
    });
    this.watcher.observe(this.panel);
    this.chart.addEventListener("pointermove", event => this.hover(event));
    this.chart.addEventListener("pointerleave", () => this.showValue(null));
    this.chart.addEventListener("click", event => {
      const i = this.indexAt(event);
      if (i !== null) {
        selection.setIndex(selection.along, i);
      }
    });
    this.selected();
  }

  // What says which line it is: where it goes through, but not where on it the point is.
  get key() {
    const {selection} = this;
    return `${selection.along};${selection.slice({[selection.along]: ":"})}`;
  }

  selected() {
    const {selection} = this;
    fill(this.title, "Through ", given(selection.name(selection.along)));
    if (this.key !== this.loadedKey) {
      this.loadedKey = this.key;
      this.panel.setAttribute("aria-busy", "true");
      this.renew();
    }
    this.draw();
  }

  forget() {
    this.loadedKey = null;
    this.selected();
  }

  async load() {
    const {selection} = this;
    const {along} = selection;
    const n = selection.shape[along];
    const step = Math.max(1, Math.ceil(n / POINTS_MOST));
    const key = this.key;
    try {
      const {values} = await readSlice(selection.source, selection.slice({[along]: step === 1 ? ":" : `::${step}`}), this.turn.next());
      this.points = {along, step, values: values.map(Number)};
      fill(this.fault);
    } catch (error) {
      if (isAbort(error)) {
        return;
      }
      this.points = null;
      fill(this.fault, trouble(error, () => this.load()));
    }
    if (key === this.loadedKey) {
      this.panel.removeAttribute("aria-busy");
    }
    this.draw();
  }

  // ---- drawing ----

  measure() {
    const finite = this.points.values.filter(Number.isFinite);
    let low = finite.reduce((a, b) => Math.min(a, b), Infinity);
    let high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
    if (finite.length === 0) {
      [low, high] = [0, 1];
    } else if (low === high) {
      [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    }
    const last = Math.max(1, (this.points.values.length - 1) * this.points.step);
    const x = i => EDGE.left + i / last * (this.width - EDGE.left - EDGE.right);
    const y = value => EDGE.top + (high - value) / (high - low) * (HEIGHT - EDGE.top - EDGE.bottom);
    return {low, high, last, x, y, n_finite: finite.length};
  }

  path({x, y}) {
    const {values, step} = this.points;
    let isDown = false;
    return values.map((value, i) => {
      const isHere = Number.isFinite(value);
      const part = isHere ? `${isDown ? "L" : "M"}${x(i * step).toFixed(1)} ${y(value).toFixed(1)}` : "";
      isDown = isHere;
      return part;
    }).join("");
  }

  draw() {
    const {selection, chart} = this;
    chart.setAttribute("width", this.width);
    if (this.points === null || this.points.along !== selection.along) {
      fill(chart);
      return;
    }
    const scale = this.measure();
    const {x, y, low, high, last} = scale;
    const right = this.width - EDGE.right;
    const bottom = HEIGHT - EDGE.bottom;
    const at = x(Math.min(last, selection.at[selection.along]));
    chart.setAttribute("aria-label", scale.n_finite === 0 ? "A line of missing values" : `A line of ${count(this.points.values.length)} values from ${numberText(low, 4)} to ${numberText(high, 4)}`);
    const isSparse = this.points.values.length <= 60;
    fill(chart,
      ticksOf(low, high).map(value => [svg("line", {class: "plot-grid", x1: EDGE.left, x2: right, y1: y(value), y2: y(value)}),
        svg("text", {x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end"}, numberText(value, 4))]),
      (this.width < WIDE ? [0, 1] : [0, 0.5, 1]).map(part => {
        const i = Math.round(part * last);
        return svg("text", {x: x(i), y: HEIGHT - 8, "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle"}, this.placeText(i));
      }),
      svg("line", {class: "plot-now", x1: at, x2: at, y1: EDGE.top, y2: bottom}),
      svg("path", {class: "plot-line", d: this.path(scale)}),
      isSparse && this.points.values.map((value, i) => Number.isFinite(value) && svg("circle", {class: "plot-dot", cx: x(i * this.points.step), cy: y(value), r: 2.5})));
    this.showValue(null);
  }

  placeText(i) {
    const coordinate = this.selection.coordinates[this.selection.along];
    const known = coordinate?.known(i);
    if (known === undefined && coordinate) {
      coordinate.at(i).then(() => coordinate.known(i) !== undefined && this.draw(), () => {});
    }
    return known === undefined ? String(i) : `${coordinate.text(known)}${coordinate.units && ` ${coordinate.units.slice(0, 20)}`}`;
  }

  // ---- the pointer ----

  indexAt(event) {
    if (this.points === null) {
      return null;
    }
    const {last} = this.measure();
    const part = (event.offsetX - EDGE.left) / (this.width - EDGE.left - EDGE.right);
    const i = Math.round(part * last / this.points.step) * this.points.step;
    return part < -0.02 || part > 1.02 ? null : Math.min(last, Math.max(0, i));
  }

  hover(event) {
    this.showValue(this.indexAt(event));
  }

  showValue(i) {
    const {selection, points} = this;
    if (points === null || points.along !== selection.along) {
      fill(this.output);
      return;
    }
    const at = i ?? Math.round(selection.at[selection.along] / points.step) * points.step;
    const value = points.values[at / points.step];
    fill(this.output, h("strong", null, value === undefined ? "" : valueText(value, selection.array.dtype, GLANCE_DIGITS)), selection.packing.units && given(selection.packing.units.slice(0, 40)),
      h("span", {class: "pointer-place"}, given(this.placeText(at)), points.step > 1 && `, one in ${count(points.step)} elements is drawn`));
  }

  end() {
    this.leave();
    this.watcher.disconnect();
    this.turn.end();
  }
}

export class LineView {
  constructor(holder, {selection}) {
    this.plot = new LinePlot(holder, selection);
  }

  show() {}

  changed(event) {
    if (event.kind === "chunks") {
      this.plot.forget();
    }
  }

  end() {
    this.plot.end();
  }
}
