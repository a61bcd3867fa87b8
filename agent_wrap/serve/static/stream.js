// One event stream that stays: the browser's EventSource, and what it does not do.
//
// EventSource itself goes on after a break, with Last-Event-ID. Here: it is opened
// again where it gave up (an answer that is no stream), and is closed while nobody
// looks, since a browser has six connections for a server and each stream takes one.

const HIDDEN_FOR = 30_000;
const LONGEST_WAIT = 30_000;

export class Stream {
  /**
   * `kinds` are the events to hear; `heard(kind, data)` gets each, `changed(state)` is
   * told live, waiting, paused or ended. `refused()` is asked when the server gave no
   * stream: it says whether to try again.
   */
  constructor(path, kinds, { heard, changed, refused }) {
    this.path = path;
    this.kinds = kinds;
    this.heard = heard;
    this.changed = changed;
    this.refused = refused;
    this.last = "";
    this.failures = 0;
    this.state = "";
    this.visibility = () => this.look();
    this.online = () => this.state === "waiting" && this.open();
    document.addEventListener("visibilitychange", this.visibility);
    window.addEventListener("online", this.online);
    this.open();
  }

  open() {
    this.hangUp();
    const resume = this.last ? `?resume=${encodeURIComponent(this.last)}` : "";
    const source = (this.source = new EventSource(this.path + resume));
    source.onopen = () => {
      this.failures = 0;
      this.become("live");
    };
    source.onerror = (event) => {
      // A server's own event may be named error as well; that one has data.
      if (source !== this.source || event.data !== undefined) return;
      if (source.readyState === EventSource.CLOSED) this.tryLater();
      else this.become("waiting");
    };
    for (const kind of this.kinds) {
      source.addEventListener(kind, (event) => {
        if (event.data === undefined) return;
        this.last = event.lastEventId;
        this.heard(kind, JSON.parse(event.data));
      });
    }
    if (this.state !== "live") this.become("waiting");
  }

  async tryLater() {
    this.hangUp();
    this.become("waiting");
    const attempt = (this.attempt = {});
    const again = await this.refused();
    if (attempt !== this.attempt) return;
    if (!again) return this.end();
    const wait = Math.min(LONGEST_WAIT, 500 * 2 ** this.failures++);
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random() / 2));
  }

  look() {
    clearTimeout(this.hiding);
    if (!document.hidden && this.state === "paused") this.open();
    if (!document.hidden || this.state === "ended") return;
    this.hiding = setTimeout(() => {
      this.hangUp();
      this.become("paused");
    }, HIDDEN_FOR);
  }

  /** Nothing more will come. */
  end() {
    this.become("ended");
    this.close();
  }

  close() {
    this.hangUp();
    clearTimeout(this.hiding);
    document.removeEventListener("visibilitychange", this.visibility);
    window.removeEventListener("online", this.online);
  }

  hangUp() {
    clearTimeout(this.timer);
    this.attempt = undefined;
    this.source?.close();
    this.source = undefined;
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.changed(state);
  }
}
