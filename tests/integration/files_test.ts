/** The files of a session's directory, as people look through them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc;
const SECRET = "the secret beside the directory";

interface Entry {
  name: string;
  kind: string;
}

Deno.test({
  name: "directories, texts and images are shown, and names are found",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "hello" }]);
    const at = (path: string) => join(it.workdir, path);
    Deno.mkdirSync(at("src/deep"), { recursive: true });
    Deno.mkdirSync(at("build"));
    Deno.writeTextFileSync(at(".gitignore"), "build/\n");
    Deno.writeTextFileSync(at("build/out.ts"), "");
    Deno.writeTextFileSync(at("src/deep/main.ts"), "const a = 1;\n");
    Deno.writeTextFileSync(at("b.txt"), "Zürich\n");
    Deno.writeFileSync(at("dot.png"), tinyPng());
    Deno.writeFileSync(at("data.bin"), new Uint8Array([1, 0, 2]));
    Deno.writeTextFileSync(at("large.txt"), "x".repeat(1024 * 1024 + 1));
    Deno.symlinkSync("src", at("link"));
    const listed = await it.call("files.list");
    assertEquals(
      listed.entries.map(({ name, kind, leads_to, bytes }: Record<string, unknown>) =>
        [name, kind, leads_to, bytes].filter((it) => it !== undefined).join(" ")
      ),
      [
        "build directory",
        "src directory",
        ".gitignore file 7",
        "b.txt file 8",
        "data.bin file 3",
        "dot.png file 67",
        "large.txt file 1048577",
        "link symlink directory",
      ].map((line) => line.replace("67", String(tinyPng().length))),
    );
    assertEquals((await it.call("files.list", { path: "link/deep" })).entries.length, 1);
    const read = (path: string) => it.call("files.read", { path });
    assertEquals((await read("b.txt")).text, "Zürich\n");
    assertEquals((await read(at("src/deep/main.ts"))).text, "const a = 1;\n");
    const { kind, media_type, data } = await read("dot.png");
    assertEquals([kind, media_type, data], ["image", "image/png", tinyPng().toBase64()]);
    assertEquals((await read("data.bin")).kind, "binary");
    assertEquals((await read("large.txt")).kind, "too_large");
    assertEquals((await it.call("files.find", { query: "MAIN deep" })).paths, ["src/deep/main.ts"]);
    assertEquals((await it.call("files.find", { query: "out.ts" })).paths, []);
    // Also where no session has begun yet.
    const there = { workdir: it.workdir, query: "MAIN deep" };
    assertEquals((await it.client.rpc.call("files.find", there)).paths, ["src/deep/main.ts"]);
    await it.restart();
    assertEquals((await read("b.txt")).text, "Zürich\n");
  },
});

const SPEC = {
  id: "m",
  name: "M",
  sessions: [{ id: "s", title: "S", tasks: [{ id: "t", description: "x" }] }],
};

Deno.test({
  name: "no verb takes a directory where svc keeps files of sessions",
  ignore,
  async fn() {
    await using it = await Scenario.begin([]);
    const own = join(it.workdir, ".svc");
    const sessions = join(own, "sessions");
    const link = join(it.place.dir, "link");
    Deno.symlinkSync(sessions, link);
    Deno.mkdirSync(join(own, "worktrees"), { mode: 0o700 });
    const verbs: Record<string, Record<string, unknown>> = {
      "files.find": { query: "journal" },
      "session.start": {},
      "commands.list": {},
      "commands.expand": { text: "/x" },
      "skills.list": {},
      "verify.build": {},
      "worktree.list": {},
      "mission.create": { spec: SPEC },
      "task.run": { task_type: "code", description: "x" },
    };
    const call = (verb: string, workdir: string) => {
      const at = verb === "task.run" ? { extra: { workdir } } : { workdir };
      return it.client.rpc.call(verb, { ...verbs[verb], ...at });
    };
    const before = (await it.client.rpc.call("session.list", {})).sessions.length;
    for (const verb of Object.keys(verbs)) {
      for (
        const workdir of [
          ...[own, sessions, join(sessions, it.session_id), link],
          ...[join(own, "worktrees"), it.place.home],
        ]
      ) {
        await assertRejects(
          () => call(verb, workdir),
          Error,
          workdir === it.place.home ? "home" : "svc keeps files of sessions there",
          `${verb} ${workdir}`,
        );
      }
    }
    assertEquals((await it.client.rpc.call("session.list", {})).sessions.length, before);
    // A worktree is a person's.
    const worktree = join(own, "worktrees", "mine");
    Deno.mkdirSync(worktree);
    Deno.writeTextFileSync(join(worktree, "a.ts"), "");
    const found = await it.client.rpc.call("files.find", { workdir: worktree, query: "a" });
    assertEquals(found.paths, ["a.ts"]);
  },
});

Deno.test({
  name: "nothing outside the directory is shown, whatever leads there, and nothing waits",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "hello" }]);
    const at = (path: string) => join(it.workdir, path);
    const outside = it.place.mkdir("outside");
    Deno.writeTextFileSync(join(outside, "secret.txt"), SECRET);
    Deno.mkdirSync(at("inside"));
    Deno.writeTextFileSync(at("inside/secret.txt"), "the control");
    Deno.symlinkSync(join(outside, "secret.txt"), at("link.txt"));
    Deno.symlinkSync(outside, at("linked"));
    Deno.symlinkSync("../outside", at("relative"));
    Deno.symlinkSync("/proc/self", at("proc"));
    Deno.symlinkSync("loop", at("loop"));
    const fifo = new Deno.Command("mkfifo", { args: [at("pipe")] }).outputSync();
    assert(fifo.success);
    const read = (path: string) => it.call("files.read", { path });
    const list = (path: string) => it.call("files.list", { path });
    // The control: the same paths, where they stay inside.
    assertEquals((await read("inside/../inside/secret.txt")).text, "the control");
    assertEquals((await list("inside")).entries.length, 1);
    for (
      const path of [
        ...["../outside/secret.txt", join(outside, "secret.txt"), "link.txt"],
        ...["linked/secret.txt", "relative/secret.txt", "inside/../../outside/secret.txt"],
        ...["proc/environ", "/proc/self/environ", "/etc/passwd", "pipe", "inside", "loop"],
        ...["inside/secret.txt\0", "\0", "none", "inside/secret.txt/"].filter((it) =>
          it !== "inside/secret.txt/"
        ),
      ]
    ) await assertRejects(() => read(path), Error, undefined, path);
    for (
      const path of [
        "..",
        "../outside",
        outside,
        "linked",
        "relative",
        "proc",
        "/",
        "/proc",
        "pipe",
      ]
        .concat("inside/secret.txt", "\0", "loop", "inside/..\0")
    ) await assertRejects(() => list(path), Error, undefined, path);
    const entries: (Entry & { leads_to?: string })[] = (await list(".")).entries;
    for (const name of ["link.txt", "linked", "relative", "proc", "loop"]) {
      const found = entries.find((it) => it.name === name);
      assertEquals([found?.kind, found?.leads_to], ["symlink", undefined], name);
    }
    assertEquals(entries.find(({ name }) => name === "pipe")?.kind, "other");
    const { paths } = await it.call("files.find", { query: "secret" });
    assertEquals(paths, ["inside/secret.txt"]);
    // The journal of the session is in the directory, and hidden.
    assertEquals(entries.some(({ name }) => name === ".svc"), Deno.statSync(at(".svc")).isFile);
    await assertRejects(() => list(".svc/sessions"));
  },
});

Deno.test({
  name: "a directory that is exchanged for a link all the time never shows what is behind it",
  ignore,
  async fn() {
    await using it = await Scenario.begin([{ text: "hello" }]);
    const outside = it.place.mkdir("outside");
    Deno.writeTextFileSync(join(outside, "a.txt"), SECRET);
    Deno.writeTextFileSync(join(outside, "only outside.txt"), SECRET);
    const script = `mkdir -p real; echo control >real/a.txt; ln -s "$1" link
while :; do mv -T real d 2>/dev/null; mv -T d real; mv -T link d; mv -T d link; done`;
    const swapping = new Deno.Command("sh", {
      args: ["-c", script, "sh", outside],
      cwd: it.workdir,
      stderr: "null",
    }).spawn();
    let seen = 0;
    let refused = 0;
    const look = async (verb: string, path: string) => {
      try {
        const answer = JSON.stringify(await it.call(verb, { path }));
        assert(!answer.includes(SECRET) && !answer.includes("only outside"), answer);
        if (answer.includes("control") || answer.includes("a.txt")) seen++;
      } catch {
        refused++;
      }
    };
    const end = Date.now() + 3_000;
    while (Date.now() < end || (seen === 0 && Date.now() < end + 20_000)) {
      await Promise.all([
        look("files.list", "d"),
        look("files.read", "d/a.txt"),
        look("files.list", "d"),
      ]);
    }
    swapping.kill("SIGKILL");
    await swapping.status;
    // The control: both were met.
    assert(seen > 0 && refused > 0, `seen ${seen}, refused ${refused}`);
  },
});

Deno.test({
  name: "a directory of very many entries is listed in part, and holds nobody up",
  ignore,
  async fn() {
    const count = Number(Deno.env.get("SVC_SCALE") ? 1_000_000 : 60_000);
    await using it = await Scenario.begin([{ text: "hello" }]);
    const at = join(it.workdir, "many");
    Deno.mkdirSync(at);
    const made = new Deno.Command("sh", {
      args: ["-c", `seq -f 'file%g' ${count} | xargs -n 20000 touch`],
      cwd: at,
    }).outputSync();
    assert(made.success);
    const from = performance.now();
    const listing = it.call("files.list", { path: "many" });
    let longest = 0;
    let done = false;
    listing.finally(() => done = true);
    while (!done) {
      const asked = performance.now();
      await it.call("session.get");
      longest = Math.max(longest, performance.now() - asked);
    }
    const { entries, total, truncated } = await listing;
    assertEquals([entries.length, total, truncated], [2_000, 20_000, true]);
    assert(performance.now() - from < 30_000);
    assert(longest < 2_000, `another call took ${longest} ms`);
    const found = await it.call("files.find", { query: "file59999" });
    assert(found.paths.length > 0 || count > 200_000);
  },
});
