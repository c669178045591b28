// What of an array is shown: an index in each dimension, two dimensions as a plane, one as a line. The address bar has all of it.

import {change} from "./address.js";
import {Coordinate} from "./coordinates.js";
import {Packing} from "./elements.js";

function listed(text) {
  return (text ?? "").split(",").filter(part => part !== "").map(Number);
}

function isIndex(i, n) {
  return Number.isInteger(i) && i >= 0 && i < n;
}

export class Selection {
  // The array of a node, or the finest level of a multiscale group.
  constructor(dataset, path, node, source = {path, array: node.array}) {
    Object.assign(this, {dataset, path, node, array: source.array, arrayPath: source.path, listeners: new Set()});
    this.shape = this.array.shape;
    this.rank = this.shape.length;
    this.names = this.shape.map((_, d) => this.array.dimension_names?.[d] || null);
    this.attributes = node.metadata?.attributes ?? {};
    this.packing = new Packing(this.attributes, this.array);
    this.coordinates = this.shape.map(() => null);
    this.controller = new AbortController();
  }

  // What a slice is read from.
  get source() {
    return {dataset: this.dataset, path: this.arrayPath, array: this.array, decode: this.packing.decode};
  }

  name(d) {
    return this.names[d] ?? `dim ${d}`;
  }

  // Reads the coordinates; what cannot be read is an index alone.
  async loadCoordinates() {
    await Promise.all(this.shape.map(async (length, d) => {
      try {
        this.coordinates[d] = await Coordinate.find(this.dataset, this.arrayPath, this.names[d], length, this.controller.signal);
      } catch {
        this.coordinates[d] = null;
      }
    }));
    this.tell();
  }

  // ---- the state ----

  // The last two dimensions that are not one alone.
  usualAxes() {
    const wide = this.shape.map((_, d) => d).filter(d => this.shape[d] > 1);
    const axes = wide.slice(-2);
    for (let d = this.rank - 1; axes.length < 2 && d >= 0; d--) {
      if (!axes.includes(d)) {
        axes.push(d);
      }
    }
    return axes.sort((a, b) => a - b);
  }

  usualAt() {
    return this.shape.map((n, d) => this.axes.includes(d) ? Math.floor(n / 2) : 0);
  }

  usualLine() {
    const others = this.shape.map((_, d) => d).filter(d => this.shape[d] > 1 && !this.axes.includes(d));
    return others[0] ?? this.axes.at(-1) ?? 0;
  }

  // From the address; what is wrong there is as if it were not there.
  read(state) {
    const axes = listed(state.axes);
    this.axes = axes.length === 2 && axes[0] !== axes[1] && axes.every(d => isIndex(d, this.rank)) ? axes : this.usualAxes();
    const at = listed(state.at);
    this.at = at.length === this.rank && at.every((i, d) => isIndex(i, this.shape[d])) ? at : this.usualAt();
    this.isPointed = at.length === this.rank;
    const along = Number(state.along);
    this.along = state.along !== undefined && isIndex(along, this.rank) ? along : this.usualLine();
    this.tell();
  }

  // isStep: as in address.change; null: the address waits until what is being moved is let go
  set(changes, isStep = true) {
    Object.assign(this, changes);
    this.isPointed ||= "at" in changes;
    if (isStep !== null) {
      const axes = this.axes.join() === this.usualAxes().join() ? null : this.axes.join();
      change({at: this.isPointed ? this.at.join() : null, axes, along: this.along === this.usualLine() ? null : this.along}, isStep);
    }
    this.tell();
  }

  setIndex(d, i, isStep = true) {
    const at = [...this.at];
    at[d] = Math.max(0, Math.min(this.shape[d] - 1, i));
    this.set({at}, isStep);
  }

  // A dimension as the vertical (0) or horizontal (1) one; what had that place takes the other.
  setAxis(which, d) {
    const axes = [...this.axes];
    if (axes[1 - which] === d) {
      axes[1 - which] = axes[which];
    }
    axes[which] = d;
    this.set({axes});
  }

  // ---- slices ----

  // Text for slice=: ranges by dimension, indices elsewhere.
  slice(ranges = {}) {
    return this.shape.map((_, d) => ranges[d] ?? String(this.at[d])).join(",");
  }

  get plane() {
    return this.slice({[this.axes[0]]: ":", [this.axes[1]]: ":"});
  }

  // What says which plane it is.
  get planeKey() {
    return `${this.plane};${this.axes}`;
  }

  // ---- who is told ----

  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell() {
    this.listeners.forEach(listener => listener());
  }

  end() {
    this.controller.abort();
    this.listeners.clear();
  }
}
