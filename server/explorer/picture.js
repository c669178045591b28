// A plane of an array as a picture: zoom, pan, values under the pointer, chunks, and a line through the point that was chosen.

import {change} from "./address.js";
import {isAbort} from "./api.js";
import {Camera} from "./camera.js";
import {Colours} from "./colours.js";
import {fill, framed, given, h, settled, trouble} from "./dom.js";
import {GLANCE_DIGITS, valueText} from "./elements.js";
import {LinePlot} from "./line.js";
import {PlaneValues} from "./plane.js";
import {Layer} from "./tiles.js";

const HEIGHT_LEAST = 160;
const HEIGHT_MOST = 560;
const ZOOM_STEP = 1.5;
const DRAG_PX = 4; // less is a click
const GRID_PX = 3; // closer lines are not drawn
const ADDRESS_MS = 300;
const KEYS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

export class PictureView {
  constructor(holder, context) {
    Object.assign(this, {context, selection: context.selection, layer: null, old: null, changedChunks: [], pointer: null});
    this.canvas = h("canvas", {class: "picture", role: "img", tabindex: 0});
    this.status = h("output", {class: "pointer-value"});
    this.fault = h("div");
    this.frame = h("div", {class: "picture-frame"}, this.canvas);
    this.bar = h("div", {class: "colour-bar", hidden: true});
    const plot = h("div");
    fill(holder, h("section", {class: "panel picture-panel", "aria-label": "Picture"}, this.toolbar(), this.fault, this.frame, h("div", {class: "under"}, this.status), this.bar), plot);
    this.colours = new Colours(context.extras, this.bar, this.selection, () => this.renew());
    this.plot = new LinePlot(plot, this.selection);
    this.draw = framed(() => this.paint());
    this.keepView = settled(() => change({view: this.camera.text}, false), ADDRESS_MS);
    this.keepPoint = settled(() => this.selection.set({}, false), ADDRESS_MS); // browsers refuse many changes of an address at once
    this.values = new PlaneValues(this.selection, () => this.showPointer());
    this.watcher = new ResizeObserver(() => this.resize());
    this.leave = this.selection.onChange(() => this.selected());
    this.listen();
    this.show(context.state);
    this.showPointer();
    this.watcher.observe(this.frame);
  }

  toolbar() {
    const button = (text, name, act) => h("button", {type: "button", title: name, "aria-label": text.length === 1 ? name : null, onclick: act}, text);
    this.flip = button("⇅", "Turn upside down", () => {
      this.camera.isFlipped = !this.camera.isFlipped;
      change({flip: this.camera.isFlipped === this.isUsuallyFlipped() ? null : Number(this.camera.isFlipped)});
      this.draw();
    });
    this.grid = h("input", {type: "checkbox", onchange: () => {
      change({chunks: this.grid.checked ? 1 : null});
      this.draw();
    }});
    return h("div", {class: "toolbar", role: "group", "aria-label": "Picture"},
      button("+", "Zoom in", () => this.zoom(ZOOM_STEP)), button("−", "Zoom out", () => this.zoom(1 / ZOOM_STEP)), button("Fit", "Show all", () => this.showAll()), this.flip,
      h("label", {class: "check"}, this.grid, " chunks"));
  }

  // ---- state ----

  show(state) {
    this.colours.read(state);
    this.grid.checked = state.chunks === "1";
    this.flipState = state.flip;
    this.viewState = state.view;
    this.renew(state);
  }

  // Latitudes that rise are drawn with north at the top.
  isUsuallyFlipped() {
    const coordinate = this.selection.coordinates[this.selection.axes[0]];
    const isNorth = coordinate?.isNumber && /^degrees?_?n(orth)?$|^degree_n$/i.test(String(coordinate.source.attributes.units ?? ""));
    return Boolean(isNorth) && Number(coordinate.known(1)) > Number(coordinate.known(0));
  }

  get planeSize() {
    return this.selection.axes.map(d => this.selection.shape[d]);
  }

