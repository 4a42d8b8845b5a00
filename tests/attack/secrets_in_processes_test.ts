/**
 * What everyone can read of the processes that svc starts, and what they read of svc: no secret is in
 * an argument or, but for the credential that the operator gave a tool server, in an environment.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { until } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { policyOf, stdioEntry } from "../support/tool_servers.ts";

interface Seen {
  pid: number;
  argv: string;
  environment: string;
}

const text = (path: string) => Deno.readTextFileSync(path).replaceAll("\0", "\n");

/** Everything below a process. */
function below(root: number): Seen[] {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, after] = Deno.readTextFileSync(`/proc/${name}/stat`).match(/.*\) (.*)/s)!;
      parents.set(Number(name), Number(after.split(" ")[1]));
    } catch {
      // Gone meanwhile.
    }
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow).flatMap((pid) => {
    try {
      return [{
        pid,
        argv: text(`/proc/${pid}/cmdline`),
        environment: text(`/proc/${pid}/environ`),
      }];
    } catch {
      return [];
    }
  });
}

Deno.test({
  name: "no process that svc starts has a secret in its arguments or environment",
  ignore: !can_run_svc || Deno.build.os !== "linux",
  async fn() {
    const credential = `credential-${crypto.randomUUID()}`;
    const secrets = {
      OPENAI_API_KEY: `sk-${crypto.randomUUID()}`,
      SVC_SERVE_TOKENS: `hirer-${crypto.randomUUID()}`,
      OTHER_SECRET: `other-${crypto.randomUUID()}`,
    };
    await using place = new Place({ ...secrets, TOOL_TOKEN: credential });
    place.setPolicy(policyOf(stdioEntry("prog", { auth_env: "TOOL_TOKEN", trust: "trusted" })));
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("work");
    const session_id = await client.session({
      workdir,
      model: "builtin/toolbelt",
      approval: "auto",
    });
    await client.rpc.call("mcp.list_tools", { server: "prog" });
    // A command that stands, with its sandbox and its guard.
    await client.rpc.call("session.send", { session_id, text: "run sleep 4711" });
    const isServer = ({ argv }: Seen) => argv.includes("tool_server.ts");
    await until(() => {
      const all = below(daemon.pid);
      return all.some(({ argv }) => argv === "sleep\n4711\n") && all.some(isServer);
    }, "the command and the tool server run");
    const found = below(daemon.pid);
    const own = Object.values(secrets).concat(daemon.token);
    for (const seen of found) {
      for (const secret of [...own, credential]) {
        assert(!seen.argv.includes(secret), `${secret} is an argument of ${seen.argv}`);
      }
      for (const secret of own) {
        assert(!seen.environment.includes(secret), `${secret} is known to ${seen.argv}`);
      }
      // The control as well: the scan sees what is there.
      assertEquals(seen.environment.includes(credential), isServer(seen), seen.argv);
    }
    assert(!text(`/proc/${daemon.pid}/cmdline`).includes(daemon.token));
    await client.rpc.call("session.cancel", { session_id });
  },
});

Deno.test({
  name: "no file that svc makes can be read by everyone, and no directory of its own entered",
  ignore: !can_run_svc || Deno.build.os === "windows",
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const workdir = place.mkdir("work");
    const session_id = await client.session({
      workdir,
      model: "builtin/toolbelt",
      approval: "auto",
    });
    await client.turn(session_id, "run echo hello\nremember fact: the sky is blue");
    let looked_at = 0;
    const walk = (path: string) => {
      const info = infoIfAny(path);
      // A file that is written anew has another name until it is whole.
      if (info === undefined) return;
      const { mode, isDirectory, isSymlink } = info;
      if (isSymlink) return;
      looked_at++;
      assertEquals((mode ?? 0) & 0o077, 0, path);
      if (!isDirectory) return;
      for (const { name } of Deno.readDirSync(path)) walk(join(path, name));
    };
    walk(place.home);
    walk(join(workdir, ".svc", "sessions"));
    assert(looked_at > 5);
  },
});

function infoIfAny(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
