// A tool's call in one line and opened: arguments, the change it asks for, its result.

import { el } from "./dom.js";
import { count, oneLine, visible } from "./text.js";

const SUBJECTS = [
  ...["command", "cmd", "script", "code", "file_path", "filePath", "path"],
  ...["filename", "pattern", "query", "url", "description", "prompt"],
];
const CHANGES = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldString", "newString"],
  ["oldText", "newText"],
];
const PATCHES = ["patch", "diff", "patch_text", "patchText", "input"];
const LONGEST = 100_000;
const CHUNK = 20_000;

/** Give the arguments as an object; undefined: they are none. */
function parsed(input) {
  try {
    const found = JSON.parse(input);
    return found && typeof found === "object" && !Array.isArray(found) ? found : undefined;
  } catch {
    return undefined; // not whole yet, or no JSON
  }
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Give a call's arguments in one line: what it is about first. */
export function line(input) {
  const found = parsed(input);
  if (!found) return oneLine(input);
  const subject = SUBJECTS.find((key) => found[key]);
  if (subject) return oneLine(asText(found[subject]));
  return oneLine(Object.entries(found).map(([key, value]) => `${key}: ${asText(value)}`).join("  "));
}

/** Make what is seen of arguments when a call is opened. */
export function argumentsOf(input) {
  const found = parsed(input);
  if (!found) return input ? [block("arguments", input)] : [];
  const parts = [];
  const diff = change(found, parts);
  const short = [];
  for (const [key, value] of Object.entries(found)) {
    const text = asText(value) ?? "";
    if (diff.has(key)) continue;
    if (text.length > 200 || text.includes("\n")) parts.push(block(key, text));
    else short.push(`${key}: ${text}`);
  }
  return short.length ? [block("arguments", short.join("\n")), ...parts] : parts;
}

/** Show the change that arguments ask for; give the keys that it shows. */
function change(found, parts) {
  for (const [before, after] of CHANGES) {
    if (typeof found[before] === "string" && typeof found[after] === "string") {
      parts.push(labelled("change", coloured(difference(found[before], found[after]))));
      return new Set([before, after]);
    }
  }
  const patch = PATCHES.find((key) => typeof found[key] === "string" && isDiff(found[key]));
  if (!patch) return new Set();
  parts.push(block("change", found[patch]));
  return new Set([patch]);
}

/** Give the lines that went and came, without those that both have at the ends. */
function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let first = 0;
  while (first < Math.min(old.length, now.length) && old[first] === now[first]) first += 1;
  let last = 0;
  const most = Math.min(old.length, now.length) - first;
  while (last < most && old.at(-1 - last) === now.at(-1 - last)) last += 1;
  const near = (lines) => lines.map((text) => ` ${text}`);
  return [
    ...near(old.slice(Math.max(0, first - 2), first)),
    ...old.slice(first, old.length - last).map((text) => `-${text}`),
    ...now.slice(first, now.length - last).map((text) => `+${text}`),
    ...near(old.slice(old.length - last, old.length - last + 2)),
  ];
}

function isDiff(text) {
  const head = text.slice(0, 2000).trimStart();
  if (/^(diff --git |\*\*\* Begin Patch|Index: )/.test(head)) return true;
  return head.startsWith("--- ") && head.includes("\n+++ ") && head.includes("\n@@ ");
}

function coloured(lines) {
  const pre = el("pre", { tabindex: "0" });
  for (const text of lines) {
    const kind = /^(@@|diff |index |\+\+\+ |--- |\*\*\* )/.test(text)
      ? "place"
      : { "+": "added", "-": "removed" }[text[0]];
    pre.append(el("span", { class: kind ?? false }, visible(text) + "\n"));
  }
  return pre;
}

const labelled = (label, node) =>
  el("div", { class: "part" }, el("p", { class: "label" }, oneLine(label, 80)), node);

/** Make a labelled block of text; of a huge one the beginning, and a button. */
export function block(label, text) {
  if (text.length < LONGEST && isDiff(text)) return labelled(label, coloured(text.split("\n")));
  const pre = el("pre", { tabindex: "0" }, visible(text.slice(0, LONGEST)));
  const part = labelled(label, pre);
  if (text.length > LONGEST) {
    const more = el("button", { type: "button", class: "quiet" });
    more.textContent = `Show ${count(text.length - LONGEST)} more characters`;
    more.addEventListener("click", () => {
      pre.append(...chunks(visible(text.slice(LONGEST))));
      more.remove();
      pre.focus();
    });
    part.append(more);
  }
  return part;
}

/** Cut a huge text where lines end, into pieces that are laid out when they are seen. */
export function* chunks(text) {
  for (let at = 0; at < text.length; ) {
    const line = text.lastIndexOf("\n", at + CHUNK);
    const end = line > at ? line + 1 : Math.min(at + CHUNK, text.length);
    yield el("div", { class: "chunk" }, text.slice(at, end));
    at = end;
  }
}
