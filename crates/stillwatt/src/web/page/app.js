// The page: wires the store to tiles, charts, tables and controls.

import { age, count, plain, quantity, range, show, time } from "/format.js";
import { Chart } from "/charts.js";
import { Store } from "/store.js";
import { EventList, TopicTable } from "/tables.js";

const byId = (id) => document.getElementById(id);
const text = (id, value) => {
  const target = byId(id);
  if (target.textContent !== value) target.textContent = value;
};

const READINGS = {
  power: { kind: "watts", suffix: "watts" },
  utilisation: { kind: "ratio", suffix: "ratio" },
  frequency: { kind: "hertz", suffix: "hertz" },
  temperature: { kind: "celsius", suffix: "celsius" },
};

const padded = (share) => (values) => {
  if (!values.length) return [0, 1];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((most - least) * 0.12, most * share, 1e-9);
  return [Math.max(0, least - margin), most + margin];
};
const fromZero = (least) => (values) => [0, Math.max(least, ...values) * 1.1];
const perSecond = (snapshot, before) => {
  if (!before) return null;
  const seconds = snapshot.time_unix_seconds - before.time_unix_seconds;
  const samples = snapshot.bus.samples_received_total - before.bus.samples_received_total;
  return seconds > 0 && samples >= 0 ? samples / seconds : null;
};
const chart = (name, options) => new Chart(document.querySelector(`[data-chart="${name}"]`), options);
const charts = [
  chart("power", {
    kind: "watts", tint: "--tint-power", range: fromZero(1), reason: (snapshot) => snapshot.power.reason,
    picks: [(s) => s.power.value_watts, (s) => s.power.low_watts, (s) => s.power.high_watts],
  }),
  chart("utilisation", {
    kind: "ratio", tint: "--tint-utilisation", isArea: true, range: () => [0, 1], reason: (snapshot) => snapshot.utilisation.reason,
    picks: [(s) => s.utilisation.value_ratio],
  }),
  chart("frequency", {
    kind: "hertz", tint: "--tint-frequency", range: padded(0.02), reason: (snapshot) => snapshot.frequency.reason,
    picks: [(s) => s.frequency.value_hertz],
  }),
  chart("temperature", {
    kind: "celsius", tint: "--tint-temperature", range: padded(0.03), reason: (snapshot) => snapshot.temperature.reason,
    picks: [(s) => s.temperature.value_celsius],
  }),
  chart("samples", {
    kind: "rate", tint: "--tint-bus", isArea: true, range: fromZero(1), reason: () => "the first second has no rate", picks: [perSecond],
  }),
];
const topics = new TopicTable(byId("topics"), byId("topics-empty"));
const events = new EventList(byId("events"), {
  filter: byId("events-filter"), severity: byId("events-severity"), count: byId("events-count"), empty: byId("events-empty"),
});

/** What the screen shows while paused; null while live. */
let held = null;
let windowSeconds = 300;
const store = new Store(() => draw());

const drawTile = (name, snapshot, snapshots) => {
  const tile = document.querySelector(`[data-reading="${name}"]`);
  const part = (which) => tile.querySelector(`[data-part="${which}"]`);
  const { kind, suffix } = READINGS[name];
  const reading = snapshot[name];
  const value = reading[`value_${suffix}`];
  const [low, high] = [reading[`low_${suffix}`], reading[`high_${suffix}`]];
  const shown = value === null ? { text: "–", unit: "" } : quantity[kind](value);
  tile.classList.toggle("is-absent", value === null);
  part("value").textContent = shown.text;
  part("value").dataset.value = value === null ? "" : String(value);
  part("unit").textContent = shown.unit;
  const quality = part("quality");
  quality.textContent = [reading.quality ?? "no reading", ...reading.flags].join(" · ");
  quality.dataset.quality = reading.quality ?? "absent";
  // Bounds that look like the value say nothing.
  const hasBounds = value !== null && low !== null && high !== null && quantity[kind](low).text !== quantity[kind](high).text;
  part("detail").textContent = value === null ? (plain(reading.reason) ?? "no reason given") : hasBounds ? `bounds ${range(kind, low, high)}` : "";
  // Which machine it is stands in the header.
  part("source").textContent = (reading.source ?? "").replace(/^(this machine|simulated [^:]+): /, "");
  part("source").title = reading.source ?? "";
  part("detail").title = part("detail").textContent;
  const span = part("span");
  if (!span) return;
  span.hidden = !hasBounds;
  if (hasBounds) {
    // The scale holds still while the value moves: its end is the highest bound of all that is kept.
    const end = snapshots.reduce((most, each) => Math.max(most, each[name][`high_${suffix}`] ?? 0), high);
    const percent = (watts) => `${Math.min(100, Math.max(0, (watts / end) * 100))}%`;
    span.querySelector(".span-band").style.left = percent(low);
    span.querySelector(".span-band").style.right = `calc(100% - ${percent(high)})`;
    span.querySelector(".span-value").style.left = percent(value);
  }
};

