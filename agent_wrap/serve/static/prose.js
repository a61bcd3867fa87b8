// What an agent says, as it comes: paragraphs, code blocks, `code` and **strong**.
//
// Lines are set once, when they are whole; only the last one is still open. So a long
// answer costs no more per piece than a short one.

import { el } from "./dom.js";
import { visible } from "./text.js";

const LONGEST = 200_000;
const LONGEST_LINE = 10_000;
const LONGEST_TAIL = 2000;
const INLINE = /(`+)(?!`)(.+?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*/g;

export class Prose {
  constructor() {
    this.node = el("div", { class: "prose" });
    this.shown = 0;
    this.rest = "";
    this.code = undefined;
    this.block = undefined;
    this.open = undefined;
    this.plain = 0; // characters of the open line that stand there as they are
    this.limit = LONGEST;
  }

  /** Show the text, of which the beginning is shown already. */
  update(text) {
    const end = Math.min(text.length, this.limit);
    if (end > this.shown) {
      this.feed(visible(text.slice(this.shown, end)));
      this.shown = end;
    }
    if (text.length > this.limit && !this.more) {
      this.more = el("button", { type: "button", class: "quiet", onclick: () => this.all() });
      this.node.append(this.more);
    }
    if (this.more) {
      this.text = text;
      this.more.textContent = `Show ${(text.length - this.shown).toLocaleString("en")} more characters`;
    }
  }

  all() {
    this.more.remove();
    this.more = undefined;
    this.limit = Infinity;
    this.update(this.text);
  }

  feed(text) {
    const lines = text.split("\n");
    lines.forEach((piece, number) => {
      if (number) this.line();
      this.rest += piece;
    });
    this.tail();
  }

  /** The open line is whole: set it for good. */
  line() {
    this.open?.remove();
    this.open = undefined;
    this.plain = 0;
    const line = this.rest;
    this.rest = "";
    const fence = /^\s*(```+|~~~+)([^`]*)$/.exec(line);
    if (fence && (!this.code || (fence[1].startsWith(this.code) && !fence[2].trim()))) {
      this.code = this.code ? undefined : fence[1];
      this.block = undefined;
    } else if (this.code) {
      this.into("pre").append(`${line}\n`);
    } else if (!line.trim()) {
      this.block = undefined;
    } else {
      const heading = /^#{1,6} +(.*)$/.exec(line);
      if (heading) this.block = undefined;
      const block = this.into("p", heading ? "heading" : "");
      setInline(block, heading ? heading[1] : line);
      if (heading) this.block = undefined;
      else block.append("\n");
    }
  }

  /** Show the line that is not whole yet. */
  tail() {
    if (!this.rest) return;
    if (!this.open) {
      this.open = el("span");
      this.into(this.code ? "pre" : "p").append(this.open);
    }
    if (!this.code && this.rest.length < LONGEST_TAIL) {
      this.open.replaceChildren();
      setInline(this.open, this.rest);
    } else {
      if (!this.plain) this.open.replaceChildren();
      this.open.append(this.rest.slice(this.plain));
      this.plain = this.rest.length;
    }
  }

  /** The text is whole. */
  close() {
    if (this.rest) this.line();
  }

  into(tag, style = "") {
    if (this.block?.localName !== tag) {
      this.block = el(tag, { class: style || false });
      if (tag === "pre") this.block.tabIndex = 0; // it scrolls: keys must reach it
      this.node.insertBefore(this.block, this.more ?? null);
    }
    return this.block;
  }
}

function setInline(node, line) {
  let at = 0;
  if (line.length < LONGEST_LINE) {
    for (const found of line.matchAll(INLINE)) {
      const made = found[1] ? el("code", {}, found[2]) : el("strong", {}, found[3]);
      node.append(line.slice(at, found.index), made);
      at = found.index + found[0].length;
    }
  }
  node.append(line.slice(at));
}
