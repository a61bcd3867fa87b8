// Texts and numbers for people: what could hide or reorder text is made visible.

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const HIDDEN =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

/** Give a text that shows what it holds: no escape sequences, no hidden controls. */
export function visible(text) {
  return text.replace(/\r\n?/g, "\n").replace(ESCAPES, "").replace(HIDDEN, "\ufffd");
}

/** Give the beginning of a text as one line. */
export function oneLine(text, most = 240) {
  const line = visible(text.slice(0, 4 * most)).replace(/\s+/g, " ").trim();
  return line.length > most || text.length > 4 * most ? line.slice(0, most) + "…" : line;
}

/** Give the last line of a text that is not empty. */
export function lastLine(text, most = 240) {
  const lines = text.slice(-4 * most).split("\n").filter((line) => line.trim());
  return oneLine(lines.pop() ?? "", most);
}

/** Give a number with its thousands apart. */
export const count = (number) => number.toLocaleString("en");

/** Give `1 tool`, `2 tools`. */
export const several = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/** Give a number of tokens in few letters. */
export function short(number) {
  if (number < 10_000) return count(number);
  return number < 999_950
    ? `${(number / 1000).toFixed(1)}k`
    : `${(number / 1_000_000).toFixed(1)}M`;
}

/** Give a cost; cents need more digits than dollars. */
export const dollars = (usd) => `$${usd.toFixed(usd >= 1 ? 2 : 4)}`;

/** Give milliseconds as 0.4 s, 12 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms) {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Give the time that is left as 9:07. */
export function countdown(ms) {
  const whole = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** Give a moment: the time today, else the day; empty when it is none. */
export function moment(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  const today = date.toDateString() === new Date().toDateString();
  return (today ? TIME : DAY).format(date);
}
