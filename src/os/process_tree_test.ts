import { assert, assertEquals } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { gone } from "../../tests/support/svc.ts";
import { descendantsOf, guardedShell, guardTree, killTree } from "./process_tree.ts";

const ignore = !granted("run", "read") || Deno.build.os !== "linux";

/** A program with a child, and a grandchild in a session of its own; their ids. */
async function tree() {
  const root = new Deno.Command("/bin/sh", {
    args: ["-c", 'sleep 300 & echo $!; setsid sh -c "sleep 300 & echo \\$!; wait" & wait'],
    stdout: "piped",
    detached: true,
  }).spawn();
  const lines = root.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n").length < 3) text += (await lines.read()).value ?? "";
  await lines.cancel();
  return { root, below: text.trim().split("\n").map(Number) };
}

Deno.test({
  name: "a program is killed with its children, also those that left its group",
  ignore,
  async fn() {
    const { root, below } = await tree();
    const found = await descendantsOf(root.pid);
    for (const pid of below) assert(found.some((it) => it.startsWith(`${pid}:`)), `${found}`);
    await killTree(root.pid, found);
    assertEquals((await root.status).signal, "SIGKILL");
    for (const pid of below) assert(await gone(pid), `${pid} is still there`);
  },
});

Deno.test({
  name: "children that end while they are looked at are not looked for anew",
  ignore,
  async fn() {
    const root = new Deno.Command("/bin/sh", {
      args: ["-c", "while :; do /bin/true; done & while :; do (/bin/true); done"],
      detached: true,
    }).spawn();
    for (let times = 0; times < 60; times++) {
      const found = await descendantsOf(root.pid);
      assert(found.length < 10, `${found}`);
    }
    await killTree(root.pid, []);
    await root.status;
  },
});

Deno.test({
  name: "a process that has got an id since is left alone",
  ignore,
  async fn() {
    const other = new Deno.Command("sleep", { args: ["300"] }).spawn();
    const dead = new Deno.Command("true", { detached: true }).spawn();
    await dead.status;
    await killTree(dead.pid, [`${other.pid}:1`]);
    assert(!(await gone(other.pid, 200)));
    other.kill("SIGKILL");
    await other.status;
  },
});

Deno.test({
  name: "a guard ends the tree when the process that started it is gone, and not before",
  ignore,
  async fn() {
    const { root, below } = await tree();
    const module = import.meta.resolve("./process_tree.ts");
    const starter = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `import { guardTree } from ${JSON.stringify(module)};
        guardTree(${root.pid});
        console.log("on guard");
        await new Promise((done) => setTimeout(done, 1e6));`,
      ],
      stdout: "piped",
    }).spawn();
    const reader = starter.stdout.getReader();
    await reader.read();
    assert(!(await gone(root.pid, 200)));
    starter.kill("SIGKILL");
    await starter.status;
    await reader.cancel();
    await root.status;
    for (const pid of below) assert(await gone(pid), `${pid} is still there`);

    // One that is called off ends without a trace.
    const stop = guardTree(Deno.pid);
    await stop();
  },
});

Deno.test({
  name: "a program joins its control group before its first instruction, and its guard does not",
  ignore: !granted("read", "write", "run") || Deno.build.os === "windows",
  async fn() {
    const dir = Deno.makeTempDirSync({ prefix: "svc group's " });
    const group = `${dir}/cgroup.procs`;
    try {
      const child = new Deno.Command("/bin/sh", {
        args: [...guardedShell({ merged: true, below: true, group }), "cat", group],
        stdin: "piped",
        stdout: "piped",
        detached: true,
      }).spawn();
      const [text] = await Promise.all([new Response(child.stdout).text(), child.status]);
      await child.stdin.close().catch(() => {});
      // What a process writes to join by itself; once, because the guard stays where it is.
      assertEquals(text, "0\n");
    } finally {
      Deno.removeSync(dir, { recursive: true });
    }
  },
});

Deno.test("what guards a program takes no program of its PATH", () => {
  for (const reaps of [true, false]) {
    const [, script] = guardedShell({ merged: true, below: true, lasts_s: 5, reaps });
    const alone = script.replaceAll(/rest\(\) \(\n {2}PATH=\S+\n {2}sleep "\$1"\n\)/g, "");
    assert(!/\b(sleep|cat|ps|pkill|timeout)\b/.test(alone.replaceAll(/#.*/g, "")), alone);
  }
});
