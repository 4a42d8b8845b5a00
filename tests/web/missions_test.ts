/** Missions in the web app: made, watched, looked into, cancelled; and that each verb tells the same. */
import { assert, assertEquals } from "@std/assert";
import { MissionModel, SPEC } from "../support/missions.ts";
import type { ParsedRequest } from "../support/model_servers.ts";
import { gitInstalled, Repository } from "../support/repository.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Any = any;

/** A spec with one task, which is carried out when the test lets it be. */
const ONE = {
  id: "one",
  name: "One task",
  sessions: [{ id: "s", title: "All", tasks: [{ id: "held", description: "Wait." }] }],
};

/** A model that carries out {@linkcode SPEC}, the tasks `join` and `held` only once it is let. */
function heldModel() {
  const model = new MissionModel();
  const gate = Promise.withResolvers<void>();
  return {
    release: gate.resolve,
    async script(request: ParsedRequest) {
      const held = request.messages.some((message) =>
        message.role === "user" && /^# Task (?:join|held) /.test(message.text)
      );
      if (held) await gate.promise;
      return await model.script(request);
    },
  };
}

Deno.test({
  name: "a mission is made, drawn, followed to its end and looked into",
  ignore: no_browser || !gitInstalled(),
  async fn() {
    const { script, release } = heldModel();
    using repo = new Repository();
    await using it = await Scenario.begin(script);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/missions");
    const { page } = app;
    const call = (verb: string, params: Any): Promise<Any> => it.client.rpc.call(verb, params);

    await page.getByText("No missions yet").waitFor();
    await page.getByRole("button", { name: "New mission" }).first().click();
    const dialog = page.getByRole("dialog");
    const spec = dialog.getByLabel("Statement of work");
    const begin = dialog.getByRole("button", { name: "Start mission" });
    await dialog.getByRole("button", { name: "Fill in an example" }).click();
    await dialog.getByRole("button", { name: "As text" }).click();
    assert((await spec.inputValue()).includes("acceptance_criteria"), "there is an example");
    await dialog.getByLabel("Directory", { exact: true }).fill(`${repo.root}/none`);
    await begin.click();
    await dialog.getByRole("alert").getByText("does not exist").waitFor();
    const directory = dialog.getByLabel("Directory", { exact: true });
    assertEquals(await directory.getAttribute("aria-invalid"), "true");
    await directory.fill(repo.root);
    await spec.fill("id: x\nname: y\nsessions:\n  - { id: a, title: b, taks: [] }\n");
    await begin.click();
    await dialog.getByRole("alert").getByText('sessions[0].taks: unknown; did you mean "tasks"?')
      .waitFor();
    assertEquals(await spec.getAttribute("aria-invalid"), "true");
    await app.accessibleEverywhere("a mission that is refused");
    await spec.fill(JSON.stringify(SPEC));
    await dialog.getByRole("combobox", { name: "Model" }).fill(it.model);
    await dialog.getByLabel("without asking").check();
    await begin.click();
    await page.getByRole("heading", { level: 1, name: "Demo" }).waitFor();
    const { missions: [{ mission_id, session_id, ...made }] } = await call("mission.list", {});
    assertEquals([made.name, made.workdir, made.status], ["Demo", repo.root, "running"]);
    assertEquals(new URL(page.url()).pathname, `/missions/${mission_id}`);

    const graph = page.getByRole("group", { name: "Task graph" });
    await graph.getByRole("link", { name: /^join Running after left, right$/ }).waitFor();
    assertEquals(await graph.getByRole("link").count(), 6 + 2);
    // On a phone it is a list, which says what comes before each task.
    const { width, height } = page.viewportSize()!;
    await page.setViewportSize({ width: 390, height });
    // deno-lint-ignore no-explicit-any -- the page's element
    assertEquals(await graph.evaluate((it: any) => it.scrollWidth - it.clientWidth), 0);
    const after = (await graph.getByText("after left, right").boundingBox())!;
    assert(after.width > 60 && after.x >= 0 && after.x + after.width <= 390, JSON.stringify(after));
    await page.setViewportSize({ width, height });
    // By keyboard to what tells more of a task.
    await graph.getByRole("link", { name: /^right/ }).focus();
    await page.keyboard.press("Enter");
    const task = page.getByRole("main").getByRole("listitem").filter({
      hasText: "Put right into shared.txt.",
    });
    await app.focused(`[id="${await task.getAttribute("id")}"]`);
    await app.accessible("a running mission");
    const polite = page.locator("[aria-live=polite]");
    release();
    await polite.filter({ hasText: "Mission Demo completed" }).waitFor({ state: "attached" });

    const mission = await call("mission.get", { mission_id });
    assertEquals(mission.status, "completed");
    await page.getByText(`commit ${mission.commit.slice(0, 10)}`).waitFor();
    for (const { title, tasks, acceptance_criteria } of mission.sessions) {
      const shown = page.getByRole("list", { name: `Tasks of ${title}` }).getByRole("listitem");
      assertEquals(await shown.locator("strong").allTextContents(), ids(tasks));
      assertEquals(await shown.getByText("Completed").count(), tasks.length);
      for (const { id, session_id } of tasks) {
        const link = page.getByRole("link", { name: `Session of task ${id}` });
        assertEquals(await link.getAttribute("href"), `/sessions/${session_id}`);
      }
      const criteria = page.getByRole("list", { name: `Criteria of ${title}` });
      assertEquals(
        await criteria.locator("> li > header > strong").allTextContents(),
        ids(acceptance_criteria),
      );
      assertEquals(await criteria.getByText("Passed").count(), acceptance_criteria.length);
    }

    await page.getByRole("button", { name: "History of adds" }).click();
    await page.getByText("1 repair attempt").waitFor();
    const { attempts } = await call("descent.tier_history", { session_id, ac_id: "adds" });
    assertEquals(
      await page.locator(".tier").allTextContents(),
      attempts.map(({ tier, status }: Any) => `${tier} ${status}`),
    );
    await page.getByRole("button", { name: "Evidence for both" }).click();
    await page.getByRole("group", { name: "Evidence for both" }).getByText("left right").waitFor();
    const { entries } = await call("mission.logs", { mission_id });
    await page.getByRole("log").getByText("delivered").waitFor();
    await until(
      async () => await page.locator(".log-event").count() === entries.length,
      "all of the log",
    );
    assertEquals(
      await page.locator(".log-event").allTextContents(),
      entries.map(({ event }: Any) => event.replaceAll("_", " ")),
    );
    await app.accessibleEverywhere("a mission that is done");
    await page.getByRole("link", { name: "Session and lanes" }).click();
    await page.getByRole("heading", { level: 1, name: "mission Demo" }).waitFor();
    app.clean("a mission");
  },
});

