import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { BuildError, compileProblem, requireRuntime } from "../install/denort.ts";
import { granted } from "./support/permissions.ts";
import { TempDir } from "./support/sessions.ts";

const WANTED = { version: "2.7.11", target: "x86_64-unknown-linux-gnu" };
const REMEDY = "set DENORT_BIN to the path of denort, which is in " +
  "https://github.com/denoland/deno/releases/download/v2.7.11/denort-x86_64-unknown-linux-gnu.zip";

Deno.test("a download that fails is one sentence that says what is missing and what to set", () => {
  const said = `error: Writing deno compile executable to temporary file '/dist/svc.tmp-0a3a'

Caused by:
    0: Setting up base binary.
    1: error sending request for url (https://dl.deno.land/release/v2.7.11/denort-x86_64-unknown-linux-gnu.zip): client error (Connect): dns error
    2: client error (Connect)
`;
  assertEquals(
    compileProblem(said, WANTED),
    "cannot download denort, the runtime that the binary needs (client error (Connect): dns " +
      `error); ${REMEDY}`,
  );
});

Deno.test("any other failure of deno compile is shown as deno told it", () => {
  const said = 'error: Module not found "file:///dist/bundle/main.js".\n';
  assertEquals(compileProblem(said, WANTED), `deno compile failed:\n${said.trimEnd()}`);
});

for (
  const [what, content, why] of [
    ["is missing", undefined, "does not exist"],
    ["is another program", "\x7fELF ls", "is not the runtime of Deno"],
    ["has another version", "\x7fELF Deno/ Deno/2.6.9+abc", "is of Deno 2.6.9, not 2.7.11"],
  ] as const
) {
  Deno.test({
    name: `a DENORT_BIN that ${what} is refused before anything is built`,
    ignore: !granted("read", "write"),
    async fn() {
      using dir = new TempDir();
      const path = join(dir.path, "denort");
      if (content !== undefined) await Deno.writeTextFile(path, content);
      const error = await assertRejects(() => requireRuntime(path, WANTED), BuildError);
      assertEquals(error.message, `DENORT_BIN: ${path} ${why}; ${REMEDY}`);
    },
  });
}

Deno.test({
  name: "a DENORT_BIN that has the wanted version is taken",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const path = join(dir.path, "denort");
    await Deno.writeTextFile(path, "\x7fELF Deno/ Deno/2.7.11+abc");
    await requireRuntime(path, WANTED);
  },
});
