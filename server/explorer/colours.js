// The colours of a picture: map, range, stretch, and the bar that says what they mean.

import {change} from "./address.js";
import {askJson} from "./api.js";
import {fill, h} from "./dom.js";
import {numberText} from "./elements.js";

const STRETCHES = {linear: "Linear", sqrt: "Square root", log: "Logarithm"};
const USUAL = "viridis";
const TICKS = 5;

let maps = null; // of all pictures

function colourMaps() {
  maps ??= askJson("v1/colormaps").then(document => document.colormaps);
  maps.catch(() => {
    maps = null;
  });
  return maps;
}

// The value at a position of the bar, 0 to 1.
function valueAt(position, [vmin, vmax], stretch) {
  switch (stretch) {
    case "sqrt": return vmin + position ** 2 * (vmax - vmin);
    case "log": return vmin * (vmax / vmin) ** position;
    default: return vmin + position * (vmax - vmin);
  }
}

export class Colours {
  constructor(panel, bar, selection, whenChanged) {
    Object.assign(this, {bar, selection, whenChanged, range: null});
    const field = (title, control) => h("label", {class: "field"}, h("span", null, title), control);
    this.map = h("select", {onchange: () => this.set()}, h("option", null, USUAL));
    this.reverse = h("input", {type: "checkbox", onchange: () => this.set()});
    this.stretch = h("select", {onchange: () => this.set()}, Object.entries(STRETCHES).map(([name, words]) => h("option", {value: name}, words)));
    this.low = h("input", {type: "number", step: "any", onchange: () => this.set()});
    this.high = h("input", {type: "number", step: "any", onchange: () => this.set()});
    this.auto = h("button", {type: "button", onclick: () => {
      this.low.value = "";
      this.high.value = "";
      this.set();
    }}, "Auto");
    fill(panel, h("section", {class: "panel", "aria-label": "Colours"}, h("h2", null, "Colours"),
      h("div", {class: "fields"}, field("Map", this.map), field("Stretch", this.stretch), field("From", this.low), field("To", this.high)),
      h("div", {class: "fields-end"}, h("label", {class: "check"}, this.reverse, " reversed"), this.auto)));
    this.canvas = h("canvas", {width: 256, height: 1, class: "bar-colours", role: "img"});
    this.ticks = h("div", {class: "bar-ticks"});
    this.title = h("div", {class: "bar-title"});
    fill(bar, this.canvas, this.ticks, this.title);
    colourMaps().then(found => this.showMaps(found), () => {});
  }

  showMaps(found) {
    this.colours = found;
    fill(this.map, Object.keys(found).filter(name => !name.endsWith("_r")).map(name => h("option", null, name)));
    this.read(this.state);
    this.show();
  }

  // From the address.
  read(state) {
    this.state = state;
    const name = state.cmap ?? USUAL;
    this.map.value = name.replace(/_r$/, "");
    this.reverse.checked = name.endsWith("_r");
    this.stretch.value = state.stretch in STRETCHES ? state.stretch : "linear";
    this.low.value = state.vmin ?? "";
    this.high.value = state.vmax ?? "";
  }

  set() {
    const name = (this.map.value || USUAL) + (this.reverse.checked ? "_r" : "");
    const changes = {
      cmap: name === USUAL ? null : name, stretch: this.stretch.value === "linear" ? null : this.stretch.value,
      vmin: this.low.value || null, vmax: this.high.value || null,
    };
    change(changes);
    this.read({...this.state, ...changes});
    this.whenChanged();
  }

  // What the server is told.
  get look() {
    const number = text => text === undefined || text === null || text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
    const {cmap, stretch, vmin, vmax} = this.state;
    return {cmap: cmap ?? undefined, stretch: stretch in STRETCHES ? stretch : undefined, vmin: number(vmin), vmax: number(vmax), decode: this.selection.packing.decode};
  }

  // range: [vmin, vmax] as painted, or null
  showRange(range) {
    this.range = range;
    if (this.range !== null) {
      [this.low.placeholder, this.high.placeholder] = this.range.map(value => numberText(value, 4));
    }
    this.show();
  }

  show() {
    const colours = this.colours?.[this.state.cmap ?? USUAL];
    this.bar.hidden = this.range === null || !colours;
    if (this.bar.hidden) {
      return;
    }
    const context = this.canvas.getContext("2d");
    colours.forEach((colour, i) => {
      context.fillStyle = `rgb(${colour})`;
      context.fillRect(i, 0, 1, 1);
    });
    const positions = Array.from({length: TICKS}, (_, i) => i / (TICKS - 1));
    fill(this.ticks, positions.map(position => h("span", null, numberText(valueAt(position, this.range, this.stretch.value), 4))));
    const {attributes, packing} = this.selection;
    const name = attributes.long_name ?? attributes.standard_name ?? "";
    this.title.textContent = [typeof name === "string" ? name.slice(0, 100) : "", packing.units && `[${packing.units.slice(0, 40)}]`].filter(Boolean).join(" ");
    this.canvas.setAttribute("aria-label", `Colours from ${numberText(this.range[0], 4)} to ${numberText(this.range[1], 4)} ${packing.units.slice(0, 40)}`);
  }
}
