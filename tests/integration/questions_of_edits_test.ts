/**
 * What a person is asked about changes of files, and what not. The report stands in the name of the
 * step.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc } from "../support/svc.ts";
import { MadeCalls } from "../support/made_calls.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const patch = (...lines: string[]) => ({
  patch: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n"),
});

/** Calls that cannot succeed, and what the model is told at once. */
const HOPELESS: Record<string, { source: string; call: [string, unknown]; says: string }> = {
  "an old text that is absent": {
    source: "anomalyco/opencode#42908",
    call: ["edit_file", { path: "a.txt", old_text: "absent", new_text: "x" }],
    says: "old_text was not found",
  },
  "an edit of a file that is not there": {
    source: "moonbitlang/openseek#243",
    call: ["edit_file", { path: "none.txt", old_text: "a", new_text: "b" }],
    says: "no such file",
  },
  "a hook of git": {
    source: "anomalyco/opencode#30841",
    call: ["write_file", { path: ".git/hooks/pre-commit", content: "x" }],
    says: "cannot write into .git",
  },
  "a part of a patch that does not fit": {
    source: "anomalyco/opencode#41875",
    call: ["apply_patch", patch("*** Update File: a.txt", "-absent", "+x")],
    says: "its lines were not found",
  },
  "a new file that is there already": {
    source: "anomalyco/opencode#41875",
    call: ["apply_patch", patch("*** Add File: a.txt", "+x")],
    says: "already exists",
  },
  "a path outside": {
    source: "anomalyco/opencode#30841",
    call: ["write_file", { path: "../outside.txt", content: "x" }],
    says: "leads outside",
  },
};

Deno.test(
  { name: "a question is asked for what can be done, with what it changes", ignore },
  async (t) => {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    const { client } = scenario;
    const workdir = await calls.in("asked", {
      "a.txt": "one\ntwo\nthree\n",
      "b.txt": "b\n",
      "c.txt": "c\n",
    });
    scenario.session_id = await client.session({ workdir, model: scenario.model, approval: "ask" });
    const { session_id } = scenario;
    const questions = () =>
      client.events.filter((it) =>
        it.session_id === session_id && it.type === "approval.requested"
      );

    for (const [name, { source, call, says }] of Object.entries(HOPELESS)) {
      await t.step(`not asked: ${name} (${source})`, async () => {
        const [made] = await calls.make(call);
        assertEquals(made.ok, false);
        assertStringIncludes(made.output, says);
        assertEquals(questions(), []);
      });
    }

    /** Makes a call, allows it and returns the question. */
    const asked = async (call: [string, unknown]) => {
      const before = questions().length;
      const made = calls.make(call);
      const { data } = await client.wait(() => questions().length > before, "the question")
        .then(() => questions().at(-1)!);
      const { session } = await scenario.call("session.get");
      const pending = (session ?? await scenario.call("session.get")).pending_approvals[0];
      assertEquals(pending.changes, data.changes);
      await scenario.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
      const [{ ok, output }] = await made;
      assert(ok, output);
      // deno-lint-ignore no-explicit-any -- looked at field by field
      return data as any;
    };

    await t.step("a file that is replaced (mpfaffenberger/code_puppy#446)", async () => {
      const { reason, changes } = await asked(["write_file", {
        path: "a.txt",
        content: "one\n2\nthree\n",
      }]);
      assertStringIncludes(reason, "replaces a file that is there");
      assertEquals(changes, [{
        path: "a.txt",
        before: "one\ntwo\nthree\n",
        after: "one\n2\nthree\n",
        line: 1,
      }]);
    });
    await t.step("a new file (HKUDS/OpenHarness#259)", async () => {
      const { reason, changes } = await asked(["write_file", { path: "new.txt", content: "n\n" }]);
      assert(!reason.includes("replaces"));
      assertEquals(changes, [{ path: "new.txt", after: "n\n" }]);
    });
    await t.step(
      "a patch of several files, with a deletion (Kilo-Org/kilocode#9681, Kilo-Org/kilocode#10010)",
      async () => {
        const { reason, changes } = await asked([
          "apply_patch",
          patch(
            ...["*** Update File: a.txt", "-2", "+two", "*** Delete File: b.txt"],
            ...[
              "*** Update File: c.txt",
              "*** Move to: d.txt",
              "-c",
              "+d",
              "*** Add File: e.txt",
              "+e",
            ],
          ),
        ]);
        assertEquals(reason, "patch a.txt, delete b.txt, move c.txt to d.txt, add e.txt");
        assertEquals(changes, [
          { path: "a.txt", before: "one\n2\nthree\n", after: "one\ntwo\nthree\n", line: 1 },
          { path: "c.txt → d.txt", before: "c\n", after: "d\n", line: 1 },
          { path: "e.txt", after: "e\n" },
          { path: "b.txt", before: "b\n", after: "", deleted: true },
        ]);
        assertEquals(Deno.readTextFileSync(join(workdir, "d.txt")), "d\n");
      },
    );
  },
);