  get isTransposed() {
    return this.selection.axes[0] > this.selection.axes[1];
  }

  // The coordinates have come, or another index, plane or point was chosen.
  selected() {
    this.renew();
    this.showPointer();
  }

  // Another plane or dress: it is asked for, and the picture of before stays until it is there.
  renew() {
    const {selection} = this;
    const size = this.planeSize;
    if (this.camera?.n.join() !== size.join() || this.cameraAxes !== selection.axes.join()) {
      this.camera = new Camera(size);
      this.cameraAxes = selection.axes.join();
      this.camera.text = this.viewState;
      this.old = null;
      this.resize();
    } else if (this.viewState !== undefined && this.viewState !== this.camera.text) {
      this.camera.text = this.viewState;
    }
    this.viewState = undefined;
    this.camera.isFlipped = this.flipState === undefined ? this.isUsuallyFlipped() : this.flipState === "1";
    const key = JSON.stringify([selection.planeKey, this.colours.look, this.n_changes ?? 0]);
    if (key !== this.layerKey) {
      this.layerKey = key;
      this.load();
    }
    this.draw();
  }

  async load() {
    const {selection, context} = this;
    const order = [...selection.axes].sort((a, b) => a - b);
    this.layer?.end();
    if (this.layer?.whole) {
      this.old = this.layer;
    }
    const layer = new Layer({
      dataset: selection.dataset, path: context.picturePath, slice: selection.plane, size: order.map(d => selection.shape[d]),
      levels: context.pictureLevels?.map(({shape}) => order.map(d => shape[d])) ?? null,
    }, this.colours.look, this.draw);
    this.layer = layer;
    this.frame.classList.add("busy");
    this.frame.setAttribute("aria-busy", "true");
    try {
      await layer.begin();
      fill(this.fault);
    } catch (error) {
      if (isAbort(error) || layer !== this.layer) {
        return;
      }
      fill(this.fault, trouble(error, () => this.load()));
    }
    if (layer === this.layer) {
      this.old = null;
      this.frame.classList.remove("busy");
      this.frame.removeAttribute("aria-busy");
      this.colours.showRange(layer.range);
      this.describe();
      this.draw();
    }
  }

  describe() {
    const {selection} = this;
    const [v, u] = selection.axes.map(d => selection.name(d));
    this.canvas.setAttribute("aria-label",
      `${selection.path.split("/").at(-1)}: ${v} down, ${u} across. Arrow keys move the point, plus and minus zoom, 0 shows all.`);
  }

  // ---- painting ----

