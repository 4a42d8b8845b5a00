import { assert, assertEquals, assertThrows } from "@std/assert";
import { COMMANDS, SVC, wholeTable } from "./commands.ts";
import {
  argument,
  command,
  DURATION,
  group,
  integer,
  JSON_OBJECT,
  listOf,
  on,
  oneOf,
  option,
  optional,
  spec,
  TEXT,
  UsageError,
  words,
} from "./define.ts";
import type { Command } from "./spec.ts";
import { helpText, leaves } from "./help.ts";
import { parse } from "./parse.ts";

const load = () => Promise.reject(new Error("not run"));
const DO = command(
  spec({
    summary: "Do it",
    args: { type: argument(TEXT, "Type"), text: words("What to do") },
    flags: {
      model: option(TEXT, "id", "Model", { short: "m" }),
      mode: option(oneOf(["fast", "safe"]), "mode", "Mode", { default: "safe" }),
      time: option(DURATION, "time", "Time limit", { default: "10m" }),
      extra: option(JSON_OBJECT, "json", "Options"),
      kinds: option(listOf(["a", "b"]), "kinds", "Kinds"),
      json: on("Print JSON"),
    },
  }),
  load,
);
const ROOT = group({ summary: "Group" }, {
  do: DO,
  show: command(
    spec({ summary: "Show", args: { n: optional(integer(1, 9), "Number", "5") } }),
    load,
  ),
});

function read(...argv: string[]) {
  const { path, input } = parse(ROOT, "svc x", argv);
  return { path, ...input };
}

Deno.test("flags and arguments have the types and defaults that the table states", () => {
  assertEquals(read("do", "code", "1e3", "0010", "-m", "a/b", "--time=90s", "--kinds", "b, a,b"), {
    path: "svc x do",
    flags: {
      model: "a/b",
      mode: "safe",
      time: 90_000,
      extra: undefined,
      kinds: ["b", "a"],
      json: false,
    },
    args: { type: "code", text: "1e3 0010" },
    given: ["model", "time", "kinds"],
  });
  assertEquals(read("show").args, { n: 5 });
  assertEquals(read("show", "7").args, { n: 7 });
});

Deno.test("flags may stand before the command, and after -- nothing is a flag", () => {
  assertEquals(read("--json", "do", "code", "--", "--json", "-x").args, {
    type: "code",
    text: "--json -x",
  });
});

Deno.test("a dash is the value of the flag before it, and a word elsewhere", () => {
  assertEquals(read("do", "code", "x", "--model", "-").flags?.model, "-");
  assertEquals(read("do", "code", "x", "-m", "-").flags?.model, "-");
  assertEquals(read("do", "code", "x", "--model=-").flags?.model, "-");
  assertEquals(read("do", "code", "-").args?.text, "-");
  assertEquals(read("do", "code", "--", "--model", "-").args?.text, "--model -");
});

Deno.test("wrong usage names what is wrong, what is expected and the nearest name", () => {
  const cases: [string[], string, string][] = [
    [["do", "--modl", "x"], "unknown flag --modl for `svc x do`", "did you mean --model?"],
    [["do", "-z"], "unknown flag -z for `svc x do`", "`svc x do --help` lists the flags"],
    [["show", "--json"], "unknown flag --json for `svc x show`", "`svc x show --help` lists"],
    [["sohw"], 'unknown command "svc x sohw"', 'did you mean "svc x show"?'],
    [["constructor"], 'unknown command "svc x constructor"', "`svc x --help` lists the commands"],
    [["do", "--model"], "--model needs a value: --model <id>", "`svc x do --help`"],
    [["do", "--model", "a", "-m", "b"], "--model was given more than once", ""],
    [
      ["do", "a", "b", "--mode", "fats"],
      'invalid value "fats" for --mode: expected fast or safe',
      'did you mean "fast"?',
    ],
    [["do", "a", "b", "--time", "9"], "expected a duration such as 90s", ""],
    [["do", "a", "b", "--extra", "[]"], "expected a JSON object", ""],
    [["do", "a", "b", "--kinds", "a,c"], "expected a comma-separated list of a, b", ""],
    [["do"], "<type> is missing", "`svc x do --help` shows the usage"],
    [["do", "a"], "<text> is missing", ""],
    [["show", "0"], 'invalid value "0" for <n>: expected a number from 1 to 9', ""],
    [["show", "1", "2"], 'unexpected argument "2"', ""],
  ];
  for (const [argv, message, hint] of cases) {
    const error = assertThrows(() => read(...argv), UsageError, message);
    assert((error.hint ?? "").includes(hint), `${argv.join(" ")}: ${error.hint}`);
  }
});

Deno.test("help shows every name, value and default of the table, and no hidden flag", async () => {
  assertEquals(
    helpText("svc x do", DO),
    `Do it.

Usage: svc x do [options] <type> <text>...

Arguments:
  <type>               Type
  <text>...            What to do

Options:
  -m, --model <id>     Model
      --mode <mode>    Mode [values: fast, safe] [default: safe]
      --time <time>    Time limit [default: 10m]
      --extra <json>   Options
      --kinds <kinds>  Kinds
      --json           Print JSON
  -h, --help           Show this help`,
  );
  assertEquals(helpText("svc serve", await COMMANDS.serve()).includes("--detached"), false);
});

Deno.test("the table is sound: defaults are valid, and a flag is of one kind below a command", async () => {
  const kinds = new Map<string, string>();
  for (const [name, top] of Object.entries((await wholeTable()).commands!)) {
    for (const { path, command } of leaves({ [name]: top }, "")) {
      for (const [flag, stated] of Object.entries(command.spec.flags)) {
        const key = `${name} --${flag}`;
        assertEquals(kinds.get(key) ?? stated.kind, stated.kind, `${path} --${flag}`);
        kinds.set(key, stated.kind);
        if (stated.kind === "option" && stated.default !== undefined) {
          assert(stated.type.parse(stated.default) !== undefined, `${path} --${flag}`);
        }
        assert(/^[A-Z].*[^.]$/s.test(stated.help), `${path} --${flag}: ${stated.help}`);
      }
      assert(/^[A-Z].*[^.]$/s.test(command.spec.summary), path);
    }
  }
});

Deno.test("every command can be loaded, and a former name leads to one", async () => {
  const table = await wholeTable();
  const visit = async (path: string, command: Command): Promise<void> => {
    if (command.load) assertEquals(typeof await command.load(), "function", path);
    for (const [name, below] of Object.entries(command.commands ?? {})) {
      await visit(`${path} ${name}`, below);
    }
    if (command.alias === undefined) return;
    const words = command.alias.filter((word) => !word.startsWith("-"));
    const found = words.reduce<Command | undefined>((it, word) => it?.commands?.[word], table);
    assert(found?.load, path);
  };
  await visit("svc", table);
  const listed = Object.keys(table.commands!).filter((name) => !isFormer(table.commands![name]));
  assertEquals(Object.keys(SVC.commands!), listed);
});

function isFormer({ former = false }: Command): boolean {
  return former;
}
