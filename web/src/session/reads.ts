/** Calls that only read, told in one line. */
import type { ToolItem } from "../../../src/session/view.ts";

type Kind = "read" | "searched" | "listed" | "fetched";

const KINDS: Readonly<Record<string, Kind>> = {
  read_file: "read",
  read_earlier: "read",
  grep: "searched",
  glob: "searched",
  list_dir: "listed",
  fetch_url: "fetched",
};

/** Whether a call only reads, and nothing about it needs to be seen. */
export function isReading({ tool, asked, outcome }: ToolItem): boolean {
  return Object.hasOwn(KINDS, tool) && asked === undefined && outcome?.attachments === undefined;
}

/** Such as "Read 6 files, searched 2 times". */
export function readsText(items: readonly ToolItem[]): string {
  const counts = new Map<Kind, number>();
  for (const { tool } of items) {
    const kind = KINDS[tool];
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const text = [...counts].map(([kind, count]) => kindText(kind, count)).join(", ");
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** How many of them failed; empty if none did. */
export function failuresText(items: readonly ToolItem[]): string {
  const failed = items.filter(({ outcome }) => outcome?.ok === false).length;
  return failed === 0 ? "" : `${failed} failed`;
}

function kindText(kind: Kind, count: number): string {
  switch (kind) {
    case "searched":
      return count === 1 ? "searched once" : `searched ${count} times`;
    case "read":
      return count === 1 ? "read 1 file" : `read ${count} files`;
    case "listed":
      return count === 1 ? "listed 1 directory" : `listed ${count} directories`;
    case "fetched":
      return count === 1 ? "fetched 1 page" : `fetched ${count} pages`;
  }
}
