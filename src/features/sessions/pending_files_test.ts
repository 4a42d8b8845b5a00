import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { emptyState } from "../../session/state.ts";
import { pendingFiles } from "./pending_files.ts";

const ignore = !granted("read", "write", "ffi");

/** The files of a call in a new directory. */
function filesFor(tool: string, args: unknown, files: Record<string, string | Uint8Array>) {
  const workdir = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    for (const [path, content] of Object.entries(files)) {
      const data = typeof content === "string" ? new TextEncoder().encode(content) : content;
      Deno.writeFileSync(`${workdir}/${path}`, data);
    }
    const asked = { approval_id: "appr_1", call_id: "c1", lane_id: "main", tool, args };
    const state = {
      ...emptyState("sess_1"),
      workdir,
      pending_approvals: [{ ...asked, reason: "", rule: tool, requested_at: "" }],
    };
    return pendingFiles(state, "appr_1", []);
  } finally {
    Deno.removeSync(workdir, { recursive: true });
  }
}

Deno.test({
  name: "each file of a patch is read once, as the text that it is; a new one is missing",
  ignore,
  fn() {
    const steps = ["Update File: a.txt", "Add File: new.txt", "Delete File: a.txt"];
    const patch = steps.map((step) => `*** ${step}\n`).join("");
    assertEquals(filesFor("apply_patch", { patch }, { "a.txt": "grün\r\n" }), [
      { path: "a.txt", state: "text", content: "grün\r\n" },
      { path: "new.txt", state: "missing" },
    ]);
    assertEquals(filesFor("run_command", { command: "rm a.txt" }, { "a.txt": "a" }), []);
  },
});

Deno.test({
  name: "what is no text, too large or too much is not read, and its reason is given",
  ignore,
  fn() {
    const write = (data: Uint8Array) =>
      filesFor("write_file", { path: "a", content: "" }, { a: data })[0];
    assertEquals(write(new Uint8Array([65, 0])).reason, "this is not a text");
    assertEquals(write(new Uint8Array(512 * 1024).fill(65)).state, "text");
    assertEquals(
      write(new Uint8Array(512 * 1024 + 1).fill(65)).reason,
      "a: has more than 524288 bytes",
    );
    const patch = Array.from({ length: 21 }, (_, n) => `*** Update File: f${n}\n`).join("");
    const found = filesFor("apply_patch", { patch }, {});
    assertEquals(found.map(({ state }) => state).lastIndexOf("missing"), 19);
    assertEquals(found[20].reason, "only the first 20 files are read");
  },
});

Deno.test({
  name: "an approval that does not wait has no files",
  ignore,
  fn() {
    const error = assertThrows(() => pendingFiles(emptyState("sess_1"), "appr_1", []), SvcError);
    assertEquals(error.code, "not_found");
  },
});