const drawMemory = ({ memory }) => {
  const tile = document.querySelector('[data-reading="memory"]');
  const part = (which) => tile.querySelector(`[data-part="${which}"]`);
  const isAbsent = memory.used_bytes === null || memory.total_bytes === null;
  const shown = isAbsent ? { text: "–", unit: "" } : quantity.bytes(memory.used_bytes);
  tile.classList.toggle("is-absent", isAbsent);
  part("value").textContent = shown.text;
  part("value").dataset.value = isAbsent ? "" : String(memory.used_bytes);
  part("unit").textContent = shown.unit;
  part("quality").textContent = isAbsent ? "no reading" : "measured";
  part("quality").dataset.quality = isAbsent ? "absent" : "measured";
  part("detail").textContent = isAbsent ? (plain(memory.reason) ?? "no reason given") : `of ${show("bytes", memory.total_bytes)} in use`;
};

const drawBus = (snapshots) => {
  const snapshot = snapshots.at(-1);
  const { bus } = snapshot;
  text("bus-domain", `domain ${bus.domain}`);
  text("bus-participants", count(bus.participants));
  text("bus-topics", count(bus.topics.length));
  text("bus-received", count(bus.samples_received_total));
  text("bus-sent", count(bus.samples_sent_total));
  text("bus-lost", count(bus.samples_lost_total));
  text("bus-malformed", count(bus.malformed_datagrams_total));
  byId("bus-lost").parentElement.classList.toggle("is-bad", bus.samples_lost_total > 0);
  byId("bus-malformed").parentElement.classList.toggle("is-bad", bus.malformed_datagrams_total > 0);
  topics.update(snapshots, windowSeconds);
};

const drawFooter = (snapshots) => {
  const snapshot = snapshots.at(-1);
  const own = snapshot.self;
  const before = snapshots.at(-61) ?? snapshots[0];
  const seconds = snapshot.time_unix_seconds - before.time_unix_seconds;
  const parts = [];
  if (seconds > 0 && own.cpu_seconds_total !== null && before.self.cpu_seconds_total !== null) {
    parts.push(`${(((own.cpu_seconds_total - before.self.cpu_seconds_total) / seconds) * 100).toFixed(2)} % of one CPU`);
  }
  if (own.threads !== null) parts.push(`${own.threads} threads`);
  if (own.resident_bytes !== null) parts.push(show("bytes", own.resident_bytes));
  text("own-cost", parts.length ? `Stillwatt itself: ${parts.join(", ")}` : "");
  const { monitor } = snapshot;
  const recording = monitor.recording_path ? ` · recording to ${monitor.recording_path} (${count(monitor.recorded_total)})` : "";
  text("monitor", `Monitor holds ${count(monitor.history_samples)} samples of ${count(monitor.history_series)} series${recording}`);
};

const drawLive = () => {
  const { state, silence } = store;
  const newer = held ? store.snapshots.filter((snapshot) => snapshot.sequence > (held.snapshots.at(-1)?.sequence ?? 0)).length : 0;
  const words = {
    connecting: "connecting",
    live: "live",
    stale: `no reading for ${age(silence)}`,
    lost: silence ? `connection lost ${age(silence)} ago` : "connection lost",
  };
  const isPaused = held !== null && state === "live";
  byId("live").dataset.state = isPaused ? "paused" : state;
  text("live-text", isPaused ? `paused, ${count(newer)} newer` : words[state]);
  const notice = byId("notice");
  notice.hidden = state !== "lost";
  if (state === "lost") text("notice", "The server does not answer: it may have stopped, or too many pages are open. Trying again. What is shown is old.");
};

const draw = () => {
  drawLive();
  const { snapshots, events: list } = held ?? store;
  events.update(list);
  const snapshot = snapshots.at(-1);
  if (!snapshot || document.body.dataset.drawn === `${snapshot.sequence}/${snapshot.time_unix_seconds}/${windowSeconds}`) return;
  document.body.dataset.drawn = `${snapshot.sequence}/${snapshot.time_unix_seconds}/${windowSeconds}`;
  const watts = snapshot.power.value_watts;
  document.title = `${watts === null ? "" : `${show("watts", watts)} · `}${snapshot.node} · Stillwatt`;
  text("node", snapshot.node);
  byId("simulated").hidden = snapshot.simulated === null;
  text("simulated", snapshot.simulated === null ? "" : `simulated ${snapshot.simulated}`);
  for (const name of Object.keys(READINGS)) drawTile(name, snapshot, snapshots);
  drawMemory(snapshot);
  for (const each of charts) each.update(snapshots, windowSeconds);
  drawBus(snapshots);
  drawFooter(snapshots);
  const main = byId("main");
  main.dataset.sequence = String(snapshot.sequence);
  main.dataset.time = time(snapshot.time_unix_seconds);
};

byId("pause").addEventListener("click", () => {
  held = held ? null : { snapshots: store.snapshots, events: store.events };
  byId("pause").setAttribute("aria-pressed", String(held !== null));
  text("pause-text", held ? "Resume" : "Pause");
  draw();
});

for (const choice of document.getElementsByName("window")) {
  choice.addEventListener("change", () => {
    windowSeconds = Number(choice.value);
    draw();
  });
  if (choice.checked) windowSeconds = Number(choice.value);
}

const repaint = () => {
  for (const each of charts) each.repaint();
  topics.repaint();
};
const THEMES = ["auto", "light", "dark"];
const applyTheme = (theme) => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  text("theme-text", theme);
  repaint();
};
byId("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "auto";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  applyTheme(next);
  try {
    if (next === "auto") localStorage.removeItem("stillwatt.theme");
    else localStorage.setItem("stillwatt.theme", next);
  } catch {
    // Storage may be switched off; the choice then lasts until the page is closed.
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
applyTheme(document.documentElement.dataset.theme ?? "auto");
draw();
