// A client of zarrd without dependencies, for browsers, Node, Deno and Bun.
// Numbers come as a typed array with the `shape` of the slice; all other elements (strings, times, complex numbers) as nested lists.

const TYPES = {
  "|b1": Uint8Array, "|i1": Int8Array, "|u1": Uint8Array, "<i2": Int16Array, "<u2": Uint16Array, "<i4": Int32Array,
  "<u4": Uint32Array, "<i8": BigInt64Array, "<u8": BigUint64Array, "<f4": Float32Array, "<f8": Float64Array,
};

/** What the server refused, as the problem document says it: `status`, `code`, and all its members in `problem`. */
export class Problem extends Error {
  constructor(status, problem) {
    const helps = ["allowed", "suggestions", "expected", "found"].filter(name => problem[name] != null);
    super([problem.detail ?? `HTTP status ${status}`, ...helps.map(name => `${name}: ${JSON.stringify(problem[name])}`)].join("; "));
    Object.assign(this, { name: "Problem", status, code: problem.code ?? "", problem });
  }
}

/** `new Dataset("http://localhost:8080/v1/datasets/demo")`; a token is sent with every request. */
export class Dataset {
  constructor(url, { token } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
  }

  async ask(method, resource, path, params, body, type) {
    const url = `${this.url}/${resource}/${path.split("/").map(encodeURIComponent).join("/")}?${new URLSearchParams(params)}`;
    const headers = type ? { ...this.headers, "Content-Type": type } : this.headers;
    const answer = await fetch(url, { method, headers, body });
    if (!answer.ok) {
      const isProblem = answer.headers.get("Content-Type")?.startsWith("application/problem+json");
      throw new Problem(answer.status, isProblem ? await answer.json() : {});
    }
    return answer;
  }

  /** All nodes from the group on: `[{ path: "solar/lat", node_type: "array", array: { shape: [72], ... } }, ...]`. */
  async list(group = "") {
    const fields = "path,node_type,array.shape,array.data_type,array.dimension_names";
    return (await (await this.ask("GET", "tree", group, { fields })).json()).nodes;
  }

  async open(path) {
    const node = await (await this.ask("GET", "nodes", path, {})).json();
    if (!node.array) throw new Problem(400, node.refused ?? { detail: `'${path}' is a group` });
    return new ZarrArray(this, path, node);
  }
}

/** An array: `await array.read("12,::4")`, `await array.write("12,::4", values)`. */
export class ZarrArray {
  constructor(dataset, path, node) {
    const { shape, dtype, dimension_names: dimensions } = node.array;
    Object.assign(this, { dataset, path, shape, dtype, dimensions, attributes: node.metadata.attributes ?? {} });
  }

  async read(slice = "") {
    const format = TYPES[this.dtype] ? "raw" : "json";
    const answer = await this.dataset.ask("GET", "slices", this.path, { slice, format });
    if (format === "json") return (await answer.json()).data;
    const shape = answer.headers.get("Zarr-Shape").split(",").filter(Boolean).map(Number);
    return Object.assign(new TYPES[this.dtype](await answer.arrayBuffer()), { shape });
  }

  /** Values are a typed array of the array's type, or nested lists. */
  async write(slice, values) {
    const isTyped = ArrayBuffer.isView(values);
    const type = isTyped ? "application/octet-stream" : "application/json";
    await this.dataset.ask("PUT", "slices", this.path, { slice }, isTyped ? values : JSON.stringify(values), type);
  }
}
