// Asking the server: JSON in and out, errors with their code, the server's clock.

export class ApiError extends Error {
  constructor(status, body) {
    super(body.error ?? `The server answered ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.body = body;
  }
}

/** Who we are to the server, for the life of this tab. */
const CLIENT = (() => {
  try {
    const known = sessionStorage.getItem("client") ?? `web-${newId()}`;
    sessionStorage.setItem("client", known);
    return known;
  } catch {
    return `web-${newId()}`; // storage is switched off
  }
})();

let offset = 0;

/** Give the server's time in ms, as well as its Date header tells it. */
export const serverNow = () => Date.now() + offset;

/** Give a new UUID; `crypto.randomUUID` is there for secure origins only. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store" });
  } catch {
    throw new ApiError(0, { error: "The server cannot be reached" });
  }
  const date = Date.parse(response.headers.get("date") ?? "");
  // The header has whole seconds: a smaller difference may be rounding.
  if (date) offset = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
  const body = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

/** GET a path. Throws ApiError. */
export const get = (path) => answer(path, {});

/** POST an object to a path. Throws ApiError. */
export const post = (path, body = {}) =>
  answer(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Client-Id": CLIENT },
    body: JSON.stringify(body),
  });

/** Answer what was asked; what somebody else has answered meanwhile is answered too. */
export async function settle(path, body) {
  try {
    await post(path, body);
  } catch (error) {
    if (error.code !== "INTERACTION_ALREADY_RESOLVED") throw error;
  }
}
