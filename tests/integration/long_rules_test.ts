/**
 * What must reach a model although there is little room: where to read on, and the person's message
 * beside long rules. The report stands in the name of the test.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";
import { Scenario } from "../support/scripted.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

Deno.test({
  name: "a long file is read to its end by what each piece says (netclaw-dev/netclaw#1106, " +
    "Kilo-Org/kilocode#12756, anomalyco/opencode#33650)",
  ignore,
}, async (t) => {
  await using calls = await MadeCalls.begin({ toml: "context_tokens = 10000000" });
  const FILES: Record<string, string[]> = {
    "many short lines": Array.from({ length: 9_000 }, (_, n) => `line ${n} of many`),
    "lines of a thousand characters": Array.from(
      { length: 300 },
      (_, n) => `${n} ${"x".repeat(990)}`,
    ),
    "lines that are cut": Array.from({ length: 90 }, (_, n) => `${n} ${"ü".repeat(3_000)}`),
  };
  for (const [name, lines] of Object.entries(FILES)) {
    await t.step(name, async () => {
      await calls.in(name.replaceAll(" ", "-"), {
        "file.txt": lines.map((it) => `${it}\n`).join(""),
      });
      const read: string[] = [];
      for (let offset = 1, pieces = 0; pieces < 30; pieces++) {
        const [made] = await calls.make(["read_file", { path: "file.txt", offset }]);
        assertEquals(made.truncated, false);
        const [note, next] = made.output.match(/\n?\[lines .*; continue with offset (\d+)\]$/) ??
          [];
        const shown = made.output.slice(0, made.output.length - (note?.length ?? 0));
        read.push(...shown.trimEnd().split("\n"));
        if (next === undefined) break;
        assertEquals(Number(next), read.length + 1);
        offset = Number(next);
      }
      assertEquals(read.length, lines.length);
      assert(read.every((line, n) => line.slice(0, 100) === lines[n].slice(0, 100)));
    });
  }
  await t.step("a search says where it stopped", async () => {
    await calls.in("search", { "long.txt": `${"x".repeat(990)}\n`.repeat(300) });
    const [made] = await calls.make(["grep", { pattern: "x{300}", limit: 100 }]);
    assertStringIncludes(made.output, "omitted]\n[stopped at 100 matches]");
  });
});

Deno.test({
  name: "rules that fill the context are shortened, and can be read again, also after a restart " +
    "(anthropics/claude-code#23751, anthropics/claude-code#25620)",
  ignore,
}, async () => {
  const long = (word: string) => `# Rules\n\n${`- ${word} comes first.\n`.repeat(3_000)}`;
  const bodies: string[] = [];
  await using it = await Scenario.begin(({ body }) => {
    const text = JSON.stringify(body);
    if (text.length > 120_000) {
      return { status: { code: 400, message: "maximum context length is 32000 tokens" } };
    }
    bodies.push(text);
    return { text: "Done." };
  }, { toml: "context_tokens = 32000" });
  Deno.writeTextFileSync(join(it.workdir, "AGENTS.md"), `${long("alpha")}\n@more.md\n`);
  Deno.writeTextFileSync(join(it.workdir, "more.md"), long("beta"));
  const first = await it.turn("Say that it is done.");
  assertEquals(first.data.stop_reason, "ok");
  const sent = () => bodies.at(-1)!;
  assertStringIncludes(sent(), "Say that it is done.");
  assertStringIncludes(sent(), "alpha comes first");
  assert(/read_earlier with seq \d+ reads all of it/.test(sent()));

  // What is told again takes the place of what was told.
  Deno.writeTextFileSync(join(it.workdir, "AGENTS.md"), long("gamma"));
  Deno.removeSync(join(it.workdir, "more.md"));
  await it.restart();
  const second = await it.turn("And again.");
  assertEquals(second.data.stop_reason, "ok");
  assertStringIncludes(sent(), "gamma comes first");
});

Deno.test({
  name: "a compaction leaves out older versions of rules and facts whole, and cuts none that hold",
  ignore,
}, async () => {
  const bodies: string[] = [];
  const summary = "This conversation is about to be shortened.";
  await using it = await Scenario.begin(({ body }) => {
    const text = JSON.stringify(body);
    if (!text.includes(summary)) bodies.push(text);
    return { text: text.includes(summary) ? "Nothing." : "Done." };
  }, { toml: "context_tokens = 32000" });
  const sent = () => bodies.at(-1)!;
  const long = (word: string) => `${`- ${word} comes first.\n`.repeat(500)}- ${word} ends.`;
  const write = (name: string, text: string) =>
    Deno.writeTextFileSync(join(it.workdir, name), text);
  write("more.md", long("always"));
  const versions = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
  const before: string[] = [];
  for (const [n, version] of versions.entries()) {
    write("AGENTS.md", `${long(version)}\n@more.md\n`);
    await it.call("session.configure", { approval: n % 2 === 0 ? "auto" : "ask" });
    const { data } = await it.turn(`Turn ${n}.`);
    assertEquals(data.stop_reason, "ok", data.error);
    before.push(...it.client.of("session.compacted").slice(before.length).map(() => version));
  }
  assert(before.length > 0, "the versions have filled the context");
  const check = () => {
    for (const word of ["zeta", "always"]) {
      assertEquals(sent().split(`- ${word} ends.`).length, 2, word);
    }
    for (const old of ["alpha", "beta", "gamma"]) assert(!sent().includes(`${old} comes`), old);
    assertEquals(sent().match(/\\nApproval: /g)?.length, 1);
    assert(!sent().includes("reads all of it"), "nothing is cut");
  };
  // The rest goes where it is asked for.
  await it.call("session.compact");
  await it.turn("And again.");
  check();
  assert(!sent().includes("delta comes"));
  await it.restart();
  await it.turn("After a restart.");
  check();
});
