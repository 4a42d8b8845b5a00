/** What a call has changed in the files that it replaces, in the journal and in every face. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Editor } from "../support/acp.ts";
import { MadeCalls } from "../support/made_calls.ts";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";
import { has_tmux, TmuxTerminal } from "../support/tmux.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";
const OLD = Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join("");
const NEW = OLD.replace("line 20\n", "twenty\n");
/** The lines around the one that differs. */
const around = (line: string) => `line 17\nline 18\nline 19\n${line}\nline 21\nline 22\nline 23\n`;
const CHANGED = { path: "a.txt", before: around("line 20"), after: around("twenty"), line: 17 };
const patch = (...lines: string[]) => ({
  patch: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n"),
});

Deno.test({
  name: "a result has what changed in a file, over two turns and a restart, and no model gets it",
  ignore,
  async fn() {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    const workdir = await calls.in("overwritten", {
      "a.txt": OLD,
      "b.txt": OLD,
      "same.txt": "same\n",
      "old.txt": "secret of a deleted file\n",
      "pixel.bin": new Uint8Array([0, 1, 2, 0, 255]),
    });
    // deno-lint-ignore no-explicit-any -- looked at field by field
    const changes = (made: unknown) => (made as any).changes;
    const [write, added, same, binary, failed] = await calls.make(
      ["write_file", { path: "a.txt", content: NEW }],
      ["write_file", { path: "new.txt", content: "new\n" }],
      ["write_file", { path: "same.txt", content: "same\n" }],
      ["write_file", { path: "pixel.bin", content: "text\n" }],
      ["edit_file", { path: "a.txt", old_text: "absent", new_text: "x" }],
    );
    assertEquals(changes(write), [CHANGED]);
    assertEquals(changes(added), undefined);
    assertEquals(changes(same), [{ path: "same.txt", before: "", after: "" }]);
    assertEquals(changes(binary), [{ path: "pixel.bin", after: "text\n", replaced: true }]);
    assertEquals([failed.ok, changes(failed)], [false, undefined]);

    const [edited, patched] = await calls.make(
      ["edit_file", { path: "b.txt", old_text: "line 20\n", new_text: "twenty\n" }],
      [
        "apply_patch",
        patch("*** Update File: b.txt", "-line 40", "+forty", "*** Delete File: old.txt"),
      ],
    );
    assertEquals(changes(edited), [{ ...CHANGED, path: "b.txt" }]);
    assertEquals(changes(patched), [
      {
        path: "b.txt",
        before: "line 37\nline 38\nline 39\nline 40\n",
        after: "line 37\nline 38\nline 39\nforty\n",
        line: 37,
      },
      { path: "old.txt", after: "", deleted: true },
    ]);

    const long = "x\n".repeat(40_000);
    const [first, second] = await calls.make(
      ["write_file", { path: "long.txt", content: long }],
      ["write_file", { path: "long.txt", content: long.replaceAll("x", "y") }],
    );
    assertEquals(changes(first), undefined);
    assert(JSON.stringify(changes(second)).length < 200_000);
    assertStringIncludes(changes(second).at(-1).after, "[the rest of the changes is not shown]");

    const { session_id } = scenario;
    const journal = Deno.readTextFileSync(
      join(workdir, ".svc/sessions", session_id, "journal.ndjson"),
    );
    assertStringIncludes(journal, JSON.stringify(CHANGED));
    assert(!journal.includes("secret of a deleted file"));

    await scenario.restart();
    const { messages } = await scenario.call("session.transcript");
    assert(!JSON.stringify(messages).includes('"before"'), "the model's conversation");
    const [again] = await calls.make(["write_file", { path: "a.txt", content: OLD }]);
    assertEquals(changes(again), [{ ...CHANGED, before: CHANGED.after, after: CHANGED.before }]);
  },
});

Deno.test({
  name: "an editor that was not asked gets the parts of a replaced file, with what they were",
  ignore,
  async fn() {
    await using place = new Place();
    const workdir = place.mkdir("project");
    const file = join(workdir, "hello.txt");
    Deno.writeTextFileSync(file, OLD);
    await using editor = new Editor(place, { choose: () => "allow_always" });
    const sessionId = await editor.open(workdir);
    const write = (text: string) => `write hello.txt\n\`\`\`\n${text.trimEnd()}\n\`\`\``;
    await editor.prompt(sessionId, write(OLD.replace("line 1\n", "one\n")));
    await editor.prompt(sessionId, write(NEW.replace("line 1\n", "one\n")));
    assertEquals(editor.asked.length, 1);
    const diff = {
      type: "diff",
      path: file,
      oldText: CHANGED.before,
      newText: CHANGED.after,
    };
    assertEquals(editor.of("tool_call_update").at(-1)!.content, [diff] as unknown);
  },
});

Deno.test({
  name: "terminals show what changed in a replaced file, on the screen and line by line",
  ignore: ignore || !has_tmux,
  async fn() {
    await using calls = await MadeCalls.begin();
    const { scenario } = calls;
    await calls.in("screens", { "a.txt": OLD });
    await calls.make(["write_file", { path: "a.txt", content: NEW }]);
    await scenario.restart();
    const chat = svcLine("chat", "--session", scenario.session_id);
    for (const lines of [false, true]) {
      await using terminal = await TmuxTerminal.open(scenario.place, { cols: 100, rows: 50 });
      await terminal.line(lines ? `TERM=dumb ${chat}` : chat);
      if (!lines) {
        const screen = await terminal.shows(/20 \+ twenty/);
        assertStringIncludes(screen, "20 - line 20");
        assert(!screen.includes("line 30"), screen);
        continue;
      }
      await terminal.prompted();
      await terminal.line(calls.message(["write_file", { path: "a.txt", content: OLD }]));
      const screen = await terminal.shows("Done.");
      assertStringIncludes(screen, "20: line 20");
      assertStringIncludes(screen, "20: twenty");
      assert(!screen.includes("line 30"), screen);
    }
  },
});
