/** Calls in another notation than the tools have, as models really write them. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { ScriptedCall } from "../support/model_servers.ts";
import { PROVIDERS, Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;

/** Each call with its report, if it has one, and what it does when it is read rightly. */
const CALLS: [what: string, call: ScriptedCall, output: RegExp][] = [
  ["a prefix (tontinton/maki#505)", {
    name: "functions.read_file",
    args: { path: "notes.txt" },
  }, /forty-two/],
  ["another case", { name: "Read_File", args: { path: "notes.txt" } }, /forty-two/],
  ["a mark of its format", {
    name: "read_file<|channel|>commentary",
    args: { file_path: "notes.txt" },
  }, /forty-two/],
  ["a hyphen", { name: "list-dir", args: { path: null } }, /notes\.txt/],
  ["numbers as text", {
    name: "read_file",
    args: { filePath: "notes.txt", offset: "2", limit: "1" },
  }, /^(?!.*forty-two)[^]*second/],
  ["other names", {
    name: "edit_file",
    args: { file_path: "notes.txt", old_string: "second", new_string: "2nd", replaceAll: "false" },
  }, /notes\.txt/],
  ["a plan as text (Kilo-Org/kilocode#10421)", {
    name: "plan",
    args: { steps: JSON.stringify([{ step: "look", state: "Done" }]) },
  }, /./],
];

for (const provider of PROVIDERS) {
  Deno.test({
    name:
      `${provider}: a call in another notation does what it means, in every turn, and is recorded as both`,
    ignore,
    async fn() {
      const steps = CALLS.map(([, call], n) => ({ calls: [{ id: `call_${n}`, ...call }] }));
      await using it = await Scenario.begin([
        ...steps,
        { text: "Done." },
        { calls: [{ id: "again", name: "functions.read_file", args: { file: "notes.txt" } }] },
        { text: "Again." },
      ], { provider });
      Deno.writeTextFileSync(join(it.workdir, "notes.txt"), "forty-two\nsecond\n");
      assertEquals((await it.turn("one")).data.stop_reason, "ok");
      await it.daemon.kill();
      await it.restart();
      assertEquals((await it.turn("two")).data.stop_reason, "ok");
      const { events } = await it.call("session.history", { limit: 1000 });
      // deno-lint-ignore no-explicit-any -- events as they are sent
      const of = (type: string): any[] =>
        // deno-lint-ignore no-explicit-any -- the same
        events.filter((event: any) => event.type === type).map(({ data }: any) => data);
      const ended = of("session.tool_completed");
      const begun = of("session.tool_started");
      for (const [at, [what, call, output]] of CALLS.entries()) {
        assert(ended[at].ok, `${what}: ${ended[at].output}`);
        assert(output.test(ended[at].output), `${what}: ${ended[at].output}`);
        assertEquals(begun[at].written.tool, call.name, what);
        assertEquals(begun[at].written.args, call.args, what);
        assert(begun[at].written.notes.length > 0, what);
      }
      assert(ended.at(-1).ok, ended.at(-1).output);
      assertEquals([begun.at(-1).tool, begun.at(-1).args], ["read_file", { path: "notes.txt" }]);
      assertEquals(Deno.readTextFileSync(join(it.workdir, "notes.txt")), "forty-two\n2nd\n");
    },
  });
}

Deno.test({
  name: "a call that is right stays as it is; one that is not clear is refused",
  ignore,
  async fn() {
    await using it = await Scenario.begin([
      { calls: [{ id: "a", name: "write_file", args: { path: "l.json", content: '["a"]' } }] },
      { calls: [{ id: "b", name: "read_file", args: { path: "l.json", offset: "two" } }] },
      { calls: [{ id: "c", name: "read", args: { path: "l.json" } }] },
      { text: "Done." },
    ]);
    await it.turn("go");
    const begun = it.client.of("session.tool_started").map(({ data }) => data);
    assertEquals(begun.map(({ written }) => written), [undefined, undefined, undefined]);
    const ended = it.client.of("session.tool_completed").map(({ data }) => data);
    assertEquals(ended.map(({ ok }) => ok), [true, false, false]);
    assert(ended[1].output.includes("offset"), ended[1].output);
    assertEquals(Deno.readTextFileSync(join(it.workdir, "l.json")), '["a"]');
  },
});
