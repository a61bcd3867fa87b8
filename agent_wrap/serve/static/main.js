// The page: which session is shown, its stream, what is sent, logging in and out.

import { get, newId, post } from "./api.js";
import { Aside } from "./aside.js";
import { Asks } from "./asks.js";
import { announce, byId, oncePerFrame, setText } from "./dom.js";
import { ending } from "./items.js";
import { List } from "./list.js";
import { KINDS, Session } from "./session.js";
import { Stream } from "./stream.js";
import { duration, oneLine } from "./text.js";
import { Timeline } from "./timeline.js";

const UUID = /^#([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const STATES = { live: "live", waiting: "reconnecting…", paused: "paused", ended: "finished" };
const LIFECYCLES = { streaming: "working", blocked: "waits for you", error: "failed", interrupted: "stopped" };

const text = byId("text");
const timeline = new Timeline();
const aside = new Aside();
const asks = new Asks(() => (features.send ? text : byId("scroll")).focus());
const list = new List(() => route(), () => login());
const drafts = new Map();

let features = { send: false, interrupt: false, answer: false, logout: false };
let wantsText = false;
let shown; // {id, session, stream}

// ---- which session is shown ---------------------------------------------------

function route() {
  const found = UUID.exec(location.hash)?.[1].toLowerCase();
  const wide = matchMedia("(min-width: 50rem)").matches;
  const [first] = list.sessions.keys();
  const only = list.sessions.size === 1;
  // Where nothing is chosen, a wide screen has room for the latest.
  const id = found ?? (wide || (only && !features.send) ? first : undefined);
  document.body.dataset.view = found || (id && only && !features.send) ? "session" : "list";
  if (id !== shown?.id) show(id);
  list.select(id);
  update();
}

function show(id) {
  if (shown) {
    drafts.set(shown.id, text.value);
    shown.stream.close();
  }
  shown = undefined;
  timeline.clear();
  asks.clear();
  text.value = drafts.get(id) ?? "";
  setText(byId("problem"), "");
  if (!id) return;
  const session = new Session(update);
  const before = { inTurn: undefined };
  const stream = new Stream(`api/sessions/${id}/events`, KINDS, {
    heard(kind, data) {
      session.take(kind, data);
      if (before.inTurn && !session.inTurn) tellEnd(session);
      before.inTurn = session.inTurn;
      // A run has one turn: where nothing can be sent, nothing comes after it.
      if (!features.send && session.items.length && !session.inTurn) stream.end();
    },
    changed(state) {
      if (state === "waiting" && session.cursor) announce("The connection is lost, reconnecting");
      else if (state === "live" && session.cursor) announce("Connected again");
      update();
    },
    refused: () => refused(id),
  });
  shown = { id, session, stream };
}

async function refused(id) {
  try {
    await get(`api/sessions/${id}`);
  } catch (error) {
    if (error.status === 401) login();
    // Where sessions can be begun, one that is not known yet is no error.
    const gone = error.status === 404 && !features.send;
    return error.status !== 401 && !gone;
  }
  return true;
}

function tellEnd(session) {
  const last = session.items.at(-1);
  if (last?.kind === "end") announce(`The turn has ended: ${ending(last.reason)[1]}`);
}

// ---- what is seen ------------------------------------------------------------

const update = oncePerFrame(() => {
  const known = list.sessions.get(shown?.id);
  const session = shown?.session;
  const title = oneLine(known?.title ?? "", 120) || (shown ? "New session" : "No session");
  setText(byId("title"), title);
  const place = [known?.runtime, session?.status.model ?? known?.model, known?.cwd];
  setText(byId("place"), oneLine(place.filter(Boolean).join(" · "), 300));
  const status = session?.status ?? {};
  document.title = `${{ streaming: "● ", blocked: "? " }[status.lifecycle] ?? ""}${title}`;
  pill(status.lifecycle);
  byId("composer").hidden = !features.send || !shown;
  byId("cwd-row").hidden = !session || session.items.length > 0 || Boolean(known);
  byId("send").disabled = Boolean(session?.inTurn);
  byId("stop").hidden = !features.interrupt || !session?.inTurn;
  if (!session) {
    empty(features.send ? "Begin a new session, or choose one." : "Nothing to show yet.");
    byId("aside").hidden = true;
    byId("working").hidden = true;
    return;
  }
  aside.update(session);
  asks.update(session.asks, `api/sessions/${shown.id}`, features.answer);
  timeline.update(session);
  const { state } = shown.stream;
  const quiet = !session.items.length && state === "live";
  const hint = features.send ? " Say what the agent should do." : "";
  if (state === "ended" && !session.items.length) empty("There is no such session here.");
  else empty(quiet ? `Nothing has happened yet.${hint}` : "");
  tick();
});

