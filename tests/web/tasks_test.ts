/** The tasks' views: each action, and that the verb tells the same. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Browser } from "../support/browser.ts";
import { until } from "../support/scripted.ts";
import { Place } from "../support/svc.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "tasks: ask for one, steer the queue, read what came of it, cancel",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { rpc } = client;
    const workdir = place.mkdir("project");
    Deno.writeTextFileSync(join(workdir, "notes.txt"), "The bridge was built in 1901.\n");
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, daemon, "/tasks");
    const { page } = app;
    const dialog = page.getByRole("dialog");
    const queue = () => rpc.call("queue.status");
    await page.getByText("No tasks yet").waitFor();
    await app.accessible("no tasks");

    await page.getByRole("button", { name: "Pause queue" }).click();
    await page.getByText("Queue paused").first().waitFor();
    assertEquals((await queue()).paused, true);
    await page.getByRole("button", { name: "Add a worker" }).click();
    await page.getByText("0 of 3").waitFor();
    assertEquals((await queue()).workers, 3);
    await page.getByRole("button", { name: "Remove a worker" }).click();
    await page.getByText("0 of 2").waitFor();

    // The form has what the executor takes; what the daemon refuses is said in it.
    await page.getByRole("button", { name: "New task" }).first().click();
    await page.getByLabel("What to do").fill("When was the bridge built?");
    await page.getByLabel("Effort").selectOption("minimal");
    await page.getByRole("button", { name: "Add to queue" }).click();
    await dialog.getByRole("alert").getByText("a research task needs sources").waitFor();
    await page.getByLabel("Directory").fill(workdir);
    await page.getByLabel("files").fill("notes.txt\n");
    await app.accessibleEverywhere("a new task");
    await page.getByRole("button", { name: "Add to queue" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = page.getByRole("row", { name: /When was the bridge built/ });
    for (const text of ["Queued", "research", "minimal"]) await row.getByText(text).waitFor();
    const { tasks: [queued] } = await rpc.call("task.list");
    assertEquals([queued.status, queued.effort, queued.task_type], [
      "queued",
      "minimal",
      "research",
    ]);

    await app.accessibleEverywhere("tasks");

    // By state, page by page.
    const spare = { task_type: "code", description: "help", extra: { workdir } };
    await Promise.all(Array.from({ length: 51 }, () => rpc.call("queue.enqueue", spare)));
    await page.getByRole("button", { name: "Show older" }).click();
    await until(async () => await page.getByRole("row").count() === 53, "all of the tasks");
    await page.getByLabel("State").selectOption("failed");
    await page.getByText("No tasks in this state").waitFor();
    await page.getByLabel("State").selectOption("");
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Cancel help" }).first().click();
    await app.accessible("cancelling");
    await dialog.getByRole("button", { name: "Cancel task" }).click();
    await page.getByText("Cancelled", { exact: true }).waitFor();
    assertEquals((await queue()).failed, 1);
    const { tasks } = await rpc.call("task.list");
    const spares = tasks.filter(({ id, status }: { id: string; status: string }) =>
      status === "queued" && id !== queued.id
    );
    await Promise.all(
      spares.map(({ id }: { id: string }) => rpc.call("task.cancel", { task_id: id })),
    );

    // A task's own page follows it to its end.
    await app.go(`/tasks/${queued.id}`);
    const log = page.getByRole("log", { name: "Log of the task" });
    await log.getByText("enqueued").waitFor();
    await rpc.call("queue.resume");
    await log.getByText("completed").waitFor();
    await page.getByRole("heading", { name: "Summary" }).waitFor();
    const done = await rpc.call("task.get", { task_id: queued.id });
    for (const { criterion, evidence } of done.verification) {
      await page.getByText(criterion, { exact: true }).waitFor();
      await page.getByText(evidence, { exact: true }).first().waitFor();
    }
    const [artifact] = done.artifacts;
    await page.getByRole("button", { name: `Show ${artifact.name}` }).click();
    const shown = page.getByRole("group", { name: artifact.name });
    await shown.getByText("1901").waitFor();
    const url = `${daemon.url}/v1/tasks/${queued.id}/artifacts/${artifact.name}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${daemon.token}` } });
    const content = await response.text();
    assertEquals(await shown.textContent(), content);
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: `Download ${artifact.name}` }).click();
    const download = await downloading;
    assertEquals(download.suggestedFilename(), artifact.name);
    assertEquals(Deno.readTextFileSync(await download.path()), content);
    await app.accessibleEverywhere("a task");

    // One that runs at once is shown when it has ended; one that runs is cancelled from its page.
    await page.getByRole("link", { name: "All tasks" }).click();
    await page.getByRole("button", { name: "New task" }).click();
    await page.getByLabel("Type").selectOption("code");
    await page.getByLabel("What to do").fill("help");
    await page.getByLabel("Directory").fill(workdir);
    await page.getByLabel("Run immediately").check();
    await page.getByRole("button", { name: "Run task" }).click();
    await page.getByRole("heading", { level: 1, name: "help" }).waitFor();
    await page.getByText("Completed").first().waitFor();
    const long = { ...spare, description: "run sleep 60" };
    const { id } = await rpc.call("queue.enqueue", long);
    await app.go(`/tasks/${id}`);
    await log.getByText("started").waitFor();
    await page.getByRole("button", { name: "Cancel task" }).click();
    await dialog.getByRole("button", { name: "Cancel task" }).click();
    await log.getByText("cancelled").waitFor();
    assertEquals((await rpc.call("task.get", { task_id: id })).cancelled, true);
    await app.focusKept();

    await app.go("/tasks/t-00000000000000000000000000");
    await page.getByRole("alert").getByText("t-00000000000000000000000000").waitFor();
    app.clean("tasks");
  },
});
