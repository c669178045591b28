// Pictures of a plane, as the server paints them: one of the whole, and tiles of what is looked at closely.

import {ask, isAbort, target} from "./api.js";

const WHOLE_PIXELS = 1 << 18; // of the picture of the whole plane
const WHOLE_ELEMENTS_MOST = 2 ** 28; // of a plane that is read to show it at once
const PART = 1024; // elements each way of a part that stands for the whole
const TILE = 256;
const AT_ONCE = 4; // the browser opens six connections, and one is for events
const KEPT = 400;

// One plane in one dress: colours and range. What was painted for another one is not mixed in.
export class Layer {
  // size: elements [of the picture's height, of its width]; levels: [height, width] of each level of a group, or null
  constructor({dataset, path, slice, size, levels}, look, whenPainted) {
    Object.assign(this, {dataset, path, slice, size, levels, look, whenPainted});
    this.whole = null; // its bitmap
    this.range = null; // [vmin, vmax]
    this.tiles = new Map(); // by "z,y,x": {bitmap} or {controller}
    this.wanted = [];
    this.n = 0; // under way
    this.controller = new AbortController();
    this.isHuge = levels === null && size[0] * size[1] > WHOLE_ELEMENTS_MOST;
  }

  async paint(query) {
    const {cmap, vmin, vmax, stretch, decode} = this.look;
    const answer = await ask(target("images", this.dataset, this.path, {slice: this.slice, cmap, vmin, vmax, stretch, decode, ...query}),
      {signal: this.controller.signal, headers: {Accept: "image/png"}});
    const range = answer.headers.get("Zarr-Range")?.split(",").map(Number) ?? null;
    return {bitmap: await createImageBitmap(await answer.blob()), range};
  }

  // The picture of the whole plane; of a huge one a part in its middle tells the range.
  async begin() {
    const {bitmap, range} = this.isHuge ? await this.paint({slice: this.part()}) : await this.paint({max_size: WHOLE_PIXELS});
    this.range = range;
    this.whole = this.isHuge ? null : bitmap;
  }

  part() {
    const middle = n => `${Math.max(0, Math.floor((n - PART) / 2))}:${Math.min(n, Math.floor((n + PART) / 2))}`;
    let which = 0;
    return this.slice.replace(/(^|,):(?=,|$)/g, (_, before) => `${before}${middle(this.size[which++])}`);
  }

  // Elements of the finest level in one pixel of that level, [down, across].
  scale(z) {
    return this.levels ? [0, 1].map(i => this.size[i] / this.levels[z][i]) : [2 ** z, 2 ** z];
  }

  // The coarsest level that is fine enough for so many pixels an element.
  levelFor(density) {
    const last = this.levels ? this.levels.length - 1 : this.isHuge ? 3 : Math.ceil(Math.log2(Math.max(...this.size)));
    let z = 0;
    while (z < last && Math.max(...this.scale(z + 1)) * density <= 1.2) {
      z++;
    }
    return z;
  }

  // Whether the picture of the whole has all that can be seen at that density.
  isEnough(density) {
    return this.whole !== null && (this.whole.width >= this.size[1] && this.whole.height >= this.size[0] || this.whole.width / this.size[1] >= density);
  }

  // The tiles over a part of the plane, from [top, left] to [bottom, right] in elements; those that are missing are asked for.
  over([top, left], [bottom, right], density) {
    this.wanted = [];
    if (this.range === null || this.isEnough(density)) {
      return [];
    }
    const z = this.levelFor(density);
    const [down, across] = this.scale(z).map(scale => scale * TILE);
    const found = [];
    for (let y = Math.max(0, Math.floor(top / down)); y * down < Math.min(bottom, this.size[0]); y++) {
      for (let x = Math.max(0, Math.floor(left / across)); x * across < Math.min(right, this.size[1]); x++) {
        const key = `${z},${y},${x}`;
        const tile = this.tiles.get(key);
        if (tile?.bitmap) {
          found.push({bitmap: tile.bitmap, top: y * down, left: x * across, scale: this.scale(z)});
        } else if (tile === undefined) {
          this.wanted.push(key);
        }
      }
    }
    this.next();
    return found;
  }

  next() {
    while (this.n < AT_ONCE && this.wanted.length > 0) {
      this.load(this.wanted.splice(Math.floor(this.wanted.length / 2), 1)[0]); // from the middle
    }
  }

  async load(key) {
    this.n++;
    this.tiles.set(key, {});
    try {
      const [vmin, vmax] = this.range;
      const {bitmap} = await this.paint({tile: key, vmin, vmax});
      this.tiles.set(key, {bitmap});
      if (this.tiles.size > KEPT) {
        this.tiles.delete(this.tiles.keys().next().value);
      }
    } catch (error) {
      if (!isAbort(error)) {
        this.tiles.set(key, {error});
        this.trouble = error;
      }
    }
    this.n--;
    if (!this.controller.signal.aborted) {
      this.next();
      this.whenPainted();
    }
  }

  get isBusy() {
    return this.n > 0;
  }

  end() {
    this.controller.abort();
  }
}
