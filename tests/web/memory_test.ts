/** The memory's view: each action, and that the verb tells the same. */
import { assertEquals } from "@std/assert";
import { Browser } from "../support/browser.ts";
import { Place } from "../support/svc.ts";
import { until } from "../support/scripted.ts";
import { AppPage, no_browser } from "../support/web.ts";

Deno.test({
  name: "the memory: remember, search, edit content and scope, forget, lobes, audit",
  ignore: no_browser,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const { rpc } = client;
    const list = async () => (await rpc.call("cortex.list", {})).entries;
    const session_id = await client.session({ workdir: place.mkdir("one"), title: "The first" });
    await using browser = await Browser.launch();
    const app = await AppPage.open(browser, daemon, "/memory");
    const { page } = app;
    await page.getByText("No entries yet").waitFor();
    await page.getByText("No automatic writes or edits yet").waitFor();
    await app.accessible("an empty memory");

    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Remember", exact: true }).click();
    await app.focused("textarea");
    await page.getByLabel("What").fill("password = hunter2222");
    await dialog.getByRole("button", { name: "Remember" }).click();
    await dialog.getByRole("alert").getByText("looks like a password").waitFor();
    await page.getByLabel("What").fill("The app deploys with make ship");
    await page.getByLabel("Tags").fill("deploy, make");
    await app.accessibleEverywhere("remembering");
    await dialog.getByRole("button", { name: "Remember" }).click();
    await dialog.waitFor({ state: "detached" });
    const entries = page.getByRole("list", { name: "Entries" });
    await entries.getByText("The app deploys with make ship").waitFor();
    const [made] = await list();
    assertEquals([made.scope, made.category, made.tags], ["AllSessions", "fact", [
      "deploy",
      "make",
    ]]);

    // What others write shows up by itself; a search is that of the verb.
    await rpc.call("cortex.remember", {
      content: "Answers are to be short",
      category: "preference",
    });
    await app.look();
    await entries.getByText("Answers are to be short").waitFor();
    await page.getByLabel("Search the memory").fill("deployment");
    await entries.getByText("Answers are to be short").waitFor({ state: "detached" });
    const { entries: recalled } = await rpc.call("cortex.recall", { query: "deployment" });
    assertEquals(
      await entries.locator(".entry-content").allTextContents(),
      recalled.map(({ content }: { content: string }) => content),
    );
    await page.getByLabel("Search the memory").fill("nothing of that kind");
    await page.getByText("No entries match").waitFor();
    await page.getByLabel("Search the memory").fill("");
    await page.getByLabel("Category").selectOption("fact");
    await entries.getByText("Answers are to be short").waitFor({ state: "detached" });
    await page.getByLabel("Category").selectOption("");

    // Content, tags and scope are edited; a scope that has an owner asks for it.
    await page.getByRole("button", { name: /^Edit: The app deploys/ }).click();
    await page.getByLabel("What").fill("The app deploys with make release");
    await dialog.getByLabel("Tags").fill("release");
    await dialog.getByLabel("Scope").selectOption("Session");
    await dialog.getByLabel("Session", { exact: true }).selectOption(session_id);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await entries.getByText("make release").waitFor();
    await entries.getByRole("link", { name: "The first" }).waitFor();
    const edited = (await list()).find(({ entry_id }: { entry_id: string }) =>
      entry_id === made.entry_id
    );
    assertEquals(
      [edited.content, edited.scope, edited.owner, edited.tags],
      ["The app deploys with make release", "Session", session_id, ["release"]],
    );
    await page.getByRole("button", { name: /^Edit: The app deploys/ }).click();
    await dialog.getByLabel("Scope").selectOption("Global");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await until(
      async () => (await list()).some(({ scope }: { scope: string }) => scope === "Global"),
      "the scope",
    );

    // The audit trail has the edits, page by page.
    const records = page.getByRole("group", { name: "Records" });
    await app.look();
    await records.getByText("edited").nth(1).waitFor();
    for (let n = 0; n < 25; n++) {
      await rpc.call("cortex.update", { entry_id: made.entry_id, tags: [`n${n}`] });
    }
    await app.go("/memory");
    // On a phone, all of a record is in sight.
    await records.waitFor();
    const { width, height } = page.viewportSize()!;
    await page.setViewportSize({ width: 390, height });
    // deno-lint-ignore no-explicit-any -- the page's element
    const beyond = await records.evaluate((box: any) =>
      [box, ...box.querySelectorAll("td")].filter((it) => it.scrollWidth > it.clientWidth + 1)
        .length
    );
    assertEquals(beyond, 0);
    await app.accessible("the audit trail on a phone");
    await page.setViewportSize({ width, height });
    await page.getByRole("button", { name: "Older", exact: true }).click();
    const newest = await rpc.call("cortex.audit", { limit: 20 });
    const { records: older } = await rpc.call("cortex.audit", {
      limit: 20,
      cursor: newest.next_cursor,
    });
    await until(
      async () => await records.locator("tbody tr").count() === older.length,
      "the older records",
    );
    await page.getByRole("button", { name: "Newer", exact: true }).click();
    // There is nothing newer: the button keeps the focus all the same.
    await app.focused("button[aria-disabled]");
    await until(async () => await records.locator("tbody tr").count() === 20, "the newer records");

    await page.getByRole("button", { name: "Pause recaller" }).click();
    await page.getByRole("button", { name: "Resume recaller" }).waitFor();
    const lobe = async () => (await rpc.call("cortex.lobes_list")).lobes[0].status;
    assertEquals(await lobe(), "paused");
    await page.getByRole("button", { name: "Resume recaller" }).click();
    await page.getByRole("button", { name: "Pause recaller" }).waitFor();
    assertEquals(await lobe(), "idle");
    await app.accessibleEverywhere("the memory");

    await page.getByRole("button", { name: "Forget: Answers are to be short" }).click();
    await dialog.getByText("will be deleted permanently").waitFor();
    await app.accessible("forgetting");
    await page.keyboard.press("Escape");
    assertEquals((await list()).length, 2);
    await page.getByRole("button", { name: "Forget: Answers are to be short" }).click();
    await dialog.getByRole("button", { name: "Forget it" }).click();
    await entries.getByText("Answers are to be short").waitFor({ state: "detached" });
    assertEquals((await list()).map(({ entry_id }: { entry_id: string }) => entry_id), [
      made.entry_id,
    ]);
    await app.focusKept();
    app.clean("the memory");
  },
});
