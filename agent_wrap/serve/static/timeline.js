// The timeline of one session: what is new is added once a frame, and the end stays in
// sight while it is. Of a long session a part is there: its end, and what was asked for.

import { byId } from "./dom.js";
import { viewOf } from "./items.js";
import { count } from "./text.js";

const PART = 400;
const MOST = 2000;
const NEAR = 60;

export class Timeline {
  constructor() {
    this.scroll = byId("scroll");
    this.list = byId("timeline");
    this.earlier = byId("earlier");
    this.latest = byId("latest");
    this.generation = -1;
    this.atEnd = true;
    this.scroll.addEventListener("scroll", () => this.look(), { passive: true });
    this.scroll.addEventListener("keydown", (event) => this.key(event));
    this.earlier.addEventListener("click", () => this.showEarlier());
    this.latest.addEventListener("click", () => {
      this.atEnd = true;
      this.add(this.session.items);
      this.toEnd();
      this.scroll.focus({ preventScroll: true });
    });
    // Sizes of what is out of sight are estimates: the end moves when they are known.
    const watcher = new ResizeObserver(() => this.atEnd && this.toEnd());
    watcher.observe(this.list);
    watcher.observe(this.scroll);
  }

  /** Another session is shown. */
  clear() {
    this.generation = -1;
    this.session = undefined;
    this.list.replaceChildren();
    this.earlier.hidden = true;
    this.latest.hidden = true;
    this.atEnd = true;
  }

  /** Show what is new in the session. */
  update(session) {
    const fresh = session.generation !== this.generation || session !== this.session;
    if (fresh) {
      this.list.replaceChildren();
      this.session = session;
      this.generation = session.generation;
      this.views = new Map();
      this.first = Math.max(0, session.items.length - PART);
      this.next = this.first;
      this.setEarlier();
    }
    for (const item of session.dirty) this.views.get(item)?.update(item !== session.items.at(-1));
    session.dirty.clear();
    if (fresh) this.atEnd = true;
    this.add(session.items);
    if (!session.inTurn) this.views.get(session.items.at(-1))?.update(true);
    if (this.atEnd) this.toEnd();
    else this.latest.hidden = false;
  }

  /** Add what is new; a reader who looks back is not buried under it. */
  add(items) {
    if (this.atEnd && items.length - this.first > 2 * PART) this.drop(items.length - PART);
    const to = this.atEnd ? items.length : Math.min(items.length, this.first + MOST);
    if (this.next >= to) return;
    this.views.get(items[this.next - 1])?.update(true); // no longer the last: it is whole
    this.list.append(this.make(this.next, to));
    this.next = to;
  }

  /** Take out what came before an item, unless somebody is there. */
  drop(from) {
    if (this.list.contains(document.activeElement)) return;
    const { items } = this.session;
    if (from >= this.next) {
      this.list.replaceChildren();
      this.views.clear();
      this.next = from;
    }
    for (const item of items.slice(this.first, Math.min(from, this.next))) {
      this.views.get(item)?.node.remove();
      this.views.delete(item);
    }
    this.first = from;
    this.setEarlier();
  }

  make(from, to) {
    const part = document.createDocumentFragment();
    const { items } = this.session;
    for (const item of items.slice(from, to)) {
      const view = viewOf(item, this.session);
      this.views.set(item, view);
      view.update(item !== items.at(-1));
      part.append(view.node);
    }
    return part;
  }

  setEarlier() {
    this.earlier.hidden = !this.first;
    this.earlier.textContent = `Show earlier steps (${count(this.first)})`;
  }

  showEarlier() {
    const from = Math.max(0, this.first - PART);
    const before = this.scroll.scrollHeight;
    const top = this.list.firstElementChild;
    this.list.prepend(this.make(from, this.first));
    this.first = from;
    this.setEarlier();
    this.scroll.scrollTop += this.scroll.scrollHeight - before;
    top?.focus({ preventScroll: true });
  }

  look() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroll;
    this.atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.latest.hidden = this.atEnd;
    if (this.atEnd && this.session) this.add(this.session.items);
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    this.atEnd = true;
    this.latest.hidden = true;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.target.closest("input, textarea")) return;
    event.preventDefault();
    const own = event.target.closest("#timeline > li");
    const next = own
      ? own[step > 0 ? "nextElementSibling" : "previousElementSibling"]
      : this.list.lastElementChild;
    if (!next) return;
    (next.querySelector("summary") ?? next).focus();
    next.scrollIntoView({ block: "nearest" });
  }
}

