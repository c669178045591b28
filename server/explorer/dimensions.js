// Each dimension as a slider, an index and a value; which two make the plane, and which one the line.

import {fill, framed, given, h} from "./dom.js";

export class Dimensions {
  constructor(holder, selection) {
    this.selection = selection;
    const {rank} = selection;
    this.rows = selection.shape.map((_, d) => this.row(d));
    const all = selection.shape.map((_, d) => d);
    this.axes = rank < 2 ? [] : [0, 1].map(which => this.choice(which === 0 ? "Vertical" : "Horizontal", all, d => selection.setAxis(which, d)));
    this.line = rank < 2 ? null : this.choice("Line through", all, d => selection.set({along: d}));
    fill(holder, h("section", {class: "panel dimensions", "aria-label": "Dimensions"}, h("h2", null, "Dimensions"), this.rows.map(row => row.element),
      rank > 1 && h("div", {class: "fields"}, this.axes.map(({label}) => label), this.line.label)));
    this.leave = selection.onChange(framed(() => this.show()));
    this.show();
  }

  choice(title, dims, act) {
    const select = h("select", {onchange: () => act(Number(select.value))}, dims.map(d => h("option", {value: d}, this.selection.name(d))));
    return {select, label: h("label", {class: "field"}, h("span", null, title), select)};
  }

  row(d) {
    const {selection} = this;
    const n = selection.shape[d];
    const name = selection.name(d);
    const last = Math.max(0, n - 1);
    const set = (input, isStep) => {
      const i = Number(input.value);
      if (input.value !== "" && Number.isInteger(i)) {
        selection.setIndex(d, i, isStep);
      }
    };
    const slider = h("input", {type: "range", min: 0, max: last, step: 1, "aria-label": `${name}, index`, disabled: n < 2,
      oninput: () => set(slider, null), onchange: () => set(slider, true)});
    const index = h("input", {type: "number", class: "index-field", min: 0, max: last, "aria-label": `${name}, index as a number`, onchange: () => set(index, true)});
    const value = h("input", {type: "text", class: "value-field", "aria-label": `${name}, value`, spellcheck: "false", autocomplete: "off",
      onchange: () => this.find(d, value)});
    const units = h("span", {class: "hint"});
    const trouble = h("span", {class: "hint bad", role: "alert"});
    const mark = h("span", {class: "axis-mark"});
    return {slider, index, value, units, trouble, mark, element: h("div", {class: "dimension", "data-dim": d},
      h("div", {class: "dimension-head"}, given(name, {class: "dimension-name"}), mark, units),
      h("div", {class: "dimension-fields"}, slider, index, value), trouble)};
  }

  // The nearest index to what was typed.
  async find(d, field) {
    const row = this.rows[d];
    const coordinate = this.selection.coordinates[d];
    fill(row.trouble);
    try {
      const i = await coordinate.nearest(field.value);
      if (i === null) {
        fill(row.trouble, coordinate.time ? "Enter a time, such as 2024-03-20 12:00" : coordinate.isNumber ? "Enter a number" : "The coordinate has no such value");
      } else {
        this.selection.setIndex(d, i);
        this.show();
      }
    } catch (error) {
      fill(row.trouble, given(error.message));
    }
  }

  show() {
    const {selection} = this;
    this.rows.forEach((row, d) => {
      row.slider.value = selection.at[d];
      if (document.activeElement !== row.index) {
        row.index.value = selection.at[d];
      }
      row.mark.textContent = selection.rank < 2 ? "" : d === selection.axes[0] ? "↕" : d === selection.axes[1] ? "↔" : "";
      this.showValue(row, d);
    });
    this.axes.forEach(({select}, which) => {
      select.value = selection.axes[which];
    });
    if (this.line !== null) {
      this.line.select.value = selection.along;
    }
  }

  async showValue(row, d) {
    const coordinate = this.selection.coordinates[d];
    const i = this.selection.at[d];
    row.value.hidden = coordinate === null;
    row.element.classList.toggle("plain", coordinate === null);
    row.element.classList.toggle("timed", Boolean(coordinate?.time));
    if (coordinate === null) {
      row.units.textContent = `of ${this.selection.shape[d]}`;
      return;
    }
    row.units.textContent = coordinate.units;
    const known = coordinate.known(i);
    const text = known === undefined ? await coordinate.textAt(i).catch(() => "") : coordinate.text(known);
    if (this.selection.at[d] === i) {
      row.value.value = text;
      row.slider.setAttribute("aria-valuetext", `${text} ${coordinate.units}`);
    }
  }

  end() {
    this.leave();
  }
}
