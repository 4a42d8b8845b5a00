import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { TASKS } from "../../features/tasks/config.ts";
import { restate } from "./task_check.ts";

const ignore = !granted("net");

/** What a Restate server answers. */
interface Said {
  version?: string;
  services?: string[];
  workers?: number;
  /** How far its clock is ahead, in seconds. */
  ahead_s?: number;
  /** The key that it wants. */
  key?: string;
}

const SERVICES = ["svc-task", "svc-queue", "svc-run-research", "svc-run-code"];

/** Serves ingress and admin API on one port, and checks it. */
async function check(said: Said, key?: string) {
  const { version = "1.7.12", services = SERVICES, workers = 4, ahead_s = 0 } = said;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const date = new Date(Date.now() + ahead_s * 1000).toUTCString();
    if (said.key !== undefined && request.headers.get("authorization") !== `Bearer ${said.key}`) {
      return new Response("no", { status: 401 });
    }
    const { pathname } = new URL(request.url);
    const answers: Record<string, unknown> = {
      "/version": { version },
      "/restate/health": { services },
      "/svc-queue/all/state": { workers },
    };
    return Response.json(answers[pathname], { headers: { date } });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const config = TASKS.schema().parse({
    engine: "restate",
    restate_url: url,
    restate_admin_url: url,
    ...key === undefined ? {} : { restate_key_env: "KEY" },
  });
  return await restate(config, (name) => name === "KEY" ? key : undefined);
}

Deno.test({
  name: "doctor: a Restate server with workers is well, and its task types are named",
  ignore,
  async fn() {
    const { status, message } = await check({});
    assertEquals(status, "ok");
    assertMatch(
      message,
      /^Restate 1\.7\.12 at \S+ is reachable; workers run 4 .*: research, code$/,
    );
  },
});

Deno.test({
  name: "doctor: an old server, a wrong clock, and missing workers are told with what to do",
  ignore,
  async fn() {
    const cases: [Said, "warn" | "fail", RegExp][] = [
      [{ version: "1.3.2" }, "fail", /is version 1\.3\.2; svc needs 1\.5 or later, below 2/],
      [{ version: "2.0.0" }, "fail", /is version 2\.0\.0/],
      [{ services: [] }, "fail", /no worker is registered/],
      [{ services: ["svc-task"] }, "fail", /no worker is registered/],
      [{ ahead_s: 90 }, "warn", /its clock is (89|90|91) s ahead/],
      [{ ahead_s: -90 }, "warn", /its clock is (89|90|91) s behind/],
      [{ workers: 0 }, "warn", /no worker takes queued tasks/],
    ];
    for (const [said, expected, words] of cases) {
      const { status, message, hint } = await check(said);
      assertEquals(status, expected, message);
      assertMatch(message, words);
      assertMatch(hint!, /\w/);
    }
  },
});

Deno.test({
  name: "doctor: a key that the server refuses, and one that is not set, are told",
  ignore,
  async fn() {
    assertEquals((await check({ key: "right" }, "right")).status, "ok", "the control");
    const error = await assertRejects(() => check({ key: "right" }, "wrong"), SvcError);
    assertMatch(error.message, /refuses the key: 401/);
    await assertRejects(() => check({}, ""), SvcError, "names KEY, which is not set");
  },
});
