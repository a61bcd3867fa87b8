// Beside the timeline: the agent's plan, its sub-agents, tokens and cost.

import { byId, el, setText } from "./dom.js";
import { count, dollars, oneLine, several, short } from "./text.js";

const SIGNS = { completed: "✓", in_progress: "▸", pending: "○" };
const WORDS = { completed: "done", in_progress: "under way", pending: "to do" };
const AGENTS = { running: "▸", complete: "✓", error: "✗", stopped: "■", untracked: "?" };

export class Aside {
  constructor() {
    this.fold = byId("aside");
    this.line = byId("aside-line");
    this.body = byId("aside-body");
    this.wide = matchMedia("(min-width: 75rem)");
    const set = () => (this.fold.open = this.wide.matches);
    this.wide.addEventListener("change", set);
    set();
  }

  update(session) {
    const { tasks, subagents, status } = session;
    const figures = figuresOf(status);
    const parts = [];
    const words = [];
    const plan = planOf(tasks, status.todoCounts);
    if (plan) words.push(plan.words);
    if (plan?.node) parts.push(plan.node);
    if (subagents.size) {
      const running = [...subagents.values()].filter((one) => one.status === "running").length;
      words.push(running ? `${several(running, "sub-agent")} at work` : several(subagents.size, "sub-agent"));
      parts.push(section("Sub-agents", [...subagents.values()].slice(-50).map(agent)));
    }
    if (figures.length) {
      words.push(figures.map(([, , brief]) => brief).filter(Boolean).join(" · "));
      const list = el("dl");
      for (const [name, value] of figures) list.append(el("dt", {}, name), el("dd", {}, value));
      parts.push(el("section", {}, el("h3", {}, "Usage"), list));
    }
    this.fold.hidden = !words.length;
    setText(this.line, words.join(" · "));
    const key = JSON.stringify([tasks, [...subagents], figures]);
    if (key !== this.key) this.body.replaceChildren(...parts);
    this.key = key;
  }
}

function planOf(tasks, counts) {
  const done = tasks.filter((task) => task.status === "completed").length;
  if (!tasks.length) {
    return counts?.total ? { words: `Plan ${counts.completed} of ${counts.total}` } : undefined;
  }
  const now = tasks.find((task) => task.status === "in_progress");
  const what = now ? `: ${oneLine(now.activeForm ?? now.subject, 60)}` : "";
  const rows = tasks.map((task) =>
    el(
      "li",
      { class: task.status },
      el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[task.status] ?? "○"),
      el("span", {}, oneLine(task.subject, 300)),
      el("span", { class: "hidden" }, `, ${WORDS[task.status] ?? task.status}`),
    ),
  );
  return { words: `Plan ${done} of ${tasks.length}${what}`, node: section("Plan", rows) };
}

function agent(one) {
  const text = oneLine(one.description || one.taskId, 120);
  const more = [one.status, one.toolUses && several(one.toolUses, "tool")].filter(Boolean).join(" · ");
  const summary = one.summary && el("p", { class: "dim" }, oneLine(one.summary, 300));
  return el(
    "li",
    { class: one.status },
    el("span", { class: "sign", "aria-hidden": "true" }, AGENTS[one.status] ?? "▸"),
    el("div", {}, text, el("span", { class: "dim" }, ` ${more}`), summary || undefined),
  );
}

const section = (title, rows) =>
  el("section", {}, el("h3", {}, title), el("ul", { class: "signs" }, ...rows));

/** Give the figures that are known: name, value, the value in the folded line. */
function figuresOf({ contextUsage: context, cost, usage }) {
  const found = [];
  if (context?.totalTokens) {
    const most = context.maxTokens ? ` of ${count(context.maxTokens)}` : "";
    const words = most ? `${count(context.totalTokens)}${most} tokens` : several(context.totalTokens, "token");
    found.push(["Context", words, `${short(context.totalTokens)} tokens`]);
  }
  if (context?.cacheReadTokens) found.push(["From the cache", several(context.cacheReadTokens, "token")]);
  if (context?.outputTokens) found.push(["Last answer", several(context.outputTokens, "token")]);
  if (typeof cost === "number") found.push(["Cost", dollars(cost), dollars(cost)]);
  if (usage?.utilization) found.push([usage.windowLabel ?? "Used", `${Math.round(usage.utilization)} %`]);
  return found;
}
