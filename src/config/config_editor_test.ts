import { assert, assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { Random } from "../../tests/support/random.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { CORTEX } from "../features/memory/config.ts";
import { SECTIONS } from "../features/registry.ts";
import { type Config, configOf, DEFAULTS } from "./config.ts";
import { readConfig } from "./read.ts";
import { ConfigEditor } from "./config_editor.ts";
import type { SettingChanges, SettingKey } from "./settings.ts";

const ignore = !granted("read", "write", "sys") || Deno.build.os === "windows";

/** A `daemon.toml`, and an editor of it that applies what it writes. */
class Fixture implements Disposable {
  readonly dir = new TempDir();
  readonly path = this.dir.join("daemon.toml");
  readonly editor: ConfigEditor;
  config: Config = configOf(structuredClone(DEFAULTS));

  constructor() {
    this.editor = new ConfigEditor({
      path: this.path,
      sections: SECTIONS,
      started: configOf(structuredClone(DEFAULTS)),
      config: () => this.config,
      reload: async () => {
        this.config = await readConfig(this.path, SECTIONS);
      },
      checkModel(id) {
        if (!id.includes("/")) throw new Error(`"${id}" is not a model id`);
      },
    });
  }

  get text(): string {
    return Deno.readTextFileSync(this.path);
  }

  write(text: string): void {
    Deno.writeTextFileSync(this.path, text, { mode: 0o600 });
  }

  /** What a change is refused with; the file is as it was. */
  async refused(changes: SettingChanges, revision?: string): Promise<SvcError> {
    const { text } = this;
    const error = await assertRejects(() => this.editor.change(changes, revision), SvcError);
    assertEquals([this.text, [...Deno.readDirSync(this.dir.path)].length], [text, 1]);
    return error;
  }

  [Symbol.dispose](): void {
    this.dir[Symbol.dispose]();
  }
}

function test(name: string, fn: (it: Fixture) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      using it = new Fixture();
      await fn(it);
    },
  });
}

const FILE = `# Ours.
default_workdir = "/srv/work"   # where most of it is

# Money.
[agent]
budget_usd = 5.0 # a session
max_steps = 50

[models.local] # at home
kind = "openai-compatible"
base_url = "http://127.0.0.1:11434/v1"
`;

test("what is changed is all that changes in the file, and holds at once", async (it) => {
  it.write(FILE);
  await it.editor.change({ "agent.budget_usd": 7.5, "agent.max_steps": null });
  assertEquals(it.text, FILE.replace("5.0", "7.5").replace("max_steps = 50\n", ""));
  assertEquals([it.config.agent.budget_usd, it.config.agent.max_steps], [7.5, 50]);
  await it.editor.change({ "agent.approval": "read_only", "journal.retention_mb": 20 });
  for (const line of FILE.split("\n").filter((line) => line.includes("#"))) {
    assert(it.text.includes(line.replace("5.0", "7.5")), `${line} is gone from\n${it.text}`);
  }
  assertEquals([it.config.agent.approval, it.config.journal.retention_mb], ["read_only", 20]);
});

test("without a file one is made, for its owner alone", async (it) => {
  const before = await it.editor.read();
  assertEquals(before.settings["agent.approval"], {
    value: "ask",
    source: "default",
    default: "ask",
    restart: false,
  });
  const { revision } = await it.editor.change({ "agent.approval": "auto" }, before.revision);
  assertEquals(it.text, '[agent]\napproval = "auto"\n');
  assertEquals(Deno.statSync(it.path).mode! & 0o777, 0o600);
  const after = await it.editor.read();
  assertEquals(after.revision, revision);
  assertEquals(after.settings["agent.approval"]?.source, "file");
});

test("what holds from the next start on says so, until it is taken back", async (it) => {
  const { restart } = await it.editor.change({ "sandbox.units": 4, "sandbox.network": true });
  assertEquals(restart, ["sandbox.units"]);
  const { settings } = await it.editor.read();
  assertEquals([settings["sandbox.units"]?.value, settings["sandbox.units"]?.in_use], [4, 16]);
  assertEquals(settings["sandbox.network"]?.in_use, undefined);
  assertEquals((await it.editor.change({ "sandbox.units": null })).restart, []);
});

