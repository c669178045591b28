// What changes in a dataset while it is looked at: server-sent events (HTML, 9.2), read from a response, since an EventSource
// can carry no token but in its address.

import {ask, isAbort, target, Turn} from "./api.js";
import {fill, h} from "./dom.js";

const AGAIN_MS = 2000; // after the stream ended
const AGAIN_MOST_MS = 60000;

// One event of the stream -> {kind: "changed" | "created" | "deleted" | "chunks" | "reset", path, indices, change}
function understood(type, data) {
  const document = data === "" ? {} : JSON.parse(data);
  return {...document, kind: type === "node" ? document.change : type};
}

export class Live {
  constructor(badge, dataset, listener) {
    Object.assign(this, {badge, dataset, listener, lastId: null, waitMs: AGAIN_MS, timer: 0});
    this.turn = new Turn();
  }

  start() {
    this.run().catch(error => {
      if (!isAbort(error)) {
        this.show("offline", `Live updates are off: ${error.message}`);
        this.timer = setTimeout(() => this.start(), this.waitMs);
        this.waitMs = Math.min(2 * this.waitMs, AGAIN_MOST_MS);
      }
    });
  }

  show(state, words) {
    fill(this.badge, h("span", {class: `live-dot ${state}`, "aria-hidden": "true"}), h("span", {class: "live-words", title: words}, state === "on" ? "Live" : "Not live"));
  }

  async run() {
    const headers = {Accept: "text/event-stream", ...(this.lastId !== null && {"Last-Event-ID": this.lastId})};
    const answer = await ask(target("events", this.dataset, null), {headers, signal: this.turn.next(), cache: "no-store"});
    this.show("on", "Live updates are on");
    this.waitMs = AGAIN_MS;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const {value, done} = await reader.read();
      if (done) {
        throw new Error("the stream has ended");
      }
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      blocks.forEach(block => this.take(block));
    }
  }

  take(block) {
    const fields = {event: "message", data: ""};
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      if (colon > 0) {
        fields[name] = line.slice(colon + 1).replace(/^ /, "");
      }
    }
    this.lastId = fields.id ?? this.lastId;
    if (fields.event !== "message") {
      this.listener(understood(fields.event, fields.data));
    }
  }

  end() {
    clearTimeout(this.timer);
    this.turn.end();
    fill(this.badge);
  }
}
