/** The feature that docs/contributing/features.md builds is one folder and one line, and works. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { walk } from "@std/fs";
import { dirname, fromFileUrl, join, relative } from "@std/path";
import { requireDirection } from "../../install/imports.ts";
import { Scenario } from "../support/scripted.ts";
import { TempDir } from "../support/sessions.ts";
import { can_run_svc } from "../support/svc.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const LIST = /(const OTHERS = \[\n[^\]]*)(\];\n)/;

/** The files of the page, by their paths, and the lines for the list of features. */
function snippetsOf(page: string): { files: [string, string][]; lines: string[] } {
  const blocks = [...page.matchAll(/(?:`(src\/[\w/]+\.ts)`:\n\n)?```ts\n([^]*?)```\n/g)];
  return {
    files: blocks.flatMap(([, path, text]) => path === undefined ? [] : [[path, text]]),
    lines: blocks.flatMap(([, path, text]) => path === undefined ? text : []),
  };
}

/** A copy of the program with the feature of the page. */
async function build(root: string): Promise<void> {
  const page = await Deno.readTextFile(join(ROOT, "docs/contributing/features.md"));
  for (const name of ["main.ts", "deno.json", "deno.lock", "CONTRIBUTING.md"]) {
    await Deno.copyFile(join(ROOT, name), join(root, name));
  }
  for await (const { path } of walk(join(ROOT, "src"), { includeDirs: false })) {
    const to = join(root, relative(ROOT, path));
    await Deno.mkdir(dirname(to), { recursive: true });
    await Deno.copyFile(path, to);
  }
  await Deno.symlink(join(ROOT, "web"), join(root, "web"));
  const { files, lines: [imported, entry] } = snippetsOf(page);
  await Deno.mkdir(join(root, "src/features/notes"));
  for (const [path, text] of files) {
    assert(path.startsWith("src/features/notes/"), path);
    await Deno.writeTextFile(join(root, path), text, { createNew: true });
  }
  const list = join(root, "src/features/registry.ts");
  const text = await Deno.readTextFile(list);
  const added = text.replace(LIST, (_, before, end) => before + entry + end);
  assert(added !== text, "the list of features is found");
  await Deno.writeTextFile(list, imported + added);
}

async function deno(root: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root }).output();
  assert(success, `deno ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

Deno.test({
  name:
    "the worked example: a verb, a tool, a key and a table in one folder and one line of a list",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    using dir = new TempDir();
    const root = dir.path;
    await build(root);
    const config = join(root, "deno.json");
    await deno(root, "check", "--quiet", "main.ts");
    await deno(root, "lint", "--quiet", "src/features/notes");
    await deno(root, "fmt", "--quiet", "--check", "src/features/notes");
    await requireDirection(root);

    const program = join(root, "main.ts");
    const run = ["run", "--quiet", "--no-check", "--permission-set", `--config=${config}`, program];
    await using it = await Scenario.begin([
      { calls: [{ name: "take_note", args: { text: "from a model" } }] },
      { text: "done" },
    ], { toml: "[notes]\nmax = 3\n", command: [Deno.execPath(), run] });
    const call = (method: string, params = {}) => it.client.rpc.call(method, params);
    const notes = async () => (await call("note.list") as { notes: string[] }).notes;
    assertEquals(await notes(), []);
    await call("note.add", { text: "first" });
    await it.turn("take a note");
    assertEquals(await notes(), ["first", "from a model"]);

    await it.restart();
    assertEquals(await notes(), ["first", "from a model"]);
    await call("note.add", { text: "third" });
    await call("note.add", { text: "fourth" });
    assertEquals(await notes(), ["from a model", "third", "fourth"]);
    await call("daemon.set_config", { changes: { "notes.max": 1 } });
    await call("note.add", { text: "last" });
    assertEquals(await notes(), ["last"]);
    const wrong = { changes: { "notes.max": 0 } };
    await assertRejects(() => call("daemon.set_config", wrong), Error, "notes.max");
  },
});
