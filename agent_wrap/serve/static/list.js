// The list of sessions, kept true by its stream.

import { get } from "./api.js";
import { byId, el, oncePerFrame, setText } from "./dom.js";
import { Stream } from "./stream.js";
import { moment, oneLine } from "./text.js";

const MOST = 300;
const FILTER_FROM = 8;
const WORDS = {
  streaming: "working",
  blocked: "waits for an answer",
  error: "failed",
  interrupted: "stopped",
  success: "succeeded",
  running: "running",
  timeout: "out of time",
  unfinished: "unfinished",
};

export class List {
  /** `changed()` is called when the list is another one, `login()` when it is refused. */
  constructor(changed, login) {
    this.sessions = new Map();
    this.lifecycles = new Map();
    this.changed = changed;
    this.login = login;
    this.filter = byId("filter");
    this.draw = oncePerFrame(() => this.drawNow());
    this.filter.addEventListener("input", this.draw);
    this.rows = byId("sessions");
  }

  /** Load the list, and follow it. Throws ApiError. */
  async open() {
    await this.load();
    this.stream?.close();
    const kinds = ["connected", "session_upserted", "session_removed", "session_status"];
    this.stream = new Stream("api/events", kinds, {
      heard: (kind, data) => this.take(kind, data),
      changed: (state) => setText(byId("list-state"), state === "waiting" ? "reconnecting…" : ""),
      refused: async () => {
        try {
          await this.load();
          return true;
        } catch (error) {
          if (error.status === 401) this.login();
          return error.status !== 401;
        }
      },
    });
  }

  async load() {
    const { sessions } = await get("api/sessions");
    this.sessions = new Map(sessions.map((session) => [session.id, session]));
    this.draw();
    this.changed();
  }

  take(kind, data) {
    if (kind === "connected") {
      // This stream has no past: whatever happened meanwhile is in the list itself.
      this.lifecycles.clear();
      if (this.heardBefore) this.load().catch(() => undefined);
      this.heardBefore = true;
    } else if (kind === "session_upserted") {
      const { id } = data.session;
      this.sessions.delete(id);
      this.sessions = new Map([[id, data.session], ...this.sessions]);
      this.changed();
    } else if (kind === "session_removed") {
      this.sessions.delete(data.sessionId);
    } else {
      this.lifecycles.set(data.sessionId, data.status.lifecycle);
      if (data.retiredSessionId) this.sessions.delete(data.retiredSessionId);
    }
    this.draw();
  }

  /** Mark the session that is shown. */
  select(id) {
    this.selected = id;
    this.draw();
  }

  drawNow() {
    const all = [...this.sessions.values()];
    this.filter.hidden = all.length < FILTER_FROM;
    const wanted = this.filter.hidden ? "" : this.filter.value.trim().toLowerCase();
    const found = all.filter((one) => matches(one, wanted));
    const shown = found.slice(0, MOST);
    const focused = document.activeElement?.closest("#sessions a")?.hash;
    this.rows.replaceChildren(...shown.map((session) => this.row(session)));
    if (focused) this.rows.querySelector(`a[href="${focused}"]`)?.focus();
    const none = byId("no-sessions");
    const left = found.length - shown.length;
    none.hidden = shown.length > 0 && !left;
    setText(none, left ? `and ${left} more: filter them` : wanted ? "None like this." : "No sessions yet.");
  }

  row(session) {
    const state = this.lifecycles.get(session.id) ?? session.outcome ?? "idle";
    const about = [session.runtime, session.model, moment(session.updatedAt)].filter(Boolean);
    return el(
      "li",
      {},
      el(
        "a",
        { href: `#${session.id}`, "aria-current": session.id === this.selected && "page" },
        el("span", { class: `dot ${state}`, "aria-hidden": "true" }),
        el("span", { class: "name" }, oneLine(session.title, 120) || "Untitled"),
        el("span", { class: "about dim" }, oneLine(about.join(" · "), 120)),
        el("span", { class: "hidden" }, WORDS[state] ? `, ${WORDS[state]}` : ""),
      ),
    );
  }
}

const matches = (session, wanted) =>
  !wanted ||
  [session.title, session.cwd, session.runtime, session.model, session.outcome].some((text) =>
    text?.toLowerCase().includes(wanted),
  );
