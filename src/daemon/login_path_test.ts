import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { LoginPath, type StartedBy } from "./login_path.ts";

const ignore = !granted("read", "write", "run", "env", "sys") || Deno.build.os === "windows";

interface Case {
  started_by?: StartedBy;
  enabled?: boolean;
  shell?: string;
  path?: string;
  profile?: string;
  /** Whether a session works in the home directory. */
  at_home?: boolean;
}

/** A home whose start-up file adds `tools` and notes that it was read. */
async function begun(
  { started_by = "program", enabled = true, shell = "/bin/bash", path, profile, at_home }: Case,
) {
  const home = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    Deno.mkdirSync(join(home, "tools"));
    const text = profile ?? 'PATH="$PATH:$HOME/tools"';
    Deno.writeTextFileSync(join(home, ".bash_profile"), `touch "$HOME/read"\n${text}\n`);
    const set: Record<string, string | undefined> = {
      HOME: home,
      SHELL: shell === "" ? undefined : shell,
      PATH: path === undefined ? "/usr/bin:/bin" : join(home, path) + ":/usr/bin:/bin",
    };
    const lines: string[] = [];
    const write = (message: string) => void lines.push(message);
    const log = { debug: write, info: write, warn: write, error: write };
    const login = new LoginPath({ env: (name) => set[name], started_by, enabled, log });
    await login.begin(() => at_home ? [home] : []);
    await login.ready;
    const asked = [...Deno.readDirSync(home)].some(({ name }) => name === "read");
    // The system's own start-up files may add more.
    const own = (dirs: readonly string[]) =>
      dirs.filter((dir) => dir.startsWith(home)).map((dir) => dir.replace(home, "~"));
    const { source, problem } = login.state;
    const added = own(login.state.added);
    const whole = login.env("PATH")!;
    return { asked, added, homes: own(whole.split(":")), whole, lines, source, problem };
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
}

Deno.test({
  name: "a daemon of a service manager or a desktop gets the directories of the login shell",
  ignore,
  async fn() {
    const found = await begun({});
    assertEquals([found.asked, found.added], [true, ["~/tools"]]);
    assertEquals([found.whole.startsWith("/usr/bin:/bin:"), found.homes], [true, ["~/tools"]]);
    assertEquals(found.lines, ["the login shell was asked for its PATH"]);
    assertStringIncludes(found.source, "with what your login shell /bin/bash adds");
    // A unit keeps the PATH of the shell that installed it, which may be older.
    const unit = await begun({ started_by: "service_manager", path: "own" });
    assertEquals(unit.homes, ["~/own", "~/tools"]);
  },
});

Deno.test({
  name: "the shell does not run for a terminal's daemon, nor where there is no reason to",
  ignore,
  async fn() {
    const cases: [Case, string][] = [
      [{ started_by: "terminal" }, "the terminal that started the daemon"],
      [{ enabled: false }, "login_path = false"],
      [{ path: "own" }, "directories of your home"],
      [{ shell: "" }, "no login shell in SHELL"],
      [{ shell: "/usr/sbin/nologin" }, "no login shell in SHELL"],
      [{ at_home: true }, "a session works in your home"],
    ];
    for (const [each, words] of cases) {
      const found = await begun(each);
      assertEquals([found.asked, found.added, found.lines], [false, [], []], words);
      assertStringIncludes(found.source, words);
    }
  },
});

Deno.test({
  name: "a start-up file that fails leaves the PATH as it is, with a reason",
  ignore,
  async fn() {
    const found = await begun({ profile: "exit 3" });
    assertEquals([found.asked, found.whole], [true, "/usr/bin:/bin"]);
    assertEquals(found.lines, ["the login shell gave no PATH"]);
    assertEquals(
      found.problem,
      "your login shell /bin/bash ended with exit code 3 before it printed its PATH",
    );
  },
});