function pill(lifecycle) {
  const node = byId("state");
  const state = shown?.stream.state ?? "";
  const live = state === "live" || state === "ended";
  setText(node, (live && LIFECYCLES[lifecycle]) || STATES[state] || "");
  node.className = `pill ${live ? (lifecycle ?? "") : state}`;
}

function empty(words) {
  byId("empty").hidden = !words;
  setText(byId("empty"), words);
}

/** Say how long the turn has lasted, while it lasts. */
function tick() {
  const session = shown?.session;
  byId("working").hidden = !session?.inTurn;
  if (!session?.inTurn) return;
  const took = session.turnSince ? ` · ${duration(performance.now() - session.turnSince)}` : "";
  const waits = session.status.lifecycle === "blocked";
  setText(byId("working-text"), `${waits ? "Waits for your answer" : "Working"}${took}`);
}
setInterval(tick, 1000);

// ---- what is done ------------------------------------------------------------

/** Do what was asked; say what went wrong. */
async function attempt(work) {
  setText(byId("problem"), "");
  try {
    await work();
    return true;
  } catch (error) {
    if (error.status === 401) login();
    else if (error.code === "SESSION_LOCKED") setText(byId("problem"), "A turn is under way: wait for its end, or stop it.");
    else setText(byId("problem"), error.message);
    return false;
  }
}

async function send() {
  const content = text.value.trim();
  if (!content || !shown || shown.session.inTurn) return;
  const { id } = shown;
  const cwd = byId("cwd").value.trim();
  const place = cwd && !byId("cwd-row").hidden ? { cwd } : {};
  text.value = "";
  drafts.delete(id);
  timeline.atEnd = true;
  const done = await attempt(() => post(`api/sessions/${id}/messages`, { content, ...place }));
  if (done) return;
  if (shown?.id === id) text.value ||= content; // nothing that was written is lost
  else drafts.set(id, content);
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
byId("stop").addEventListener("click", () => attempt(() => post(`api/sessions/${shown.id}/interrupt`)));
byId("new").addEventListener("click", () => {
  wantsText = true;
  location.hash = newId();
});
byId("skip").addEventListener("click", () => byId("scroll").focus());
byId("back").addEventListener("click", () => {
  location.hash = "";
  document.body.dataset.view = "list";
  byId("sessions").querySelector("[aria-current] , a")?.focus();
});
window.addEventListener("hashchange", () => {
  route();
  byId("composer").hidden = !features.send || !shown; // what is hidden takes no focus
  if (wantsText) text.focus();
  else if (document.body.dataset.view === "session") byId("title").focus();
  wantsText = false;
});

// ---- logging in and out ------------------------------------------------------

function login() {
  const dialog = byId("login");
  if (!dialog.open) dialog.showModal();
}

byId("login").addEventListener("cancel", (event) => event.preventDefault());
byId("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = byId("key");
  setText(byId("login-problem"), "");
  try {
    await post("api/login", { key: key.value });
  } catch (error) {
    setText(byId("login-problem"), error.message);
    key.select();
    return;
  }
  key.value = "";
  byId("login").close();
  begin();
});
byId("logout").addEventListener("click", async () => {
  if (await attempt(() => post("api/logout"))) location.reload();
});

async function begin() {
  try {
    features = await get("api/features");
    byId("new").hidden = !features.send;
    byId("logout").hidden = !features.logout;
    show(undefined);
    await list.open();
  } catch (error) {
    if (error.status === 401) login();
    else {
      setText(byId("list-state"), error.message);
      setTimeout(begin, 2000);
    }
  }
}

begin();
