// The topic table with its details, and the event list with its filter.

import { count, show, time } from "/format.js";
import { Chart } from "/charts.js";

const RANK = { info: 0, warning: 1, error: 2 };
const EVENTS_SHOWN_MAX = 200;

const element = (name, { text, ...attributes } = {}, children = []) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

/** A topic that this process does not read has no counts, which is not the same as none. */
const known = (value, shown) => (value === null ? "not read" : shown(value));
const rate = (value) => show("rate", value);

const topicOf = (snapshot, name) => snapshot.bus.topics.find((topic) => topic.name === name);

/** The rows are kept between updates, so that focus and an open detail stay. */
export class TopicTable {
  #body;
  #empty;
  #rows = new Map();
  #open = null;
  #seen = { snapshots: [], seconds: 0 };

  constructor(table, empty) {
    this.#body = table.querySelector("tbody");
    this.#empty = empty;
  }

  update(snapshots, seconds) {
    this.#seen = { snapshots, seconds };
    const topics = snapshots.at(-1)?.bus.topics ?? [];
    this.#empty.hidden = topics.length > 0;
    const names = new Set(topics.map((topic) => topic.name));
    for (const [name, row] of this.#rows) {
      if (names.has(name)) continue;
      row.line.remove();
      row.detail?.remove();
      this.#rows.delete(name);
      if (this.#open === name) this.#open = null;
    }
    let previous = null;
    for (const topic of topics) {
      const row = this.#rows.get(topic.name) ?? this.#add(topic.name);
      const cells = [topic.writers, topic.readers].map(count).concat(topic.samples_total === null ? ["", "not read", ""] : [rate(topic.samples_per_second), count(topic.samples_total), count(topic.lost_total)]);
      cells.forEach((text, index) => (row.cells[index].textContent = text));
      row.cells.at(-1).classList.toggle("is-bad", topic.lost_total > 0);
      if (previous ? previous.nextSibling !== row.line : this.#body.firstChild !== row.line) {
        previous ? previous.after(row.line) : this.#body.prepend(row.line);
        if (row.detail) row.line.after(row.detail);
      }
      if (row.detail) this.#fill(row, topic);
      previous = row.detail ?? row.line;
    }
  }

  /** New colours for an open detail's chart. */
  repaint() {
    this.#rows.get(this.#open)?.chart?.repaint();
  }

  #add(name) {
    const button = element("button", { type: "button", "aria-expanded": "false", class: "disclose", text: name });
    const cells = Array.from({ length: 5 }, () => element("td", { class: "number" }));
    const line = element("tr", { "data-topic": name }, [element("th", { scope: "row" }, [button]), ...cells]);
    line.addEventListener("click", () => this.#toggle(name));
    const row = { line, button, cells, detail: null, chart: null };
    this.#rows.set(name, row);
    return row;
  }

  #toggle(name) {
    const before = this.#rows.get(this.#open);
    if (before) {
      before.detail.remove();
      before.detail = before.chart = null;
      before.button.setAttribute("aria-expanded", "false");
    }
    this.#open = this.#open === name ? null : name;
    const row = this.#rows.get(this.#open);
    if (!row) return;
    const figure = element("figure", { class: "chart" }, [
      element("figcaption", {}, [element("h3", { text: "Received" }), element("span", { class: "readout", "data-part": "readout" })]),
      element("div", { class: "plot", "data-part": "plot" }),
      element("p", { class: "absent", "data-part": "absent", hidden: "" }),
    ]);
    row.facts = element("dl", { class: "facts" });
    row.detail = element("tr", { class: "topic-detail" }, [element("td", { colspan: "6" }, [element("div", { class: "topic-detail-body" }, [row.facts, figure])])]);
    row.line.after(row.detail);
    row.button.setAttribute("aria-expanded", "true");
    row.chart = new Chart(figure, {
      kind: "rate",
      tint: "--tint-bus",
      isArea: true,
      picks: [(snapshot) => topicOf(snapshot, name)?.samples_per_second],
      range: (values) => [0, Math.max(1, ...values) * 1.15],
      reason: () => "this process does not read the topic",
    });
    this.#fill(row, topicOf(this.#seen.snapshots.at(-1), name));
    row.line.scrollIntoView({ block: "start" });
  }

  #fill(row, topic) {
    const facts = [
      ["Type", topic.type],
      ["Writers", count(topic.writers)],
      ["Readers", count(topic.readers)],
      ["Samples", known(topic.samples_total, count)],
      ["Rate", known(topic.samples_per_second, rate)],
      ["Lost", known(topic.lost_total, count)],
    ];
    row.facts.replaceChildren(...facts.map(([name, text]) => element("div", {}, [element("dt", { text: name }), element("dd", { text })])));
    row.chart.update(this.#seen.snapshots, this.#seen.seconds);
  }
}

/** Newest first; filtered by severity and by words in subject or message. */
export class EventList {
  #list;
  #parts;
  #events = [];

  constructor(list, parts) {
    this.#list = list;
    this.#parts = parts;
    parts.filter.addEventListener("input", () => this.#draw());
    parts.severity.addEventListener("change", () => this.#draw());
  }

  update(events) {
    if (events === this.#events) return;
    this.#events = events;
    this.#draw();
  }

  #draw() {
    const words = this.#parts.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = RANK[this.#parts.severity.value] ?? 0;
    const matching = this.#events.filter((event) => {
      const text = `${event.subject} ${event.message}`.toLowerCase();
      return RANK[event.severity] >= least && words.every((word) => text.includes(word));
    });
    const shown = matching.slice(-EVENTS_SHOWN_MAX).reverse();
    this.#list.replaceChildren(...shown.map((event) => element("li", { "data-severity": event.severity }, [
      element("time", { datetime: new Date(event.time_unix_seconds * 1000).toISOString(), text: time(event.time_unix_seconds) }),
      element("span", { class: "severity", text: event.severity }),
      element("span", { class: "subject", text: event.subject }),
      element("span", { class: "message", text: event.message }),
    ])));
    const all = this.#events.length;
    this.#parts.count.textContent = matching.length === all ? `${count(all)}` : `${count(matching.length)} of ${count(all)}`;
    this.#parts.empty.hidden = shown.length > 0;
    this.#parts.empty.textContent = all ? "No event matches the filter." : "Nothing has happened yet.";
  }
}
