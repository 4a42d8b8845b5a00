/** The chart of a soak: four panels over the same time, as SVG. */
import type { Sample } from "./series.ts";

interface Curve {
  name: string;
  color: string;
  value: (sample: Sample) => number | undefined;
}

interface Panel {
  title: string;
  unit: string;
  curves: Curve[];
}

const PANELS: Panel[] = [
  {
    title: "Event delay",
    unit: "ms",
    curves: [
      { name: "p99", color: "#c2410c", value: (it) => it.delay_p99_ms },
      { name: "p50", color: "#1d4ed8", value: (it) => it.delay_p50_ms },
    ],
  },
  {
    title: "Memory",
    unit: "MB",
    curves: [
      { name: "RSS", color: "#1d4ed8", value: (it) => it.rss_mb },
      { name: "V8 heap", color: "#15803d", value: (it) => it.heap_mb },
    ],
  },
  {
    title: "Open file descriptors",
    unit: "",
    curves: [
      { name: "event polls", color: "#c2410c", value: (it) => it.polls },
      { name: "all others", color: "#1d4ed8", value: (it) => it.fds },
    ],
  },
  {
    title: "Threads",
    unit: "",
    curves: [{ name: "threads", color: "#1d4ed8", value: (it) => it.threads }],
  },
];

const WIDTH = 960;
const HEIGHT = 250;
const LEFT = 70;
const RIGHT = 30;
const TOP = 46;
const BOTTOM = 42;
const HEAD = 56;

/** Draws the samples; `title` and `subtitle` stand above. */
export function toSvg(samples: readonly Sample[], title: string, subtitle: string): string {
  const height = HEAD + PANELS.length * HEIGHT;
  const end = Math.max(60, samples.at(-1)?.seconds ?? 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
    `width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" fill="#333">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${label(LEFT, 24, title, 'font-size="17" font-weight="bold"')}
${label(LEFT, 44, subtitle, 'fill="#666"')}
${PANELS.map((it, n) => panel(it, samples, end, HEAD + n * HEIGHT)).join("\n")}
</svg>
`;
}

function panel(
  { title, unit, curves }: Panel,
  samples: readonly Sample[],
  end: number,
  top: number,
): string {
  const values = curves.flatMap((curve) => samples.map((it) => curve.value(it) ?? 0));
  const y_ticks = ticks(Math.max(1, ...values) * 1.05, 5);
  const y_end = y_ticks.at(-1)!;
  const minutes = ticks(end / 60, 10).filter((minute) => minute * 60 <= end + 1);
  const [x_from, x_to] = [LEFT, WIDTH - RIGHT];
  const [y_from, y_to] = [top + HEIGHT - BOTTOM, top + TOP];
  const x = (seconds: number) => round(x_from + (x_to - x_from) * seconds / end);
  const y = (value: number) => round(y_from - (y_from - y_to) * value / y_end);
  const parts = [label(LEFT, top + 32, title + (unit && `, ${unit}`), 'font-weight="bold"')];
  curves.forEach(({ name, color }, n) => {
    const at = x_to - 110 * (curves.length - n);
    parts.push(
      line(at, top + 28, at + 22, top + 28, `stroke="${color}" stroke-width="2"`),
      label(at + 28, top + 32, name),
    );
  });
  for (const tick of y_ticks) {
    parts.push(
      line(x_from, y(tick), x_to, y(tick), `stroke="${tick === 0 ? "#333" : "#ddd"}"`),
      label(x_from - 8, y(tick) + 4, `${tick}`, 'text-anchor="end"'),
    );
  }
  parts.push(line(x_from, y_from, x_from, y_to, 'stroke="#333"'));
  for (const minute of minutes) {
    const at = x(minute * 60);
    parts.push(
      line(at, y_from, at, y_from + 5, 'stroke="#333"'),
      label(at, y_from + 18, `${minute}`, 'text-anchor="middle"'),
    );
  }
  parts.push(label(x_to, y_from + 34, "minutes", 'text-anchor="end" fill="#666"'));
  for (const { color, value } of curves) {
    const points = samples.flatMap((it) => {
      const at = value(it);
      return at === undefined ? [] : [`${x(it.seconds)},${y(at)}`];
    });
    parts.push(
      `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${points.join(" ")}"/>`,
    );
  }
  return parts.join("\n");
}

/** Round numbers from 0 to at least `end`, about so many. */
function ticks(end: number, count: number): number[] {
  const rough = end / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((it) => it * power >= rough)! * power;
  const all: number[] = [];
  for (let n = 0; all.length === 0 || all.at(-1)! < end; n++) {
    all.push(Number((n * step).toPrecision(6)));
  }
  return all;
}

function line(x1: number, y1: number, x2: number, y2: number, more: string): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${more}/>`;
}

function label(x: number, y: number, text: string, more = ""): string {
  const safe = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" ${more}>${safe}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
