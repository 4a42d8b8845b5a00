/**
 * The shell snippets of the documentation run, page by page, in a home of their own. An id that ends
 * in `…` stands for the last one of its kind that svc has printed, or that the test has made. The
 * models are a server of the test.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { beforeTests } from "../support/before_tests.ts";
import { freePort } from "../support/free_port.ts";
import { type Answer, type ModelServer, startAnthropicServer } from "../support/model_servers.ts";
import { tinyPng } from "../support/media.ts";
import { hasProgram } from "../support/programs.ts";
import { gitInstalled } from "../support/repository.ts";
import { blocksOf, type Snippet, snippetsOf } from "../../install/snippets.ts";
import { can_run_svc, type Daemon, Place, svcLine, type TestClient } from "../support/svc.ts";

const root = fromFileUrl(new URL("../../", import.meta.url));
const ignore = !can_run_svc || Deno.build.os !== "linux" || !gitInstalled() ||
  !["jq", "curl", "openssl", "ssh-keygen"].every(hasProgram);

/** The model that all pages use. */
const MODEL = "anthropic/claude-sonnet-4-5";

/** What a page's snippets need. */
interface Page {
  /** What the model answers, one after the other; then that it is done. */
  answers?: Answer[];
  /** Makes what they work on. @returns ids that were made. */
  prepare?: (it: Stage) => Promise<string[]>;
  /** What is replaced in them, because the page has an example of it. */
  instead?: (it: Stage) => [string, string][];
  /** Lines that are not run, and why not or by which test. */
  not_run?: [line: RegExp, why: string][];
}

/** Pages whose snippets cannot run here, and what tests them. */
const ELSEWHERE: Record<string, string> = {
  "docs/how-to/hooks.md": "the snippet is a hook: hooks_test.ts",
  "docs/how-to/install.md": "needs the releases of a repository: release_test.ts, update_test.ts",
  "docs/how-to/many-machines.md": "starts servers: many_machines_test.ts",
  "docs/how-to/service.md": "changes the services of the user: service_test.ts",
  "docs/reference/releases.md": "makes a release of the checkout: release_test.ts",
};

