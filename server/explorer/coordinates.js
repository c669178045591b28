// The coordinate of a dimension: the array of its name beside the array, else in the nearest group above.

import {askJson, target} from "./api.js";
import {readSlice, typeOf, valueText} from "./elements.js";
import {timeAxis} from "./times.js";
import {parentOf} from "./tree.js";

const BLOCK = 4096; // values read at once
const FIELDS = "path,node_type,array,metadata.attributes";

async function findArray(dataset, group, name, length, signal) {
  for (let place = group; ; place = parentOf(place)) {
    const path = place === "" ? name : `${place}/${name}`;
    try {
      const node = await askJson(target("nodes", dataset, path, {fields: FIELDS}), {signal});
      if (node.array?.shape.length === 1 && node.array.shape[0] === length) {
        return {dataset, path, array: node.array, attributes: node.metadata?.attributes ?? {}};
      }
    } catch (error) {
      if (error.status !== 404 && error.status !== 400) {
        throw error;
      }
    }
    if (place === "") {
      return null;
    }
  }
}

export class Coordinate {
  // null: there is none
  static async find(dataset, path, name, length, signal) {
    const source = name ? await findArray(dataset, parentOf(path), name, length, signal) : null;
    if (source === null) {
      return null;
    }
    const coordinate = new Coordinate(source, signal);
    await coordinate.at(0);
    return coordinate;
  }

  constructor(source, signal) {
    Object.assign(this, {source, signal, blocks: new Map()});
    this.length = source.array.shape[0];
    this.time = timeAxis(source.attributes);
    this.units = this.time || typeof source.attributes.units !== "string" ? "" : source.attributes.units;
    this.isNumber = ["integer", "float"].includes(typeOf(source.array.dtype)?.kind);
  }

  block(n) {
    if (!this.blocks.has(n)) {
      const end = Math.min(this.length, (n + 1) * BLOCK);
      const asked = readSlice(this.source, `${n * BLOCK}:${end}`, this.signal).then(({values}) => {
        asked.values = values;
        return values;
      });
      asked.catch(() => this.blocks.delete(n));
      this.blocks.set(n, asked);
    }
    return this.blocks.get(n);
  }

  async at(i) {
    if (this.length === 0) {
      return undefined;
    }
    return (await this.block(Math.floor(i / BLOCK)))[i % BLOCK];
  }

  // The value if it has been read; undefined: not yet.
  known(i) {
    return this.blocks.get(Math.floor(i / BLOCK))?.values?.[i % BLOCK];
  }

  text(value) {
    return value === undefined ? "" : this.time ? this.time.text(value) : valueText(value, this.source.array.dtype);
  }

  async textAt(i) {
    return this.text(await this.at(i));
  }

  // What a person typed, as a value; null: it is none.
  parsed(text) {
    if (this.time) {
      return this.time.value(text);
    }
    const number = Number(text);
    return text.trim() === "" || Number.isNaN(number) ? null : number;
  }

  // The index of the value nearest to a typed one; null: it is none. A text is found as it is.
  async nearest(text) {
    if (!this.isNumber) {
      for (let i = 0; i < this.length; i++) {
        if (await this.textAt(i) === text.trim()) {
          return i;
        }
      }
      return null;
    }
    const value = this.parsed(text);
    return value === null ? null : this.length <= BLOCK ? this.nearestOfAll(value) : this.nearestBetween(value);
  }

  async nearestOfAll(value) {
    const values = (await this.block(0)).map(Number);
    return values.reduce((best, one, i) => Math.abs(one - value) < Math.abs(values[best] - value) ? i : best, 0);
  }

  // A long one is taken to rise or fall: a few blocks are read, not all.
  async nearestBetween(value) {
    const rises = Number(await this.at(this.length - 1)) >= Number(await this.at(0));
    let low = 0;
    let high = this.length - 1;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (Number(await this.at(middle)) <= value === rises) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return Math.abs(Number(await this.at(low)) - value) <= Math.abs(Number(await this.at(high)) - value) ? low : high;
  }
}
