// What the server said: the last snapshots and events, from one request each and then the event stream.

const SNAPSHOTS_MAX = 600;
const EVENTS_MAX = 500;
const RETRY_MILLISECONDS = 3000;
const STALE_MILLISECONDS = 3500;

/** Follows the server. `changed()` is called after each change, `state` is connecting, live, stale or lost. */
export class Store {
  snapshots = [];
  events = [];
  dropped = 0;
  state = "connecting";
  #changed;
  #waiting = null;
  #heard = 0;

  constructor(changed) {
    this.#changed = changed;
    this.#connect();
    setInterval(() => this.#watch(), 500);
  }

  get latest() {
    return this.snapshots.at(-1);
  }

  /** Seconds since the last snapshot came in. */
  get silence() {
    return this.#heard ? (performance.now() - this.#heard) / 1000 : 0;
  }

  #connect() {
    const stream = new EventSource("/events");
    stream.onopen = () => this.#load();
    stream.addEventListener("snapshot", (message) => this.#take("snapshots", JSON.parse(message.data)));
    stream.addEventListener("record", (message) => this.#take("events", JSON.parse(message.data)));
    stream.addEventListener("lag", (message) => {
      this.dropped += JSON.parse(message.data).messages_dropped;
      this.#load();
    });
    stream.onerror = () => {
      this.#set("lost");
      // A refusal (too many pages) closes the stream for good, a broken connection is retried by the browser.
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => this.#connect(), RETRY_MILLISECONDS);
    };
  }

  /** Fetches what was before; what the stream brings meanwhile is kept and appended. */
  async #load() {
    if (this.#waiting) return;
    this.#waiting = { snapshots: [], events: [] };
    let fetched = null;
    try {
      const answers = await Promise.all([fetch("/api/history"), fetch("/api/events")]);
      const [history, events] = await Promise.all(answers.map((answer) => answer.json()));
      fetched = { snapshots: history.snapshots, events: events.events };
    } catch {
      // The stream will fail as well and connect again, which comes back here.
    }
    const waiting = this.#waiting;
    this.#waiting = null;
    if (fetched) {
      this.snapshots = fetched.snapshots;
      this.events = fetched.events;
      if (this.latest) this.#hear();
    }
    for (const list of ["snapshots", "events"]) for (const item of waiting[list]) this.#append(list, item);
    this.#changed();
  }

  #take(list, item) {
    if (list === "snapshots") this.#hear();
    if (this.#waiting) {
      this.#waiting[list].push(item);
      return;
    }
    const expected = (this[list].at(-1)?.sequence ?? 0) + 1;
    if (item.sequence > expected && list === "snapshots") {
      // Something was missed, for example while the computer slept.
      this.#load();
      this.#waiting?.[list].push(item);
      return;
    }
    this.#append(list, item);
    this.#changed();
  }

  #append(list, item) {
    if (item.sequence <= (this[list].at(-1)?.sequence ?? 0)) return;
    this[list] = [...this[list], item].slice(-(list === "snapshots" ? SNAPSHOTS_MAX : EVENTS_MAX));
  }

  #hear() {
    this.#heard = performance.now();
    this.state = "live";
  }

  #watch() {
    if (this.state === "live" && performance.now() - this.#heard > STALE_MILLISECONDS) this.#set("stale");
    else if (this.state !== "live") this.#changed();
  }

  #set(state) {
    this.state = state;
    this.#changed();
  }
}
