// What an agent says, as it comes: paragraphs, code blocks, `code` and **strong**.
//
// Lines are set once, when they are whole; only the last one is still open. So a long
// answer costs no more per piece than a short one.

import { el, setText } from "./dom.js";
import { count, visible } from "./text.js";
import { chunks } from "./tool.js";

const LONGEST = 200_000;
const LONGEST_LINE = 10_000;
const LONGEST_TAIL = 2000;
const INLINE = /(`+)(?!`)(.+?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*/g;

export class Prose {
  constructor() {
    this.node = el("div", { class: "prose" });
    this.shown = 0;
    this.rest = "";
    this.buffer = "";
    this.code = undefined;
    this.block = undefined;
    this.open = undefined;
    this.plain = 0; // characters of the open line that stand there as they are
  }

  /** Show the text, of which the beginning is shown already. */
  update(text) {
    if (this.raw) {
      this.raw.append(...chunks(visible(text.slice(this.shown))));
      this.shown = text.length;
      return;
    }
    const end = text.length > LONGEST ? endOfLine(text, LONGEST) : text.length;
    if (end > this.shown) {
      this.feed(visible(text.slice(this.shown, end)));
      this.shown = end;
    }
    if (text.length <= LONGEST) return;
    this.text = text;
    if (!this.more) {
      this.more = el("button", { type: "button", class: "quiet", onclick: () => this.all() });
      this.node.append(this.more);
    }
    setText(this.more, `Show ${count(text.length - this.shown)} more characters`);
  }

  /** Show the rest, as it is: it may be longer than anybody wants it laid out. */
  all() {
    this.close();
    this.raw = el("div", { tabindex: "-1" });
    this.more.replaceWith(this.raw);
    this.more = undefined;
    this.update(this.text);
    this.raw.focus({ preventScroll: true });
  }

  feed(text) {
    const lines = text.split("\n");
    lines.forEach((piece, number) => {
      if (number) this.line();
      this.rest += piece;
    });
    this.flush();
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
      this.leave();
    } else if (this.code) {
      this.into("pre");
      this.buffer += `${line}\n`;
    } else if (!line.trim()) {
      this.leave();
    } else {
      this.prose(line);
    }
  }

  prose(line) {
    const heading = /^#{1,6} +(.*)$/.exec(line);
    if (heading) this.leave();
    const block = this.into("p", heading ? "heading" : "");
    if (heading || hasInline(line)) {
      this.flush();
      setInline(block, heading ? heading[1] : line);
    } else {
      this.buffer += line;
    }
    if (heading) this.leave();
    else this.buffer += "\n";
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
    this.flush();
  }

  into(tag, style = "") {
    if (this.block?.localName !== tag) {
      this.leave();
      this.block = el(tag, { class: style || false });
      if (tag === "pre") this.block.tabIndex = 0; // it scrolls: keys must reach it
      this.node.insertBefore(this.block, this.more ?? null);
    }
    return this.block;
  }

  /** The block is whole. */
  leave() {
    this.flush();
    this.block = undefined;
  }

  /** Set the lines that are plain text, all at once. */
  flush() {
    if (this.buffer) this.block.append(this.buffer);
    this.buffer = "";
  }
}

/** Give where the last line before a place ends; the place, where lines are that long. */
function endOfLine(text, at) {
  const line = text.lastIndexOf("\n", at);
  return line > at / 2 ? line + 1 : at;
}

const hasInline = (line) => line.length < LONGEST_LINE && line.search(INLINE) >= 0;

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
