// What waits for a person: cards with their countdowns, and the answers that are sent.
// A card goes when the server says that it is resolved, whoever answered.

import { ApiError, settle } from "./api.js";
import { announce, byId, el, setText } from "./dom.js";
import { fieldsOf } from "./form.js";
import { countdown, oneLine, visible } from "./text.js";
import { argumentsOf } from "./tool.js";

const SOON = 30_000;

export class Asks {
  /** `done()` is called where the focus was in a card that has gone. */
  constructor(done) {
    this.section = byId("asks");
    this.cards = new Map();
    this.done = done;
  }

  clear() {
    this.cards.clear();
    this.section.replaceChildren();
    this.section.hidden = true;
    clearInterval(this.clock);
    this.clock = undefined;
  }

  /** Show what waits in a session; `canAnswer` is false where answers have no route. */
  update(asks, path, canAnswer) {
    for (const [id, card] of this.cards) {
      if (asks.has(id)) continue;
      const held = card.held || card.node.contains(document.activeElement);
      card.node.remove();
      this.cards.delete(id);
      if (held && document.activeElement === document.body) this.done();
    }
    for (const [id, asked] of asks) {
      const known = this.cards.get(id);
      if (known) known.until = asked.until;
      else this.add(asked, path, canAnswer);
    }
    this.section.hidden = !this.cards.size;
    if (this.cards.size && !this.clock) {
      this.clock = setInterval(() => this.tick(), 1000);
    } else if (!this.cards.size) {
      clearInterval(this.clock);
      this.clock = undefined;
    }
    this.tick();
  }

  add(asked, path, canAnswer) {
    const card = new Card(asked, path, canAnswer);
    this.cards.set(asked.id, card);
    this.section.append(card.node);
    announce(`${card.title}. It waits for your answer.`);
  }

  tick() {
    const now = performance.now();
    for (const card of this.cards.values()) {
      const left = card.until - now;
      setText(card.time, left > 0 ? countdown(left) : "time is up");
      card.time.classList.toggle("soon", left < SOON);
    }
  }
}

let number = 0;

class Card {
  constructor(asked, path, canAnswer) {
    this.asked = asked;
    this.path = path;
    this.until = asked.until;
    const id = `ask-${(number += 1)}`;
    const { title, body, buttons } = MAKERS[asked.type](this, asked);
    this.title = title;
    this.time = el("span", { class: "time", role: "timer", "aria-label": "remaining time" });
    this.problem = el("p", { role: "alert", class: "problem" });
    this.fields = el("fieldset", { class: "plain" }, ...body);
    const last = canAnswer
      ? el("div", { class: "buttons" }, ...buttons)
      : el("p", { class: "dim" }, "It is answered elsewhere.");
    this.fields.append(last);
    this.fields.disabled = !canAnswer;
    const head = el("header", {}, el("h3", { id }, title), this.time);
    const attributes = { class: `ask ${asked.type}`, "aria-labelledby": id };
    this.node = el("form", attributes, head, this.fields, this.problem);
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit?.();
    });
  }

  /** Send an answer; the card is closed to others until it is settled. */
  async send(route, body) {
    this.held = this.node.contains(document.activeElement); // what is disabled has no focus
    this.fields.disabled = true;
    this.problem.textContent = "";
    try {
      await settle(`${this.path}/${route}`, body);
      this.problem.textContent = "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problem.textContent = error.message;
      this.fields.disabled = false;
    }
  }
}

const button = (text, onclick, style = "") =>
  el("button", { type: "button", class: style || false, onclick }, text);

const MAKERS = {
  approval(card, asked) {
    const toolCallId = asked.id;
    const body = [asked.title, asked.description, asked.decisionReason]
      .filter(Boolean)
      .map((text) => el("p", {}, visible(text)));
    if (asked.blockedPath) body.push(el("p", {}, `Path: ${visible(asked.blockedPath)}`));
    body.push(el("div", { class: "wanted" }, ...argumentsOf(asked.input)));
    const buttons = [
      button("Approve", () => card.send("approve", { toolCallId }), "main"),
      button("Deny", () => card.send("deny", { toolCallId })),
    ];
    if (asked.hasSuggestions) {
      const always = { toolCallId, alwaysAllow: true };
      buttons.push(button("Always allow", () => card.send("approve", always)));
    }
    const name = oneLine(asked.displayName ?? asked.toolName, 80);
    return { title: `May ${name} run?`, body, buttons };
  },

  question(card, asked) {
    const questions = asked.questions.map(question);
    card.submit = () => {
      const open = questions.find(({ answer }) => !answer());
      if (open) {
        card.problem.textContent = "Each question needs an answer.";
        open.node.querySelector("input")?.focus();
        return;
      }
      const answers = Object.fromEntries(
        questions.map(({ answer }, index) => [String(index), answer()]),
      );
      card.send("submit-answers", { toolCallId: asked.id, answers });
    };
    const buttons = [el("button", { type: "submit", class: "main" }, "Answer")];
    const body = questions.map(({ node }) => node);
    return { title: asked.questions.length > 1 ? "Questions" : "A question", body, buttons };
  },

  elicitation(card, asked) {
    const fields = fieldsOf(asked.requestedSchema ?? {});
    const reply = (action, more) =>
      card.send("submit-elicitation", { interactionId: asked.id, action, ...more });
    card.submit = () => {
      const content = {};
      for (const field of fields) {
        const value = field.value();
        if (value !== undefined) content[field.name] = value;
      }
      reply("accept", { content });
    };
    const body = [el("p", {}, visible(asked.message))];
    if (asked.mode === "url" && /^https?:\/\//i.test(asked.url ?? "")) {
      const link = { href: asked.url, target: "_blank", rel: "noopener noreferrer" };
      body.push(el("p", {}, el("a", link, visible(asked.url))));
    }
    body.push(...fields.map((field) => field.node));
    const buttons = [
      el("button", { type: "submit", class: "main" }, "Submit"),
      button("Decline", () => reply("decline")),
      button("Cancel", () => reply("cancel")),
    ];
    return { title: `${oneLine(asked.serverName, 80)} asks`, body, buttons };
  },
};

/** One question: its options, and a text for what none of them says. */
function question(asked) {
  const group = `question-${(number += 1)}`;
  const kind = asked.multiSelect ? "checkbox" : "radio";
  const boxes = asked.options.map((option) => {
    const box = el("input", { type: kind, name: group, value: option.label });
    const more = option.description && el("small", { class: "dim" }, visible(option.description));
    const label = el("span", {}, visible(option.label), ...(more ? [el("br"), more] : []));
    return { box, node: el("label", { class: "option" }, box, label) };
  });
  const other = el("input", { type: "text", autocomplete: "off" });
  const label = boxes.length ? "Another answer" : "Answer";
  const node = el(
    "fieldset",
    { class: "group" },
    el("legend", {}, visible(asked.question || asked.header)),
    ...boxes.map((box) => box.node),
    el("label", { class: "field" }, el("span", {}, label), other),
  );
  other.addEventListener("input", () => {
    if (other.value && !asked.multiSelect) for (const { box } of boxes) box.checked = false;
  });
  const answer = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
    return [...chosen, other.value.trim()].filter(Boolean).join(", ");
  };
  return { node, answer };
}
