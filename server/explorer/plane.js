// Values of a plane, block by block: those near the pointer are read before it comes there.

import {isAbort} from "./api.js";
import {readSlice} from "./elements.js";

const BLOCK = 64; // elements each way
const KEPT = 64; // blocks
const FAILED = {values: null};

export class PlaneValues {
  constructor(selection, whenRead) {
    Object.assign(this, {selection, whenRead, blocks: new Map()});
    this.controller = new AbortController();
  }

  // The stored value at [down, across]; undefined: it is being read.
  at(index) {
    const {selection} = this;
    if (selection.planeKey !== this.key) {
      this.forget();
      this.key = selection.planeKey;
    }
    const [row, column] = index.map(i => Math.floor(i / BLOCK));
    const name = `${row},${column}`;
    const block = this.blocks.get(name);
    if (block === undefined) {
      this.load(name, [row, column]);
    }
    if (!block?.values) {
      return undefined;
    }
    const within = index.map(i => i % BLOCK);
    return block.values[block.isTurned ? within[1] * block.shape[1] + within[0] : within[0] * block.shape[1] + within[1]];
  }

  async load(name, block) {
    const {selection} = this;
    const {signal} = this.controller;
    const ranges = {};
    selection.axes.forEach((d, i) => {
      ranges[d] = `${block[i] * BLOCK}:${Math.min((block[i] + 1) * BLOCK, selection.shape[d])}`;
    });
    const isTurned = selection.axes[0] > selection.axes[1];
    this.blocks.set(name, {});
    if (this.blocks.size > KEPT) {
      this.blocks.delete(this.blocks.keys().next().value);
    }
    try {
      const {values, shape} = await readSlice(selection.source, selection.slice(ranges), signal);
      this.blocks.set(name, {values, shape, isTurned});
      this.whenRead();
    } catch (error) {
      if (!isAbort(error)) {
        this.blocks.set(name, FAILED);
      }
    }
  }

  forget() {
    this.controller.abort();
    this.controller = new AbortController();
    this.blocks.clear();
  }

  end() {
    this.controller.abort();
  }
}
