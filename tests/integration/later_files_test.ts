/** What people and models are told of files that run later, over turns and a restart. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { exists } from "../../src/os/files.ts";
import { hasProgram } from "../support/programs.ts";
import { gitInstalled } from "../support/repository.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !hasProgram("bwrap");

function projectIn(place: Place, files: Record<string, string> = {}): string {
  const cwd = place.mkdir("project");
  for (const [path, text] of Object.entries(files)) {
    Deno.mkdirSync(dirname(join(cwd, path)), { recursive: true });
    Deno.writeTextFileSync(join(cwd, path), text);
  }
  return cwd;
}

Deno.test({
  name:
    "what a command made that runs later is named at the end of its turn, and each change of it",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const cwd = projectIn(place);
    const chat = async (prompt: string) => {
      const { stderr } = await place.svc(["chat", "-c", "--approve", "auto", "-p", prompt], {
        cwd,
      });
      return stderr;
    };
    await place.svc(["chat", "--approve", "auto", "-p", "help", "--keep"], { cwd });
    assertEquals(await chat("run mkdir -p a/b; echo x > plain; cat plain"), "");
    const made = await chat("run echo x > a/b/.envrc; mkdir .husky; echo x > .husky/pre-push");
    assertStringIncludes(made, "a/b/.envrc (new; direnv runs it in your shell)");
    assertStringIncludes(made, ".husky/ (new; git runs it at each commit)");
    assertEquals(await chat("run cat a/b/.envrc"), "");
    const changed = await chat("run echo y >> a/b/.envrc");
    assertStringIncludes(changed, "a/b/.envrc (changed; direnv runs it in your shell)");
    // The next daemon does not know whose it is.
    await daemon.stop();
    const { stdout, code } = await place.svc(
      ["chat", "-c", "--approve", "auto", "-p", "run echo z >> a/b/.envrc"],
      { cwd },
    );
    assertEquals([code === 0, stdout.includes("commands cannot write a/b/.envrc")], [true, true]);
    assertEquals(Deno.readTextFileSync(join(cwd, "a/b/.envrc")), "x\ny\n");
  },
});

Deno.test({
  name: "a command that cannot write what runs later is told why, and who asks",
  ignore,
  async fn() {
    await using place = new Place();
    const cwd = projectIn(place, { "app/.vscode/tasks.json": "{}", "AGENTS.md": "Be kind.\n" });
    const run = async (command: string) => {
      const args = ["chat", "--approve", "auto", "-p", `run ${command}`];
      return (await place.svc(args, { cwd })).stdout;
    };
    assertStringIncludes(
      await run("echo x > app/.vscode/tasks.json"),
      "[commands cannot write app/.vscode: the editor runs its tasks and settings; the file tools " +
        "ask the person]",
    );
    assertStringIncludes(await run("rm -rf app"), "[commands cannot write app/.vscode:");
    assertStringIncludes(await run("echo x >> AGENTS.md"), "agents follow it");
  },
});

Deno.test({
  name: "where nobody can be asked, a file that runs later is not written, in auto neither",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const cwd = projectIn(place, { "tests/conftest.py": "x = 1\n" });
    const chat = (prompt: string) =>
      place.svc(["chat", "--approve", "auto", "-p", prompt], { cwd });
    const { stderr } = await chat(`write a/.mcp.json "{}"`);
    assertStringIncludes(stderr, "denied, because nobody can be asked");
    assertStringIncludes(stderr, "this always needs an answer");
    // What people edit like source code is asked about only where there was none.
    assertEquals((await chat(`edit tests/conftest.py "1" "2"`)).stderr, "");
    assertStringIncludes((await chat(`write conftest.py "x = 1"`)).stderr, "denied");
  },
});

Deno.test({
  name: "settings of git that a command writes while the person's git replaces them are named",
  ignore: ignore || !gitInstalled(),
  async fn() {
    await using place = new Place();
    const cwd = projectIn(place);
    const git = (...args: string[]) => new Deno.Command("git", { args, cwd }).output();
    await git("init", "-q", ".");
    const chat = async (command: string) => {
      const args = ["chat", "--approve", "auto", "-p", `run ${command}`];
      return (await place.svc(args, { cwd })).stderr;
    };
    // Nothing is said of git's own work.
    assertEquals(await chat("touch a; git add a; git status --short; true"), "");
    const writing = chat(
      // What it writes at the very moment may go to the file that is replaced.
      "touch on; until grep -q planted .git/config; do echo '# planted' >> .git/config; " +
        "sleep 0.05; done 2>/dev/null",
    );
    await until(() => exists(join(cwd, "on")), "the command runs", 60_000);
    await git("config", "some.setting", "of the person");
    assertStringIncludes(
      await writing,
      ".git (changed; git runs the hooks and settings in it)",
    );
    // The control: it was written.
    assertStringIncludes(Deno.readTextFileSync(join(cwd, ".git/config")), "# planted");
    assertEquals(await chat("true"), "");
  },
});
