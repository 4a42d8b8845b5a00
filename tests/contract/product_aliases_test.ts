/** product.md, Endpoints: the compatibility aliases of the command line; Versioning rule 6. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { firstLine } from "../support/processes.ts";
import { Place, spawnSvc } from "../support/svc.ts";
import { row } from "./row.ts";
import { ownHome, Shared } from "./shared.ts";

const shared = new Shared();
const SECTION = "Compatibility aliases";

/** One line, which says what to type instead. */
function assertHint(stderr: string, now: string): void {
  const lines = stderr.trimEnd().split("\n");
  assertEquals(lines.length, 1, stderr);
  assertMatch(lines[0], /deprecated/i);
  assertStringIncludes(lines[0], now);
}

row("product", SECTION, "svc daemon start --addr: svc serve --addr", async () => {
  await using place = new Place();
  const child = spawnSvc(place, ["daemon", "start", "--addr", "127.0.0.1:0"]);
  await firstLine(child);
  const { pid, port } = place.discovery();
  assertEquals(pid, child.pid);
  const health = await fetch(`http://127.0.0.1:${port}/v1/health`);
  await health.body?.cancel();
  assertEquals(health.status, 200);
  child.kill("SIGTERM");
  const { code, stderr } = await child.output();
  assertEquals(code, 0);
  const hints = new TextDecoder().decode(stderr).split("\n").filter((it) => /deprecated/i.test(it));
  assertEquals(hints.length, 1);
  assertStringIncludes(hints[0], "svc serve");
});

for (
  const [verb, ...args] of [
    ["status"],
    ["workers"],
    ["workers", "3"],
    ["pause"],
    ["resume"],
    ["wal"],
    ["tasks"],
  ]
) {
  const words = [verb, ...args].join(" ");
  row("product", SECTION, `svc daemon ${words}: svc ctl ${verb}`, async () => {
    const former = await shared.place.svc(["daemon", verb, ...args]);
    assertEquals(former.code, 0, former.stderr);
    assertHint(former.stderr, `svc ctl ${verb}`);
    const now = await shared.place.svc(["ctl", verb, ...args]);
    assertEquals([now.code, now.stderr], [0, ""]);
    assertEquals(former.stdout, now.stdout);
  });
}

row("product", SECTION, "svc daemon enqueue: svc ctl enqueue", async () => {
  await using place = new Place();
  await place.serve();
  const workdir = place.mkdir("project");
  const args = ["enqueue", "code", "ls", "--workdir", workdir];
  await place.svc(["ctl", "pause"]);
  const former = await place.svc(["daemon", ...args]);
  assertEquals(former.code, 0, former.stderr);
  assertHint(former.stderr, "svc ctl enqueue");
  const now = await place.svc(["ctl", ...args]);
  assertEquals([now.code, now.stderr], [0, ""]);
  const { stdout } = await place.svc(["ctl", "tasks"]);
  for (const { stdout: said } of [former, now]) {
    const [id] = said.match(/\bt-\w+/)!;
    assertStringIncludes(stdout, id);
  }
});

row("product", SECTION, "svc agent-serve --addr: serve --enable-agent-routes --addr", async () => {
  await using place = new Place();
  ownHome(place);
  const child = spawnSvc(place, ["agent-serve", "--addr", "127.0.0.1:0"]);
  const line = await firstLine(child);
  try {
    child.kill("SIGTERM");
  } catch {
    // It has ended by itself.
  }
  const { code, stderr } = await child.output();
  const said = new TextDecoder().decode(stderr);
  assertStringIncludes(said.split("\n")[0], "deprecated");
  assertStringIncludes(said.split("\n")[0], "svc serve --enable-agent-routes");
  assertEquals(code, 0, said);
  assert(line !== "");
});
