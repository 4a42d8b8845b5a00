/** What is measured, what it should come to, and what two peers took for the same work. */

/** One line of the table. */
export interface Figure {
  id: string;
  name: string;
  unit: "ms" | "MB" | "/s";
  value: number;
  /** More about the value: percentiles, how it came about. */
  note?: string;
}

/** Aims for two cores, and the peers' figures, measured on such a machine earlier. */
interface Target {
  aim: number;
  peer_a?: number;
  peer_b?: number;
}

/** Peer A: a widely used TypeScript agent server. Peer B: a widely used Rust agent server. */
const TARGETS: Record<string, Target> = {
  start: { aim: 65, peer_a: 1_100, peer_b: 31 },
  stop_idle: { aim: 100 },
  rss_idle: { aim: 75, peer_a: 320, peer_b: 85 },
  rss_200: { aim: 105, peer_a: 344, peer_b: 306 },
  create_p50: { aim: 3, peer_a: 4, peer_b: 13 },
  health: { aim: 60_000, peer_a: 8_300, peer_b: 143_000 },
  // Peer B answers its list over one RPC socket only.
  list_200: { aim: 20_000, peer_a: 300, peer_b: 19_100 },
  turn_openai: { aim: 12, peer_a: 115, peer_b: 47 },
  turn_anthropic: { aim: 12, peer_a: 115, peer_b: 47 },
  turn_node: { aim: 8 },
  turns_50_node: { aim: 150 },
  mcp_stdio_list: { aim: 20 },
  mcp_http_list: { aim: 20 },
  chat_start: { aim: 60 },
  chat_key: { aim: 16 },
  chat_behind: { aim: 150 },
  web_first: { aim: 150 },
  web_open: { aim: 1_000 },
  web_scroll: { aim: 100 },
  web_input: { aim: 100 },
  web_think: { aim: 30 },
  turns_50: { aim: 500, peer_a: 5_000, peer_b: 1_510 },
};

/** Figures with what they are held against, as the table and `--json` show them. */
export interface Row extends Figure, Partial<Target> {
  /** Whether the aim is reached; absent where there is none. */
  met?: boolean;
  /** How many times better than the peer; below 1 is worse. */
  vs_a?: number;
  vs_b?: number;
}

export function toRow(figure: Figure): Row {
  const target = TARGETS[figure.id];
  if (target === undefined) return figure;
  const more_is_better = figure.unit === "/s";
  const factor = (other: number | undefined) => {
    if (other === undefined) return undefined;
    return more_is_better ? figure.value / other : other / figure.value;
  };
  return {
    ...figure,
    ...target,
    met: more_is_better ? figure.value >= target.aim : figure.value <= target.aim,
    vs_a: factor(target.peer_a),
    vs_b: factor(target.peer_b),
  };
}

const HEADER = ["what", "measured", "aim", "", "vs. peer A", "vs. peer B", "note"];
const LEGEND =
  "vs. peer: how many times better than a widely used TypeScript (A) and a widely used " +
  "Rust (B) agent server at the same work on such a machine; below 1 is worse.";

/** The table for a terminal. */
export function plainTable(rows: readonly Row[]): string {
  const cells = [HEADER, ...rows.map(cellsOf)];
  const widths = HEADER.map((_, n) => Math.max(...cells.map((row) => row[n].length)));
  const lines = cells.map((row) =>
    row.map((cell, n) => n >= 1 && n <= 2 ? cell.padStart(widths[n]) : cell.padEnd(widths[n]))
      .join("  ").trimEnd()
  );
  return [...lines, "", LEGEND].join("\n");
}

/** One figure of two binaries, a value a round. */
export interface Pair {
  name: string;
  unit: Figure["unit"];
  here: number[];
  beside: number[];
}

/** Medians of both and their ratio: above 1 this binary's figure is the larger one. */
export function pairTable(pairs: readonly Pair[]): string {
  const rows = pairs.map(({ name, unit, here, beside }) => {
    const [ours, theirs] = [here, beside].map((all) => all.length > 0 ? median(all) : NaN);
    return [name, `${short(ours)} ${unit}`, `${short(theirs)} ${unit}`, (ours / theirs).toFixed(3)];
  });
  const cells = [["what", "this", "beside", "ratio"], ...rows];
  const widths = cells[0].map((_, n) => Math.max(...cells.map((row) => row[n].length)));
  return cells.map((row) =>
    row.map((cell, n) => n === 0 ? cell.padEnd(widths[n]) : cell.padStart(widths[n])).join("  ")
  ).join("\n");
}

/** The report as Markdown. */
export function markdownReport(rows: readonly Row[], circumstances: Record<string, string>) {
  return [
    "# Benchmark report",
    "",
    ...Object.entries(circumstances).map(([name, value]) => `- ${name}: ${value}`),
    "",
    markdownTable(HEADER, rows.map(cellsOf)),
    "",
    LEGEND,
    "",
  ].join("\n");
}

/** What the page of figures shows of a run. */
export function pageTable(
  rows: readonly Row[],
  { date, machine, version }: Record<string, string>,
): string {
  const cells = rows.map(({ name, value, unit, note = "" }) => {
    return [name, `${short(value)} ${unit === "/s" ? "a second" : unit}`, note];
  });
  return [
    `${version}, on ${machine}, ${date.slice(0, 10)}:`,
    "",
    markdownTable(["what", "measured", "note"], cells),
  ].join("\n");
}

/** A table; the measured values, and the aims beside them, stand to the right. */
function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const numbers = header === HEADER ? [1, 2] : [1];
  const rule = header.map((_, n) => numbers.includes(n) ? "---:" : "---");
  return [header, rule, ...rows].map(line).join("\n");
}

function cellsOf(row: Row): string[] {
  const { name, unit, value, aim, met, vs_a, vs_b, note = "" } = row;
  const ratio = (factor: number | undefined) => factor === undefined ? "" : `× ${short(factor)}`;
  return [
    name,
    `${short(value)} ${unit}`,
    aim === undefined ? "" : `${short(aim)} ${unit}`,
    met === undefined ? "" : met ? "met" : "missed",
    ratio(vs_a),
    ratio(vs_b),
    note,
  ];
}

/** Three significant digits, thousands set apart. */
export function short(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** The value below which a share of the samples lies (nearest rank). */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
