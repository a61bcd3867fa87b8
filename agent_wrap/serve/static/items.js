// One item of the timeline each: its element, and how it follows what becomes known.

import { el, setText } from "./dom.js";
import { Prose } from "./prose.js";
import { count, duration, lastLine, oneLine, visible } from "./text.js";
import * as tool from "./tool.js";

const REASONS = {
  completed: ["good", "Done"],
  aborted_tools: ["plain", "Stopped while a tool ran"],
  aborted_streaming: ["plain", "Stopped"],
  interrupted: ["plain", "Stopped"],
  max_turns: ["warn", "Ended: the limit of turns was reached"],
  blocking_limit: ["warn", "Ended: a limit was reached"],
  rapid_refill_breaker: ["warn", "Ended: the context filled up too fast"],
  prompt_too_long: ["warn", "Ended: the prompt is too long for the model"],
  image_error: ["bad", "Failed: an image could not be used"],
  model_error: ["bad", "Failed: the model or its service"],
  stop_hook_prevented: ["warn", "Ended: a hook intervened"],
  hook_stopped: ["warn", "Ended: a hook stopped the turn"],
  tool_deferred: ["plain", "Waiting for a background task"],
  error: ["bad", "Failed"],
};

/** Say how a turn ended: its style and words. */
export const ending = (reason) =>
  REASONS[reason] ?? ["plain", reason ? `Ended: ${oneLine(reason, 80)}` : "Ended"];

/** Make the view of an item: `node`, and `update(closed)`; closed: no more will come. */
export function viewOf(item, session) {
  return (VIEWS[item.kind] ?? notice)(item, session);
}

const row = (kind, ...children) => el("li", { class: kind, tabindex: "-1" }, ...children);
const said = (text) => el("span", { class: "hidden" }, text);

const VIEWS = {
  turn(item) {
    const prose = new Prose();
    const asked = item.text || "The agent began by itself";
    const node = row("turn", el("h3", { class: "hidden" }, `Asked: ${oneLine(asked, 80)}`));
    node.append(prose.node);
    node.classList.toggle("by-itself", !item.text);
    return { node, update: () => (prose.update(asked), prose.close()) };
  },

  text(item) {
    const prose = new Prose();
    const node = row("text", said("The agent said:"), prose.node);
    const update = (closed) => (prose.update(item.text), closed && prose.close());
    return { node, update };
  },

  thinking(item) {
    const first = el("span", { class: "line" });
    const body = el("div", { class: "body prose" });
    const fold = el("details", {}, el("summary", {}, el("b", {}, "Thinking"), first), body);
    const draw = () => fold.open && setText(body, visible(item.text));
    fold.addEventListener("toggle", draw);
    return { node: row("thinking", fold), update: () => (setText(first, oneLine(item.text)), draw()) };
  },

  tool: toolView,

  hook(item) {
    const text = () => [item.stdout, item.stderr].filter(Boolean).join("\n");
    return folded("hook", () => `Hook ${item.hookName ?? item.hookId}: ${item.status}`, text);
  },

  error(item) {
    const stopped = item.code === "stopped";
    const kind = stopped ? "notice" : "error";
    const label = stopped ? "" : "Error: ";
    return { node: row(kind, el("b", {}, label), visible(item.text)), update() {} };
  },

  end(item) {
    const [style, words] = ending(item.reason);
    return { node: row(`end ${style}`, el("span", {}, words)), update() {} };
  },
};

function notice(item) {
  return { node: row("notice", visible(item.text)), update() {} };
}

function folded(kind, line, text) {
  const first = el("span", { class: "line" });
  const body = el("div", { class: "body" });
  const fold = el("details", {}, el("summary", {}, first), body);
  const draw = () => fold.open && body.replaceChildren(tool.block("output", text()));
  fold.addEventListener("toggle", draw);
  return { node: row(kind, fold), update: () => (setText(first, oneLine(line())), draw()) };
}

const MARKS = {
  waiting: ["?", "waits for your answer"],
  running: ["", "running"],
  pending: ["", "pending"],
  complete: ["✓", "done"],
  error: ["✗", "failed"],
};

function toolView(item, session) {
  const mark = el("span", { class: "mark", "aria-hidden": "true" });
  const line = el("span", { class: "line" });
  const took = el("span", { class: "took" });
  const state = said("");
  const name = el("b", {}, oneLine(item.name, 80));
  const peek = el("p", { class: "peek" });
  const body = el("div", { class: "body" });
  const fold = el("details", {}, el("summary", {}, mark, name, line, took, state), body);
  const node = row("tool", fold, peek);
  const depth = Math.min(4, item.name.split("/").length - 1);
  node.style.setProperty("--depth", item.name.startsWith("mcp") ? 0 : depth);

  const draw = () => {
    if (!fold.open) return;
    const parts = tool.argumentsOf(item.input);
    const bad = item.status === "error";
    if (item.result) parts.push(tool.block(bad ? "error" : "result", item.result));
    else if (item.progress) parts.push(tool.block("output so far", item.progress));
    else if (item.result === "") parts.push(el("p", { class: "label" }, "no output"));
    body.replaceChildren(...parts);
  };
  fold.addEventListener("toggle", draw);
  const update = () => {
    const status = session.asks.has(item.id) ? "waiting" : item.status;
    const [sign, words] = MARKS[status] ?? MARKS.running;
    node.dataset.status = status;
    setText(mark, sign);
    setText(state, `, ${words}`);
    setText(line, tool.line(item.input));
    setText(took, item.took > 1000 ? duration(item.took) : "");
    setText(peek, peekOf(item));
    draw();
  };
  return { node, update };
}

/** Give the line below a call: the latest output, the error, how much came. */
function peekOf(item) {
  if (item.resolution === "denied") return "denied";
  if (item.status === "error") return oneLine(item.result ?? "", 400);
  if (item.result === undefined) return lastLine(item.progress);
  const first = item.result.trimStart();
  const lines = item.result.length < 100_000 ? item.result.trim().split("\n").length : 0;
  const end = first.indexOf("\n");
  if (end < 0) return oneLine(first);
  const size = lines ? `${count(lines)} lines` : `${count(item.result.length)} characters`;
  return `${oneLine(first.slice(0, Math.min(end, 1000)), 160)} · ${size}`;
}