test("a value that will not do names its key and changes nothing", async (it) => {
  it.write(FILE);
  const wrong: [SettingChanges, string][] = [
    [{ "agent.budget_usd": -1 }, "agent.budget_usd"],
    [{ "agent.approval": "always", "agent.max_steps": 9 }, "agent.approval"],
    [{ "sandbox.network": "yes" }, "sandbox.network"],
    [{ "default_workdir": "here" }, "default_workdir"],
    [{ "default_model": "nonsense" }, "default_model"],
  ];
  for (const [changes, key] of wrong) {
    const { code, details } = await it.refused(changes);
    const [{ path }] = details?.issues as { path: string[] }[];
    assertEquals([code, path.join(".")], ["validation", key]);
  }
});

test("a file that was changed meanwhile, has an error or is open to others stays", async (it) => {
  it.write(FILE);
  const { revision } = await it.editor.read();
  it.write(`${FILE}[log]\nlevel = "debug"\n`);
  assertEquals((await it.refused({ "agent.max_steps": 9 }, revision)).code, "conflict");
  it.write("[agent\n");
  assertEquals((await it.refused({ "agent.max_steps": 9 })).code, "validation");
  await assertRejects(() => it.editor.read(), SvcError, "daemon.toml:1");
  it.write(FILE);
  Deno.chmodSync(it.path, 0o644);
  assertEquals((await it.refused({ "agent.max_steps": 9 })).code, "permission_denied");
});

test("any changes of any file are made, and its comments stay", async (it) => {
  const random = new Random(7);
  const pieces = [
    "# at the top\n\n",
    'default_workdir = "/srv" # where\n',
    'default_model = "local/big"\n',
    "agent.max_steps = 9 # dotted\n",
    "\n[journal] # kept\nretention_mb = 7\n",
    "\n[sandbox]\n# jailed\nunits = 3\n\n",
    "\ncortex = { curator = false } # inline\n",
    '\n[models.local]\nkind = "openai" # k\n',
    "# the end",
  ];
  const values: Record<string, (string | number | boolean)[]> = {
    "default_model": ["a/b", "c/d"],
    "default_workdir": ["/a", "/b c"],
    "agent.approval": ["auto", "ask"],
    "agent.max_steps": [3, 77],
    "agent.budget_usd": [0.5, 12],
    "journal.retention_hours": [1, 1.5],
    "sandbox.network": [true, false],
    "sandbox.units": [1, 256],
    "cortex.recall_tokens": [0, 99],
    "log.level": ["warn", "error"],
  };
  const is_table = (piece: string) => piece.startsWith("\n[");
  for (let round = 0; round < 60; round++) {
    const chosen = pieces.filter(() => random.chance(0.5));
    it.write(chosen.toSorted((a, b) => Number(is_table(a)) - Number(is_table(b))).join(""));
    const keys = Object.keys(values).filter(() => random.chance(0.3));
    const changes = Object.fromEntries(
      keys.map((key) => [key, random.chance(0.25) ? null : random.pick(values[key])]),
    );
    const taken_out = Object.values(changes).includes(null);
    const comments = it.text.match(/#.*/g) ?? [];
    await it.editor.change(changes);
    const { settings } = await it.editor.read();
    for (const [key, value] of Object.entries(changes)) {
      const { value: found, source } = settings[key as SettingKey]!;
      assertEquals(value === null ? source : found, value ?? "default", `${key} in\n${it.text}`);
    }
    for (const comment of taken_out ? [] : comments) {
      assert(it.text.includes(comment), `${comment} is gone from\n${it.text}`);
    }
  }
});

test("changes at the same time are all made", async (it) => {
  await Promise.all([
    it.editor.change({ "agent.max_steps": 9 }),
    it.editor.change({ "journal.retention_hours": 48 }),
    it.editor.change({ "cortex.curator": false }),
  ]);
  const { agent, journal } = it.config;
  const cortex = it.config.of(CORTEX);
  assertEquals([agent.max_steps, journal.retention_hours, cortex.curator], [9, 48, false]);
});
