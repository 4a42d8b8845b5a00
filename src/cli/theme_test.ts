import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Ground, Style } from "../features/tui/text.ts";
import { contrast, nearest256, type Palette, PALETTES, rgbOf, rgbOf256, themed } from "./theme.ts";

/** The colours of a terminal with all of them, and with 256. */
const DEPTHS = {
  "true": rgbOf,
  "256": (colour: string) => rgbOf256(nearest256(rgbOf(colour))),
};

Deno.test("each colour of each theme can be read, with all colours and with 256", () => {
  for (const [name, palette] of Object.entries<Palette>(PALETTES)) {
    const least = name.startsWith("contrast") ? 7 : 4.5;
    for (const [depth, shown] of Object.entries(DEPTHS)) {
      const readable = (colour: string, behind: string, what: string) => {
        const found = contrast(shown(colour), shown(behind));
        assert(found >= least, `${name} ${depth} ${what}: ${found.toFixed(2)}`);
      };
      for (const [style, { colour }] of Object.entries(palette.styles)) {
        if (colour === undefined) continue;
        // A terminal's background is as it is, whatever else it can show.
        for (const behind of palette.on) {
          const found = contrast(shown(colour), rgbOf(behind));
          assert(found >= least, `${name} ${depth} ${style} on ${behind}: ${found.toFixed(2)}`);
        }
        readable(colour, palette.grounds.added.behind, `${style} in an added line`);
        readable(colour, palette.grounds.removed.behind, `${style} in a removed line`);
      }
      for (const [on, { colour, behind }] of Object.entries(palette.grounds)) {
        readable(colour!, behind, on);
      }
    }
  }
});

const spans =
  (name: Parameters<typeof themed>[0]["name"], depth: "true" | "256" | "16" = "true") =>
  (style: Style, on?: Ground) => themed({ name, depth }).span({ text: "x", style, on });

Deno.test("a theme is said in as many colours as the terminal has", () => {
  assertEquals(spans("dark")("warning"), "\x1b[38;2;227;179;65mx\x1b[0m");
  assertEquals(spans("dark", "256")("warning"), "\x1b[38;5;179mx\x1b[0m");
  assertEquals(spans("dark", "16")("warning"), "\x1b[33mx\x1b[0m");
  assertEquals(spans("terminal")("warning"), "\x1b[33mx\x1b[0m");
  assertEquals(spans("auto")("warning"), "\x1b[33mx\x1b[0m");
  assertEquals(themed({ name: "text", depth: "true" }).bold("x"), "x");
  assertEquals(spans("dark")("plain"), "x");
});

Deno.test("changed words differ from their line without any colour", () => {
  const of = spans("terminal");
  assertEquals([of("plain", "added"), of("plain", "added_word")], [
    "\x1b[32mx\x1b[0m",
    "\x1b[1;7;32mx\x1b[0m",
  ]);
  // Without a known background, high contrast is the terminal's own text.
  assertEquals(spans("high-contrast")("error"), "\x1b[1;7mx\x1b[0m");
});

Deno.test("theme none has bold and underlined text, and no colour at any depth", () => {
  for (const depth of ["true", "256", "16"] as const) {
    for (const background of [undefined, "dark", "light"] as const) {
      const paint = themed({ name: "none", depth, background });
      const styles = Object.keys(PALETTES.dark.styles) as Style[];
      const grounds = Object.keys(PALETTES.dark.grounds) as Ground[];
      const all = [
        ...styles.map((style) =>
          paint.span({ text: "x", style, look: style === "error" ? 41 : 0 })
        ),
        ...grounds.map((on) => paint.span({ text: "x", style: "keyword", on })),
      ];
      // deno-lint-ignore no-control-regex -- escape sequences are what is looked for
      const styled = /^(?:\x1b\[(?:[1347](?:;|(?=m)))+m)?x(?:\x1b\[0m)?$/;
      for (const text of all) assertMatch(text, styled);
      assertEquals([paint.bold("x"), paint.dim("x")], ["\x1b[1mx\x1b[0m", "x"]);
    }
  }
});

Deno.test("auto follows the background that the terminal tells", () => {
  const on = (background: "dark" | "light") =>
    themed({ name: "auto", depth: "true", background }).warning("x");
  assertEquals(on("dark"), themed({ name: "dark", depth: "true" }).warning("x"));
  assertEquals(on("light"), themed({ name: "light", depth: "true" }).warning("x"));
});
