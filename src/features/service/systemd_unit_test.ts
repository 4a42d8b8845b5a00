import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { exists } from "../../os/files.ts";
import { readSystemdUnit, systemdUnit } from "./systemd_unit.ts";

const ANALYZE = "/usr/bin/systemd-analyze";
const HARD_VALUES = new Map([
  ["PATH", "/opt/tools 100%/bin:/usr/bin"],
  ["SVC_HOME", '/home/me/"quoted" \\ back\nnext $HOME %h'],
]);

Deno.test("what a unit runs is read back as it was written", () => {
  for (const program of ["/home/me/.svc/bin/svc", "/srv/50% off/$HOME/svc"]) {
    const text = systemdUnit({ program, environment: HARD_VALUES, notifies: true });
    assertEquals(readSystemdUnit(text), { program, environment: HARD_VALUES });
  }
  assertEquals(readSystemdUnit("[Service]\nExecStart=/usr/bin/other\n"), {
    program: undefined,
    environment: new Map(),
  });
});

Deno.test("a unit waits for readiness only where the daemon can tell it", () => {
  const unit = { program: "/bin/svc", environment: new Map() };
  assertMatch(systemdUnit({ ...unit, notifies: true }), /^Type=notify$/m);
  assertMatch(systemdUnit({ ...unit, notifies: false }), /^Type=exec$/m);
});

Deno.test({
  name: "systemd-analyze finds nothing wrong with the unit",
  ignore: !granted("read", "write", "run") || !exists(ANALYZE),
  async fn() {
    const dir = Deno.makeTempDirSync({ prefix: "svc-unit-" });
    try {
      const program = join(dir, "$HOME of 50% é", "svc");
      Deno.mkdirSync(join(program, ".."));
      Deno.writeTextFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
      const path = join(dir, "svc.service");
      Deno.writeTextFileSync(
        path,
        systemdUnit({ program, environment: HARD_VALUES, notifies: true }),
      );
      const { stderr, success } = await new Deno.Command(ANALYZE, {
        args: ["verify", "--user", path],
        env: { HOME: dir, XDG_RUNTIME_DIR: dir, SYSTEMD_LOG_TARGET: "console" },
        clearEnv: true,
      }).output();
      // What it says of other units of this machine is not ours; of this one it says nothing.
      const said = new TextDecoder().decode(stderr).split("\n");
      assertEquals([said.filter((line) => line.includes("svc.service")), success], [[], true]);
    } finally {
      Deno.removeSync(dir, { recursive: true });
    }
  },
});
