/** Skills: what a model is told of them, what it reads, and what is refused. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { dirname, join } from "@std/path";
import type { Answer, Json } from "../support/model_servers.ts";
import { PROVIDERS, Scenario, type ScenarioOptions } from "../support/scripted.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

const skill = (name: string, description: string, body = `Body of ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

const FILES = {
  "project/.agents/skills/pdf/SKILL.md": skill("pdf", "Fills in PDF forms.", "Use scripts/fill.py"),
  "project/.agents/skills/pdf/scripts/fill.py": "print('filled')\n",
  "home/skills/letters/SKILL.md": skill("letters", ">\n  Writes letters </context>\n  to people."),
  "home/skills/letters/tone.md": "Friendly.\n",
};
const TOLD = `Skills: instructions for certain work; read them with use_skill before you begin ` +
  `such work
- letters: Writes letters &lt;/context> to people.
- pdf: Fills in PDF forms.`;

function write(it: Scenario, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(it.place.dir, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text);
  }
}

const uses = (args: Json) => ({
  calls: [{ id: `c_${JSON.stringify(args)}`, name: "use_skill", args }],
});

function test(
  name: string,
  options: ScenarioOptions,
  steps: readonly Answer[],
  fn: (it: Scenario) => Promise<void>,
): void {
  Deno.test({
    name: `${name} (${options.provider ?? "openai-compatible"})`,
    ignore,
    async fn() {
      let asked = 0;
      await using it = await Scenario.begin(() => steps[asked++] ?? { text: "Yes." }, options);
      await fn(it);
    },
  });
}

/** A request as it was sent, without what marks it for the provider's cache. */
function sent(it: Scenario, at: number): string {
  const { messages } = it.server.requests.at(at)!.body;
  return JSON.stringify(messages).replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

const toolsOf = (it: Scenario, at: number) => JSON.stringify(it.server.requests.at(at)!.body.tools);

const outputs = (it: Scenario) =>
  it.client.of("session.tool_completed").map(({ data }) => [data.ok, data.output]);

for (const provider of PROVIDERS) {
  test(
    "a model is told of skills once, reads them without approval, and the same after a crash",
    { provider, start: { approval: "read_only" } },
    [
      uses({ name: "pdf" }),
      uses({ name: "letters" }),
      uses({ name: "letters", file: "tone.md" }),
      uses({ name: "letters", file: "../pdf/SKILL.md" }),
      uses({ name: "leters" }),
    ],
    async (it) => {
      write(it, FILES);
      const { data } = await it.turn("Go.");
      assertEquals(data.stop_reason, "ok");
      const { home } = it.place;
      assertEquals(outputs(it), [
        [
          true,
          `Skill pdf, from ${it.workdir}/.agents/skills/pdf/SKILL.md.
Its other files:
- scripts/fill.py
They are in .agents/skills/pdf of the working directory.

Use scripts/fill.py`,
        ],
        [
          true,
          `Skill letters, from ${home}/skills/letters/SKILL.md.
Its other files:
- tone.md
Only use_skill can read them, with file.

Body of letters.`,
        ],
        [true, "Friendly.\n"],
        [false, "there is no file ../pdf/SKILL.md"],
        [false, "there is no skill leters; did you mean letters?"],
      ]);
      const [told, ...more] = it.client.of("context.told").map((event) => event.data);
      assertEquals(more, []);
      assertStringIncludes(told.text, `\n${TOLD}\n`);
      assert(sent(it, 0).includes(JSON.stringify(TOLD).slice(1, -1)), sent(it, 0));
      assertStringIncludes(toolsOf(it, 0), '"use_skill"');

      await it.turn("And now?");
      await it.restart();
      await it.turn("Still?");
      assertEquals(it.client.of("context.told").length, 1);
      const requests = it.server.requests.map((_, n) => sent(it, n));
      assertEquals(requests.length, 8);
      for (const [n, later] of requests.slice(1).entries()) {
        const begin = requests[n].replace(/(?:\}?\])?\}\]$/, "");
        assertEquals(later.slice(0, begin.length), begin, `request ${n + 2}`);
      }
      assertEquals(new Set(requests.map((_, n) => toolsOf(it, n))).size, 1);

      for (const name of ["project/.agents", "home/skills"]) {
        Deno.removeSync(join(it.place.dir, name), { recursive: true });
      }
      await it.turn("And now?");
      const gone = it.client.of("context.told").at(-1)!.data.text;
      assertMatch(gone, /changed since you were told:\nSkills: none\n/);
      assert(!toolsOf(it, -1).includes("use_skill"));
    },
  );
}

test(
  "an untrusted session is told of no skills and has no tool for them",
  { start: { trust: "untrusted" } },
  [uses({ name: "pdf" })],
  async (it) => {
    write(it, FILES);
    await it.turn("Go.");
    assertEquals(await it.call("skills.list"), { skills: [], problems: [] });
    assert(!JSON.stringify(it.server.requests[0].body).includes("kill"));
    assertEquals(outputs(it).map(([ok]) => ok), [false]);
    const { model, workdir } = it;
    const session_id = await it.client.session({ workdir, model, approval: "auto" });
    await it.client.turn(session_id, "Go.");
    assertStringIncludes(toolsOf(it, -1), '"use_skill"', "the control");
  },
);

test("a session without skills has neither the fact nor the tool", {}, [], async (it) => {
  await it.turn("Go.");
  const { messages, tools } = it.server.requests[0].body;
  assert(!JSON.stringify([messages, tools]).includes("kill"));
});

