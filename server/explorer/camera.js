// Where elements of a plane are on the screen: zoom about a centre, and which way is up.

const ZOOM_MOST = 64; // pixels of one element
const STRETCH_MOST = 3; // elements are square unless a plane would be that much too flat

export class Camera {
  // n: elements [down, across]
  constructor(n) {
    this.n = n;
    this.isFlipped = false;
    this.size = [1, 1]; // of the screen: height, width
    this.reset();
  }

  reset() {
    this.zoom = 1;
    this.centre = [this.n[0] / 2, this.n[1] / 2];
  }

  resize(height, width) {
    this.size = [height, width];
    this.fit = [height / this.n[0], width / this.n[1]];
    if (Math.max(...this.fit) / Math.min(...this.fit) < STRETCH_MOST) {
      this.fit = [Math.min(...this.fit), Math.min(...this.fit)];
    }
  }

  // Pixels of an element, [down, across].
  get scale() {
    return this.fit.map(one => one * this.zoom);
  }

  // The screen's place of a place in elements.
  place([down, across]) {
    const [down_px, across_px] = this.scale;
    const y = (down - this.centre[0]) * down_px * (this.isFlipped ? -1 : 1) + this.size[0] / 2;
    return [y, (across - this.centre[1]) * across_px + this.size[1] / 2];
  }

  // The place in elements of a place on the screen.
  element([y, x]) {
    const [down_px, across_px] = this.scale;
    const down = (y - this.size[0] / 2) / down_px * (this.isFlipped ? -1 : 1) + this.centre[0];
    return [down, (x - this.size[1] / 2) / across_px + this.centre[1]];
  }

  // The index there, or null outside.
  index(place) {
    const index = this.element(place).map(Math.floor);
    return index.every((i, d) => i >= 0 && i < this.n[d]) ? index : null;
  }

  // What is seen: [top, left] and [bottom, right] in elements.
  get window() {
    const corners = [this.element([0, 0]), this.element(this.size)];
    return [corners[0].map((one, d) => Math.min(one, corners[1][d])), corners[0].map((one, d) => Math.max(one, corners[1][d]))];
  }

  // The same place stays under the pointer.
  zoomBy(factor, about = [this.size[0] / 2, this.size[1] / 2], least = 1) {
    const before = this.element(about);
    const most = Math.max(1, ZOOM_MOST / Math.max(...this.fit));
    this.zoom = Math.min(Math.max(this.zoom * factor, least), most);
    const after = this.element(about);
    this.centre = this.centre.map((one, d) => one + before[d] - after[d]);
    this.hold();
  }

  panBy(y, x) {
    this.centre[0] -= y / this.scale[0] * (this.isFlipped ? -1 : 1);
    this.centre[1] -= x / this.scale[1];
    this.hold();
  }

  // The plane does not leave the screen.
  hold() {
    this.centre = this.centre.map((one, d) => {
      const half = this.size[d] / 2 / this.scale[d];
      return 2 * half >= this.n[d] ? this.n[d] / 2 : Math.min(Math.max(one, half), this.n[d] - half);
    });
  }

  // "zoom,down,across" for the address; null: all is seen.
  get text() {
    return this.zoom === 1 ? null : [this.zoom, ...this.centre].map(one => Number(one.toPrecision(6))).join();
  }

  set text(text) {
    const [zoom, ...centre] = (text ?? "").split(",").map(Number);
    this.reset();
    if (zoom >= 1 && centre.length === 2 && centre.every(Number.isFinite)) {
      this.zoom = zoom;
      this.centre = centre;
    }
  }
}
