// Numbers as people read them: always with a unit, never a zero for something that was not read.

const FREQUENCY_STEPS = [[1e9, "GHz", 3], [1e6, "MHz", 1], [1e3, "kHz", 1], [1, "Hz", 0]];
const BYTE_STEPS = [[2 ** 40, "TiB", 2], [2 ** 30, "GiB", 2], [2 ** 20, "MiB", 1], [2 ** 10, "KiB", 1], [1, "B", 0]];
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const clockShort = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const stepped = (value, steps) => {
  const [size, unit, digits] = steps.find(([size]) => Math.abs(value) >= size) ?? steps.at(-1);
  return { text: (value / size).toFixed(digits), unit };
};

/** The parts `{text, unit}` of a value in its SI unit. */
export const quantity = {
  watts: (value) => (value >= 10_000 ? { text: (value / 1000).toFixed(2), unit: "kW" } : { text: value.toFixed(1), unit: "W" }),
  ratio: (value) => ({ text: (value * 100).toFixed(1), unit: "%" }),
  hertz: (value) => stepped(value, FREQUENCY_STEPS),
  celsius: (value) => ({ text: value.toFixed(1), unit: "°C" }),
  bytes: (value) => stepped(value, BYTE_STEPS),
  rate: (value) => ({ text: value < 100 ? value.toFixed(1) : whole.format(value), unit: "/s" }),
};

/** One string of a value in its SI unit; a no-break space keeps number and unit together. */
export const show = (kind, value) => {
  const { text, unit } = quantity[kind](value);
  return unit.startsWith("/") ? text + unit : `${text}\u00a0${unit}`;
};

/** A range with its unit once where both ends share it. */
export const range = (kind, low, high) => {
  const [from, to] = [quantity[kind](low), quantity[kind](high)];
  return from.unit === to.unit && !to.unit.startsWith("/") ? `${from.text}\u2009–\u2009${show(kind, high)}` : `${show(kind, low)} – ${show(kind, high)}`;
};

/** A count with separators. */
export const count = (value) => whole.format(value);

/** A reason without the words that the page says already. */
export const plain = (reason) => reason?.replace(/^unavailable \([a-z-]+\): /, "");

/** Local wall-clock time of a Unix time in seconds. */
export const time = (seconds) => clock.format(new Date(seconds * 1000));

/** The same without seconds. */
export const minute = (seconds) => clockShort.format(new Date(seconds * 1000));

/** A length of time in words. */
export const age = (seconds) => (seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
