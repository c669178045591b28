// The frame of the explorer: where one is, what is beside it, and which view shows it.

import {go, here, link, onMove} from "./address.js";
import {askForToken, askNode, hasToken, isAbort, Turn} from "./api.js";
import {showDatasets} from "./datasets.js";
import {fill, given, h, spinner, trouble} from "./dom.js";
import {Tree} from "./tree.js";

const element = Object.fromEntries(["browse", "crumbs", "live", "main", "side", "token"].map(id => [id, document.getElementById(id)]));
const tree = new Tree(element.side);
const turn = new Turn();
let view = null; // of the node that is shown
let shown = {}; // its dataset and path

function showCrumbs({dataset, path}) {
  const names = path === "" ? [] : path.split("/");
  const places = dataset === null ? [] : [[dataset, ""], ...names.map((name, i) => [name, names.slice(0, i + 1).join("/")])];
  fill(element.crumbs, h("ol", null, places.map(([name, place], i) =>
    h("li", null, h("a", {href: link(dataset, place), "data-move": true, "aria-current": i === places.length - 1 ? "page" : null}, given(name))))));
}

function leave() {
  view?.end();
  view = null;
  fill(element.live);
}

async function showNode(place, signal) {
  const asked = askNode(place.dataset, place.path, signal); // while its view is loaded
  asked.catch(() => {});
  const {NodeView} = await import("./node.js");
  signal.throwIfAborted();
  view = new NodeView(element.main, element.live, place, tree);
  await view.load(asked);
}

// Another node, or the same one in another state.
async function arrive() {
  const place = here();
  closeSide();
  showCrumbs(place);
  if (view !== null && place.dataset === shown.dataset && place.path === shown.path) {
    view.show(place.show);
    return;
  }
  const signal = turn.next();
  leave();
  shown = place;
  document.title = place.dataset === null ? "zarrd" : `${place.path.split("/").at(-1) || place.dataset} – zarrd`;
  fill(element.main, spinner("Loading"));
  tree.select(place.dataset, place.path);
  try {
    await (place.dataset === null ? showDatasets(element.main, signal) : showNode(place, signal));
  } catch (error) {
    if (!isAbort(error)) {
      fill(element.main, trouble(error, () => {
        tree.reload();
        restart();
      }));
    }
  }
}

function restart() {
  leave();
  shown = {};
  arrive();
}

// ---- narrow screens: the side is a drawer ----

function closeSide() {
  element.side.classList.remove("open");
  element.browse.setAttribute("aria-expanded", "false");
}

element.browse.addEventListener("click", () => {
  const isOpen = element.side.classList.toggle("open");
  element.browse.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) {
    tree.focus();
  }
});

addEventListener("keydown", event => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape" && element.side.classList.contains("open")) {
    closeSide();
    element.browse.focus();
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault();
    tree.focusSearch();
  }
});

element.token.addEventListener("click", async () => {
  if (await askForToken("The page sends the token with every request.")) {
    restart();
  }
});

function showToken() {
  element.token.textContent = hasToken() ? "Token set" : "Token";
}

// Another token sees other datasets.
document.addEventListener("token", () => {
  showToken();
  tree.reload();
});

document.getElementById("home").addEventListener("click", event => {
  if (event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)) {
    event.preventDefault();
    go(null);
  }
});

onMove(arrive);
showToken();
arrive();
