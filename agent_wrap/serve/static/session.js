// A session as its events tell it: items in order, state, plan, what waits for an
// answer. It knows no element; `changed` is called whenever there is something to show.

import { serverNow } from "./api.js";

export const KINDS = [
  ...["snapshot", "turn_start", "turn_end", "text_delta", "thinking_delta"],
  ...["tool_call", "tool_result", "tool_progress", "approval_required"],
  ...["question_prompt", "elicitation_prompt", "interaction_resolved"],
  ...["status_change", "todo_update", "subagent_update", "hook_update"],
  ...["memory_recall", "system_status", "compact_boundary"],
  "error", // also the name of EventSource's own event, which has no data
];
const ASKED = {
  approval_required: "approval",
  question_prompt: "question",
  elicitation_prompt: "elicitation",
};
const ABORTED = new Set(["interrupted", "aborted_streaming", "aborted_tools"]);
const LONGEST_PROGRESS = 200_000;

export class Session {
  constructor(changed) {
    this.changed = changed;
    this.generation = 0;
    this.reset();
  }

  reset() {
    this.generation += 1;
    this.items = [];
    this.dirty = new Set();
    this.tools = new Map();
    this.hooks = new Map();
    this.tasks = [];
    this.subagents = new Map();
    this.asks = new Map();
    this.status = { lifecycle: "idle" };
    this.cursor = 0;
    this.turnSince = 0;
    this.inTurn = false;
  }

  /** Take what came on the stream. */
  take(kind, data) {
    if (kind === "snapshot") this.snapshot(data);
    else if (data.seq > this.cursor) {
      this.cursor = data.seq;
      this.fold(data, true);
    } else return; // it was there before
    this.changed();
  }

  snapshot({ messages, inProgressTurn, status, pendingInteractions, cursor }) {
    this.reset();
    for (const message of messages) this.message(message);
    for (const event of inProgressTurn ?? []) this.fold(event, false);
    this.inTurn = inProgressTurn !== null;
    this.status = { ...status };
    this.asks.clear();
    for (const asked of pendingInteractions) this.ask(asked, asked.remainingMs);
    this.cursor = cursor;
    this.dirty.clear(); // all of it is new
  }

  message({ role, content, parts }) {
    if (role === "user") {
      this.add({ kind: "turn", text: content });
      return;
    }
    for (const part of parts ?? [{ type: "text", text: content }]) {
      if (part.type === "text" || part.type === "thinking") this.say(part.type, part.text);
      else if (part.type === "error") this.add({ kind: "error", text: part.message, code: part.code });
      else if (part.type === "tool_call") this.tool({ ...part }, false);
    }
  }

  fold(event, live) {
    const handler = HANDLERS[event.type];
    if (handler) handler.call(this, event, live);
  }

  add(item) {
    this.items.push(item);
    return item;
  }

  touch(item) {
    this.dirty.add(item);
  }

  say(kind, text) {
    let item = this.items.at(-1);
    if (item?.kind !== kind) {
      text = text.replace(/^\s+/, "");
      if (!text) return;
      item = this.add({ kind, text: "" });
    }
    item.text += text;
    this.touch(item);
  }

  /** Open a tool's item, or take what is new of it: repeated input is appended. */
  tool({ toolCallId, toolName, input, result, progressOutput, status }, live) {
    let item = this.tools.get(toolCallId);
    if (!item) {
      item = this.add({ kind: "tool", id: toolCallId, name: toolName, input: "" });
      Object.assign(item, { result: undefined, progress: progressOutput ?? "" });
      this.tools.set(toolCallId, item);
      if (live) item.began = performance.now();
    }
    item.input += input ?? "";
    if (result !== undefined) item.result = result;
    item.status = status;
    this.touch(item);
    return item;
  }

  ask(asked, left) {
    this.asks.set(asked.id, { ...asked, until: performance.now() + left });
  }
}

const HANDLERS = {
  turn_start(event, live) {
    this.add({ kind: "turn", text: event.userMessage ?? "" });
    this.inTurn = true;
    this.turnSince = live ? performance.now() : 0;
    Object.assign(this.status, { lifecycle: "streaming", lastError: null });
  },
  turn_end({ terminalReason: reason = "" }) {
    this.inTurn = false;
    this.add({ kind: "end", reason });
    if (reason === "error") this.status.lifecycle = "error";
    else if (ABORTED.has(reason)) this.status.lifecycle = "interrupted";
    else this.status.lifecycle = this.asks.size ? "blocked" : "idle";
  },
  text_delta(event) {
    this.say("text", event.text);
  },
  thinking_delta(event) {
    this.say("thinking", event.text);
  },
  tool_call(event, live) {
    this.tool(event, live);
  },
  tool_result(event, live) {
    const item = this.tool({ ...event, input: undefined }, live);
    item.result = event.result;
    if (live && item.began) item.took = performance.now() - item.began;
  },
  tool_progress(event) {
    const item = this.tools.get(event.toolCallId);
    if (!item) return;
    item.progress = (item.progress + event.content).slice(-LONGEST_PROGRESS);
    this.touch(item);
  },
  interaction_resolved(event) {
    this.asks.delete(event.id);
    const item = this.tools.get(event.id);
    if (item) {
      item.resolution = event.resolution;
      this.touch(item);
    }
    if (!this.asks.size && this.status.lifecycle === "blocked") {
      this.status.lifecycle = this.inTurn ? "streaming" : "idle";
    }
  },
  status_change({ status }) {
    const context = status.contextUsage && {
      ...this.status.contextUsage,
      ...status.contextUsage,
    };
    Object.assign(this.status, status, context && { contextUsage: context });
  },
  todo_update({ task, tasks }) {
    if (tasks) this.tasks = tasks;
    else {
      const at = this.tasks.findIndex((known) => known.id === task.id);
      this.tasks = at < 0 ? [...this.tasks, task] : this.tasks.with(at, task);
    }
  },
  subagent_update(event) {
    this.subagents.set(event.taskId, { ...this.subagents.get(event.taskId), ...event });
  },
  hook_update(event) {
    let item = this.hooks.get(event.hookId);
    if (!item) this.hooks.set(event.hookId, (item = this.add({ kind: "hook" })));
    Object.assign(item, event);
    this.touch(item);
  },
  memory_recall({ memories }) {
    const paths = memories.map((memory) => memory.path).join(", ");
    this.add({ kind: "notice", text: `Remembered: ${paths}` });
  },
  compact_boundary() {
    this.add({ kind: "notice", text: "The conversation was compacted" });
  },
  system_status(event) {
    this.add({ kind: "notice", text: event.message });
  },
  error(event) {
    this.add({ kind: "error", text: event.message, code: event.code });
  },
};
for (const [kind, type] of Object.entries(ASKED)) {
  HANDLERS[kind] = function (event) {
    const passed = Math.max(0, serverNow() - event.startedAt);
    this.ask({ ...event, type }, Math.max(0, event.remainingMs - passed));
    this.status.lifecycle = "blocked";
    const item = this.tools.get(event.id);
    if (item) this.touch(item);
  };
}
