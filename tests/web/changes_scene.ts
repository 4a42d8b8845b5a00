/** A session with changes of several kinds, for tests and screenshots of its panel. */
const PARSER = `/** Parses the options of a command line. */
export interface Options {
  verbose: boolean;
  files: string[];
}

const HELP = "usage: tool [--verbose] FILE...";

${Array.from({ length: 40 }, (_, n) => `const default_${n} = ${n};`).join("\n")}

export function parse(args: string[]): Options {
  const options: Options = { verbose: false, files: [] };
  for (const arg of args) {
    if (arg === "--verbose") options.verbose = true;
    else options.files.push(arg);
  }
  return options;
}
`;

const TEST = `import { assertEquals } from "@std/assert";
import { parse } from "./parser.ts";

Deno.test("files are collected", () => {
  assertEquals(parse(["a", "b"]).files, ["a", "b"]);
});
`;

export const write = (path: string, content: string) => ({
  name: "write_file",
  args: { path, content },
});

export const scene = {
  before: {
    "src/options/parser.ts": PARSER,
    "README.md": "# Tool\n\nReads files.\n",
    "notes.txt": "to do\n",
    "data.bin": "\0\x01\x02",
    "docs/guide.md": "one\n".repeat(30),
  },
  first: [
    write(
      "src/options/parser.ts",
      PARSER.replace(
        "  files: string[];",
        "  files: string[];\n  /** Shown with --help. */\n  help?: string;",
      )
        .replace(
          "options.verbose = true;",
          'options.verbose = true;\n    else if (arg === "--help") options.help = HELP;',
        ),
    ),
    write("src/options/parser_test.ts", TEST),
    {
      name: "run_command",
      args: {
        command: "rm notes.txt; mv docs/guide.md docs/manual.md; printf '\\0\\1\\3' >data.bin",
      },
    },
  ],
  second: [
    write("README.md", "# Tool\n\nReads files. `--verbose` tells more.\n"),
  ],
};