Deno.test({
  name: "missions appear by themselves, are filtered, and cancelled in the list and on their page",
  ignore: no_browser,
  async fn() {
    const { script, release } = heldModel();
    await using it = await Scenario.begin(script);
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, "/missions");
    const { page } = app;
    const create = (name: string): Promise<Any> =>
      it.client.rpc.call("mission.create", {
        workdir: it.place.mkdir(name),
        spec: { ...ONE, name },
        model: it.model,
      });
    const status = async ({ mission_id }: Any) =>
      (await it.client.rpc.call("mission.get", { mission_id })).status;
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });

    const first = await create("first");
    const long = await create(`second ${"and a long name ".repeat(8)}`.trim());
    const third = await create("third");
    await row("third").getByText("0/1 tasks").waitFor();
    await page.getByLabel("Filter missions").fill("second");
    await row("first").waitFor({ state: "detached" });
    assertEquals(await row("second").getByRole("link", { name: long.name }).count(), 1);
    await page.getByLabel("Filter missions").fill("");

    await page.getByRole("button", { name: "Cancel mission first" }).click();
    await page.getByRole("button", { name: "Cancel mission", exact: true }).click();
    await row("first").getByText("Cancelled").waitFor();
    assertEquals(await status(first), "cancelled");
    await page.getByLabel("State").selectOption("cancelled");
    await row("third").waitFor({ state: "detached" });
    assertEquals(await page.getByRole("row").count(), 1 + 1);
    await page.getByLabel("State").selectOption("");
    await row("third").waitFor();

    await page.getByRole("link", { name: "third", exact: true }).click();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel mission", exact: true }).click();
    await page.getByText("the mission was cancelled").first().waitFor();
    assertEquals(await status(third), "cancelled");
    release();
    await until(async () => await status(long) === "completed", "the end of the last");

    await page.getByRole("link", { name: "Missions" }).click();
    await row("second").getByText("Completed").waitFor();
    await app.accessibleEverywhere("missions");

    // One that was not allowed to go on by itself asks in the session that works for it.
    const spec = {
      ...ONE,
      name: "asking",
      sessions: [{
        ...ONE.sessions[0],
        tasks: [{ id: "run", description: "run echo one > one.txt" }],
      }],
    };
    await page.getByRole("button", { name: "New mission" }).click();
    const form = page.getByRole("dialog", { name: "New mission" });
    await form.getByLabel("Directory").fill(it.place.mkdir("asking"));
    await form.getByRole("button", { name: "As text" }).click();
    await form.getByLabel("Statement of work").fill(JSON.stringify(spec));
    await form.getByLabel("Model").fill("builtin/toolbelt");
    assert(!await form.getByLabel("without asking").isChecked());
    await form.getByRole("button", { name: "Start mission" }).click();
    await page.getByRole("heading", { level: 1, name: "asking" }).waitFor();
    const asking = { mission_id: new URL(page.url()).pathname.split("/").at(-1)! };
    // It stands among all that waits for the person.
    await page.getByRole("link", { name: "1 approval waits" }).waitFor();
    await page.getByRole("link", { name: "Missions" }).click();
    await row("asking").getByRole("link").click();
    const waits = page.getByRole("status").filter({ hasText: "It waits for your approval" });
    await waits.getByRole("link").click();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await until(async () => await status(asking) === "completed", "the end of the one that asks");
    await app.go("/missions/m-00000000000000000000000000");
    await page.getByRole("alert").getByText("there is no mission").waitFor();
    await page.getByRole("link", { name: "All missions" }).click();
    await page.getByRole("heading", { level: 1, name: "Missions" }).waitFor();
    app.clean("missions");
  },
});

function ids(items: readonly { id: string }[]): string[] {
  return items.map(({ id }) => id);
}
