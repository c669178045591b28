// Views of one node as tabs (WAI-ARIA, tabs); each is made when it is first shown.

import {change} from "./address.js";
import {isAbort} from "./api.js";
import {fill, h, spinner, trouble} from "./dom.js";

export class Tabs {
  // views: {name: {title, load() -> class}}; make(class, holder) -> a view with show(state), changed(event), end()
  constructor(holder, views, make) {
    Object.assign(this, {views, make, names: Object.keys(views), current: null});
    this.view = null;
    this.buttons = new Map(this.names.map(name => [name, h("button", {type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view",
      "aria-selected": "false", tabindex: -1, onclick: () => this.choose(name)}, views[name].title)]));
    this.panel = h("div", {role: "tabpanel", id: "view", class: "view"});
    fill(holder, h("div", {role: "tablist", class: "tabs", hidden: this.names.length === 1, "aria-label": "Views", onkeydown: event => this.key(event)}, [...this.buttons.values()]), this.panel);
  }

  choose(name) {
    change({tab: name === this.names[0] ? null : name});
    this.show({tab: name});
    this.buttons.get(name).focus();
  }

  key(event) {
    const at = this.names.indexOf(this.current);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1 + this.names.length, Home: 0, End: this.names.length - 1}[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.choose(this.names[to % this.names.length]);
    }
  }

  // The view that the state names, else the first one.
  async show(state) {
    const name = this.names.includes(state.tab) ? state.tab : this.names[0];
    if (name === this.current) {
      this.view?.show(state);
      return;
    }
    this.view?.end();
    this.view = null;
    this.current = name;
    for (const [other, button] of this.buttons) {
      button.setAttribute("aria-selected", String(other === name));
      button.tabIndex = other === name ? 0 : -1;
    }
    this.buttons.get(name).scrollIntoView({block: "nearest", inline: "nearest"});
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    fill(this.panel, spinner("Loading"));
    try {
      const View = await this.views[name].load();
      if (this.current === name) {
        fill(this.panel);
        this.view = this.make(View, this.panel);
      }
    } catch (error) {
      if (!isAbort(error)) {
        fill(this.panel, trouble(error));
      }
    }
  }

  changed(event) {
    this.view?.changed?.(event);
  }

  end() {
    this.view?.end();
    this.current = null;
  }
}
