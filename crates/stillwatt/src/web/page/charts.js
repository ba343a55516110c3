// Line charts over the chosen window, drawn by uPlot. A gap in the readings is a gap in the line.

import { minute, plain, quantity, range, show, time } from "/format.js";

const GAP_SECONDS = 2.5;
const SYNC_KEY = "stillwatt";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Columns of a window: times, then one array for each pick; a missing reading and a gap are null. */
export const columns = (snapshots, seconds, picks) => {
  const last = snapshots.at(-1)?.time_unix_seconds ?? 0;
  const result = [[], ...picks.map(() => [])];
  let before = null;
  for (const snapshot of snapshots) {
    const now = snapshot.time_unix_seconds;
    if (now < last - seconds - 1) {
      before = snapshot;
      continue;
    }
    if (before && now - before.time_unix_seconds > GAP_SECONDS && result[0].length > 0) {
      result[0].push(before.time_unix_seconds + 1);
      picks.forEach((_, index) => result[index + 1].push(null));
    }
    result[0].push(now);
    picks.forEach((pick, index) => result[index + 1].push(pick(snapshot, before) ?? null));
    before = snapshot;
  }
  return result;
};

/** Tick labels in the unit of the largest, with as many digits as the step needs. */
const ticks = (kind) => (_plot, splits, _axis, _space, increment) => {
  const largest = Math.max(...splits.map(Math.abs));
  const { unit } = quantity[kind](largest);
  const size = { kW: 1e3, GHz: 1e9, MHz: 1e6, kHz: 1e3, "%": 0.01 }[unit] ?? 1;
  const step = increment / size;
  const digits = step > 0 ? Math.max(0, Math.min(3, Math.ceil(-Math.log10(step) - 1e-9))) : 0;
  return splits.map((value) => `${(value / size).toFixed(digits)}${unit.startsWith("/") ? "" : " "}${unit}`);
};

/** One chart. `picks` are value, and for a band also low and high. */
export class Chart {
  #figure;
  #options;
  #plot = null;
  #data = [];
  #seconds = 0;

  constructor(figure, options) {
    this.#figure = figure;
    this.#options = options;
    new ResizeObserver(() => this.#resize()).observe(this.#part("plot"));
  }

  /** Shows a window of `seconds` that ends at the last snapshot. */
  update(snapshots, seconds) {
    const { picks, reason } = this.#options;
    this.#data = columns(snapshots, seconds, picks);
    this.#seconds = seconds;
    const isEmpty = this.#data[1].every((value) => value === null);
    const absent = this.#part("absent");
    absent.hidden = !isEmpty;
    if (isEmpty) absent.textContent = snapshots.length ? `No reading: ${plain(reason(snapshots.at(-1))) ?? "none in this window"}` : "Waiting for readings";
    this.#part("plot").classList.toggle("is-empty", isEmpty);
    if (!this.#plot) this.#create();
    this.#plot.setData(this.#data, false);
    this.#scale();
    this.#readout();
  }

  /** Draws anew in the colours of the current theme. */
  repaint() {
    this.#plot?.destroy();
    this.#plot = null;
    if (this.#data.length) {
      this.#create();
      this.#plot.setData(this.#data, false);
      this.#scale();
    }
  }

  #part(name) {
    return this.#figure.querySelector(`[data-part="${name}"]`);
  }

  #scale() {
    const end = this.#data[0].at(-1) ?? 0;
    const shown = this.#data.slice(1).flat().filter((value) => value !== null);
    const [low, high] = this.#options.range(shown);
    this.#plot.batch(() => {
      this.#plot.setScale("x", { min: end - this.#seconds, max: end });
      this.#plot.setScale("y", { min: low, max: high });
    });
  }

  #create() {
    const { kind, tint, picks, isArea } = this.#options;
    const line = colour(tint);
    const edge = { stroke: `color-mix(in srgb, ${line} 45%, transparent)`, width: 1, points: { show: false }, dash: [3, 3] };
    const plot = this.#part("plot");
    const axis = { stroke: colour("--muted"), font: `11px ${colour("--font")}`, grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false } };
    this.#plot = new uPlot({
      width: Math.max(plot.clientWidth, 60),
      height: Math.max(plot.clientHeight, 60),
      padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: SYNC_KEY }, drag: { x: false, y: false }, points: { size: 7 }, y: false },
      scales: { x: { time: true, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, size: 24, space: () => (this.#seconds > 60 ? 46 : 76), incrs: () => (this.#seconds > 60 ? [60, 120, 300, 600] : [5, 10, 15, 30, 60]), values: (_, splits) => splits.map(this.#seconds > 60 ? minute : time) },
        { ...axis, size: kind === "hertz" ? 62 : 54, space: () => (plot.clientHeight > 150 ? 34 : 24), values: ticks(kind) },
      ],
      series: [
        {},
        { stroke: line, width: 1.75, points: { show: false }, ...(isArea ? { fill: `color-mix(in srgb, ${line} 10%, transparent)` } : {}) },
        ...picks.slice(1).map(() => edge),
      ],
      bands: picks.length > 2 ? [{ series: [3, 2], fill: `color-mix(in srgb, ${line} 13%, transparent)` }] : [],
      hooks: { setCursor: [() => this.#readout()] },
    }, this.#data, plot);
  }

  #resize() {
    const plot = this.#part("plot");
    if (this.#plot && plot.clientWidth > 0) this.#plot.setSize({ width: plot.clientWidth, height: plot.clientHeight });
  }

  /** The value under the pointer with its time, else the range of the window. */
  #readout() {
    const { kind } = this.#options;
    const [times, values, lows, highs] = this.#data;
    const index = this.#plot?.cursor.idx ?? null;
    let text = "";
    if (index !== null && values?.[index] != null) {
      text = `${time(times[index])} · ${show(kind, values[index])}`;
      if (lows?.[index] != null && highs?.[index] != null) text += ` (${range(kind, lows[index], highs[index])})`;
    } else {
      const present = (values ?? []).filter((value) => value !== null);
      if (present.length) {
        const [least, most] = [Math.min(...present), Math.max(...present)];
        text = range(kind, least, most);
        this.#part("plot").setAttribute("aria-label", `From ${show(kind, least)} to ${show(kind, most)} in this window`);
      }
    }
    this.#part("plot").setAttribute("role", "img");
    this.#part("readout").textContent = text;
  }
}
