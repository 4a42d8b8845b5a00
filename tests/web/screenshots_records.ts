/** What the views of memory, tasks, costs and settings show on their pictures. */
import { join } from "@std/path";
import type { Scenario } from "../support/scripted.ts";
import type { AppPage } from "../support/web.ts";

/** In daemon.toml: what calls of the scripted model cost. */
export const PRICES = '[prices."local/model-1"]\ninput = 30\noutput = 150\n';

const REMEMBERED = [
  ["The shop deploys with make ship, from the branch release", "fact", "AllSessions", ["deploy"]],
  [
    "Never run the migrations while the nightly import runs: it locks every table, and the import " +
    "then fails without a word",
    "gotcha",
    "Always",
    ["database", "staging"],
  ],
  ["Answers are to be short, and in English", "preference", "Global", []],
] as const;

/** Fills memory and queue. @returns each view, and how it gets into the state that is shown. */
export async function recordViews(
  it: Scenario,
): Promise<Record<string, (app: AppPage) => Promise<void>>> {
  const { rpc } = it.client;
  for (const [content, category, scope, tags] of REMEMBERED) {
    await rpc.call("cortex.remember", { content, category, scope, tags: [...tags] });
  }
  const [entry] = (await rpc.call("cortex.list", {})).entries;
  await rpc.call("cortex.update", { entry_id: entry.entry_id, tags: ["tone"] });
  await rpc.call("cortex.remember", {
    content: "Prices are integers, in cents",
    category: "pattern",
    scope: "Worker",
    session_id: it.session_id,
  });
  Deno.writeTextFileSync(
    join(it.workdir, "history.txt"),
    "The bridge was built in 1901. It was painted red in 1950.\n",
  );
  const extra = { workdir: it.workdir, files: ["history.txt"], model: "builtin/toolbelt" };
  const done = await rpc.call("task.run", {
    task_type: "research",
    query: "When was the bridge built?",
    extra,
  });
  await rpc.call("task.run", {
    task_type: "code",
    description: "help",
    extra: {
      workdir: it.workdir,
      model: "builtin/toolbelt",
      acceptance_criteria: [{
        id: "changelog",
        description: "There is a changelog",
        file_exists: "CHANGELOG.md",
      }],
    },
  });
  await rpc.call("queue.pause");
  await rpc.call("queue.enqueue", {
    task_type: "research",
    description: "Find out what was done to the bridge since, with a source for each claim, " +
      "and what it cost",
    effort: "thorough",
    extra,
  });
  return {
    memory: async (app) => {
      await app.go("/memory");
      await app.page.getByRole("button", { name: /^Edit: Never/ }).waitFor();
      await app.page.getByRole("table").waitFor();
    },
    "memory-edit": async (app) => {
      await app.go("/memory");
      await app.page.getByRole("button", { name: /^Edit: Never/ }).click();
      await app.page.getByRole("dialog").waitFor();
    },
    // A page that is loaded again keeps its filter.
    "memory-none": async (app) => {
      await app.go("/memory");
      await app.page.getByLabel("Search the memory").fill("nothing is called so");
      await app.page.getByText("No entries match").waitFor();
    },
    tasks: async (app) => {
      await app.go("/tasks");
      await app.page.getByRole("table").waitFor();
    },
    "task-new": async (app) => {
      await app.go("/tasks");
      await app.page.getByRole("button", { name: "New task" }).click();
      await app.page.getByLabel("files").waitFor();
    },
    task: async (app) => {
      await app.go(`/tasks/${done.id}`);
      await app.page.getByRole("button", { name: /^Show / }).click();
      await app.page.getByRole("group", { name: "report.md" }).getByText("1901").waitFor();
    },
    cost: async (app) => {
      await app.go("/cost");
      await app.page.getByRole("table").waitFor();
    },
    settings: async (app) => {
      await app.go("/settings");
      await app.page.getByLabel("Default model").waitFor();
    },
  };
}