  resize() {
    const width = this.frame.clientWidth;
    if (width === 0 || !this.camera) {
      return;
    }
    const [down, across] = this.planeSize;
    const ratio = across / down;
    const height = Math.round(Math.min(HEIGHT_MOST, Math.max(HEIGHT_LEAST, width / ratio)));
    this.density = window.devicePixelRatio;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * this.density);
    this.canvas.height = Math.round(height * this.density);
    this.camera.resize(height, width);
    this.camera.hold();
    this.draw();
  }

  // A picture over a part of the plane, in elements of the picture's height and width.
  put(context, bitmap, {top, left, bottom, right}) {
    const [[y0, x0], [y1, x1]] = this.isTransposed
      ? [this.camera.place([left, top]), this.camera.place([right, bottom])]
      : [this.camera.place([top, left]), this.camera.place([bottom, right])];
    const {width, height} = bitmap;
    const d = this.density;
    context.imageSmoothingEnabled = Math.abs(x1 - x0) * d < (this.isTransposed ? height : width);
    if (this.isTransposed) {
      context.setTransform(0, (y1 - y0) / width * d, (x1 - x0) / height * d, 0, x0 * d, y0 * d);
    } else {
      context.setTransform((x1 - x0) / width * d, 0, 0, (y1 - y0) / height * d, x0 * d, y0 * d);
    }
    context.drawImage(bitmap, 0, 0);
    context.setTransform(d, 0, 0, d, 0, 0);
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const {camera, layer} = this;
    if (!camera?.fit || !layer) {
      return;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(this.density, 0, 0, this.density, 0, 0);
    context.save();
    const [[y0, x0], [y1, x1]] = [camera.place([0, 0]), camera.place(camera.n)];
    context.beginPath();
    context.rect(x0, Math.min(y0, y1), x1 - x0, Math.abs(y1 - y0));
    context.clip();
    for (const one of [this.old, layer].filter(Boolean)) {
      this.paintLayer(context, one);
    }
    context.restore();
    if (this.grid.checked) {
      this.paintGrid(context);
    }
    this.paintChanged(context);
    this.paintPoint(context);
    this.canvas.dataset.tiles = String(this.n_tiles);
    this.canvas.dataset.state = layer.range === null ? "waiting" : layer.isBusy ? "loading" : "done";
    if (layer.trouble) {
      fill(this.fault, trouble(layer.trouble));
    }
  }

  paintLayer(context, layer) {
    const [height, width] = layer.size;
    if (layer.whole) {
      this.put(context, layer.whole, {top: 0, left: 0, bottom: height, right: width});
    }
    const turned = pair => this.isTransposed ? [pair[1], pair[0]] : pair;
    const [from, to] = this.camera.window.map(turned);
    const density = Math.max(...this.camera.scale) * this.density;
    const tiles = layer === this.layer ? layer.over(from, to, density) : [];
    this.n_tiles = tiles.length;
    for (const {bitmap, top, left, scale} of tiles) {
      this.put(context, bitmap, {top, left, bottom: top + bitmap.height * scale[0], right: left + bitmap.width * scale[1]});
    }
  }

  style(name) {
    return getComputedStyle(this.canvas).getPropertyValue(name);
  }

  paintGrid(context) {
    const chunk = this.selection.array.inner_chunk_shape ?? this.selection.array.chunk_shape;
    const steps = chunk && this.selection.axes.map(d => chunk[d]);
    if (!steps || Math.min(...steps.map((n, i) => n * this.camera.scale[i])) < GRID_PX) {
      return;
    }
    const [from, to] = this.camera.window;
    context.strokeStyle = "rgb(255 255 255 / 75%)";
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 0; i < 2; i++) {
      for (let n = Math.max(0, Math.floor(from[i] / steps[i])) * steps[i]; n <= Math.min(to[i], this.camera.n[i]); n += steps[i]) {
        const ends = i === 0 ? [[n, 0], [n, this.camera.n[1]]] : [[0, n], [this.camera.n[0], n]];
        const [[y0, x0], [y1, x1]] = ends.map(end => this.camera.place(end));
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
      }
    }
    context.globalCompositeOperation = "difference";
    context.stroke();
    context.globalCompositeOperation = "source-over";
  }

  // Chunks that were written while one looked.
  paintChanged(context) {
    const {selection} = this;
    const chunk = selection.array.chunk_shape;
    context.strokeStyle = this.style("--changed");
    context.lineWidth = 3;
    for (const index of this.changedChunks) {
      const isHere = index.every((i, d) => selection.axes.includes(d) || Math.floor(selection.at[d] / chunk[d]) === i);
      if (isHere) {
        const first = selection.axes.map(d => index[d] * chunk[d]);
        const [[y0, x0], [y1, x1]] = [this.camera.place(first), this.camera.place(first.map((n, i) => Math.min(n + chunk[selection.axes[i]], this.camera.n[i])))];
        context.strokeRect(x0, Math.min(y0, y1), x1 - x0, Math.abs(y1 - y0));
      }
    }
  }

  paintPoint(context) {
    const [y, x] = this.camera.place(this.selection.axes.map(d => this.selection.at[d] + 0.5));
    for (const [style, width] of [["rgb(0 0 0 / 70%)", 3], ["#fff", 1.5]]) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, 5, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  // ---- the pointer and the keyboard ----

  zoom(factor, about) {
    this.camera.zoomBy(factor, about);
    this.canvas.style.touchAction = this.camera.zoom > 1 ? "none" : "pan-y";
    this.keepView();
    this.draw();
  }

  showAll() {
    this.camera.reset();
    this.keepView();
    this.draw();
  }

  choose(index, isStep = true) {
    const at = [...this.selection.at];
    this.selection.axes.forEach((d, i) => {
      at[d] = index[i];
    });
    this.selection.set({at}, isStep);
  }

  listen() {
    const place = event => [event.offsetY, event.offsetX];
    let drag = null;
    const on = (name, act, options) => this.canvas.addEventListener(name, act, options);
    on("pointerdown", event => {
      drag = {from: place(event), last: place(event), isFar: false};
      this.canvas.setPointerCapture(event.pointerId);
    });
    on("pointermove", event => {
      const [y, x] = place(event);
      this.pointer = this.camera.index([y, x]);
      if (drag) {
        drag.isFar ||= Math.hypot(y - drag.from[0], x - drag.from[1]) > DRAG_PX;
        if (drag.isFar) {
          this.camera.panBy(y - drag.last[0], x - drag.last[1]);
          this.keepView();
          this.draw();
        }
        drag.last = [y, x];
      }
      this.showPointer();
    });
    on("pointerup", event => {
      const index = this.camera.index(place(event));
      if (drag && !drag.isFar && index !== null) {
        this.choose(index);
      }
      drag = null;
    });
    on("pointercancel", () => {
      drag = null;
    });
    on("pointerleave", () => {
      this.pointer = null;
      this.showPointer();
    });
    // The page scrolls unless the picture has the focus, or the gesture is one for zooming.
    on("wheel", event => {
      if (event.ctrlKey || document.activeElement === this.canvas) {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 300), place(event));
      }
    }, {passive: false});
    on("keydown", event => this.key(event));
  }

  key(event) {
    const {selection, camera} = this;
    const step = KEYS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (step && event.shiftKey) {
      camera.panBy(-step[0] * camera.size[0] / 8, -step[1] * camera.size[1] / 8);
      this.keepView();
      this.draw();
    } else if (step) {
      const up = camera.isFlipped ? -1 : 1;
      const index = selection.axes.map((d, i) => Math.min(selection.shape[d] - 1, Math.max(0, selection.at[d] + step[i] * (i === 0 ? up : 1))));
      this.choose(index, null);
      this.keepPoint();
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(ZOOM_STEP);
    } else if (event.key === "-") {
      this.zoom(1 / ZOOM_STEP);
    } else if (event.key === "0") {
      this.showAll();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The value under the pointer, else at the chosen point.
  showPointer() {
    const {selection} = this;
    const index = this.pointer ?? selection.axes.map(d => selection.at[d]);
    const stored = this.values.at(index);
    const value = stored === undefined ? "…" : valueText(stored, selection.array.dtype, GLANCE_DIGITS);
    const places = selection.axes.map((d, i) => {
      const known = selection.coordinates[d]?.known(index[i]);
      return h("span", {class: "pointer-place"}, given(selection.name(d)), ` ${index[i]}`, known !== undefined && [" ", given(`(${selection.coordinates[d].text(known)})`)]);
    });
    fill(this.status, h("strong", null, value), selection.packing.units && stored !== undefined && given(selection.packing.units.slice(0, 40)), places);
  }

  // ---- events ----

  changed(event) {
    if (event.kind === "chunks") {
      this.changedChunks = [...this.changedChunks, ...(event.indices ?? [])].slice(-1000);
      this.n_changes = (this.n_changes ?? 0) + 1;
      this.values.forget();
      this.plot.forget();
      this.renew();
      this.showPointer();
    }
  }

  end() {
    this.leave();
    this.watcher.disconnect();
    this.layer?.end();
    this.values.end();
    this.plot.end();
    fill(this.context.extras);
  }
}
