import { assertEquals } from "@std/assert";
import { ListTasksRequest, TaskState } from "@a2a-js/sdk";
import { toSend } from "../../../../tests/support/a2a.ts";
import { granted } from "../../../../tests/support/permissions.ts";
import { MemoryLog, TempDir } from "../../../../tests/support/sessions.ts";
import { LocalArtifacts, type StoredArtifact } from "../../tasks/artifacts.ts";
import { ExecutorRegistry } from "../../tasks/executors/registry.ts";
import { openTestDb } from "../../../../tests/support/state_db.ts";
import { openTaskEngine } from "../../tasks/local_engine.ts";
import type { Executor } from "../../tasks/task.ts";
import { bind, Dispatcher } from "../../../verbs/define.ts";
import { Hiring } from "../hiring.ts";
import { HireTokens } from "../tokens.ts";
import { hireVerbs } from "../verbs.ts";
import { Drafts } from "./drafts.ts";
import { A2aRequests } from "./requests.ts";

const ECHO: Executor = {
  task_type: "echo",
  async run({ description = "" }, { keep }) {
    await keep({ name: "echo.txt", media_type: "text/plain", content: "kept" });
    return { summary: description, size: description.length };
  },
};

/** Artifacts, and the names of those that were opened. */
class WatchedArtifacts extends LocalArtifacts {
  readonly opened: string[] = [];

  override open(task_id: string, artifact: StoredArtifact) {
    this.opened.push(artifact.name);
    return super.open(task_id, artifact);
  }
}

const LIST = ListTasksRequest.fromJSON({});

Deno.test({
  name: "a list of tasks opens what they made only where it is to be shown",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const log = new MemoryLog();
    const artifacts = new WatchedArtifacts(dir.join("artifacts"));
    const executors = new ExecutorRegistry([ECHO]);
    const parts = { executors, log, workers: 1, artifacts, deliver: () => Promise.resolve() };
    const engine = openTaskEngine(await openTestDb(dir.join("state.db")), parts);
    const hiring = new Hiring({
      version: "1",
      caps: ["echo"],
      timeout_ms: 60_000,
      budget_usd: () => 1,
      tokens: new HireTokens([]),
      shared: () => false,
      quota: () => ({}),
      engine: () => Promise.resolve(engine),
    });
    const { signal } = new AbortController();
    const dispatcher = new Dispatcher(bind(hireVerbs, hiring));
    const caller = {
      calling: { dispatcher, caller: { via: "hire" as const }, call: { signal } },
      version: "1.0" as const,
      base_url: "http://a.example",
    };
    const drafts = new Drafts(() => openTestDb(dir.join("state.db")), () => false);
    const requests = new A2aRequests({ drafts, log }, caller);
    const { id } = await requests.sendMessage(toSend({ task_type: "echo" }));
    artifacts.opened.length = 0;

    const [bare] = (await requests.listTasks(LIST)).tasks;
    assertEquals([bare.id, bare.status?.state], [id, TaskState.TASK_STATE_COMPLETED]);
    assertEquals([bare.artifacts, artifacts.opened], [[], []]);
    const [whole] = (await requests.listTasks({ ...LIST, includeArtifacts: true })).tasks;
    assertEquals(whole.artifacts.map(({ name }) => name), ["summary", "echo.txt"]);
    assertEquals(whole.artifacts[1].parts[0].content, { $case: "text", value: "kept" });
    assertEquals(artifacts.opened, ["echo.txt"]);
    await drafts.close();
    await engine.close();
  },
});