const ASKS_KEY: [RegExp, string] = [/\blogin \w+ *(#|$)/, "asks for a key: login_test.ts"];
const TERMINAL: [RegExp, string] = [
  /\bchat( \S+| -[cm] \S+)+ *(#|$)/,
  "needs a terminal: tui_terminal_test.ts",
];

const with_session = async (it: Stage): Promise<string[]> => [await it.session()];

/** A repository with a test that passes. */
function repository(it: Stage): void {
  it.write("Makefile", "test:\n\techo '1 passed'\n");
  const git = (...args: string[]) => {
    const all = ["-c", "user.name=Test", "-c", "user.email=test@example.org", ...args];
    const { success, stderr } = new Deno.Command("git", { args: all, cwd: it.cwd }).outputSync();
    assert(success, new TextDecoder().decode(stderr));
  };
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=first");
}

const PAGES: Record<string, Page> = {
  "README.md": { not_run: [[/^(sh install\/dev\.sh|dist\/svc) /, "in a clone: dev_sh_test.ts"]] },
  "docs/tutorial.md": {
    prepare(it) {
      Deno.mkdirSync(join(it.cwd, "install"));
      it.write("install/dev.sh", 'exec svc "$@"');
      return Promise.resolve([]);
    },
    instead: (it) => [["/tmp/hello", join(it.cwd, "hello")]],
    not_run: [ASKS_KEY, TERMINAL, [/dev\.sh open/, "opens a browser: open_test.ts"]],
  },
  "docs/concepts/context.md": { prepare: with_session },
  "docs/concepts/sessions.md": {
    answers: [{ text: "Hello." }, {
      calls: [{
        name: "ask_user",
        args: { question: "Which database?", options: [{ label: "SQLite" }, { label: "None" }] },
      }],
    }],
    async prepare(it) {
      Deno.mkdirSync(join(it.place.env.HOME, "projects", "new-name"), { recursive: true });
      const session_id = await it.session();
      await it.client.rpc.call("session.send", { session_id, text: "choose" });
      const asked = await it.client.wait(
        ({ type, session_id: of }) => type === "approval.requested" && of === session_id,
        "the question",
      );
      return [session_id, asked.data.approval_id as string];
    },
    not_run: [
      [/sessions move/, "not during a turn: renamed_directory_test.ts"],
      [/ssh HOST/, "needs another machine: signed_export_test.ts"],
      [/sessions continue/, "only what a crash has cut off: continue_test.ts"],
    ],
  },
  "docs/how-to/background.md": {
    answers: [{
      calls: [{ name: "run_command", args: { command: "sleep 600", background: true } }],
    }],
    prepare: with_session,
  },
  "docs/how-to/commands.md": { prepare: with_session },
  "docs/how-to/editors.md": { not_run: [TERMINAL] },
  "docs/how-to/evidence.md": {
    prepare: with_session,
    instead: () => [['"ssh-ed25519 AAAA…"', '"$(svc ledger key)"']],
  },
  "docs/how-to/faces.md": { prepare: with_session },
  "docs/how-to/hire.md": {
    instead: (it) => {
      const port = String(freePort());
      return [
        ["svc agent-serve", `SVC_HOME=${join(it.cwd, "home")} svc agent-serve --addr :${port}`],
        [":8440", `:${port}`],
        // Nobody answers there.
        ["en.wikipedia.org", "en.wikipedia.invalid"],
      ];
    },
  },
  "docs/how-to/images.md": {
    prepare(it) {
      for (const name of ["shot", "before", "after"]) {
        Deno.writeFileSync(join(it.cwd, `${name}.png`), tinyPng());
      }
      return Promise.resolve([]);
    },
  },
  "docs/how-to/memory.md": {},
  "docs/how-to/missions.md": {
    prepare(it) {
      repository(it);
      it.write("notes.yaml", it.block("yaml"));
      return Promise.resolve([]);
    },
    instead: (it) => [["/path/to/repo", it.cwd]],
  },
  "docs/how-to/models.md": { not_run: [ASKS_KEY, TERMINAL, [/login/, "login_test.ts"]] },
  "docs/how-to/permissions.md": {},
  "docs/how-to/rules.md": { prepare: with_session },
  "docs/how-to/scripts.md": {
    async prepare(it) {
      repository(it);
      it.write("prompt.txt", "Say hello.");
      it.write("Makefile", "test:\n\techo '2 passed'\n");
      return [await it.session()];
    },
  },
  "docs/how-to/skills.md": { prepare: with_session },
  "docs/how-to/subagents.md": {
    answers: [
      { calls: [{ name: "agent", args: { description: "review", task: "Review it." } }] },
      { text: ["It", " is"], hang_after: 1 },
    ],
    async prepare(it) {
      const session_id = await it.client.session({ workdir: it.cwd, approval: "auto" });
      await it.client.rpc.call("session.send", { session_id, text: "begin" });
      const lane = await it.client.wait(
        ({ type, session_id: of, data }) =>
          type === "lane.created" && of === session_id && data.lane_id !== "main",
        "the subagent",
      );
      return [session_id, lane.data.lane_id as string];
    },
  },
  "docs/how-to/tool-servers.md": {
    async prepare(it) {
      it.write("svc.policy.yaml", it.block("yaml"));
      return [await it.session()];
    },
    instead:
      () => [['"sha256":"…"', "\"sha256\":\"'$(sha256sum svc.policy.yaml | cut -d ' ' -f 1)'\""]],
    not_run: [[/ctl mcp log/, "needs a server with a login: tool_server_login_test.ts"]],
  },
  "docs/how-to/undo.md": {
    answers: [{ calls: [{ name: "write_file", args: { path: "a.txt", content: "new\n" } }] }],
    prepare: with_session,
    not_run: [
      [/undo-file /, "only what a turn has changed: undo_file_test.ts"],
      [/rewind .* --(keep|force)/, "only what others have changed: rewind_choice_test.ts"],
      [/ --worktree/, "in a repository: fork_worktree_test.ts"],
    ],
  },
  "docs/reference/api.md": {
    instead: (it) => [
      ["/home/me/project", it.cwd],
      ["curl -sN", "ends_after 2 curl -sN"],
    ],
  },
  "docs/reference/configuration.md": {},
};

/** The daemon of all pages, and what belongs to one of them. */
class Stage {
  /** The directory in which its snippets run. */
  readonly cwd: string;

  constructor(
    readonly place: Place,
    readonly client: TestClient,
    page: string,
    readonly text: string,
  ) {
    this.cwd = place.mkdir(page.replaceAll("/", "-").replace(/\.md$/, ""));
  }

  /** A session in the directory, with one turn. */
  async session(): Promise<string> {
    const id = await this.client.session({ workdir: this.cwd, approval: "auto" });
    await this.client.turn(id, "begin");
    return id;
  }

  write(name: string, text: string): void {
    Deno.writeTextFileSync(join(this.cwd, name), text);
  }

  /** The first block of a language in the page. */
  block(language: string): string {
    return blocksOf(this.text).find((it) => it.language === language)!.text;
  }
}

/**
 * What the snippets of a page run in. Its `svc` puts ids into the places of those that end in `…`.
 */
const SHELL = `
set -eumo pipefail
ends_after() { timeout "$@" || [ $? = 124 ]; }
# Ends what runs in the background.
trap 'status=$?; trap - EXIT; for job in $(jobs -p); do kill -- -$job; done; exit $status' EXIT
trap 'echo "in the snippet of line $LINE: $BASH_COMMAND" >&2' ERR
`;
const PROGRAM = `#!/bin/bash
args=()
for arg; do
  while [[ $arg =~ ((sess|mem|rule|cmd|appr|lane|m)([_-])[0-9A-Z]*…) ]]; do
    shown=\${BASH_REMATCH[1]}
    begin=\${BASH_REMATCH[2]}\${BASH_REMATCH[3]}
    id=$(grep -oE "\\b$begin[0-9A-HJKMNP-TV-Z]{26}" "$SEEN" | tail -n 1)
    [ -n "$id" ] || { echo "nothing has an id for $shown" >&2; exit 99; }
    arg=\${arg//"$shown"/"$id"}
  done
  args+=("$arg")
done
set -o pipefail
SVC "\${args[@]}" | tee -a "$SEEN"
`;

/** Runs snippets one after the other in one shell, as a person does who has svc on the PATH. */
async function ran(
  snippets: readonly Snippet[],
  { place, cwd }: { place: Place; cwd: string },
  ids: readonly string[] = [],
): Promise<{ code: number; output: string }> {
  const seen = `${cwd}.seen`;
  Deno.writeTextFileSync(seen, ids.map((id) => `${id}\n`).join(""));
  const script = snippets.map(({ line, script }) => `LINE=${line}\n${script}`).join("\n");
  const bin = join(place.dir, "bin");
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", `${SHELL}\n${script}`],
    cwd,
    clearEnv: true,
    env: { ...place.env, PATH: `${bin}:${place.env.PATH}`, TERM: "dumb", SEEN: seen },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, output: text(stdout) + text(stderr) };
}

/** What the model answers to the sessions in a directory: those of the page before may still ask. */
let script: { cwd: string; answers: Answer[] } = { cwd: "", answers: [] };
let server: ModelServer;
let place: Place;
let daemon: Daemon;

beforeTests(async () => {
  if (ignore) return;
  server = startAnthropicServer(({ body }) => {
    const answer = JSON.stringify(body).includes(script.cwd) ? script.answers.shift() : undefined;
    return answer ?? { text: '{"ok": true, "problems": []}' };
  });
  place = new Place({ ANTHROPIC_API_KEY: "sk-key" });
  place.configure(
    `default_model = "${MODEL}"\n[cortex]\ncurator = false\n[agent]\ntitles = false\n` +
      `[policy]\nallow_project = true\n` +
      `[models.anthropic]\nkind = "anthropic"\nbase_url = "${server.url}"\n` +
      `api_key_env = "ANTHROPIC_API_KEY"\n`,
  );
  const program = PROGRAM.replace("SVC", svcLine());
  Deno.writeTextFileSync(join(place.mkdir("bin"), "svc"), program, { mode: 0o755 });
  daemon = await place.serve();
});

Deno.test.afterAll(async () => {
  await place?.[Symbol.asyncDispose]();
  await server?.close();
});

for (const page of pagesWithSnippets()) {
  Deno.test({
    name: `docs: the snippets of ${page} run`,
    ignore: ignore || page in ELSEWHERE,
    // The server of models answers all pages.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const known = PAGES[page];
      assert(known !== undefined, `say in PAGES what the snippets of ${page} need`);
      await using client = await daemon.rpc();
      const text = Deno.readTextFileSync(join(root, page));
      const it = new Stage(place, client, page, text);
      script = { cwd: it.cwd, answers: [...known.answers ?? []] };
      const ids = await known.prepare?.(it) ?? [];
      const instead = known.instead?.(it) ?? [];
      const left_out = new Set(known.not_run);
      const snippets = snippetsOf(text).map(({ line, script }) => {
        const lines = script.split("\n").filter((each) => {
          const why = known.not_run?.find(([lines]) => lines.test(each));
          if (why !== undefined) left_out.delete(why);
          return why === undefined;
        });
        const whole = instead.reduce(
          (all, [what, by]) => all.replaceAll(what, by),
          lines.join("\n"),
        );
        return { line, script: whole };
      });
      assertEquals([...left_out], [], "no line of the page is like these");
      const { code, output } = await ran(snippets, it, ids);
      assertEquals(code, 0, `${page}\n${output}`);
    },
  });
}

Deno.test({
  name: "docs: a snippet that fails, and one with an id that nothing has, are told by their line",
  ignore,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const it = { place, cwd: place.mkdir("broken") };
    const page = "# A page\n\n```sh\nsvc ctl sessions list\n```\n\n```sh\nCOMMAND\n```\n";
    for (const command of ["svc ctl no-such-command", "svc ctl call mem_…", "false | true"]) {
      const { code, output } = await ran(snippetsOf(page.replace("COMMAND", command)), it);
      assert(code !== 0, output);
      assertStringIncludes(output, "in the snippet of line 8");
    }
    const good = await ran(snippetsOf(page.replace("COMMAND", "svc ctl sessions list")), it);
    assertEquals(good.code, 0, good.output);
  },
});

Deno.test("docs: each page with snippets that is told apart exists", () => {
  const pages = new Set(pagesWithSnippets());
  const known = [...Object.keys(PAGES), ...Object.keys(ELSEWHERE)];
  assertEquals(known.filter((page) => !pages.has(page)), []);
});

/** The pages that have a shell snippet. */
function pagesWithSnippets(): string[] {
  return ["README.md", ...markdown("docs").sort()].filter((page) => {
    return snippetsOf(Deno.readTextFileSync(join(root, page))).length > 0;
  });
}

/** The pages below a folder of the checkout. */
function markdown(folder: string): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? markdown(path) : name.endsWith(".md") ? [path] : [];
  });
}
