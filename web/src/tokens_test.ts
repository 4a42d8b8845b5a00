import { assert, assertEquals } from "@std/assert";

const css = Deno.readTextFileSync(new URL("../styles/tokens.css", import.meta.url));

/** The colours of a block of the file, each as in light and in dark. */
function colours(block: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [, name, value] of block.matchAll(/--([\w-]+): ([^;]+);/g)) {
    const [, other] = /^var\(--([\w-]+)\)$/.exec(value) ?? [];
    const pair = other === undefined ? value.match(/#[0-9a-f]{6}/g) : found.get(other);
    if (pair?.length === 2) found.set(name, pair);
  }
  return found;
}

/** How much light a colour gives, by WCAG. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["bg", "surface", "raised", "sunken", "hover"];
const TINTED = ["insert", "delete", "accent-soft", "danger-soft", "good-soft", "attention-soft"];
const CODE = ["keyword", "string", "number", "comment", "title", "type"].map((it) => `code-${it}`);

/** What must stand out, by how much, and where. */
const RULES: [names: string[], least: number, grounds: string[]][] = [
  // AAA for text.
  [["text", "text-2", ...CODE], 7, [...GROUNDS, ...TINTED, "info-soft"]],
  ...["accent", "danger", "good", "attention", "info"].map((
    it,
  ): [string[], number, string[]] => [[it], 7, [...GROUNDS, `${it}-soft`]]),
  [["on-ink"], 7, ["ink"]],
  // AA for what shows where a control or a line of a plot is.
  [["border-strong"], 3, ["bg", "surface", "raised", "sunken"]],
  [[1, 2, 3, 4, 5, 6].map((n) => `plot-${n}`), 3, ["surface"]],
];

/** Where a theme's colours do not stand out as the rules say. */
function faint(theme: Map<string, string[]>): string[] {
  return RULES.flatMap(([names, least, grounds]) =>
    names.flatMap((name) =>
      grounds.flatMap((ground) =>
        ["light", "dark"].flatMap((scheme, at) => {
          const is = contrast(theme.get(name)![at], theme.get(ground)![at]);
          return is < least ? [`${name} on ${ground}, ${scheme}: ${is.toFixed(2)}`] : [];
        })
      )
    )
  );
}

Deno.test("text has a contrast of seven on all that it stands on, in each theme", () => {
  const themes = css.split(/^(?=:root|@media)/m).filter((it) => it.includes("--bg:"));
  assertEquals(themes.length, 3);
  const normal = colours(themes[0]);
  assert(normal.size > 25);
  assertEquals(faint(normal), []);
  for (const block of themes.slice(1)) {
    assertEquals(faint(new Map([...normal, ...colours(block)])), []);
  }
});
