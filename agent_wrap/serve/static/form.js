// A form out of a JSON Schema: flat objects of texts, numbers, choices, switches.

import { el } from "./dom.js";
import { visible } from "./text.js";

const INPUTS = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** Make the fields: each has `name`, `node` and `value()`; undefined: left empty. */
export function fieldsOf(schema) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, about]) => ({
    name,
    ...field(about ?? {}, required.has(name), about?.title || name),
  }));
}

function field(about, required, title) {
  const choices = choicesOf(about);
  if (about.type === "array") return many(about, title);
  if (choices) return choice(about, choices, required, title);
  if (about.type === "boolean") return flag(about, title);
  return input(about, required, title);
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf }) {
  const named = oneOf ?? anyOf;
  if (Array.isArray(values)) return values.map((value, at) => [value, enumNames?.[at] ?? value]);
  return Array.isArray(named) ? named.map((one) => [one.const, one.title ?? one.const]) : undefined;
}

function input(about, required, title) {
  const isNumber = about.type === "number" || about.type === "integer";
  const secret = /password|secret|token|api.?key/i.test(title) && !isNumber;
  const node = el("input", {
    type: isNumber ? "number" : secret ? "password" : (INPUTS[about.format] ?? "text"),
    autocomplete: "off",
    required: required && "",
    step: about.type === "number" && "any",
    min: about.minimum,
    max: about.maximum,
    minlength: about.minLength,
    maxlength: about.maxLength,
    value: about.default,
  });
  const value = () => {
    if (node.value === "") return undefined;
    if (isNumber) return Number(node.value);
    return about.format === "date-time" ? new Date(node.value).toISOString() : node.value;
  };
  return { node: labelled(about, title, node), value };
}

function choice(about, choices, required, title) {
  const options = choices.map(([value, name], at) =>
    el("option", { value: at, selected: value === about.default && "" }, visible(String(name))),
  );
  const node = el("select", { required: required && "" }, el("option", { value: "" }, "–"), ...options);
  const value = () => (node.value === "" ? undefined : choices[Number(node.value)][0]);
  return { node: labelled(about, title, node), value };
}

function flag(about, title) {
  const node = el("input", { type: "checkbox" });
  node.checked = about.default === true;
  const label = el("label", { class: "option" }, node, el("span", {}, visible(title)));
  return { node: described(about, label), value: () => node.checked };
}

function many(about, title) {
  const choices = choicesOf(about.items ?? {}) ?? [];
  const boxes = choices.map(([value, name]) => {
    const box = el("input", { type: "checkbox" });
    box.checked = (about.default ?? []).includes(value);
    return { box, value, node: el("label", { class: "option" }, box, el("span", {}, visible(String(name)))) };
  });
  const legend = el("legend", {}, visible(title));
  const node = el("fieldset", { class: "group" }, legend, ...boxes.map((one) => one.node));
  const value = () => boxes.filter(({ box }) => box.checked).map((one) => one.value);
  return { node: described(about, node), value };
}

const labelled = (about, title, node) =>
  described(about, el("label", { class: "field" }, el("span", {}, visible(title)), node));

function described({ description }, node) {
  if (!description) return node;
  return el("div", {}, node, el("small", { class: "dim" }, visible(String(description))));
}