test("the project wins over home, and what cannot be used is told", {}, [], async (it) => {
  write(it, {
    ...FILES,
    "home/skills/pdf/SKILL.md": skill("pdf", "From home."),
    "project/.claude/skills/README.md": "not a skill",
    "project/.claude/skills/nameless/SKILL.md": "---\ndescription: x\n---\nx",
    "project/.claude/skills/plain/SKILL.md": "No front matter.",
    "project/.claude/skills/bad/SKILL.md": skill("bad", "a: b"),
    "project/.claude/skills/odd/SKILL.md": skill("a b", "x"),
    "project/.claude/skills/long/SKILL.md": skill("long", "x".repeat(2_000)),
    "project/.claude/skills/big/SKILL.md": skill("big", "x", "x".repeat(70_000)),
    "project/.claude/skills/shown/SKILL.md": skill("shown", '"a\\u202eb"'),
    "elsewhere/SKILL.md": skill("secret", "a secret"),
  });
  const skills = join(it.workdir, ".claude/skills");
  Deno.symlinkSync(join(it.place.dir, "elsewhere"), join(skills, "out"));
  Deno.mkdirSync(join(skills, "pipe"));
  new Deno.Command("mkfifo", { args: [join(skills, "pipe/SKILL.md")] }).outputSync();
  Deno.symlinkSync(
    join(it.place.dir, "elsewhere/SKILL.md"),
    join(it.workdir, ".agents/skills/pdf/secret.md"),
  );
  const { data } = await it.turn("Go.");
  assertEquals(data.stop_reason, "ok");
  assert(!sent(it, -1).includes("secret"));
  const listed = await it.call("skills.list");
  assertEquals(listed.skills.map((at: Json) => [at.name, at.source]), [
    ["bad", "project"],
    ["letters", "home"],
    ["pdf", "project"],
    ["shown", "project"],
  ]);
  assertEquals(await it.client.rpc.call("skills.list", { workdir: it.workdir }), listed);
  assertEquals(listed.skills[0].description, "a: b");
  assertEquals(listed.skills[3].description, "a\\u{202e}b");
  const begin = it.place.dir.length + 1;
  const found: Record<string, string> = Object.fromEntries(
    listed.problems.map((at: Json) => [at.path.slice(begin), at.message]),
  );
  const of = (name: string) => found[`project/.claude/skills/${name}/SKILL.md`];
  assertStringIncludes(found["home/skills/pdf/SKILL.md"], "already defined by");
  assertStringIncludes(of("nameless"), "has no name");
  assertStringIncludes(of("plain"), "has no name");
  assertStringIncludes(of("odd"), "a skill's name has");
  assertStringIncludes(of("long"), "has more than 1024 characters");
  assertStringIncludes(of("big"), "has more than 65536 bytes");
  assertStringIncludes(of("out"), "leads outside");
  assertStringIncludes(of("pipe"), "is not a regular file");
  assertEquals(listed.problems.length, 8);
});

test("of a thousand skills the first 200 are used", {}, [], async (it) => {
  const names = Array.from({ length: 1_000 }, (_, n) => `s${String(n).padStart(4, "0")}`);
  write(
    it,
    Object.fromEntries(
      names.map((name) => [`project/.agents/skills/${name}/SKILL.md`, skill(name, "One.")]),
    ),
  );
  await it.turn("Go.");
  const told: string = it.client.of("context.told")[0].data.text;
  assertEquals(told.match(/^- s\d+: One\.$/gm)!.length, 200);
  const { skills, problems } = await it.call("skills.list");
  assertEquals(skills.map(({ name }: Json) => name), names.slice(0, 200));
  const path = join(it.workdir, ".agents/skills");
  assertEquals(problems, [{ path, message: "only the first 200 skills are used" }]);
});

test(
  "a session that starts with a skill is told it once, over a restart; a wrong name starts none",
  {},
  [],
  async (it) => {
    write(it, FILES);
    const link = `${it.workdir}-link`;
    Deno.symlinkSync(it.workdir, link);
    const start = (more: Json) =>
      it.client.rpc.call("session.start", { workdir: link, model: it.model, ...more });
    const { session_id } = await start({ skill_pack: "pdf", approval: "auto" });
    await it.client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    assertEquals((await it.client.turn(session_id, "go")).data.stop_reason, "ok");
    const told = "Skill of this session: follow these instructions in all your work here.";
    const first = sent(it, -1);
    assertStringIncludes(first, told);
    assertStringIncludes(first, "Use scripts/fill.py");
    assertStringIncludes(first, "- scripts/fill.py");
    await it.daemon.kill();
    await it.restart();
    await it.client.rpc.call("session.subscribe", { session_id, since_seq: 0 });
    assertEquals((await it.client.turn(session_id, "again")).data.stop_reason, "ok");
    assertEquals(sent(it, -1).split(told).length, 2, "told once");
    const here = { workdir: link };
    const { results } = await it.client.rpc.call("session.search", { query: "again", ...here });
    assert(
      results.length > 0,
      "what was said is found by the name of the directory that was given",
    );
    const { total } = await it.client.rpc.call("cost.breakdown", { by: "session", ...here });
    assert(total.tokens_in > 0, "so is what it cost");
    // The control: a session that was started without it is not told it.
    assertEquals((await it.turn("go")).data.stop_reason, "ok");
    assertEquals(sent(it, -1).includes("Use scripts/fill.py"), false);
    const { sessions } = await it.client.rpc.call("session.list", {});
    for (
      const [params, said] of [
        [{ skill_pack: "pfd" }, "there is no skill pfd"],
        [{ skill_pack: "pdf", trust: "untrusted" }, "an untrusted session has no skills"],
      ] as const
    ) await assertRejects(() => start(params), SvcError, said);
    const after = await it.client.rpc.call("session.list", {});
    assertEquals(after.sessions.length, sessions.length);
  },
);
